"""What `AutoClassifier` tries: methods of the registry with few settings, and what each would cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from amongst.candidates import CandidateSets
from amongst.estimators import NeuralClassifier, PartialLabel, estimator_for
from amongst.registry import ALGORITHMS
from amongst.selection.blend import taken_by

__all__ = ["LEARNERS", "Contender", "learner", "portfolio", "seconds_to_fit"]

Rows = npt.NDArray[np.int64]

PROBED = 200
"""Rows that a method without a network is timed on."""

MOST_MACHINES = 150
"""A method that trains more machines than these is not even timed."""

WARMING, SHORT, MORE = 32, 0.5, 3
"""Rows of a network that is not timed; seconds of a short epoch; and epochs more to time then."""

FEWEST_EPOCHS = 25
"""With fewer a network is not worth its time."""


def _logistic(sparse: bool = False) -> Any:
    """Stronger where features are few words of many, of which each says little."""
    scaler, strength = (MaxAbsScaler(), 1.0) if sparse else (StandardScaler(), 0.1)
    return make_pipeline(scaler, LogisticRegression(C=strength, max_iter=200))


LEARNERS: Mapping[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(100),
    "extra-trees": lambda: ExtraTreesClassifier(100),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=60),
    "logistic": _logistic,
}
"""Learners of scikit-learn that `PartialLabel` teaches, by the names of the command line."""


def learner(name: str) -> Any:
    """An estimator that is not fitted, by a name of `LEARNERS` or of the registry of algorithms.

    >>> learner("proden"), learner("forest")
    (PRODENClassifier(), PartialLabel(estimator=RandomForestClassifier()))
    """
    return PartialLabel(LEARNERS[name]()) if name in LEARNERS else estimator_for(name)()


@dataclass(frozen=True, eq=False)
class Contender:
    """An estimator that takes part, and how to guess what it costs.

    Attributes
    ----------
    name : for the leaderboard.
    estimator : not fitted.
    small : parameters that make it cheap, and by how much: ``{"epochs": 1}`` and 100.
    times : how much more the whole costs than the small one.
    rows : the most rows to time it on; None for all.
    power : of the number of rows in its cost.
    machines : how many machines it trains.

    Examples
    --------
    >>> from amongst import PLKNNClassifier
    >>> Contender("PL-kNN", PLKNNClassifier()).power
    2.0
    """

    name: str
    estimator: Any
    small: Mapping[str, Any] = field(default_factory=dict)
    times: float = 1.0
    rows: int | None = PROBED
    power: float = 2.0
    machines: int = 1

    def within(self, seconds: float, cost: float) -> tuple[Contender, float]:
        """With what it costs: a network has as many of its epochs as take no longer, and no fewer
        than `FEWEST_EPOCHS`; others are as they are."""
        if not isinstance(self.estimator, NeuralClassifier) or cost <= seconds:
            return self, cost
        whole = self.estimator.epochs
        epochs = min(max(FEWEST_EPOCHS, int(whole * seconds / cost)), whole)
        shorter = clone(self.estimator).set_params(epochs=epochs)
        return replace(self, estimator=shorter), cost * epochs / whole


def portfolio(shape: tuple[int, ...], n_classes: int, sparse: bool, device: str) -> list[Contender]:
    """The contenders for n rows of this shape: what costs little, then what most often wins.

    >>> [c.name for c in portfolio((150, 4), 3, False, "cpu")][:4]
    ['PL-SVM', 'IPAL', 'PL-ridge', 'PL-kNN']
    """
    if len(shape) > 2:
        return [
            _network("LW", "lw", device),
            _network("LW, ConvNet", "lw", device, model="convnet"),
        ]
    found = [
        _classical("PL-SVM", "plsvm", 1.0),
        _classical("IPAL", "ipal"),
        _classical("PL-ridge", "plridge"),
        _classical("PL-kNN", "plknn"),
        _network("LW", "lw", device),
        Contender(
            "logistic regression", PartialLabel(_logistic(sparse), rounds=4, folds=2), power=1.0
        ),
        _network("LW, linear", "lw", device, model="linear"),
        _wrapped("extra trees", LEARNERS["extra-trees"](), "n_estimators"),
        _network("PRODEN", "proden", device),
        _network("LW, narrow", "lw", device, widths=(64,), weight_decay=1e-2),
        _wrapped("forest", LEARNERS["forest"](), "n_estimators"),
        _network("CC", "cc", device),
        _network("CC, linear", "cc", device, model="linear"),
        *_others(device),
    ]
    dense = [
        _wrapped("boosted trees", LEARNERS["boosting"](), "max_iter"),
        _classical("PL-SVM, kernel", "plsvm", 1.0, kernel="nystroem", C=0.1),
        _classical("PL-ECOC", "plecoc", machines=int(10 * np.log2(n_classes))),
        _classical("PALOC", "paloc", machines=n_classes * (n_classes + 1) // 2),
    ]
    return found if sparse else found + dense


def seconds_to_fit(
    contender: Contender, X: Any, sets: CandidateSets, rows: Rows, seed: int
) -> float:
    """About how long a fit on these rows takes, by a small one; infinite where that fails.

    >>> from amongst import PLKNNClassifier, as_candidates
    >>> X, sets = np.eye(4), as_candidates(["a|b", "b", "a", "a|b"])
    >>> seconds_to_fit(Contender("PL-kNN", PLKNNClassifier(n_neighbors=1)), X, sets, np.arange(4), 0) < 60
    True
    """
    if contender.machines > MOST_MACHINES:
        return float("inf")
    if isinstance(contender.estimator, NeuralClassifier):
        return _seconds_of_network(contender.estimator, X, sets, rows)
    limit = len(rows) if contender.rows is None else contender.rows
    some = np.random.default_rng(seed).permutation(rows)[:limit]
    small = clone(contender.estimator).set_params(**contender.small)
    taken = _timed(small, X, sets, some)
    return float(contender.times * taken * (len(rows) / len(some)) ** contender.power)


def _seconds_of_network(
    estimator: NeuralClassifier, X: Any, sets: CandidateSets, rows: Rows
) -> float:
    """By an epoch, or, where that is short, by what more epochs add: a fit has its own beginning."""
    one = clone(estimator).set_params(epochs=1, checkpoint=None)
    few = rows[np.argsort(sets.sizes[rows], kind="stable")[:WARMING]]
    _timed(one, X, sets, few)  # the first network of a process loads code
    first = _timed(one, X, sets, rows)
    if first > SHORT:
        return first * estimator.epochs
    more = _timed(one.set_params(epochs=1 + MORE), X, sets, rows)
    return first + max(more - first, 0.0) / MORE * (estimator.epochs - 1)


def _timed(estimator: Any, X: Any, sets: CandidateSets, rows: Rows) -> float:
    began = time.perf_counter()
    estimator.fit(taken_by(estimator, X[rows]), sets[rows])
    return time.perf_counter() - began


def _network(name: str, key: str, device: str, **more: Any) -> Contender:
    kind: Any = estimator_for(key)
    estimator = kind(device=device, **more)
    return Contender(name, estimator, {"epochs": 1}, estimator.epochs, None, 1.0)


def _classical(
    name: str, key: str, power: float = 2.0, machines: int = 1, **more: Any
) -> Contender:
    kind: Any = estimator_for(key)
    return Contender(name, kind(**more), power=power, machines=machines)


def _wrapped(name: str, estimator: Any, size: str) -> Contender:
    wrapped, whole = PartialLabel(estimator, rounds=3, folds=2), estimator.get_params()[size]
    return Contender(name, wrapped, {f"estimator__{size}": 3}, whole / 3, None, 1.0)


def _others(device: str) -> list[Contender]:
    """The algorithms of other packages, as they come."""
    names = [name for name in ALGORITHMS if ALGORITHMS.source(name) != "amongst"]
    kinds = {name: estimator_for(name) for name in names}
    return [
        _network(name, name, device)
        if issubclass(kind, NeuralClassifier)
        else _classical(name, name)
        for name, kind in kinds.items()
    ]
