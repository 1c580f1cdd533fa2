"""Several fits of one estimator: seeds, points of a search, or folds, each judged on rows it has not seen.

A linear model or MLP trains in lockstep with others of its shape, as one population; any other
network trains alone, one after another. Both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from torch import nn

from amongst.accel.population import (
    Criterion,
    Member,
    Progress,
    population_bar,
    train_population,
)
from amongst.candidates import CandidateSets
from amongst.checks import as_seed, check_integer
from amongst.data import stratified_folds
from amongst.devices import as_device, made_on_cpu
from amongst.errors import AmongstError, AmongstWarning, DivergenceError, InputError, named, warn
from amongst.estimators.inputs import Floats
from amongst.metrics import approximated_accuracy
from amongst.train import (
    Callback,
    Features,
    Report,
    Settings,
    Training,
    Watch,
    predict_scores,
)
from amongst.trust import Explanation

Rows = npt.NDArray[np.int64]

Network = Any
"""A `NeuralClassifier`, which stands above this module."""

Tell = Callable[[int, int, Mapping[str, float]], bool]
"""(which network, epoch, its values) → whether it need not go on."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A network after training, or `None` where a report stopped it; the epoch in which it diverged; and
    how it sees features, as (x − shift) / scale."""

    model: nn.Module | None
    history: pd.DataFrame
    diverged: int | None = None
    shift: Any = None
    scale: Any = None


class _Stopped(Exception):
    """Nothing that trains needs to go on."""


def train_several(
    estimators: Sequence[Network],
    X: npt.NDArray[Any],
    sets: CandidateSets,
    *,
    rows: Rows | Sequence[Rows] | None = None,
    held: Rows | None = None,
    criteria: Mapping[str, Criterion] | None = None,
    importance: Floats | None = None,
    lockstep: bool | None = None,
    report: Tell | None = None,
) -> list[Trained]:
    """Train the networks of several estimators that differ in hyper-parameters only.

    Parameters
    ----------
    estimators : of one `lockstep_key` where they train together; they are not fitted by this.
    X, sets : validated features, shape (n, …), and candidate sets.
    rows : to train on (and to fit the scaling on); None for all; a list has those of each
        estimator, and a population is scaled by all of them.
    held : rows on which `criteria` are measured after every epoch.
    importance : factor of each row's loss, shape (n,); such networks train alone, and so do those
        that may doubt some sets.
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
    each = [chosen] * len(estimators) if isinstance(chosen, np.ndarray) else list(chosen)
    together = estimators[0].in_lockstep() if lockstep is None else lockstep
    task = _Task(X, sets, each, held, dict(criteria or {}), importance, report)
    if not together or importance is not None or estimators[0]._doubt is not None:
        return [_alone(i, estimator, task) for i, estimator in enumerate(estimators)]
    if len({estimator.lockstep_key() for estimator in estimators}) > 1:
        raise InputError("estimators differ in more than hyper-parameters; train them in groups.")
    return _together(estimators, task)


def best_init(
    estimator: Network,
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
            f"keeps one run, but {named('n_init', estimator.n_init)} asks for several.",
            code="one-run",
            argument="checkpoint",
            got=estimator.checkpoint,
            remedy=("drop checkpoint", f"use {named('n_init', 1)}"),
        )
    children = np.random.SeedSequence(settings.seed).spawn(estimator.n_init - 1)
    seeds = [settings.seed, *map(as_seed, children)]
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


def explain(estimator: Any, X: Any, y: Any, ensemble: int) -> Explanation:
    """See `PartialLabelClassifier.explain`."""
    if check_integer("ensemble", ensemble, low=0) == 1:
        problem = "agrees with itself only; it must be 0 or at least 2."
        raise InputError(problem, code="no-such-number", argument="ensemble", got=1)
    logs, sets = estimator._weighed(X, y)
    chosen = sets.posterior(logs / estimator._temperature).argmax(axis=1)
    found = unseen(estimator, X, sets, ensemble)
    index = X.index if isinstance(X, pd.DataFrame) else None
    if found is None:
        return Explanation.of(logs, sets, chosen, estimator._temperature, index=index)
    logs, votes = found
    return Explanation.of(logs, sets, chosen, agreement=(votes == chosen).mean(0), index=index)


def crossfit(estimator: Any, X: Any, sets: CandidateSets, folds: int) -> list[tuple[Any, Rows]]:
    """Clones that are trained on these rows without one part, and the rows of that part.

    Each row is in one part. Networks that can do so train as one population; the seeds differ.

    Examples
    --------
    >>> from amongst import PLKNNClassifier, as_candidates
    >>> X, sets = np.arange(6.0)[:, None], as_candidates(["a", "a|b", "a", "b", "a|b", "b"])
    >>> fitted = crossfit(PLKNNClassifier(n_neighbors=2), X, sets, folds=3)
    >>> sorted(np.concatenate([rows for _, rows in fitted]).tolist())
    [0, 1, 2, 3, 4, 5]
    """
    parts = stratified_folds(sets, folds, seed=0)
    clones = [_seeded(estimator, i, folds) for i in range(folds)]
    if estimator.in_lockstep():
        _fit_together(clones, X, sets, [train for train, _ in parts])
    else:
        for one, (train, _) in zip(clones, parts, strict=True):
            one.fit(_safe_indexing(X, train), sets[train])
    return [(one, held) for one, (_, held) in zip(clones, parts, strict=True)]


def unseen(estimator: Any, X: Any, sets: CandidateSets, folds: int) -> tuple[Floats, Rows] | None:
    """Logarithmic weights from the clone that has not seen the row, (n, K), and the candidate that
    each clone chooses, (folds, n); None, with a warning, where the rows are too few to train on."""
    if not folds:
        return None
    try:
        fitted = crossfit(estimator, X, sets, folds)
    except AmongstError as error:
        text = (
            f"the rows are judged by the model that was trained on them, which flatters it: {error}"
        )
        remedy = f"Pass {named('ensemble', 0)} to do so without this warning."
        warn(AmongstWarning(text, code="no-ensemble", remedy=remedy))
        return None
    logs, votes = np.empty(sets.shape), np.empty((folds, len(sets)), dtype=np.int64)
    for i, (one, held) in enumerate(fitted):
        weights = one._log_weights(X)
        logs[held] = weights[held]
        votes[i] = sets.posterior(weights).argmax(axis=1)
    return logs, votes


def _seeded(estimator: Any, which: int, folds: int) -> Any:
    """A clone with a seed of its own, that keeps no run."""
    params = estimator.get_params(deep=False)
    own = dict(estimator._as_one_of(folds))
    if "random_state" in params:
        given = params["random_state"]
        start = given if isinstance(given, int) else 0
        own["random_state"] = as_seed(np.random.SeedSequence(start, spawn_key=(which,)))
    if "checkpoint" in params:
        own["checkpoint"] = None
    made = clone(estimator).set_params(**own)
    made.encodes = estimator.encodes or estimator.encoder_ or False
    return made


def _fit_together(clones: list[Any], X: Any, sets: CandidateSets, parts: list[Rows]) -> None:
    """Networks as one population: parts are cut to one length, so that they keep one pace."""
    with made_on_cpu():
        values = clones[0]._validate_X(X, reset=True)
        values = values.toarray() if issparse(values) else values
        least = min(map(len, parts))
        rows = [part[:least] for part in parts]
        runs = train_several(clones, values, sets, rows=rows)
    names = ("n_features_in_", "feature_names_in_", "encoder_")
    known = {name: getattr(clones[0], name) for name in names if hasattr(clones[0], name)}
    for one, run in zip(clones, runs, strict=True):
        if run.diverged is not None:
            raise DivergenceError("a network of the ensemble diverged.", code="diverged")
        vars(one).update({"classes_": sets.classes, **known})
        one.settings_, one.shift_, one.scale_ = one._settings(least), run.shift, run.scale
        one._keep(run, values)


@dataclass(frozen=True, eq=False)
class _Task:
    X: npt.NDArray[Any]
    sets: CandidateSets
    rows: list[Rows]
    held: Rows | None
    criteria: dict[str, Criterion]
    importance: Floats | None
    report: Tell | None


def _together(estimators: Sequence[Network], task: _Task) -> list[Trained]:
    first, one_set = estimators[0], all(rows is task.rows[0] for rows in task.rows)
    union = task.rows[0] if one_set else np.unique(np.concatenate(task.rows))
    shift, scale = first._fit_scaling(task.X[union])
    weighted = task.sets.weights is not None
    inside: Any = task.sets if weighted else torch.from_numpy(task.sets.to_mask())
    members = [
        Member(e._method(task.sets[rows]), inside, e._settings(len(rows)), torch.from_numpy(rows))
        for e, rows in zip(estimators, task.rows, strict=True)
    ]
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
    return [
        Trained(result.model(i), result.history(i), diverged[i], shift, scale)
        for i in range(len(members))
    ]


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


def _alone(which: int, estimator: Network, task: _Task) -> Trained:
    rows = task.rows[which]
    seen, X = task.sets[rows], task.X[rows]
    settings, method = estimator._settings(len(seen)), estimator._method(seen)
    shift, scale = estimator._fit_scaling(X)
    importance = None if task.importance is None else task.importance[rows]
    data = estimator._data(Features.of(X, shift, scale), seen, settings, importance)
    watch = _watch(task, data.features.device, data.features.dtype, shift, scale)
    holding = _Holding()
    looking = [holding] if task.report is None else [holding, Report(partial(task.report, which))]
    try:
        run = estimator._train(data, method, settings, watch=watch, callbacks=looking)
    except DivergenceError:
        run = holding.run
        return Trained(run.model.eval(), run.history, run.epoch + 1)
    if run.stopped:
        return Trained(None, pd.DataFrame())
    return Trained(run.model, run.history, None, shift, scale)


class _Holding(Callback):
    """Holds the run, which an error does not return."""

    run: Training

    def begin(self, run: Training) -> None:
        """Before anything can diverge."""
        self.run = run


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
    estimator: Network, trained: Trained, X: npt.NDArray[Any], sets: CandidateSets
) -> float:
    """Approximated accuracy on these rows, NaN for a network that diverged."""
    if trained.diverged is not None or trained.model is None:
        return float("nan")
    device = as_device(estimator.device)
    features = estimator._features(X).to(device)
    scores = predict_scores(trained.model.to(device, features.dtype), features)
    return float(approximated_accuracy(scores, torch.from_numpy(sets.to_mask()).to(device)))
