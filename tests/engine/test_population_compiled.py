"""On a CPU, long trainings are compiled: the same numbers, and a way back where that fails."""

from __future__ import annotations

import runpy
import shutil
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from amongst.accel.population import Member, backends, train_population
from amongst.accel.population.cohort import form_cohort
from amongst.algorithms import CC, LW, RC, Method
from amongst.errors import AmongstWarning, InputError
from amongst.train import Features, Settings

N, D, K = 50, 6, 4
WIDTHS = {"widths": (8, 7)}
COMPILER = pytest.mark.skipif(
    shutil.which("g++") is None or " " in torch.__file__ or not backends.COMPILES_RIGHT,
    reason="needs torch 2.12 and a C++ compiler; torch quotes no path, so one without a space",
)
METHODS: tuple[Method, ...] = (LW(beta=8.0, fade=1.0), LW("sigmoid", beta=2.0), CC())


def features() -> Features:
    return Features(torch.randn(N, D, generator=torch.Generator().manual_seed(0)))


def members(epochs: int = 3) -> list[Member]:
    generator = torch.Generator().manual_seed(0)
    inside = torch.rand(N, K, generator=generator) < 0.4
    inside[torch.arange(N), torch.randint(K, (N,), generator=generator)] = True
    settings = Settings(epochs=epochs, batch_size=16, precision="float64")
    return [Member(method, inside, settings) for method in METHODS]


def parameters(backend: str) -> list[Tensor]:
    result = train_population(features(), members(), options=WIDTHS, device="cpu", backend=backend)
    states = [result.model(i).state_dict().values() for i in range(len(METHODS))]
    return [value for state in states for value in state]


def test_a_long_training_is_compiled_where_there_is_a_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cohort = form_cohort(members(), features(), "mlp", dict(WIDTHS))
    assert backends.choose_backend("auto", cohort) == "eager"
    monkeypatch.setattr(backends, "WORTH_COMPILING", 0.0)
    monkeypatch.setattr(backends, "COMPILES_RIGHT", True)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert backends.choose_backend("auto", cohort) == "compiled"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert backends.choose_backend("auto", cohort) == "eager"


def test_a_torch_that_compiles_wrong_is_not_used_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cohort = form_cohort(members(), features(), "mlp", dict(WIDTHS))
    monkeypatch.setattr(backends, "WORTH_COMPILING", 0.0)
    monkeypatch.setattr(backends, "COMPILES_RIGHT", False)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert backends.choose_backend("auto", cohort) == "eager"
    with pytest.raises(InputError, match=r"on a CPU needs torch 2\.12 or newer"):
        backends.choose_backend("compiled", cohort)


@pytest.mark.parametrize(
    ("version", "right"), [("2.9.1+cpu", False), ("2.11.0", False), ("2.12.0+cpu", True)]
)
def test_which_torch_compiles_right(
    monkeypatch: pytest.MonkeyPatch, version: str, right: bool
) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    assert runpy.run_path(backends.__file__)["COMPILES_RIGHT"] is right


def test_where_compiling_fails_auto_goes_on_without(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = parameters("eager")

    def broken(step: object, **options: object) -> object:
        def fail(*arguments: object) -> None:
            raise torch._dynamo.exc.TorchDynamoException("no compiler here\nand more")

        return fail

    monkeypatch.setattr(torch, "compile", broken)
    monkeypatch.setattr(backends, "WORTH_COMPILING", 0.0)
    monkeypatch.setattr(backends, "COMPILES_RIGHT", True)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    with pytest.warns(AmongstWarning, match=r"could not compile the step \(no compiler here\)"):
        found = parameters("auto")
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours, theirs)


@COMPILER
def test_compiled_members_equal_those_that_are_not() -> None:
    for ours, theirs in zip(parameters("compiled"), parameters("eager"), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)


@COMPILER
def test_rc_beside_lw_is_compiled() -> None:
    """With whole freedom to fuse, torch.compile loses a buffer of this step (KeyError: 'buf63')."""
    generator = torch.Generator().manual_seed(0)
    x, inside = (
        torch.randn(64, 20, generator=generator),
        torch.rand(64, 16, generator=generator) < 0.3,
    )
    inside[:, 0] = True
    chosen = [Member(method, inside, Settings(epochs=1, batch_size=32)) for method in (RC(), LW())]
    kwargs: dict[str, Any] = {"options": {"widths": (8, 8)}, "device": "cpu"}
    ours, theirs = (
        train_population(Features(x), chosen, backend=backend, **kwargs)
        for backend in ("compiled", "eager")
    )
    for i in range(2):
        torch.testing.assert_close(ours.model(i).state_dict(), theirs.model(i).state_dict())


def test_a_module_of_ones_own_is_told_which_backends_take_it() -> None:
    inside = torch.ones(8, 3, dtype=torch.bool)
    members = [Member(LW(), inside, Settings(epochs=1, batch_size=4))]
    with pytest.raises(InputError, match=r"'compiled' is for the linear model and the MLP.*'auto'"):
        train_population(
            Features(torch.zeros(8, 2)), members, model=nn.Linear(2, 3), device="cpu",
            backend="compiled",
        )  # fmt: skip
