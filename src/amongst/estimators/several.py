"""Several networks on the same rows: seeds of one estimator, or points of a search.

A linear model or MLP trains in lockstep with others of its shape, as one population; any other
network trains alone, one after another. Both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from sklearn.base import clone
from torch import nn

from amongst.candidates import CandidateSets
from amongst.engine import (
    Features,
    Settings,
    Training,
    Watch,
    as_device,
    predict_scores,
    start,
    train,
    training_data,
)
from amongst.engine.population import (
    Criterion,
    Member,
    Progress,
    population_bar,
    train_population,
)
from amongst.engine.progress import training_bar
from amongst.errors import DivergenceError, InputError
from amongst.metrics import approximated_accuracy
from amongst.models import DENSE
from amongst.rng import as_seed

if TYPE_CHECKING:
    from amongst.estimators.neural import NeuralClassifier

__all__ = ["Report", "Trained", "best_init", "in_lockstep", "lockstep_key", "train_several"]

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Report = Callable[[int, int, Mapping[str, float]], bool]
"""(which network, epoch, its values) → whether it need not go on."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A network after training.

    Attributes
    ----------
    model : in evaluation mode; None where training was stopped by a report.
    history : one row for each epoch; empty where training was stopped by a report.
    diverged : the epoch in which the loss became NaN or infinite, or None.
    """

    model: nn.Module | None
    history: pd.DataFrame
    diverged: int | None = None


class _Stopped(Exception):
    """Nothing that trains needs to go on."""


def in_lockstep(estimator: NeuralClassifier) -> bool:
    """Whether there are stacked layers for this estimator's network.

    >>> from amongst import LWClassifier
    >>> in_lockstep(LWClassifier()), in_lockstep(LWClassifier(model="convnet"))
    (True, False)
    """
    return isinstance(estimator.model, str) and estimator.model in DENSE


def lockstep_key(estimator: NeuralClassifier) -> Hashable:
    """Estimators with one key can train as one cohort: one shape, one pace.

    >>> from amongst import LWClassifier
    >>> lockstep_key(LWClassifier(lr=0.1)) == lockstep_key(LWClassifier(beta=2.0))
    True
    """
    shape = (estimator.model, repr(estimator._network_options()), estimator.scaling)
    return *shape, estimator.device, estimator.precision, estimator.epochs, estimator.batch_size


def train_several(
    estimators: Sequence[NeuralClassifier],
    X: npt.NDArray[Any],
    sets: CandidateSets,
    *,
    rows: Rows | None = None,
    held: Rows | None = None,
    criteria: Mapping[str, Criterion] | None = None,
    importance: Floats | None = None,
    lockstep: bool | None = None,
    report: Report | None = None,
) -> list[Trained]:
    """Train the networks of several estimators that differ in hyper-parameters only.

    Parameters
    ----------
    estimators : of one `lockstep_key`; they are not fitted by this.
    X, sets : validated features, shape (n, …), and candidate sets.
    rows : to train on (and to fit the scaling on); None for all.
    held : rows on which `criteria` are measured after every epoch.
    importance : factor of each row's loss, shape (n,); such networks train alone.
    lockstep : train as one population; None for wherever that is possible.
    report : called for every network after every epoch. A network that trains alone stops when it
        answers True; a population stops when it has answered True for every member.

    Examples
    --------
    >>> from amongst import LWClassifier, as_candidates
    >>> points = [LWClassifier(model="linear", epochs=2, lr=lr) for lr in (0.1, 0.01)]
    >>> sets = as_candidates(["a|b", "b", "a"])
    >>> [len(t.history) for t in train_several(points, np.eye(3), sets)]
    [2, 2]
    """
    chosen = np.arange(len(X)) if rows is None else rows
    together = in_lockstep(estimators[0]) if lockstep is None else lockstep
    task = _Task(X, sets, chosen, held, dict(criteria or {}), importance, report)
    if not together or importance is not None:
        return [_alone(i, estimator, task) for i, estimator in enumerate(estimators)]
    if len({lockstep_key(estimator) for estimator in estimators}) > 1:
        raise InputError("estimators differ in more than hyper-parameters; train them in groups.")
    return _together(estimators, task)


def best_init(
    estimator: NeuralClassifier,
    X: npt.NDArray[Any],
    sets: CandidateSets,
    settings: Settings,
    importance: Floats | None = None,
) -> tuple[Trained, Settings, npt.NDArray[np.float64]]:
    """Train from `n_init` seeds, and keep the one with the best approximated accuracy.

    The criterion needs candidate sets only; it is measured on the rows that were trained on, so
    that none are lost. The first seed is the one that `n_init=1` has.

    Returns
    -------
    The network that is kept, its settings (with its seed), and the scores of all, shape (n_init,);
    NaN for one that diverged.
    """
    if estimator.checkpoint is not None:
        raise InputError(
            f"checkpoint={estimator.checkpoint!r} keeps one run, but n_init={estimator.n_init} "
            "asks for several. Drop checkpoint, or use n_init=1."
        )
    seeds = _init_seeds(settings.seed, estimator.n_init)
    inits = [clone(estimator).set_params(random_state=seed) for seed in seeds]
    trained = train_several(inits, X, sets, importance=importance)
    scores = np.array([_plausible(estimator, item, X, sets) for item in trained])
    if np.isnan(scores).all():
        raise DivergenceError(
            f"the loss became NaN or infinite from each of n_init={estimator.n_init} seeds at "
            f"learning rate {settings.lr:g}. Try a learning rate of {settings.lr / 10:g}, or scale "
            "the features."
        )
    best = int(np.nanargmax(scores))
    return trained[best], replace(settings, seed=seeds[best]), scores


@dataclass(frozen=True, eq=False)
class _Task:
    X: npt.NDArray[Any]
    sets: CandidateSets
    rows: Rows
    held: Rows | None
    criteria: dict[str, Criterion]
    importance: Floats | None
    report: Report | None


def _together(estimators: Sequence[NeuralClassifier], task: _Task) -> list[Trained]:
    first = estimators[0]
    shift, scale = first._fit_scaling(task.X[task.rows])
    inside = torch.from_numpy(task.sets.to_mask())
    rows = torch.from_numpy(task.rows)
    seen = task.sets[task.rows]
    members = [Member(e._method(seen), inside, e._settings(len(seen)), rows) for e in estimators]
    title, shown = f"{type(first).__name__} × {len(members)}", bool(first.verbose)
    try:
        with population_bar(title, "covering", shown) as move:
            result = train_population(
                Features.of(task.X, shift, scale),
                members,
                model=first.model,
                options=first._network_options(),
                watch=_watch(task, as_device(first.device), torch.float32, shift, scale),
                device=first.device,
                on_epoch=_listener(task, len(members), move if shown else None),
            )
    except _Stopped:
        return [Trained(None, pd.DataFrame()) for _ in members]
    diverged = result.diverged
    return [Trained(result.model(i), result.history(i), diverged[i]) for i in range(len(members))]


def _listener(
    task: _Task, members: int, move: Callable[[Progress], None] | None
) -> Callable[[Progress], None]:
    done = set[int]()

    def listen(progress: Progress) -> None:
        if move is not None:
            move(progress)
        if task.report is None:
            return
        for i, row in zip(progress.indices, progress.values.tolist(), strict=True):
            if task.report(i, progress.epoch, dict(zip(progress.columns, row, strict=True))):
                done.add(i)
        if len(done) == members:
            raise _Stopped

    return listen


def _alone(which: int, estimator: NeuralClassifier, task: _Task) -> Trained:
    seen = task.sets[task.rows]
    settings, method = estimator._settings(len(seen)), estimator._method(seen)
    shift, scale = estimator._fit_scaling(task.X[task.rows])
    features = Features.of(task.X[task.rows], shift, scale)
    importance = None if task.importance is None else task.importance[task.rows]
    data = training_data(features, seen, as_device(estimator.device), importance)
    data = data.seen_in(settings.precision)
    model = estimator._build(task.X.shape[1:], task.sets.n_classes, settings)
    state = start(model, data, method, settings)
    with training_bar(method.title, settings.epochs, bool(estimator.verbose)) as move:

        def on_epoch(run: Training) -> None:
            move(run)
            if task.report is not None and task.report(which, run.epoch, run.records[-1]):
                raise _Stopped

        watch = _watch(task, data.features.device, data.features.dtype, shift, scale)
        try:
            train(model, data, method, settings, watch=watch, training=state, on_epoch=on_epoch)
        except _Stopped:
            return Trained(None, pd.DataFrame())
        except DivergenceError:
            return Trained(model.eval(), state.history, state.epoch + 1)
    return Trained(model, state.history)


def _watch(
    task: _Task, device: torch.device, dtype: torch.dtype, shift: Any, scale: Any
) -> list[Watch]:
    """The criteria on the held rows, which all networks share."""
    if task.held is None:
        return []
    features = Features.of(task.X[task.held], shift, scale).to(device, dtype)
    inside = torch.from_numpy(task.sets[task.held].to_mask()).to(device)
    return [
        Watch(name, features, partial(_measured, criterion, inside))
        for name, criterion in task.criteria.items()
    ]


def _measured(criterion: Criterion, inside: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    return criterion(scores, inside)


def _plausible(
    estimator: NeuralClassifier, trained: Trained, X: npt.NDArray[Any], sets: CandidateSets
) -> float:
    """Approximated accuracy on these rows, NaN for a network that diverged."""
    if trained.diverged is not None or trained.model is None:
        return float("nan")
    device = as_device(estimator.device)
    features = estimator._features(X).to(device)
    scores = predict_scores(trained.model.to(device, features.dtype), features)
    return float(approximated_accuracy(scores, torch.from_numpy(sets.to_mask()).to(device)))


def _init_seeds(seed: int, n: int) -> list[int]:
    children = np.random.SeedSequence(seed).spawn(n - 1)
    return [seed, *(as_seed(child) for child in children)]
