"""The one training loop: `train` → `run_epoch` → `step`, whatever the algorithm.

A batch goes: rows of this epoch's order → `Features.batch` → views → `Algorithm.training_step` → the
optimiser → `Algorithm.after_step`. What looks on is a `Callback`.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from amongst.algorithms import Algorithm, Batch, LossAlgorithm, Method, Recipe
from amongst.algorithms._base import check_losses, warn_unused
from amongst.data.features import Features
from amongst.devices import (
    autocast,
    convolutions_tuned,
    current,
    dropout_seed,
    made_on_cpu,
    one_thread,
    permutation,
    products_in,
    split_seed,
    threads_that_are_there,
    warn_of_precision,
)
from amongst.errors import DivergenceError, InputError, named
from amongst.models import MLP, ConvNet, ImageNetwork, Linear, may_draw, seeded
from amongst.train.averages import Averages
from amongst.train.callbacks import Watch, Watching, moved
from amongst.train.checkpoint import check_training
from amongst.train.run import (
    STEPWISE,
    Callback,
    Settings,
    Training,
    TrainingData,
    batch_bounds,
    learning_rate,
    predict_scores,
    weighed,
)
from amongst.train.views import Augment, as_augment, views_of

SHARED_FROM = 64_000_000
"""Rows of a batch × parameters from which two threads are faster than one on an idle machine; on a
busy one, threads that wait for each other at every small product are far slower."""

ACCELERATOR = "amongst.accel.graphs"
"""The module whose `graphed_step` captures steps on a GPU: it stands above this room."""

Stepper = Callable[[Tensor], Tensor]
"""Rows of a batch to (sum of losses, rows covered), shape (2,), after one optimiser step."""

SAMPLE = 5000
"""Rows, at most about, that a network for images is shown before it trains."""


def train(
    model: nn.Module,
    data: TrainingData,
    method: Recipe,
    settings: Settings,
    *,
    watch: Sequence[Watch] = (),
    training: Training | None = None,
    on_epoch: Callable[[Training], None] | None = None,
    stepper: Stepper | None = None,
    callbacks: Sequence[Callback] = (),
    augment: Augment | str | Sequence[str] | None = None,
) -> Training:
    """Train one model on candidate sets.

    Parameters
    ----------
    model : maps a batch to scores (B, K); trained in place, on the device of the data.
    data : features and candidate masks.
    method, settings : what trains it, a `Method` or an `Algorithm`, and how.
    watch : measured after every epoch.
    training : an earlier state of this model to go on from.
    on_epoch : called after every epoch, e.g. to save a checkpoint or move a progress bar.
    stepper : what to do with the rows of a batch in place of `step`, on the state `training`. By
        default, on a GPU and where that pays, an `amongst.accel.graphs.GraphedStep`.
    callbacks : what looks on; see `Callback`.
    augment : gives the views of a batch: a text or a list of steps, see `amongst.train.views`, or a
        callable that is called for each view; None for the rows as they are.

    Returns
    -------
    Training
        At its last epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from amongst import as_candidates
    >>> from amongst.algorithms import LW
    >>> from amongst.models import build_model
    >>> from amongst.train import Features, training_data
    >>> x = np.repeat(np.eye(3), 4, axis=0)
    >>> data = training_data(Features.of(x), as_candidates([{0, 1}, {0}, {0, 2}, {0}] * 3))
    >>> model = build_model("linear", (3,), 3, seed=0)
    >>> run = train(model, data, LW(), Settings(epochs=3, batch_size=4))
    >>> run.history.columns.tolist()
    ['epoch', 'lr', 'loss', 'covering', 'seconds']
    """
    data = _settled(model, data, method, settings)
    check_columns(item.name for item in watch)
    warn_of_precision(settings.precision, data.features.device)
    if training is not None:
        check_training(training, model, data, method, settings)
    run = training or start(model, data, method, settings)
    run.settings = settings
    augment = None if augment is None else as_augment(augment)
    if run.averages is not None:
        run.averages.show(False)
    watch = moved(watch, data.features.device, data.features.dtype) if watch else watch
    looking = [Watching(watch), *callbacks] if watch else callbacks
    try:
        for callback in looking:
            callback.begin(run)
        with _surroundings(model, data, settings):
            advance = stepper or _fast_stepper(run, data, settings, augment)
            while run.epoch < settings.epochs and not run.stopped:
                record = run_epoch(run, data, method, settings, (), advance, looking, augment)
                run.records.append(record)
                run.epoch += 1
                if on_epoch is not None:
                    on_epoch(run)
                for callback in callbacks:
                    callback.after_epoch(run)
    except KeyboardInterrupt:
        survived = [callback.interrupted(run) for callback in callbacks]
        if not any(survived):
            raise
    finally:
        for callback in callbacks:
            callback.close()
    run.algorithm.eval()
    for callback in callbacks:
        callback.end(run)
    if run.averages is not None:
        run.averages.show()
    return run


@contextmanager
def _surroundings(model: nn.Module, data: TrainingData, settings: Settings) -> Iterator[None]:
    """The device, the precision of products, and the threads that a training asks for."""
    threads = one_thread() if _is_small(model, data, settings) else threads_that_are_there()
    place = current(data.features.device)
    tuned = convolutions_tuned(isinstance(model, ImageNetwork))
    with made_on_cpu(), place, products_in(settings.precision), tuned, threads:
        yield


def _is_small(model: nn.Module, data: TrainingData, settings: Settings) -> bool:
    """Whether a step on a CPU is too small to be shared by threads; of other networks nobody knows."""
    dense = isinstance(model, Linear | MLP) and data.features.device.type == "cpu"
    return dense and settings.batch_size * sum(p.numel() for p in model.parameters()) < SHARED_FROM


def start(model: nn.Module, data: TrainingData, method: Recipe, settings: Settings) -> Training:
    """The state before the first epoch, the model on the device and in the precision of training.

    >>> from amongst.algorithms import LW
    >>> data = TrainingData(Features(torch.eye(2)), torch.tensor([[True, False], [True, True]]))
    >>> start(nn.Linear(2, 2), data, LW(), Settings()).weights
    tensor([[1.0000, 1.0000],
            [0.5000, 0.5000]])
    """
    data = _settled(model, data, method, settings)
    if isinstance(model, ImageNetwork):
        model.prepare(data.features.batch(slice(None, None, -(-len(data) // SAMPLE))))
    with seeded(split_seed(settings.seed)[0], data.features.device):
        algorithm = _begun(model, data, method)
    run = Training(algorithm, make_optimizer(algorithm, settings), settings)
    if settings.lookahead or settings.averaged:
        run.averages = Averages(algorithm, settings)
    return run


def _begun(model: nn.Module, data: TrainingData, method: Recipe) -> Algorithm:
    """The algorithm before its first step; weights of candidates for which it has no place are named."""
    if data.known is not None and not method.uses_prior:
        warn_unused(method.title)
    if isinstance(method, Method) and data.known is not None:
        return method.begin(model, data.inside, data.features.dtype, data.known)
    return method.begin(model, data.inside, data.features.dtype)


def _settled(
    model: nn.Module, data: TrainingData, method: Recipe, settings: Settings
) -> TrainingData:
    """The data in the precision of training, and the model put beside them."""
    check_kind("model", model, nn.Module)
    check_kind("data", data, TrainingData)
    check_kind("method", method, Recipe)
    check_kind("settings", settings, Settings)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise InputError("the model has no parameter to train: none has requires_grad=True.")
    check_batches(model, len(data), settings)
    data = data.seen_in(settings.precision)
    model.to(data.features.device, data.features.dtype)
    return data


def run_epoch(
    state: Training,
    data: TrainingData,
    method: Recipe,
    settings: Settings,
    watch: Sequence[Watch] = (),
    stepper: Stepper | None = None,
    callbacks: Sequence[Callback] = (),
    augment: Augment | None = None,
) -> dict[str, float]:
    """One pass over the rows, in this epoch's order; returns the epoch's record.

    >>> from amongst.algorithms import CC
    >>> data = TrainingData(Features(torch.eye(2)), torch.eye(2, dtype=torch.bool))
    >>> settings = Settings(epochs=2)
    >>> state = start(nn.Linear(2, 2), data, CC(), settings)
    >>> sorted(run_epoch(state, data, CC(), settings))
    ['covering', 'epoch', 'loss', 'lr', 'seconds']
    """
    began, algorithm = time.perf_counter(), state.algorithm
    state.adopt(method)
    lr = learning_rate(settings, state.epoch)
    set_rate(state.optimizer, lr)
    algorithm.train()
    advance = stepper or (lambda rows: step(state, data, rows, augment))
    totals = torch.zeros(2, device=data.features.device, dtype=torch.float64)
    n_steps = len(batch_bounds(len(data), settings.batch_size))
    with _drawing(state, data, augment):
        for done, rows in enumerate(_batches(data, settings, state.epoch)):
            if settings.schedule in STEPWISE:
                set_rate(state.optimizer, learning_rate(settings, state.epoch + done / n_steps))
            totals += advance(rows)
            if state.averages is not None:
                state.averages.step(state.epoch * n_steps + done + 1, settings.epochs * n_steps)
        with torch.no_grad():
            seen = _AllRows(data.inside, data.features, settings, data.known)
            algorithm.after_epoch(seen, (state.epoch + 1) / settings.epochs)
    loss, covering = (totals / len(data)).tolist()
    if what := _divergence(loss, state):
        raise DivergenceError(
            f"{what} at learning rate {lr:g} ({method.name}, {settings.optimizer}).",
            code="diverged",
            remedy=_remedy(data.features, lr),
        )
    record = {"epoch": state.epoch + 1, "lr": lr, "loss": loss, "covering": covering}
    for callback in (Watching(watch), *callbacks) if watch else callbacks:
        record |= callback.measure(state)
    return record | {"seconds": time.perf_counter() - began}


def _drawing(
    state: Training, data: TrainingData, augment: Augment | None
) -> AbstractContextManager[None]:
    """The epoch's random numbers, for one thread at a time; where none can be drawn, threads go side by
    side. A loss that is known by its form draws none."""
    algorithm = state.algorithm
    calm = isinstance(algorithm, LossAlgorithm) and algorithm.method.loss_form is not None
    if calm and augment is None and not may_draw(algorithm.network):
        return nullcontext()
    return seeded(dropout_seed(state.settings.seed, state.epoch), data.features.device)


def step(
    state: Training, data: TrainingData, rows: Tensor, augment: Augment | None = None
) -> Tensor:
    """One optimiser step on these rows; returns (sum of losses, rows covered), shape (2,)."""
    algorithm, settings = state.algorithm, state.settings
    batch = batch_of(state, data, rows, augment)
    with autocast(batch.x.device, settings.precision):
        losses, scores = algorithm.training_step(batch)
    check_losses(losses, batch.inside, algorithm.name)
    if settings.label_smoothing:
        losses = smoothed(losses, scores, settings.label_smoothing, algorithm.name)
    losses = weighed(losses, batch.importance)
    state.optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(losses.mean())
    state.optimizer.step()
    with torch.no_grad(), autocast(batch.x.device, settings.precision):
        algorithm.after_step(batch, scores.detach())
        covered = batch.inside.gather(-1, scores.argmax(-1, keepdim=True)).sum()
        return torch.stack((losses.detach().sum(), covered)).double()


def smoothed(losses: Tensor, scores: Tensor, share: float, name: str) -> Tensor:
    """(1 − ε) · losses − ε/K · Σ_z log p_z, shape (B,); see `Settings`.

    >>> scores = torch.zeros(1, 2, requires_grad=True)
    >>> smoothed(torch.zeros(1), scores, 0.5, "cc").detach()
    tensor([0.3466])
    """
    if not scores.requires_grad:
        raise InputError(
            f"has no effect on the algorithm {name!r}, whose scores carry no gradient.",
            code="no-effect",
            argument="label_smoothing",
            got=share,
            remedy=f"use {named('label_smoothing', 0)}",
        )
    even = -scores.to(losses.dtype).log_softmax(-1).mean(-1)
    return losses.lerp(even, share)


def batch_of(
    state: Training, data: TrainingData, rows: Tensor, augment: Augment | None = None
) -> Batch:
    """These rows as the algorithm sees them."""
    x, n = data.features.batch(rows), state.algorithm.views
    views = (x,) * n if augment is None else views_of(augment, x, n, rows, state.epoch)
    progress = state.epoch / state.settings.epochs
    known, importance = data.known_of(rows), data.importance_of(rows)
    return Batch(views, data.inside[rows], rows, progress, importance, known)


@dataclass(frozen=True, eq=False)
class _AllRows:
    """The training rows, for `Algorithm.after_epoch`."""

    inside: Tensor
    features: Features
    settings: Settings
    known: Tensor | None

    def __len__(self) -> int:
        return len(self.inside)

    def scores(self, network: nn.Module) -> Tensor:
        return predict_scores(network, self.features, self.settings)


def _divergence(loss: float, state: Training) -> str:
    """What became NaN or infinite in this epoch; empty if nothing did."""
    if not math.isfinite(loss):
        return f"the loss became {loss} in epoch {state.epoch + 1}"
    if not is_finite(state.algorithm):
        return f"the last step of epoch {state.epoch + 1} made a parameter NaN or infinite"
    return ""


def is_finite(model: nn.Module) -> bool:
    """Whether the parameters are numbers still: no loss tells of what the last step did to them."""
    found = [p.isfinite().all() for p in model.parameters() if p.requires_grad]
    return not found or bool(torch.stack(found).all())


def _remedy(features: Features, lr: float) -> str:
    wrong = ~torch.isfinite(features.values).reshape(len(features.values), -1).all(1)
    if wrong.any():
        return f"Row {int(wrong.nonzero()[0])} of the features contains NaN or infinity: mend or drop it."
    return f"Try a learning rate of {lr / 10:g}, or scale the features."


def _fast_stepper(
    run: Training, data: TrainingData, settings: Settings, augment: Augment | None
) -> Stepper | None:
    """A captured step, on a GPU and where that pays."""
    plain = settings.plain and type(data.features) is Features
    if data.features.device.type != "cuda" or augment is not None or not plain:
        return None
    found: Stepper | None = import_module(ACCELERATOR).graphed_step(run, data, settings)
    return found


def _batches(data: TrainingData, settings: Settings, epoch: int) -> Iterator[Tensor]:
    order = permutation(split_seed(settings.seed)[1], epoch, len(data), data.features.device)
    for a, b in batch_bounds(len(data), settings.batch_size):
        yield order[a:b]


def make_optimizer(algorithm: Algorithm, settings: Settings) -> torch.optim.Optimizer:
    """The optimiser of these settings, over the algorithm's parameters.

    On a CPU PyTorch's fused one, which reads and writes each parameter once a step; of a person's own
    network nobody knows whether it can take that (sparse gradients cannot).

    >>> from amongst.algorithms import CC, LossAlgorithm
    >>> algorithm = LossAlgorithm(torch.nn.Linear(2, 2), CC(), None)
    >>> type(make_optimizer(algorithm, Settings(optimizer="adam"))).__name__
    'Adam'
    """
    shared: dict[str, Any] = {"lr": settings.lr, "weight_decay": settings.weight_decay}
    parameters = list(algorithm.parameters())
    known = isinstance(getattr(algorithm, "network", None), Linear | MLP | ConvNet)
    if known and isinstance(algorithm, LossAlgorithm) and parameters[0].device.type == "cpu":
        shared["fused"] = True
    groups = parameters if settings.bias_lr == 1 else _by_rate(algorithm, settings)
    if settings.optimizer == "adam":
        return torch.optim.Adam(groups, **shared)
    return torch.optim.SGD(groups, momentum=settings.momentum, nesterov=settings.nesterov, **shared)


def _by_rate(algorithm: Algorithm, settings: Settings) -> list[dict[str, Any]]:
    """Biases of batch normalisation, of a higher rate but the same decay a step, and the rest."""
    norms = (m for m in algorithm.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm))
    biases = [m.bias for m in norms if m.bias is not None and m.bias.requires_grad]
    known, factor = {id(bias) for bias in biases}, settings.bias_lr
    rest = [p for p in algorithm.parameters() if id(p) not in known]
    quick = {"lr": settings.lr * factor, "weight_decay": settings.weight_decay / factor}
    return [{"params": rest}, *([{"params": biases, **quick, "factor": factor}] if biases else [])]


def set_rate(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """This learning rate, times a group's own factor."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group["factor"] if "factor" in group else lr


COLUMNS = ("epoch", "lr", "loss", "covering", "seconds")
"""What a history always has."""

MADE_BY: dict[type, str] = {
    nn.Module: "build_model('mlp', features.shape, n_classes, seed=0)",
    TrainingData: "training_data(Features.of(X), candidates)",
    Recipe: "LW()",
    Settings: "Settings(epochs=10)",
}


def check_kind(name: str, value: Any, kind: type) -> None:
    """An argument of the right class, and no class itself.

    >>> check_kind("method", "lw", Recipe)
    Traceback (most recent call last):
    amongst.errors.InputError: method='lw' must be a Method or an Algorithm, such as LW().
    """
    if not isinstance(value, kind):
        is_short = isinstance(value, str | type)
        given = f"{name}={value!r}" if is_short else f"{name} is a {type(value).__name__}; it"
        called = "Method or an Algorithm" if kind is Recipe else kind.__name__
        raise InputError(f"{given} must be a {called}, such as {MADE_BY[kind]}.", code="type")


def check_columns(names: Iterable[str]) -> None:
    """Names of what is watched differ from each other and from what a history always has.

    >>> check_columns(["accuracy", "loss"])
    Traceback (most recent call last):
    amongst.errors.InputError: two columns of the history would be called 'loss'; give what is watched a name of its own.
    """
    name, times = Counter([*COLUMNS, *names]).most_common(1)[0]
    if times > 1:
        raise InputError(
            f"two columns of the history would be called {name!r}; give what is watched a name of "
            "its own."
        )


def check_batches(model: nn.Module, n: int, settings: Settings) -> None:
    """Batch normalisation needs two rows in every batch."""
    smallest = min(b - a for a, b in batch_bounds(n, settings.batch_size))
    normalises = any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in model.modules())
    if smallest < 2 and normalises:
        raise InputError(
            f"a batch of one row ({n} rows, {named('batch_size', settings.batch_size)}) is too small "
            "for batch normalisation, which needs two.",
            code="small-batch",
            remedy=(f"raise {named('batch_size')}", "add rows", f"use {named('model', 'linear')}"),
        )
