"""The training loop for one model, in small steps: `train` → `run_epoch` → `step`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from amongst.defaults import made_on_cpu
from amongst.engine.data import Features, TrainingData, check_features, weighed
from amongst.engine.devices import current, is_out_of_memory
from amongst.engine.door import (
    check_batches,
    check_columns,
    check_kind,
    check_losses,
    check_scores,
    check_trainable,
    first_weights,
    new_weights,
)
from amongst.engine.earlier import check_training, put_beside
from amongst.engine.optimizers import make_optimizer
from amongst.engine.order import batch_bounds, dropout_seed, permutation, split_seed
from amongst.engine.precision import products_in, warn_of_precision
from amongst.engine.settings import Settings, learning_rate
from amongst.engine.watch import Watch, moved
from amongst.errors import DivergenceError, InputError
from amongst.methods import Method
from amongst.models import MLP, Linear, seeded
from amongst.threads import one_thread

__all__ = ["Training", "predict_scores", "run_epoch", "start", "train"]

EVALUATION_BATCH = 1024
SHARED_FROM = 64_000_000
"""Rows of a batch × parameters from which two threads are faster than one on an idle machine; on a
busy one, threads that wait for each other at every small product are far slower."""

Stepper = Callable[[Tensor], Tensor]
"""Rows of a batch to (sum of losses, rows covered), shape (2,), after one optimiser step."""


@dataclass(eq=False)
class Training:
    """A training run at the end of some epoch: all that is needed to go on.

    Attributes
    ----------
    model, optimizer : with their present values.
    weights : the method's weights, shape (n, K), or None.
    epoch : epochs done.
    records : one dict for each epoch done.

    Examples
    --------
    >>> model = nn.Linear(2, 2)
    >>> state = Training(model, torch.optim.SGD(model.parameters()), None, records=[{"epoch": 1}])
    >>> state.history.columns.tolist()
    ['epoch']
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    weights: Tensor | None
    epoch: int = 0
    records: list[dict[str, float]] = field(default_factory=list)

    @property
    def history(self) -> pd.DataFrame:
        """One row for each epoch: epoch, lr, loss, covering rate, seconds, and what is watched."""
        return pd.DataFrame(self.records)


def train(
    model: nn.Module,
    data: TrainingData,
    method: Method,
    settings: Settings,
    *,
    watch: Sequence[Watch] = (),
    training: Training | None = None,
    on_epoch: Callable[[Training], None] | None = None,
    stepper: Stepper | None = None,
) -> Training:
    """Train one model on candidate sets.

    Parameters
    ----------
    model : maps a batch to scores (B, K); trained in place, on the device of the data.
    data : features and candidate masks.
    method, settings : what to minimise, and how.
    watch : measured after every epoch.
    training : an earlier state of this model to go on from.
    on_epoch : called after every epoch, e.g. to save a checkpoint or move a progress bar.
    stepper : what to do with the rows of a batch in place of `step`, on the state `training`. By
        default, on a GPU and where that pays, an `amongst.engine.graphs.GraphedStep`.

    Returns
    -------
    Training
        At its last epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from amongst import as_candidates
    >>> from amongst.engine import Features, training_data
    >>> from amongst.methods import LW
    >>> from amongst.models import build_model
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
    watch = moved(watch, data.features.device, data.features.dtype)
    if training is not None:
        check_training(training, model, data, method, settings)
        put_beside(training, data)
    state = training or start(model, data, method, settings)
    with _surroundings(model, data, settings):
        stepper = stepper or _fast_stepper(state, data, method, settings)
        while state.epoch < settings.epochs:
            state.records.append(run_epoch(state, data, method, settings, watch, stepper))
            state.epoch += 1
            if on_epoch is not None:
                on_epoch(state)
    state.model.eval()
    return state


@contextmanager
def _surroundings(model: nn.Module, data: TrainingData, settings: Settings) -> Iterator[None]:
    """The device, the precision of products, and the threads that a training asks for."""
    threads = one_thread() if _is_small(model, data, settings) else nullcontext()
    place = current(data.features.device)
    with made_on_cpu(), place, products_in(settings.precision), threads:
        yield


def _is_small(model: nn.Module, data: TrainingData, settings: Settings) -> bool:
    """Whether a step on a CPU is too small to be shared by threads; of other networks nobody knows."""
    dense = isinstance(model, Linear | MLP) and data.features.device.type == "cpu"
    return dense and settings.batch_size * sum(p.numel() for p in model.parameters()) < SHARED_FROM


def start(model: nn.Module, data: TrainingData, method: Method, settings: Settings) -> Training:
    """The state before the first epoch, the model on the device and in the precision of training.

    >>> from amongst.methods import LW
    >>> data = TrainingData(Features(torch.eye(2)), torch.tensor([[True, False], [True, True]]))
    >>> start(nn.Linear(2, 2), data, LW(), Settings()).weights
    tensor([[1.0000, 1.0000],
            [0.5000, 0.5000]])
    """
    data = _settled(model, data, method, settings)
    weights = first_weights(method, data.inside)
    if weights is not None:
        weights = weights.to(data.features.dtype)
    return Training(model, make_optimizer(model, settings), weights)


def _settled(
    model: nn.Module, data: TrainingData, method: Method, settings: Settings
) -> TrainingData:
    """The data in the precision of training, and the model put beside them."""
    check_kind("model", model, nn.Module)
    check_kind("data", data, TrainingData)
    check_kind("method", method, Method)
    check_kind("settings", settings, Settings)
    check_trainable(model)
    check_batches(model, len(data), settings)
    data = data.seen_in(settings.precision)
    model.to(data.features.device, data.features.dtype)
    return data


def run_epoch(
    state: Training,
    data: TrainingData,
    method: Method,
    settings: Settings,
    watch: Sequence[Watch] = (),
    stepper: Stepper | None = None,
) -> dict[str, float]:
    """One pass over the rows, in this epoch's order; returns the epoch's record.

    >>> from amongst.methods import CC
    >>> data = TrainingData(Features(torch.eye(2)), torch.eye(2, dtype=torch.bool))
    >>> settings = Settings(epochs=2)
    >>> state = start(nn.Linear(2, 2), data, CC(), settings)
    >>> sorted(run_epoch(state, data, CC(), settings))
    ['covering', 'epoch', 'loss', 'lr', 'seconds']
    """
    began = time.perf_counter()
    lr = learning_rate(settings, state.epoch)
    for group in state.optimizer.param_groups:
        group["lr"] = lr
    state.model.train()
    now = method.at(state.epoch / settings.epochs)
    advance = stepper or (lambda rows: step(state, data, rows, now, settings))
    totals = torch.zeros(2, device=data.features.device, dtype=torch.float64)
    with seeded(dropout_seed(settings.seed, state.epoch), data.features.device):
        for rows in _batches(data, settings, state.epoch):
            totals += advance(rows)
    if method.when == "epoch":
        _refresh_all(state, data, method, settings)
    loss, covering = (totals / len(data)).tolist()
    if what := _divergence(loss, state):
        raise DivergenceError(
            f"{what} at learning rate {lr:g} ({method.name}, {settings.optimizer}). "
            f"{_remedy(data.features, lr)}"
        )
    record = {"epoch": state.epoch + 1, "lr": lr, "loss": loss, "covering": covering}
    record |= _measured(state.model, watch, settings)
    return record | {"seconds": time.perf_counter() - began}


def _divergence(loss: float, state: Training) -> str:
    """What became NaN or infinite in this epoch; empty if nothing did."""
    if not math.isfinite(loss):
        return f"the loss became {loss} in epoch {state.epoch + 1}"
    if not _is_finite(state.model):
        return f"the last step of epoch {state.epoch + 1} made a parameter NaN or infinite"
    return ""


def _is_finite(model: nn.Module) -> bool:
    """Whether the parameters are numbers still: no loss tells of what the last step did to them."""
    return all(bool(p.isfinite().all()) for p in model.parameters() if p.requires_grad)


def _remedy(features: Features, lr: float) -> str:
    wrong = ~torch.isfinite(features.values).flatten(1).all(1)
    if wrong.any():
        return f"Row {int(wrong.nonzero()[0])} of the features contains NaN or infinity: mend or drop it."
    return f"Try a learning rate of {lr / 10:g}, or scale the features."


def step(
    state: Training, data: TrainingData, rows: Tensor, method: Method, settings: Settings
) -> Tensor:
    """One optimiser step on these rows; returns (sum of losses, rows covered), shape (2,)."""
    x, inside = data.features.batch(rows), data.inside[rows]
    weights = None if state.weights is None else state.weights[rows]
    scores = _forward(state.model, x, settings)
    check_scores(scores, inside)
    scores = scores.to(data.features.dtype)
    losses = method.loss(scores, inside, weights)
    check_losses(losses, inside, method)
    losses = weighed(losses, data.importance_of(rows))
    state.optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(losses.mean())
    state.optimizer.step()
    with torch.no_grad():
        _refresh_rows(state, x, scores.detach(), inside, rows, method, settings)
        covered = inside.gather(-1, scores.argmax(-1, keepdim=True)).sum()
        return torch.stack((losses.detach().sum(), covered)).double()


def _forward(model: nn.Module, x: Tensor, settings: Settings) -> Tensor:
    """Scores; what a module of a person's own cannot take is told in one sentence."""
    try:
        with _autocast(x.device, settings):
            scores: Tensor = model(x)
            return scores
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        if is_out_of_memory(error):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(
            f"the model cannot score a batch of shape {tuple(x.shape)} and type {x.dtype}: {reason}."
        ) from error


def _fast_stepper(
    state: Training, data: TrainingData, method: Method, settings: Settings
) -> Stepper | None:
    """A captured step, on a GPU and where that pays."""
    if data.features.device.type != "cuda":
        return None
    from amongst.engine.graphs import graphed_step  # it builds on this module

    return graphed_step(state, data, method, settings)


@torch.no_grad()
def predict_scores(
    model: nn.Module, features: Features, settings: Settings | None = None
) -> Tensor:
    """Scores (n, K) of all rows, the model in evaluation mode, on its device; in float64 if it is.

    >>> from amongst.models import build_model
    >>> import numpy as np
    >>> predict_scores(build_model("linear", (2,), 3, seed=0), Features.of(np.zeros((5, 2)))).shape
    torch.Size([5, 3])
    """
    check_features("features", features)
    was_training = model.training
    model.eval()
    device = next((p.device for p in model.parameters()), features.device)
    is_double = any(p.dtype == torch.float64 for p in model.parameters())
    dtype = torch.float64 if is_double else features.dtype
    chunks = []
    for a in range(0, len(features), EVALUATION_BATCH):
        x = features.batch(slice(a, a + EVALUATION_BATCH)).to(device, dtype)
        with _autocast(x.device, settings):
            chunks.append(model(x).to(dtype))
    model.train(was_training)
    return torch.cat(chunks)


def _measured(model: nn.Module, watch: Sequence[Watch], settings: Settings) -> dict[str, float]:
    """What is watched; things that look at one set of rows share its scores."""
    scored: dict[int, Tensor] = {}
    record = {}
    for item in watch:
        if id(item.features) not in scored:
            scored[id(item.features)] = predict_scores(model, item.features, settings)
        record[item.name] = float(item.value(scored[id(item.features)]))
    return record


def _refresh_rows(
    state: Training,
    x: Tensor,
    scores: Tensor,
    inside: Tensor,
    rows: Tensor,
    method: Method,
    settings: Settings,
) -> None:
    if state.weights is None or method.when not in ("same", "post"):
        return
    if method.when == "post":
        with _autocast(x.device, settings):
            scores = state.model(x).to(scores.dtype)
    state.weights[rows] = new_weights(method, scores, inside, state.weights[rows])


def _refresh_all(state: Training, data: TrainingData, method: Method, settings: Settings) -> None:
    """In place: a captured graph reads the weights where they are."""
    assert state.weights is not None
    scores = predict_scores(state.model, data.features, settings)
    state.weights.copy_(new_weights(method, scores, data.inside, state.weights))


def _batches(data: TrainingData, settings: Settings, epoch: int) -> Iterator[Tensor]:
    order = permutation(split_seed(settings.seed)[1], epoch, len(data), data.features.device)
    for a, b in batch_bounds(len(data), settings.batch_size):
        yield order[a:b]


def _autocast(device: torch.device, settings: Settings | None) -> AbstractContextManager[Any]:
    if settings is not None and settings.precision == "bf16" and device.type == "cuda":
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return nullcontext()
