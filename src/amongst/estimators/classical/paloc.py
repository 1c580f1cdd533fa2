"""PALOC: one-against-one machines, then one-against-rest machines on refined sets."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from amongst.candidates import CandidateSets
from amongst.checks import as_seed, check_number
from amongst.errors import InputError
from amongst.estimators.classical._machines import MachineClassifier, Machines, Task, fit_map
from amongst.estimators.classical._neighbours import Floats, Mask
from amongst.estimators.classical._scaling import fit_scaler
from amongst.files import Arrays

TIE = 1e-3
SMALL = 1e-12
STACK_LIMIT_BYTES = 4 * 2**30


@dataclass(kw_only=True, eq=False, repr=False)
class PALOCClassifier(MachineClassifier):
    """PALOC (Wu & Zhang 2018): binary decomposition with stacking.

    A machine h_jk for each pair of classes is trained on the rows with exactly one of j, k
    amongst their candidates. Where the class with the most votes is a candidate, the row's set
    shrinks to it. A machine r_j for each class is trained on [x; all h_jk(x)] and the shrunken
    sets, a row being positive if j is still in its set. The score of class j is the number of its
    votes + μ [r_j > 0].

    The other parameters are those of `MachineClassifier`.

    Parameters
    ----------
    mu : μ ≥ 0, votes that a one-against-rest machine is worth.
    gamma : of the pairwise machines' RBF kernel; the one-against-rest machines always have 1 / (sum of
        the variances of the scaled columns).

    Attributes
    ----------
    pairs_ : the K(K − 1)/2 pairwise machines.
    rest_ : the K one-against-rest machines.
    refined_ : (n, K) bool, the shrunken candidate sets of the training rows.

    Notes
    -----
    A pair for which one class alone has rows votes for it; one without any rows gives half a vote
    to each. Equal scores are ordered by the sum of pairwise decision values, squeezed into ±1e-3.
    There are K(K + 1)/2 machines: a warning says how long they will take where it is long.

    Examples
    --------
    >>> X = np.array([[-2.0], [-1.9], [-1.8], [0.0], [0.1], [0.2], [1.9], [2.0], [2.1]])
    >>> y = ["a|b", "a", "a|c", "b", "b|c", "a|b", "c", "b|c", "a|c"]
    >>> model = PALOCClassifier().fit(X, y)
    >>> int(model.refined_.sum(axis=1).max()), model.predict(X[[0, 4, 8]]).tolist()
    (1, ['a', 'b', 'c'])
    """

    name = "paloc"
    title = "PALOC"
    grid = MappingProxyType({"mu": (1.0, 10.0, 100.0), "C": (1.0, 10.0)})
    arrays = ("refined",)
    parts = MappingProxyType({"pairs": Machines, "rest": Machines})

    mu: float = 10.0

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        check_number("mu", self.mu, low=0)
        seed, mask = as_seed(self.random_state), sets.mask
        self.scaler_ = fit_scaler(X, self.scaling)
        rows = self.scaler_(X)
        pairs = list(combinations(range(sets.n_classes), 2))
        tasks = (pair_task(mask, j, k) for j, k in pairs)
        fitted = fit_map(rows, self.kernel, self.gamma, self.n_components, seed)
        self.pairs_ = self._machines(rows, tasks, len(pairs), fitted, "PALOC pairs")
        self.kernel_ = self.pairs_.map.kind
        self.refined_ = refine(mask, _counted(self.pairs_, rows, sets.n_classes))
        self.stack_ = fit_stack(self.pairs_, rows.shape[1])
        everybody, stacked = np.arange(len(rows)), self.stack_(rows)
        tasks = ((everybody, inside) for inside in self.refined_.T)
        fitted = fit_map(stacked, self.kernel_, None, self.n_components, seed)
        self.rest_ = self._machines(stacked, tasks, sets.n_classes, fitted, "PALOC classes")

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        rows = self.scaler_(X)
        accepted = self.rest_.decide(self.stack_(rows)) > 0
        return _counted(self.pairs_, rows, len(self.classes_)) + float(self.mu) * accepted

    def _log_weights(self, X: npt.ArrayLike) -> Floats:
        """Of the score itself, a number of votes."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(self._checked_scores(X), 0.0)))

    def _get_state(self) -> tuple[Arrays, dict[str, Any]]:
        arrays, facts = super()._get_state()
        root = self.stack_.root
        return arrays if root is None else {**arrays, "stack/root": root}, facts

    def _set_state(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        super()._set_state(arrays, facts)
        self.stack_ = Stack(self.pairs_, arrays.get("stack/root"))


def pair_task(mask: Mask, j: int, k: int) -> Task:
    """The rows with exactly one of j, k amongst their candidates; positive are those with j.

    >>> pair_task(np.array([[True, False], [True, True], [False, True]]), 0, 1)
    (array([0, 2]), array([ True, False]))
    """
    rows = np.flatnonzero(mask[:, j] != mask[:, k])
    return rows, mask[rows, j]


def votes(decisions: Floats, n_classes: int) -> Floats:
    """Votes of the machines of all pairs j < k, ties ordered by their decision values; shape (n, K).

    Machine (j, k) votes for j where it is positive.

    >>> votes(np.array([[1.0, 2.0, -1.0]]), 3).argsort()
    array([[1, 2, 0]])
    """
    first, second = np.triu_indices(n_classes, 1)
    pairs = np.arange(len(first))
    places = (np.concatenate([pairs, pairs]), np.concatenate([first, second]))
    values = np.repeat([1.0, -1.0], len(first))
    turn = sp.csr_array((values, places), shape=(len(first), n_classes))
    count = (np.sign(decisions) @ turn + (n_classes - 1)) / 2
    strength = decisions @ turn
    ordered: Floats = count + TIE * strength / (1 + np.abs(strength))
    return ordered


def refine(mask: Mask, counted: Floats) -> Mask:
    """Candidate sets shrunk to the class with the most votes, where it is a candidate.

    >>> refine(np.array([[True, True], [True, False]]), np.array([[0.0, 1.0], [0.0, 1.0]]))
    array([[False,  True],
           [ True, False]])
    """
    alone = np.arange(mask.shape[1]) == counted.argmax(axis=1)[:, None]
    inside = (mask & alone).any(axis=1, keepdims=True)
    return np.where(inside, alone, mask)


@dataclass(frozen=True, eq=False)
class Stack:
    """Rows [x; h(x)], or shorter rows with the same distances and products between them.

    Where h is linear in φ, [x; h(x)] = A u with u = [x; φ(x); 1]. With A Aᵀ = L Lᵀ the rows u L
    have the products of the long ones, so that every machine trained on them is the same; they
    are as wide as u, however many machines there are.
    """

    machines: Machines
    root: Floats | None

    def __call__(self, X: Floats) -> Floats:
        """Stacked rows of scaled rows X."""
        feature_map = self.machines.map
        if self.root is not None:
            mapped = [] if feature_map.kind == "linear" else [feature_map(X)]
            return np.hstack([X, *mapped, np.ones((len(X), 1))]) @ self.root
        width = X.shape[1] + len(self.machines.intercept)
        if 8 * len(X) * width > STACK_LIMIT_BYTES:
            raise InputError(
                f'kernel="rbf" would hold {len(X)} rows × {width} decision values '
                f'({8 * len(X) * width / 2**30:.0f} GiB); use kernel="linear" or "nystroem".'
            )
        return np.hstack([X, self.machines.decide(X)])


def fit_stack(machines: Machines, n_features: int) -> Stack:
    """The stack of these machines; a short one unless the kernel is exact."""
    if machines.map.kind == "rbf":
        return Stack(machines, None)
    weights = np.vstack([machines.coef, machines.intercept])
    products = weights @ weights.T
    if machines.map.kind != "linear":
        products = np.pad(products, ((n_features, 0), (n_features, 0)))
    own = np.arange(n_features)
    products[own, own] += 1.0
    values, vectors = np.linalg.eigh(products)
    kept = values > SMALL * values[-1]
    return Stack(machines, vectors[:, kept] * np.sqrt(values[kept]))


def _counted(machines: Machines, rows: Floats, n_classes: int) -> Floats:
    return np.vstack([votes(block, n_classes) for _, block in machines.blocks(rows)])
