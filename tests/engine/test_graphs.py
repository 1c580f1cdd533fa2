"""The captured step does what the plain one does; on a CPU its operations run uncaptured."""

from __future__ import annotations

import gc
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from amongst.accel.graphs import GraphedStep, graphed_step
from amongst.algorithms import CC, LW, RC, Method
from amongst.algorithms._base import changed_beyond_leaves
from amongst.errors import InputError
from amongst.models import build_model
from amongst.train import Features, Settings, Training, TrainingData, start, train
from amongst.train.checkpoint import load_checkpoint, save_checkpoint

K = 4
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
METHODS: tuple[Method, ...] = (
    LW(),
    LW(psi="sigmoid", refresh="epoch"),
    LW(beta=8.0, fade=0.9),
    RC(),
    CC(),
)


def problem(device: str, shape: tuple[int, ...] = (6,), n: int = 70) -> TrainingData:
    generator = torch.Generator().manual_seed(0)
    inside = torch.rand(n, K, generator=generator) < 0.4
    inside[torch.arange(n), torch.randint(K, (n,), generator=generator)] = True
    features = Features(torch.randn(n, *shape, generator=generator)).to(device)
    return TrainingData(features, inside.to(device))


def trained(
    data: TrainingData,
    method: Method,
    settings: Settings,
    fast: bool | dict[str, object] | None,
    tune: int | None = 10,
) -> Training:
    """By plain steps (None) or by a `GraphedStep`, compiled or not."""
    images = len(data.features.shape) == 3
    options = {} if images else {"widths": (8, 7)}
    model = build_model("convnet" if images else "mlp", data.features.shape, K, seed=1, **options)
    for layer in model.modules():
        if hasattr(layer, "p"):
            layer.p = 0.0  # dropout draws other numbers when it is compiled
    state = start(model.to(data.features.device), data, method, settings)
    if fast is None:

        def plain(rows: Tensor) -> Tensor:
            from amongst.train.loop import step

            return step(state, data, rows)

        return train(model, data, method, settings, training=state, stepper=plain)
    stepper = GraphedStep(state, data, settings, compile=fast, tune=tune)
    return train(model, data, method, settings, training=state, stepper=stepper)


def distance(left: nn.Module, right: nn.Module) -> float:
    a, b = (
        torch.cat([v.double().cpu().flatten() for v in m.state_dict().values()])
        for m in (left, right)
    )
    return float((a - b).norm() / b.norm())


def assert_same(fast: Training, slow: Training, tolerance: float) -> None:
    assert distance(fast.model, slow.model) < tolerance
    for ours, theirs in zip(fast.records, slow.records, strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=100 * tolerance)
    if slow.weights is not None:
        torch.testing.assert_close(fast.weights, slow.weights, rtol=1e-2, atol=100 * tolerance)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_its_operations_are_those_of_a_plain_step(method: Method, optimizer: str) -> None:
    """With a batch that does not divide the rows (70 = 4 · 16 + 6) and a falling learning rate."""
    data = problem("cpu")
    settings = Settings(epochs=2, batch_size=16, lr=0.01, optimizer=optimizer, schedule="proden")
    fast, slow = (trained(data, method, settings, way) for way in (False, None))
    assert_same(fast, slow, 1e-6)


def test_going_on_from_a_checkpoint_takes_the_optimisers_state_along() -> None:
    data, settings = problem("cpu"), Settings(epochs=4, batch_size=16)
    whole = trained(data, LW(), settings, None)
    half = trained(data, LW(), replace(settings, epochs=2), None)
    stepper = GraphedStep(half, data, settings, compile=False)
    again = train(half.model, data, LW(), settings, training=half, stepper=stepper)
    assert distance(again.model, whole.model) < 1e-6


def resumed(data: TrainingData, settings: Settings, path: Path) -> tuple[Training, GraphedStep]:
    """Half of a training by captured steps, its file, and a new process's state and step."""
    half = trained(data, LW(), replace(settings, epochs=settings.epochs // 2), False, tune=None)
    save_checkpoint(path, half, "mark")
    model = build_model("convnet", data.features.shape, K, seed=2)
    state = start(model.to(data.features.device), data, LW(), settings)
    load_checkpoint(path, state, "mark")
    for layer in model.modules():
        if hasattr(layer, "p"):
            layer.p = 0.0
    return state, GraphedStep(state, data, settings, compile=False, tune=None)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_moments_from_a_file_lie_in_memory_as_their_parameters_do(
    optimizer: str, tmp_path: Path
) -> None:
    settings = Settings(epochs=2, batch_size=4, lr=0.01, optimizer=optimizer)
    state, _ = resumed(problem("cpu", (3, 28, 28), n=4), settings, tmp_path / "half.amongst")
    moments = [
        (parameter, value)
        for parameter, slots in state.optimizer.state.items()
        for value in slots.values()
        if value.shape == parameter.shape
    ]
    assert any(not parameter.is_contiguous() for parameter, _ in moments)
    for parameter, value in moments:
        assert value.stride() == parameter.stride()


@GPU
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_convnet_goes_on_from_its_file(
    optimizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By cuDNN's repeatable algorithms: a last digit grows to 6 % of the parameters in these steps."""
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    data = problem("cuda", (3, 28, 28), n=40)
    settings = Settings(epochs=4, batch_size=16, lr=0.01, optimizer=optimizer)
    whole = trained(data, LW(), settings, False, tune=None)
    state, stepper = resumed(data, settings, tmp_path / "half.amongst")
    again = train(state.model, data, LW(), settings, training=state, stepper=stepper)
    assert distance(again.model, whole.model) == 0.0


@dataclass(frozen=True)
class Growing(LW):
    """Changes a number that is no leaf."""

    power: float = 1.0

    def at(self, progress: float) -> Growing:
        return replace(self, power=1.0 + progress)


def test_a_method_that_changes_in_other_ways_is_not_captured() -> None:
    assert changed_beyond_leaves(LW(fade=0.5)) == []
    assert changed_beyond_leaves(Growing()) == ["power"]


@dataclass(frozen=True)
class Summed(LW):
    """A loss of one value for the whole batch, which would be taken for its mean."""

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        return super().loss(scores, inside, weights).sum()


@dataclass(frozen=True)
class Spread(LW):
    """New weights of one row, which would be spread over the batch."""

    def update(self, scores: Tensor, inside: Tensor) -> Tensor:
        return super().update(scores, inside)[:1]


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (Summed(), r"the loss of the method 'lw' gives a tensor of shape \(\)"),
        (Spread(), r"update\(scores, inside\) of the method 'lw' gives a tensor of shape \(1, 4\)"),
        (Spread(refresh="post"), r"update\(scores, inside\).*of shape \(1, 4\)"),
    ],
)
def test_shapes_that_would_broadcast_are_refused_as_by_a_plain_step(
    method: Method, told: str
) -> None:
    data, settings = problem("cpu"), Settings(epochs=1, batch_size=16)
    for way in (False, None):
        with pytest.raises(InputError, match=told):
            trained(data, method, settings, way)


def test_it_is_chosen_on_a_gpu_only() -> None:
    data, settings = problem("cpu"), Settings(epochs=1000, batch_size=16)
    state = start(build_model("mlp", (6,), K, seed=0), data, LW(), settings)
    assert graphed_step(state, data, settings) is None


COMPILER = pytest.mark.skipif(
    shutil.which("g++") is None or " " in torch.__file__,
    reason="needs a C++ compiler; torch quotes no path, so one without a space",
)


@COMPILER
@torch._dynamo.config.patch(recompile_limit=1)
def test_every_method_is_compiled_and_the_network_once() -> None:
    """torch.compile gives a function up after eight programs; numbers of a method are no program of
    their own."""
    torch.compiler.reset()
    counters = torch._dynamo.utils.counters["stats"]
    data, settings = problem("cpu"), Settings(epochs=1, batch_size=35, lr=0.01)
    programs = []
    for method in (LW(), LW(beta=2.0), LW(psi="sigmoid"), LW(psi="sigmoid", beta=0.5), CC()):
        before = counters["unique_graphs"]
        fast, slow = (trained(data, method, settings, way) for way in (True, None))
        programs.append(counters["unique_graphs"] - before)
        assert_same(fast, slow, 1e-5)
    assert programs == [2, 0, 1, 0, 1]


@COMPILER
def test_the_second_pass_of_a_method_is_compiled_too() -> None:
    """Three programs: the network with slopes and without, and the loss."""
    torch.compiler.reset()
    counters = torch._dynamo.utils.counters["stats"]
    before = counters["unique_graphs"]
    data, settings = problem("cpu"), Settings(epochs=2, batch_size=35, lr=0.01, optimizer="adam")
    fast, slow = (trained(data, RC(), settings, way) for way in (True, None))
    assert counters["unique_graphs"] - before == 3
    assert_same(fast, slow, 1e-5)


@GPU
@pytest.mark.parametrize("method", METHODS[:4], ids=str)
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_captured_mlp_equals_plain_steps(method: Method, optimizer: str) -> None:
    data = problem("cuda")
    settings = Settings(epochs=3, batch_size=16, lr=0.01, optimizer=optimizer)
    fast, slow = (trained(data, method, settings, way) for way in (False, None))
    assert_same(fast, slow, 1e-5)


@GPU
@pytest.mark.parametrize("method", [LW(), RC()], ids=str)
def test_a_captured_and_compiled_convnet_equals_plain_steps(method: Method) -> None:
    data = problem("cuda", (3, 28, 28), n=40)
    settings = Settings(epochs=1, batch_size=16, lr=0.001)
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        slow = trained(data, method, settings, None)
        for way in (False, True):
            assert_same(trained(data, method, settings, way), slow, 1e-3)


@GPU
def test_the_garbage_of_an_earlier_training_does_not_stop_a_capture() -> None:
    """A step in a cycle is freed by the collector, which may come at any moment."""
    data, settings = problem("cuda"), Settings(epochs=2, batch_size=16, lr=0.01)
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(5):
            trained(data, RC(), settings, False)
    finally:
        gc.set_threshold(*thresholds)


@GPU
def test_train_takes_it_by_itself() -> None:
    data, settings = problem("cuda"), Settings(epochs=30, batch_size=16)
    model = build_model("mlp", (6,), K, seed=0).cuda()
    state = start(model, data, LW(), settings)
    assert isinstance(graphed_step(state, data, settings), GraphedStep)
    own = start(nn.Linear(6, K).cuda(), data, LW(), settings)
    assert graphed_step(own, data, settings) is None
