"""Judge settings: train on one part of the rows, measure on candidate sets of the other."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import clone

from amongst.candidates import CandidateSets
from amongst.checks import check_choice
from amongst.errors import DivergenceError, InputError
from amongst.estimators import NeuralClassifier, PartialLabelClassifier
from amongst.estimators.several import (
    Report,
    Trained,
    in_lockstep,
    lockstep_key,
    train_several,
)
from amongst.selection.criteria import Measure
from amongst.selection.space import Point

__all__ = ["ENGINES", "Outcome", "Task", "evaluate"]

ENGINES = ("auto", "population", "single")
"""``population``: points of one shape train in lockstep; ``single``: one after another; ``auto``:
the first for a linear model or MLP, else the second. All give the same numbers."""

HELD = "held_"
"""Before a measure's name in the history of a training run."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Task:
    """What all points of a search share.

    Attributes
    ----------
    estimator : never fitted; each point is a copy of it with the point's values.
    X, sets : validated features, and candidate sets.
    kept, held : rows to train on, and rows to measure on.
    measures : by name, on scores and candidate masks.
    engine : one of `ENGINES`.
    seed : of every point, so that they differ in their settings only.
    verbose : whether to show progress.
    """

    estimator: PartialLabelClassifier
    X: npt.NDArray[Any]
    sets: CandidateSets
    kept: Rows
    held: Rows
    measures: Mapping[str, Measure]
    engine: str = "auto"
    seed: int = 0
    verbose: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a point came to.

    Attributes
    ----------
    values : each measure on the held rows, after the last epoch; NaN where training diverged.
    diverged : the epoch in which it did, or None.
    seconds : its share of the time.
    """

    values: Mapping[str, float]
    diverged: int | None = None
    seconds: float = 0.0


def evaluate(
    task: Task, points: Sequence[Point], report: Report | None = None
) -> list[Outcome | None]:
    """The outcome of each point; None for one that `report` stopped.

    Parameters
    ----------
    task : data, split and measures.
    points : settings by name.
    report : ``(point, epoch, values) → stop``, called after every epoch of a network.
    """
    check_choice("engine", task.engine, ENGINES)
    estimators = [_copy(task, point) for point in points]
    found: dict[int, Outcome | None] = {}
    for together, group in _groups(task, estimators):
        chosen = [estimators[i] for i in group]
        if isinstance(chosen[0], NeuralClassifier):
            trained = _train(task, chosen, group, together, report)
            found |= {i: _outcome(task, t) for i, t in zip(group, trained, strict=True)}
        else:
            found |= {i: _fitted(task, e) for i, e in zip(group, chosen, strict=True)}
    return [found[i] for i in range(len(points))]


def _copy(task: Task, point: Point) -> PartialLabelClassifier:
    own = task.estimator.get_params(deep=False)
    fixed = {"random_state": task.seed, "n_init": 1, "checkpoint": None, "verbose": task.verbose}
    shared = {name: value for name, value in fixed.items() if name in own}
    estimator: PartialLabelClassifier = clone(task.estimator).set_params(**shared | point)
    return estimator


def _groups(
    task: Task, estimators: Sequence[PartialLabelClassifier]
) -> list[tuple[bool, list[int]]]:
    """Places of points that train together, and whether as a population."""
    groups: dict[Hashable, list[int]] = {}
    alone: list[tuple[bool, list[int]]] = []
    for i, estimator in enumerate(estimators):
        if _stacks(task.engine, estimator):
            assert isinstance(estimator, NeuralClassifier)
            groups.setdefault(lockstep_key(estimator), []).append(i)
        else:
            alone.append((False, [i]))
    return [(True, group) for group in groups.values()] + alone


def _stacks(engine: str, estimator: PartialLabelClassifier) -> bool:
    able = isinstance(estimator, NeuralClassifier) and in_lockstep(estimator)
    if engine == "population" and not able:
        raise InputError(
            f"engine='population' trains linear models and MLPs, but the estimator is "
            f"{type(estimator).__name__} with model={getattr(estimator, 'model', None)!r}. Use "
            "engine='auto'."
        )
    return able and engine != "single"


def _train(
    task: Task,
    estimators: Sequence[Any],
    places: Sequence[int],
    together: bool,
    report: Report | None,
) -> list[Trained]:
    def relay(i: int, epoch: int, values: Mapping[str, float]) -> bool:
        return report is not None and report(places[i], epoch, _measured(task, values))

    return train_several(
        estimators,
        task.X,
        task.sets,
        rows=task.kept,
        held=task.held,
        criteria={HELD + name: measure for name, measure in task.measures.items()},
        lockstep=together,
        report=None if report is None else relay,
    )


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
    scores = estimator.decision_function(X)
    if scores.ndim == 1:
        scores = np.stack((np.zeros_like(scores), scores), axis=1)
    return torch.from_numpy(np.asarray(scores, dtype=np.float64))


def _nothing(task: Task) -> dict[str, float]:
    return dict.fromkeys(task.measures, math.nan)
