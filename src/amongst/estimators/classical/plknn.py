"""PL-kNN: the neighbours' candidate sets vote."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.candidates import CandidateSets
from amongst.checks import check_choice
from amongst.estimators.classical._neighbours import (
    Floats,
    check_neighbours,
    chunks,
    index_rows,
    nearest,
)
from amongst.estimators.classical._scaling import ScaledClassifier, fit_scaler
from amongst.files import Arrays

WEIGHTS = ("distance", "uniform")


@dataclass(kw_only=True, eq=False, repr=False)
class PLKNNClassifier(ScaledClassifier):
    """PL-kNN (Hüllermeier & Beringer 2006): votes of the neighbours' candidate sets.

    Class c has Σ_a w_a [c ∈ s_a] votes of the k nearest rows a, with w_a = 1 − d_a / Σ_b d_b for
    distances d; where candidates have weights π, |s_a| π_ac in place of [c ∈ s_a].

    Parameters
    ----------
    n_neighbors : k, rows that vote.
    weights : ``"distance"``, the w above; or ``"uniform"``, one for each neighbour.
    scaling : ``"standard"``, ``"unit"``, ``"standard+unit"`` or None; fitted on the rows of `fit`.
    n_jobs : workers of the search for neighbours, as scikit-learn has it.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> y = ["a|b", "a", "a|c", "b|c", "b", "a|b"]
    >>> model = PLKNNClassifier(n_neighbors=3).fit(X, y)
    >>> model.predict([[0.1], [1.1]]).tolist()
    ['a', 'b']
    >>> model.predict_proba([[0.1]]).round(2)
    array([[0.67, 0.17, 0.17]])
    """

    name = "plknn"
    title = "PL-kNN"
    uses_prior = True
    grid = MappingProxyType({"n_neighbors": (5, 10, 15)})
    arrays = ("rows", "candidates")

    n_neighbors: int = 10
    weights: str = "distance"
    scaling: str | None = "standard"
    n_jobs: int | None = None

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """Shares of the votes, shape (n, K)."""
        votes = np.asarray(self._checked_scores(X), dtype=np.float64)
        return np.asarray(self._calibrated(votes / votes.sum(axis=1, keepdims=True)), np.float64)

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        check_choice("weights", self.weights, WEIGHTS)
        k = check_neighbours(self.n_neighbors, len(X), spare=0)
        self.scaler_ = fit_scaler(X, self.scaling)
        self.rows_ = self.scaler_(X)
        weighted = sets.weights is not None
        self.candidates_ = sets.prior * sets.sizes[:, None] if weighted else sets.mask
        self._index = index_rows(self.rows_, k, self.n_jobs)

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        distances, neighbours = nearest(self._index, self.scaler_(X))
        weights = nearness(distances) if self.weights == "distance" else np.ones(distances.shape)
        votes = np.empty((len(X), len(self.classes_)))
        for part in chunks(len(X), 9 * neighbours.shape[1] * votes.shape[1]):
            votes[part] = (weights[part][:, None, :] @ self.candidates_[neighbours[part]])[:, 0]
        return votes

    def _log_weights(self, X: npt.ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._checked_scores(X)), dtype=np.float64)

    def _set_state(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        super()._set_state(arrays, facts)
        self._index = index_rows(self.rows_, self.n_neighbors, self.n_jobs)


def nearness(distances: Floats) -> Floats:
    """1 − d_a / Σ_b d_b for each neighbour, shape (n, k); 1 for all where that leaves nothing.

    >>> nearness(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.75, 0.25],
           [1.  , 1.  ]])
    """
    total = distances.sum(axis=1, keepdims=True)
    weights = 1.0 - distances / np.where(total > 0, total, 1.0)
    empty = weights.sum(axis=1, keepdims=True) <= 0
    near: Floats = np.where(empty, 1.0, weights)
    return near
