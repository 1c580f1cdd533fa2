"""IPAL: labels propagated between rows that reconstruct each other."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from amongst.candidates import CandidateSets
from amongst.checks import check_integer, check_number
from amongst.estimators.classical._neighbours import (
    Floats,
    Rows,
    check_neighbours,
    chunks,
    index_rows,
    nearest,
    reconstruction,
)
from amongst.estimators.classical._scaling import TemperedClassifier, fit_scaler
from amongst.files import Arrays
from amongst.trust import fit_temperature

STILL = 1e-4


@dataclass(kw_only=True, eq=False, repr=False)
class IPALClassifier(TemperedClassifier):
    """IPAL (Zhang & Yu 2015): instance-based disambiguation by label propagation.

    Each row is reconstructed from its nearest others with weights ≥ 0, which give the transition
    matrix P. From F⁰ = 1/|s| on the candidates, or their weights, F ← α P F + (1 − α) F⁰ is repeated, kept inside s
    and summing to 1; class c then counts ΣF⁰_c / ΣF_c times, and the highest candidate is the
    row's label. A new row takes the class whose neighbours alone leave the least residual of its
    reconstruction.

    Parameters
    ----------
    n_neighbors : k, neighbours of a row; it needs k + 1 rows.
    alpha : in [0, 1], weight of the neighbours against the row's own candidates.
    max_iter : the most repetitions; they end when no entry of F moves by 1e-4.
    scaling : ``"unit"`` brings rows to length 1, as the method has it; ``"standard+unit"``
        standardises the columns before; ``"standard"`` and None are there for comparison.
    n_jobs : workers of the search for neighbours, as scikit-learn has it.

    Attributes
    ----------
    confidences_ : (n, K), F after propagation and class mass, rows sum to 1.
    labels_ : (n,), the label that each training row was given.
    n_iter_ : repetitions made.
    temperature_ : by which scores are divided before they are probabilities, as the candidate sets of
        the training rows have it, each reconstructed without itself.

    Notes
    -----
    A row that no neighbour helps to reconstruct (all weights 0) takes its neighbours alike, and as
    a new row the majority of their labels. `disambiguate` weighs a row's candidates by the
    confidences of its neighbours; a training row is its own best neighbour.

    Examples
    --------
    >>> X = np.array([[1.0, 0.1], [1.0, 0.2], [1.0, 0.3], [0.1, 1.0], [0.2, 1.0], [0.3, 1.0]])
    >>> y = ["a|b", "a", "a|c", "b|c", "b", "a|b"]
    >>> model = IPALClassifier(n_neighbors=2, scaling="unit").fit(X, y)
    >>> model.labels_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    >>> model.predict([[3.0, 0.5]]).tolist()
    ['a']
    """

    name = "ipal"
    title = "IPAL"
    uses_prior = True
    grid = MappingProxyType({"n_neighbors": (5, 10, 15), "alpha": (0.5, 0.95)})
    arrays = ("rows", "confidences")
    facts = MappingProxyType({"n_iter": None, "temperature": 1.0})

    n_neighbors: int = 10
    alpha: float = 0.95
    max_iter: int = 100
    scaling: str | None = "standard+unit"
    n_jobs: int | None = None

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        alpha = check_number("alpha", self.alpha, low=0, high=1)
        max_iter = check_integer("max_iter", self.max_iter, low=1)
        k = check_neighbours(self.n_neighbors, len(X), spare=1)
        self.scaler_ = fit_scaler(X, self.scaling)
        rows = self.scaler_(X)
        self._index = index_rows(rows, k, self.n_jobs)
        _, neighbours = nearest(self._index)
        weights = reconstruction(rows, rows, neighbours)
        steps = _transitions(weights, neighbours)
        spread, self.n_iter_ = propagate(steps, sets.prior, alpha, max_iter)
        self.rows_ = rows
        self.confidences_ = _class_mass(spread, sets.prior)
        self._codes = self.confidences_.argmax(axis=1)
        self.labels_ = self.classes_[self._codes]
        found = self._scores_of(rows, neighbours, weights)
        self.temperature_ = fit_temperature(found, sets.mask)

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        """−residual of each class that a neighbour has; the others lie below all of these."""
        return self._scores_of(*self._reconstruct(X))

    def _scores_of(self, points: Floats, neighbours: Rows, weights: Floats) -> Floats:
        scores = np.empty((len(points), len(self.classes_)))
        for part in chunks(len(points), 16 * points.shape[1] * neighbours.shape[1]):
            scores[part] = self._negative_residuals(points[part], neighbours[part], weights[part])
        return scores

    def _reconstruct(self, X: npt.NDArray[Any]) -> tuple[Floats, Rows, Floats]:
        points = self.scaler_(X)
        _, neighbours = nearest(self._index, points)
        return points, neighbours, reconstruction(points, self.rows_, neighbours)

    def _negative_residuals(self, points: Floats, neighbours: Rows, weights: Floats) -> Floats:
        codes, near = self._codes[neighbours], self.rows_[neighbours]
        same = codes[:, :, None] == codes[:, None, :]
        parts = (same * weights[:, None, :]) @ near
        residuals = np.linalg.norm(points[:, None, :] - parts, axis=2)
        votes = same.mean(axis=2)
        alone = weights.sum(axis=1, keepdims=True) == 0
        values = np.where(alone, votes - 1.0, -residuals)
        scores = np.repeat(values.min(axis=1, keepdims=True) - 1.0, len(self.classes_), axis=1)
        np.put_along_axis(scores, codes, values, axis=1)
        return scores

    def _log_weights(self, X: npt.ArrayLike) -> Floats:
        check_is_fitted(self)
        _, neighbours, weights = self._reconstruct(self._validate_X(X, reset=False))
        steps = _transitions(weights, neighbours, len(self.rows_))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(steps @ self.confidences_))

    def _set_state(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        super()._set_state(arrays, facts)
        self._index = index_rows(self.rows_, self.n_neighbors, self.n_jobs)
        self._codes = self.confidences_.argmax(axis=1)
        self.labels_ = self.classes_[self._codes]


def propagate(
    steps: sp.csr_array, start: Floats, alpha: float, max_iter: int
) -> tuple[Floats, int]:
    """F ← α P F + (1 − α) F⁰ inside the candidate sets, rows summing to 1, until it is still; and the
    number of repetitions. `steps` is P, (n, n), and `start` F⁰, (n, K); both have rows that sum to 1.

    >>> steps = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> F, _ = propagate(steps, np.array([[0.5, 0.5], [1.0, 0.0]]), 0.5, 100)
    >>> F.tolist()
    [[0.75, 0.25], [1.0, 0.0]]
    """
    mask, spread = start > 0, start
    for iteration in range(1, max_iter + 1):  # noqa: B007
        moved = (alpha * (steps @ spread) + (1 - alpha) * start) * mask
        total = moved.sum(axis=1, keepdims=True)
        moved = np.where(total > 0, moved / np.where(total > 0, total, 1.0), start)
        change = np.abs(moved - spread).max()
        spread = moved
        if change < STILL:
            break
    return spread, iteration


def _transitions(weights: Floats, neighbours: Rows, n: int | None = None) -> sp.csr_array:
    """P: each row's weights over its neighbours, summing to 1; equal where all are 0."""
    total = weights.sum(axis=1, keepdims=True)
    k = weights.shape[1]
    shares = np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / k)
    shape = (len(weights), len(weights) if n is None else n)
    bounds = np.arange(len(weights) + 1) * k
    return sp.csr_array((shares.ravel(), neighbours.ravel(), bounds), shape=shape)


def _class_mass(spread: Floats, first: Floats) -> Floats:
    """Columns times ΣF⁰ / ΣF, rows summing to 1 again."""
    start = first.sum(axis=0)
    mass = spread.sum(axis=0)
    scaled = spread * np.where(mass > 0, start / np.where(mass > 0, mass, 1.0), 0.0)
    total: Floats = scaled / scaled.sum(axis=1, keepdims=True)
    return total
