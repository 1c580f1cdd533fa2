"""Fitted classifiers of scikit-learn as arrays, so that they are saved without pickle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from amongst.errors import InputError
from amongst.estimators.inputs import Floats
from amongst.files import Arrays

LEAF = -1
"""Where a node has no child."""

REMEDY = "Use joblib.dump(model, path), or skops.io, and open such files only from whom you trust."


@dataclass(frozen=True, eq=False)
class Frozen:
    """A fitted classifier as arrays.

    Attributes
    ----------
    kind : ``"linear"``, ``"forest"`` or ``"boosting"``.
    arrays : of `freeze`.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0]] * 5), [0, 1] * 5
    >>> arrays, kind = freeze(RandomForestClassifier(5, random_state=0).fit(X, y))
    >>> Frozen(kind, arrays).predict_proba(X[:2]).argmax(axis=1).tolist()
    [0, 1]
    """

    kind: str
    arrays: Arrays = field(repr=False)

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes that it was fitted with, shape (n, m)."""
        parts = self.arrays
        if self.kind == "linear":
            scores = np.asarray(X @ parts["coef"].T) + parts["intercept"]
            return np.asarray(softmax(scores, axis=1))
        rows = X if isinstance(X, np.ndarray) else X.toarray()
        rows = rows.astype(np.float32 if self.kind == "forest" else np.float64)
        total = np.zeros((len(rows), parts["start"].shape[-1])) + parts["start"]
        for nodes in self._trees():
            total += nodes.values(rows)
        forest = self.kind == "forest"
        return total / (len(parts["roots"]) - 1) if forest else softmax(total, axis=1)

    def _trees(self) -> Iterator[_Nodes]:
        roots = self.arrays["roots"]
        names = ("feature", "threshold", "left", "right", "value")
        for a, b in pairwise(roots):
            yield _Nodes(*(self.arrays[name][a:b] for name in names))


@dataclass(frozen=True, eq=False)
class _Nodes:
    """A tree: at each node which feature is compared with what, and the values of the leaves."""

    feature: npt.NDArray[np.int64]
    threshold: Floats
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    value: Floats

    def values(self, X: Floats) -> Floats:
        """Of the leaf that each row comes to, shape (n, m)."""
        at, going = np.zeros(len(X), dtype=np.int64), np.arange(len(X))
        while len(going := going[self.left[at[going]] != LEAF]):
            node = at[going]
            goes_left = X[going, self.feature[node]] <= self.threshold[node]
            at[going] = np.where(goes_left, self.left[node], self.right[node])
        return self.value[at]


KNOWN: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        ExtraTreesClassifier,
        HistGradientBoostingClassifier,
        LogisticRegression,
        MaxAbsScaler,
        RandomForestClassifier,
        StandardScaler,
    )
}
"""What a file may ask for by name."""


def recipe_of(estimator: Any) -> list[list[Any]] | None:
    """The steps of an estimator that can be frozen, each with the settings that are its own, as JSON
    holds them; None for another one.

    >>> recipe_of(RandomForestClassifier(5))
    [['RandomForestClassifier', {'n_estimators': 5}]]
    """
    steps = (
        [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    )
    if any(KNOWN.get(type(step).__name__) is not type(step) for step in steps):
        return None
    usual = [type(step)().get_params(deep=False) for step in steps]
    given = [step.get_params(deep=False) for step in steps]
    own = [{n: v for n, v in g.items() if v != u[n]} for g, u in zip(given, usual, strict=True)]
    plain = all(isinstance(v, str | int | float) for one in own for v in one.values())
    return [[type(s).__name__, one] for s, one in zip(steps, own, strict=True)] if plain else None


def from_recipe(recipe: list[list[Any]]) -> Any:
    """The estimator, not fitted: the inverse of `recipe_of`."""
    steps = [KNOWN[name](**settings) for name, settings in recipe]
    return steps[0] if len(steps) == 1 else make_pipeline(*steps)


def freeze(model: Any) -> tuple[dict[str, npt.NDArray[Any]], str]:
    """The arrays of a fitted classifier and their kind; an error for one that has no such form.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> freeze(GaussianNB())
    Traceback (most recent call last):
    amongst.errors.InputError: GaussianNB cannot be saved without pickle. Use joblib.dump(model, path), or skops.io, and open such files only from whom you trust.
    """
    if model is None:
        return {}, "none"
    if isinstance(model, Frozen):
        return dict(model.arrays), model.kind
    if _is_linear(model):
        return _linear(model), "linear"
    if isinstance(model, RandomForestClassifier | ExtraTreesClassifier):
        trees = [_of_forest(tree.tree_) for tree in model.estimators_]
        return _gathered(trees, np.zeros(len(model.classes_))), "forest"
    if isinstance(model, HistGradientBoostingClassifier) and model.is_categorical_ is None:
        return _boosting(model), "boosting"
    name = type(model).__name__
    raise InputError(f"{name} cannot be saved without pickle.", code="pickle", remedy=REMEDY)


def _is_linear(model: Any) -> bool:
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    scaled = len(steps) == 1 or (
        len(steps) == 2 and isinstance(steps[0], MaxAbsScaler | StandardScaler)
    )
    return scaled and isinstance(steps[-1], LogisticRegression)


def _linear(model: Any) -> dict[str, npt.NDArray[Any]]:
    """Softmax of X @ coef.T + intercept; the scaling before it is in these."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    coef, intercept = last.coef_, last.intercept_
    if len(coef) == 1:
        coef, intercept = np.vstack((0 * coef, coef)), np.append(0.0, intercept)
    if isinstance(model, Pipeline):
        scaler = model.steps[0][1]
        coef = coef if scaler.scale_ is None else coef / scaler.scale_
        mean = getattr(scaler, "mean_", None)
        intercept = intercept if mean is None else intercept - coef @ mean
    return {"coef": coef, "intercept": intercept}


def _of_forest(tree: Any) -> _Nodes:
    value = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
    return _Nodes(tree.feature, tree.threshold, tree.children_left, tree.children_right, value)


def _boosting(model: Any) -> dict[str, npt.NDArray[Any]]:
    """Trees that add to the scores of one class each; of two classes, to that of the second."""
    width = len(model.classes_)
    start = model._baseline_prediction.ravel()
    start = np.append(0.0, start) if width == 2 else start
    trees = []
    for stage in model._predictors:
        first = 1 if width == 2 else 0
        for label, predictor in enumerate(stage, start=first):
            trees.append(_of_boosting(predictor.nodes, label, width))
    return _gathered(trees, start)


def _of_boosting(nodes: Any, label: int, width: int) -> _Nodes:
    value = np.zeros((len(nodes), width))
    value[:, label] = nodes["value"]
    leaf = nodes["is_leaf"].astype(bool)
    left, right = (np.where(leaf, LEAF, nodes[side].astype(np.int64)) for side in ("left", "right"))
    return _Nodes(nodes["feature_idx"].astype(np.int64), nodes["num_threshold"], left, right, value)


def _gathered(trees: list[_Nodes], start: Floats) -> dict[str, npt.NDArray[Any]]:
    """The nodes of all trees behind each other; `roots` says where each begins."""
    names = ("feature", "threshold", "left", "right", "value")
    found = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in names}
    return found | {"roots": np.cumsum([0, *(len(t.left) for t in trees)]), "start": start}
