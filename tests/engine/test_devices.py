"""Two devices, as far as a machine without a GPU can show them: tensors on "meta" are elsewhere."""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from amongst.accel import graphs
from amongst.accel.population import Member, backends, run, train_population
from amongst.accel.population.cohort import form_cohort
from amongst.algorithms import LW, LossAlgorithm
from amongst.devices import current, is_out_of_memory, products_in
from amongst.errors import InputError
from amongst.metrics import accuracy, approximated_accuracy, covering_rate
from amongst.models import build_model
from amongst.selection.criteria import corrected_error
from amongst.train import (
    Features,
    Settings,
    Training,
    TrainingData,
    loop,
    predict_scores,
    start,
    train,
)
from amongst.train.checkpoint import Keeper

N, D, K = 40, 5, 3
ELSEWHERE = torch.device("meta")


def problem(k: int = K) -> TrainingData:
    generator = torch.Generator().manual_seed(0)
    inside = torch.rand(N, k, generator=generator) < 0.4
    inside[torch.arange(N), torch.randint(k, (N,), generator=generator)] = True
    return TrainingData(Features(torch.randn(N, D, generator=generator)), inside)


def mlp(data: TrainingData) -> nn.Module:
    return build_model("mlp", (D,), data.n_classes, seed=0, widths=(6,))


def test_masks_in_another_place_than_features_are_refused_in_a_sentence() -> None:
    far = Features(torch.zeros(N, D, device=ELSEWHERE))
    with pytest.raises(InputError, match="inside is on cpu, but the features are on meta"):
        TrainingData(far, problem().inside)
    scaled = replace(problem().features, scale=torch.ones(D, device=ELSEWHERE))
    with pytest.raises(
        InputError, match=r"features\.scale is on meta, but the features are on cpu"
    ):
        TrainingData(scaled, problem().inside)


def test_features_follow_a_model_to_its_device() -> None:
    data = problem()
    assert predict_scores(mlp(data).to(ELSEWHERE), data.features).device == ELSEWHERE


@pytest.mark.parametrize("measure", [covering_rate, approximated_accuracy, corrected_error])
def test_labels_and_masks_of_a_measure_may_be_on_the_host(measure: Any) -> None:
    scores, data = torch.zeros(N, K, device=ELSEWHERE), problem()
    rates = (torch.full((K,), 0.5),) if measure is corrected_error else ()
    assert measure(scores, data.inside, *rates).device == ELSEWHERE
    assert accuracy(scores, torch.zeros(N, dtype=torch.long)).device == ELSEWHERE


def test_what_a_measure_gives_may_be_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members' values at once, from a measure that brings scores to NumPy."""
    monkeypatch.setattr(run, "measure_watched", lambda *_: [torch.zeros(2)])
    monkeypatch.setattr(run, "measure_held", lambda *_: [])
    cohort = SimpleNamespace(
        device=ELSEWHERE,
        n_rows=N,
        totals=torch.zeros(2, 2, device=ELSEWHERE),
        alive=torch.ones(2, dtype=torch.bool, device=ELSEWHERE),
    )
    found = run._measured(SimpleNamespace(watch=[], held={}), cohort, None, set())  # type: ignore[arg-type]
    assert found.shape == (2, 3)
    assert found.device == ELSEWHERE


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_training_goes_on_in_another_precision_as_on_another_device(optimizer: str) -> None:
    data, model = problem(), mlp(problem())
    first = Settings(epochs=1, batch_size=16, optimizer=optimizer, lr=0.01)
    state = train(model, data, LW(), first)
    settings = replace(first, epochs=3, precision="float64")
    again = train(model, data, LW(), settings, training=state)
    assert again.epoch == 3
    assert again.weights is not None
    assert again.weights.dtype == torch.float64
    moments = [v for slots in again.optimizer.state.values() for v in slots.values() if v.ndim]
    assert {value.dtype for value in moments} == {torch.float64}


def test_an_epoch_is_kept_however_often_it_is_put_back() -> None:
    """A method's weights change in place: those that were kept must be others."""
    data, keeper = problem(), Keeper()
    settings = Settings(epochs=2, batch_size=16, lr=0.1)
    state = train(mlp(data), data, LW(), replace(settings, epochs=1), on_epoch=keeper)
    assert state.weights is not None
    kept = state.weights.clone()
    for _ in range(2):
        assert keeper.restore(state)
        assert torch.equal(state.weights, kept)
        train(state.model, data, LW(), settings, training=state)
        assert not torch.equal(state.weights, kept)


def test_the_device_of_the_data_is_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else graphs and kernels for a second GPU would be made on the first."""
    assert current(torch.device("cuda:1")).idx == 1  # type: ignore[attr-defined]
    entered: list[torch.device] = []
    inside: list[int] = []

    @contextmanager
    def noted(device: torch.device) -> Iterator[None]:
        entered.append(device)
        inside.append(1)
        yield
        inside.clear()

    monkeypatch.setattr(loop, "current", noted)
    monkeypatch.setattr(run, "current", noted)
    data, settings = problem(), Settings(epochs=1, batch_size=16)
    seen: list[bool] = []
    train(mlp(data), data, LW(), settings, on_epoch=lambda _: seen.append(bool(inside)))
    member = Member(LW(), data.inside, settings)
    train_population(
        data.features,
        [member],
        model="linear",
        device="cpu",
        on_epoch=lambda _: seen.append(bool(inside)),
    )
    assert (entered, seen) == ([torch.device("cpu")] * 2, [True, True])


class Captured:
    """Stands for a `GraphedStep`."""

    def __init__(self, *_: object, compile: bool) -> None:
        self.compile = compile


def chosen(
    monkeypatch: pytest.MonkeyPatch, optimizer: Any = None, shape: tuple[int, ...] = (D,)
) -> Any:
    """What `graphed_step` chooses where the data say that they are on a GPU."""
    inside = torch.ones(N, K, dtype=torch.bool)
    data = TrainingData(Features(torch.zeros(N, *shape)), inside)
    name = "mlp" if len(shape) == 1 else "convnet"
    settings = Settings(epochs=2000, batch_size=16)
    state = start(build_model(name, shape, K, seed=0), data, LW(), settings)
    if optimizer is not None:
        state.optimizer = optimizer(state.model)
    monkeypatch.setattr(graphs, "GraphedStep", Captured)
    monkeypatch.setattr(Features, "device", property(lambda _: torch.device("cuda:0")))
    return graphs.graphed_step(state, data, settings)


def test_a_captured_step_takes_the_optimiser_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert isinstance(chosen(monkeypatch), Captured)


def captured_before(model: nn.Module) -> torch.optim.Optimizer:
    rate = torch.tensor(0.05)
    run = Training(LossAlgorithm(model, LW(), None), torch.optim.SGD(model.parameters()))
    return graphs._capturable(run, Settings(), rate)


def test_and_one_that_was_captured_before(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(chosen(monkeypatch, captured_before), Captured)


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda model: torch.optim.AdamW(model.parameters(), lr=0.01),
        lambda model: torch.optim.SGD(
            model.parameters(), 0.1, 0.9, weight_decay=1e-3, nesterov=True
        ),
        lambda model: torch.optim.SGD(
            [{"params": [p]} for p in model.parameters()], 0.1, 0.9, weight_decay=1e-3
        ),
        lambda model: torch.optim.SGD(list(model.parameters())[-2:], 0.1, 0.9, weight_decay=1e-3),
    ],
    ids=["another", "another rule", "groups", "the head alone"],
)
def test_an_optimiser_of_ones_own_is_not_replaced(
    optimizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A captured step would go on with that of the settings, without a word."""
    assert chosen(monkeypatch, optimizer) is None


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("triton", "the package triton is not installed"),
        ("compiler", "triton needs a C compiler, and there is no gcc or clang"),
        ("headers", r"triton needs Python's headers \(python3-dev\)"),
    ],
)
def test_without_a_compiler_a_gpu_is_used_all_the_same(
    missing: str, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Triton builds kernels with the machine's C compiler, which images of PyTorch have not got."""
    monkeypatch.delenv("CC", raising=False)
    here = None if missing == "triton" else object()
    monkeypatch.setattr(graphs.importlib.util, "find_spec", lambda _: here)
    monkeypatch.setattr(shutil, "which", lambda name: None if missing == "compiler" else name)
    (tmp_path / "Python.h").touch()
    folder = tmp_path / "none" if missing == "headers" else tmp_path
    monkeypatch.setattr(sysconfig, "get_paths", lambda _: {"include": str(folder)})
    assert graphs.why_not_built() is not None
    cohort = fusible(problem())
    assert backends.choose_backend("auto", cohort) == "graph"
    with pytest.raises(InputError, match=rf"cannot train this population: {told}"):
        backends.choose_backend("fused", cohort)
    assert not chosen(monkeypatch, shape=(3, 28, 28)).compile


def fusible(data: TrainingData) -> Any:
    """A cohort that says it is on a GPU."""
    settings = Settings(epochs=1, batch_size=16, precision="bf16")
    cohort = form_cohort([Member(LW(), data.inside, settings)], data.features, "linear", {})
    names = ("network", "sizes", "precision", "groups")
    seen = {name: getattr(cohort, name) for name in names}
    return SimpleNamespace(device=torch.device("cuda:0"), **seen)


def test_with_one_long_trainings_are_compiled_and_populations_fused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for place in (graphs, backends):
        monkeypatch.setattr(place, "why_not_built", lambda: None)
    assert backends.choose_backend("auto", fusible(problem())) == "fused"
    assert backends.choose_backend("auto", fusible(problem(k=300))) == "graph"
    assert chosen(monkeypatch, shape=(3, 28, 28)).compile


def test_a_capture_that_ran_out_of_memory_is_known_by_what_came_before() -> None:
    def fail(*messages: str) -> RuntimeError:
        try:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        except RuntimeError:
            try:
                raise RuntimeError(*messages)
            except RuntimeError as last:
                return last

    assert is_out_of_memory(fail("CUDA error: previous error during capture"))
    assert not is_out_of_memory(fail("mat1 and mat2 shapes cannot be multiplied"))


NEW_WAY = pytest.mark.skipif(
    not hasattr(torch.backends.cuda.matmul, "fp32_precision"), reason="needs torch 2.9"
)


@pytest.fixture
def set_by_the_new_way() -> Iterator[None]:
    """What PyTorch advises since 2.9; the older functions then refuse to be read."""
    with products_in("float32"):
        torch.backends.cuda.matmul.fp32_precision = "tf32"
        torch.backends.cudnn.conv.fp32_precision = "tf32"  # type: ignore[attr-defined]
        with pytest.raises(RuntimeError, match="legacy"):
            torch.get_float32_matmul_precision()
        yield
        torch.backends.cuda.matmul.fp32_precision = "ieee"
        torch.backends.cudnn.conv.fp32_precision = "none"  # type: ignore[attr-defined]


def products() -> tuple[str, str]:
    return torch.backends.cuda.matmul.fp32_precision, torch.backends.cudnn.conv.fp32_precision  # type: ignore[attr-defined]


@NEW_WAY
@pytest.mark.usefixtures("set_by_the_new_way")
def test_precision_that_was_set_by_the_new_way_stops_no_training() -> None:
    data, settings = problem(), Settings(epochs=1, batch_size=16)
    seen: list[tuple[str, str]] = []
    train(mlp(data), data, LW(), settings, on_epoch=lambda _: seen.append(products()))
    train_population(
        data.features,
        [Member(LW(), data.inside, settings)],
        model="linear",
        device="cpu",
        on_epoch=lambda _: seen.append(products()),
    )
    assert seen == [("ieee", "ieee")] * 2
    assert products() == ("tf32", "tf32")


@pytest.mark.parametrize(
    ("precision", "matrices", "convolutions"),
    [("float32", "highest", False), ("tf32", "high", True), ("bf16", "highest", True)],
)
@pytest.mark.filterwarnings("ignore:precision=:amongst.errors.AmongstWarning")
def test_steps_and_measures_are_in_the_precision_that_was_asked_for(
    precision: str, matrices: str, convolutions: bool
) -> None:
    """Also those that are not captured: PyTorch itself takes tf32 for convolutions, and no other."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    seen: list[tuple[Any, ...]] = []

    def look(_: Training) -> None:
        seen.append((torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32))

    data = problem()
    train(mlp(data), data, LW(), Settings(epochs=1, precision=precision), on_epoch=look)
    assert seen == [(matrices, convolutions)]
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == before


def test_threads_that_overlap_leave_products_as_they_were() -> None:
    """Fits in threads go side by side, and the first to begin may be the first to end."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    first, second = products_in("float32"), products_in("tf32")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == ("high", True)
    second.__exit__(None, None, None)
    assert (torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32) == before


class Faraway(Tensor):
    """As a tensor on a GPU, which NumPy cannot read."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy.")

    def cpu(self, *_: Any, **__: Any) -> Tensor:
        return self.as_subclass(Tensor)


def test_features_are_made_of_a_tensor_on_any_device() -> None:
    values = torch.ones(2, 3, requires_grad=True).as_subclass(Faraway)
    assert Features.of(values).values.tolist() == [[1.0] * 3] * 2
