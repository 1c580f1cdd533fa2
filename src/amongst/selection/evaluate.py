"""Judge settings: train on one part of the rows, measure on candidate sets of the other."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from amongst.candidates import CandidateSets
from amongst.checks import check_choice
from amongst.errors import DivergenceError, InputError, named
from amongst.estimators import NeuralClassifier, PartialLabelClassifier
from amongst.estimators.ensemble import (
    Tell,
    Trained,
    train_several,
)
from amongst.estimators.pipelines import Estimator, classifier_of, prefix_of
from amongst.selection.criteria import Measure
from amongst.selection.space import Point

ENGINES = ("auto", "population", "single")
"""``population``: points of one shape train in lockstep; ``single``: one after another; ``auto``:
the first for a linear model or MLP, else the second. All give the same numbers."""

HELD = "held_"
"""Before a measure's name in the history of a training run."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Task:
    """What all points of a search share: an estimator of which each is a copy with its values; rows to
    train on, `kept`, and to measure on, `held`; and a seed, so that they differ in settings only."""

    estimator: Estimator
    X: Any
    sets: CandidateSets
    kept: Rows
    held: Rows
    measures: Mapping[str, Measure]
    engine: str = "auto"
    seed: int = 0
    verbose: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a point came to: each measure on the held rows, after the last epoch, NaN where training
    diverged; the epoch in which it did; and its share of the time."""

    values: Mapping[str, float]
    diverged: int | None = None
    seconds: float = 0.0


def evaluate(
    task: Task, points: Sequence[Point], report: Tell | None = None
) -> list[Outcome | None]:
    """The outcome of each point; None for one that `report` stopped: ``(point, epoch, values) → stop``,
    called after every epoch of a network."""
    check_choice("engine", task.engine, ENGINES)
    estimators = [_copy(task, point) for point in points]
    classifiers = [classifier_of(estimator) for estimator in estimators]
    found: dict[int, Outcome | None] = {}
    for places in _alike_before(task.estimator, points):
        part = replace(task, X=_prepared(task, estimators[places[0]]))
        for together, group in _groups(task.engine, classifiers, places):
            chosen = [classifiers[i] for i in group]
            found |= zip(group, _judge(part, chosen, group, together, report), strict=True)
    return [found[i] for i in range(len(points))]


def with_settings(estimator: Estimator, point: Point) -> Estimator:
    """A copy of an estimator that is not fitted, with values of its parameters by name.

    >>> from amongst import LWClassifier
    >>> with_settings(LWClassifier(), {"lr": 0.5}).lr
    0.5
    """
    made: Estimator = clone(estimator).set_params(**clone(point, safe=False))
    if isinstance(made, PartialLabelClassifier) and isinstance(estimator, PartialLabelClassifier):
        made.encodes = estimator.encodes
    return made


def _copy(task: Task, point: Point) -> Estimator:
    estimator, prefix = with_settings(task.estimator, point), prefix_of(task.estimator)
    last = classifier_of(estimator)
    fixed = {"random_state": task.seed, "n_init": 1, "checkpoint": None, "verbose": task.verbose}
    own = last.get_params(deep=False)
    last.set_params(**{n: v for n, v in fixed.items() if n in own and prefix + n not in point})
    return estimator


def _alike_before(estimator: Estimator, points: Sequence[Point]) -> list[list[int]]:
    """Places of points that have the same steps before the classifier, one list for each."""
    own, groups = prefix_of(estimator), dict[Hashable, list[int]]()
    for i, point in enumerate(points):
        others = [name for name in sorted(point) if not f"{name}__".startswith(own)]
        groups.setdefault(tuple((name, *_key(point[name])) for name in others), []).append(i)
    return list(groups.values())


def _key(value: Any) -> tuple[type, Hashable]:
    """What tells values apart: plain ones by value and type, others by which object they are, since
    the text of a long one is cut short."""
    plain = value is None or isinstance(value, bool | int | float | str)
    return type(value), value if plain else id(value)


def _prepared(task: Task, estimator: Estimator) -> npt.NDArray[Any]:
    """X as the classifier sees it: steps before it are fitted on the rows that train."""
    X: npt.NDArray[Any] = task.X
    if not isinstance(estimator, Pipeline):
        return X
    steps = estimator[:-1]
    if len(steps):
        X = steps.fit(_safe_indexing(X, task.kept), task.sets[task.kept]).transform(X)
    prepared: npt.NDArray[Any] = classifier_of(estimator)._validate_X(X, reset=True)
    return prepared


def _groups(
    engine: str, estimators: Sequence[PartialLabelClassifier], places: Sequence[int]
) -> list[tuple[bool, list[int]]]:
    """Places of points that train together, and whether as a population."""
    groups: dict[Hashable, list[int]] = {}
    alone: list[tuple[bool, list[int]]] = []
    for i in places:
        estimator = estimators[i]
        if _stacks(engine, estimator):
            assert isinstance(estimator, NeuralClassifier)
            groups.setdefault(estimator.lockstep_key(), []).append(i)
        else:
            alone.append((False, [i]))
    return [(True, group) for group in groups.values()] + alone


def _stacks(engine: str, estimator: PartialLabelClassifier) -> bool:
    able = isinstance(estimator, NeuralClassifier) and estimator.in_lockstep()
    if engine == "population" and not able:
        raise InputError(
            "trains linear models and MLPs, but the estimator is "
            f"{type(estimator).__name__} with model={getattr(estimator, 'model', None)!r}.",
            code="not-stacked",
            argument="engine",
            got=engine,
            remedy=f"Use {named('engine', 'auto')}.",
        )
    return able and engine != "single"


def _judge(
    task: Task,
    estimators: Sequence[PartialLabelClassifier],
    places: Sequence[int],
    together: bool,
    report: Tell | None,
) -> list[Outcome | None]:
    """The outcomes of classifiers that train together, or of one."""
    if not isinstance(estimators[0], NeuralClassifier):
        return [_fitted(task, estimator) for estimator in estimators]

    def relay(i: int, epoch: int, values: Mapping[str, float]) -> bool:
        return report is not None and report(places[i], epoch, _measured(task, values))

    trained = train_several(
        estimators,
        task.X,
        task.sets,
        rows=task.kept,
        held=task.held,
        criteria={HELD + name: measure for name, measure in task.measures.items()},
        lockstep=together,
        report=None if report is None else relay,
    )
    return [_outcome(task, one) for one in trained]


def _outcome(task: Task, trained: Trained) -> Outcome | None:
    if trained.model is None:
        return None
    seconds = float(trained.history["seconds"].sum()) if len(trained.history) else 0.0
    if trained.diverged is not None:
        return Outcome(_nothing(task), trained.diverged, seconds)
    return Outcome(_measured(task, trained.history.iloc[-1]), None, seconds)


def _measured(task: Task, values: Any) -> dict[str, float]:
    """The measures amongst an epoch's values; ``covering`` alone is that of the training rows."""
    return {name: float(values[HELD + name]) for name in task.measures}


def _fitted(task: Task, estimator: PartialLabelClassifier) -> Outcome:
    """For an estimator without a network: fit it, and measure its scores."""
    began = time.perf_counter()
    try:
        estimator.fit(task.X[task.kept], task.sets[task.kept])
    except DivergenceError:
        return Outcome(_nothing(task), 1, time.perf_counter() - began)
    scores = _scores(estimator, task.X[task.held])
    inside = torch.from_numpy(task.sets[task.held].to_mask())
    values = {name: float(measure(scores, inside)) for name, measure in task.measures.items()}
    return Outcome(values, None, time.perf_counter() - began)


def _scores(estimator: PartialLabelClassifier, X: npt.NDArray[Any]) -> torch.Tensor:
    """Scores whose softmax is the estimator's belief, shape (n, K)."""
    if hasattr(estimator, "predict_proba"):
        return torch.from_numpy(np.log(np.maximum(estimator.predict_proba(X), 1e-30)))
    return torch.from_numpy(np.asarray(estimator._checked_scores(X), dtype=np.float64))


def _nothing(task: Task) -> dict[str, float]:
    return dict.fromkeys(task.measures, math.nan)
