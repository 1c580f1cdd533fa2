"""On a GPU: graphs, compiled and fused steps agree with the single engine and with each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from amongst.engine import Features, Settings, TrainingData, train
from amongst.engine.population import Member, train_population
from amongst.engine.population.backends import make_stepper
from amongst.engine.population.cohort import Cohort, form_cohort
from amongst.engine.population.member import arrange
from amongst.methods import CC, LW, PRODEN, RC, Method
from amongst.models import build_model

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

N, D, K = 300, 20, 4
WIDTHS = {"widths": (24, 19)}
METHODS: tuple[Method, ...] = (LW(), LW(psi="sigmoid", refresh="post"), RC(), CC(), PRODEN())


def features() -> Features:
    generator = torch.Generator().manual_seed(0)
    return Features(torch.randn(N, D, generator=generator)).to("cuda")


def masks(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    inside = torch.rand(N, K, generator=generator) < 0.4
    inside[torch.arange(N), torch.randint(K, (N,), generator=generator)] = True
    return inside


def members(precision: str, epochs: int = 2) -> list[Member]:
    found = []
    for i, method in enumerate(METHODS):
        for optimizer in ("sgd", "adam"):
            settings = Settings(
                epochs=epochs, batch_size=64, lr=0.005, optimizer=optimizer, seed=i,
                precision=precision,
            )  # fmt: skip
            found.append(Member(method, masks(i), settings))
    return found


def state_of(model: nn.Module) -> Tensor:
    return torch.cat([value.double().cpu().flatten() for value in model.state_dict().values()])


@pytest.mark.parametrize("backend", ["eager", "graph", "compiled"])
def test_float32_members_equal_the_single_engine(backend: str) -> None:
    chosen = members("float32")[: 3 if backend == "compiled" else None]
    result = train_population(features(), chosen, options=WIDTHS, device="cuda", backend=backend)
    for i, member in enumerate(chosen):
        network = build_model("mlp", (D,), K, member.initial_seed, **WIDTHS)
        data = TrainingData(features(), member.inside.cuda())
        alone = train(network, data, member.method, member.settings).model
        difference = state_of(result.model(i)) - state_of(alone)
        assert float(difference.norm() / state_of(alone).norm()) < 1e-4


def stacked(precision: str) -> Cohort:
    chosen = members(precision)
    ordered = [chosen[i] for i in arrange(chosen)[0]]
    return form_cohort(ordered, features(), "mlp", dict(WIDTHS), pad=True)


@pytest.mark.parametrize("backend", ["graph", "fused"])
def test_bf16_steps_stay_near_float32(backend: str) -> None:
    if backend == "fused":
        pytest.importorskip("triton")
    exact, coarse = stacked("float32"), stacked("bf16")
    with torch.no_grad():
        for cohort, name in ((exact, "eager"), (coarse, backend)):
            stepper = make_stepper(cohort, name)
            cohort.begin_epoch(0)
            for size in cohort.sizes:
                stepper(size)
    for ours, theirs in zip(coarse.network.parameters, exact.network.parameters, strict=True):
        assert float((ours - theirs).norm() / theirs.norm()) < 0.1
    torch.testing.assert_close(coarse.totals[:, 0], exact.totals[:, 0], rtol=0.05, atol=0.1)
    for a, b in zip(coarse.groups, exact.groups, strict=True):
        if a.weights is not None and b.weights is not None:
            assert float((a.weights - b.weights).abs().mean()) < 0.02


@pytest.mark.parametrize("backend", ["graph", "fused"])
def test_capturing_changes_nothing(backend: str) -> None:
    """Warm-up and capture leave the state bit for bit; only the replay moves it."""
    if backend == "fused":
        pytest.importorskip("triton")
    cohort = stacked("bf16")
    stepper = make_stepper(cohort, backend)
    with torch.no_grad():
        cohort.begin_epoch(0)
        before = {name: value.clone() for name, value in cohort.state().items()}
        stepper._captured(64)  # type: ignore[attr-defined]
        after = cohort.state()
    for name, value in before.items():
        assert torch.equal(after[name], value), name
    assert int(cohort.tick) == 0 and not cohort.totals.any()


def test_auto_trains_and_resumes(tmp_path: object) -> None:
    chosen = [replace(m, settings=replace(m.settings, epochs=4)) for m in members("bf16")]
    whole = train_population(features(), chosen, options=WIDTHS, device="cuda")
    half = [replace(m, settings=replace(m.settings, epochs=4)) for m in chosen]

    class Stop(Exception):
        pass

    def stop(progress: object) -> None:
        if progress.epoch == 2:  # type: ignore[attr-defined]
            raise Stop

    kwargs = {"options": WIDTHS, "device": "cuda", "checkpoint": tmp_path, "checkpoint_every": 1}
    with pytest.raises(Stop):
        train_population(features(), half, on_epoch=stop, **kwargs)
    resumed = train_population(features(), half, **kwargs)
    for i in range(len(chosen)):
        assert torch.equal(state_of(resumed.model(i)), state_of(whole.model(i)))


def test_running_out_of_memory_halves_the_wave() -> None:
    chosen = members("float32", epochs=1)
    free = torch.cuda.mem_get_info()[0]
    assert len(train_population(features(), chosen, options=WIDTHS, memory_limit=free).waves) == 1
    small = train_population(features(), chosen, options=WIDTHS, memory_limit=2**19)
    assert len(small.waves) > 1
