"""PALOC: one-against-one machines, then one-against-rest machines on refined sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.archive import Arrays
from amongst.candidates import CandidateSets
from amongst.checks import check_number
from amongst.estimators.base import PartialLabelClassifier
from amongst.estimators.forecast import forecast, warn_if_long
from amongst.estimators.kernels import fit_map
from amongst.estimators.machines import Machines, Task, check_cost, fit_machine, fit_machines
from amongst.estimators.pairs import class_pairs, pair_task, refine, votes
from amongst.estimators.scaling import Scaler, fit_scaler
from amongst.estimators.stacking import Stack, fit_stack
from amongst.rng import Seed, as_seed

__all__ = ["PALOCClassifier"]

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class PALOCClassifier(PartialLabelClassifier):
    """PALOC (Wu & Zhang 2018): binary decomposition with stacking.

    A machine h_jk for each pair of classes is trained on the rows with exactly one of j, k
    amongst their candidates. Where the class with the most votes is a candidate, the row's set
    shrinks to it. A machine r_j for each class is trained on [x; all h_jk(x)] and the shrunken
    sets, a row being positive if j is still in its set. The score of class j is the number of its
    votes + μ [r_j > 0].

    Parameters
    ----------
    mu : μ ≥ 0, votes that a one-against-rest machine is worth.
    kernel : ``"rbf"``, ``"linear"``, ``"nystroem"`` or ``"fourier"`` (approximations of ``"rbf"``
        for many rows), or ``"auto"``: ``"rbf"`` up to 10,000 rows, ``"nystroem"`` above.
    C : cost of violated margins; None for 10, or 0.1 with ``kernel="linear"``.
    gamma : of the pairwise machines' RBF kernel; None for 1 / (sum of the variances of the scaled
        columns), which the one-against-rest machines always have.
    n_components : landmarks or random features of the approximations.
    scaling : ``"standard"``, ``"unit"``, ``"standard+unit"`` or None; fitted on the rows of `fit`.
    random_state : of the approximations.
    n_jobs : machines trained at once, in threads. Linear ones with fewer rows than features then
        share liblinear's random numbers, and are the same to its tolerance, not to the last bit.
    verbose : whether to show progress bars.

    Attributes
    ----------
    pairs_ : the K(K − 1)/2 pairwise machines.
    rest_ : the K one-against-rest machines.
    refined_ : (n, K) bool, the shrunken candidate sets of the training rows.
    kernel_ : the kernel that was used.

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

    def __init__(
        self,
        *,
        mu: float = 10.0,
        kernel: str = "auto",
        C: float | None = None,
        gamma: float | None = None,
        n_components: int = 300,
        scaling: str | None = "standard",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.mu = mu
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.n_components = n_components
        self.scaling = scaling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        check_number("mu", self.mu, low=0)
        seed, mask = as_seed(self.random_state), sets.mask
        self.scaler_ = fit_scaler(X, self.scaling)
        rows = self.scaler_(X)
        self.pairs_ = self._fit_pairs(rows, mask, seed)
        self.kernel_ = self.pairs_.map.kind
        self.refined_ = refine(mask, _count(self.pairs_, rows, mask.shape[1]))
        self.stack_ = fit_stack(self.pairs_, rows.shape[1])
        self.rest_ = self._fit_rest(self.stack_(rows), self.refined_, seed)

    def _fit_pairs(self, rows: Floats, mask: Mask, seed: int) -> Machines:
        feature_map = fit_map(rows, self.kernel, self.gamma, self.n_components, seed)
        cost, pairs = check_cost(self.C, feature_map.kind), class_pairs(mask.shape[1])
        train = fit_machine(rows, feature_map, cost)
        seconds = forecast(mask, train, feature_map.kind, self.n_jobs)
        warn_if_long(seconds, len(pairs), mask.shape[1], feature_map.kind, self.n_jobs)
        return fit_machines(
            rows,
            (pair_task(mask, j, k) for j, k in pairs),
            len(pairs),
            feature_map,
            C=cost,
            n_jobs=self.n_jobs,
            title="PALOC pairs",
            verbose=bool(self.verbose),
        )

    def _fit_rest(self, stacked: Floats, refined: Mask, seed: int) -> Machines:
        feature_map = fit_map(stacked, self.kernel_, None, self.n_components, seed)
        return fit_machines(
            stacked,
            _rest_tasks(refined),
            refined.shape[1],
            feature_map,
            C=check_cost(self.C, feature_map.kind),
            n_jobs=self.n_jobs,
            title="PALOC classes",
            verbose=bool(self.verbose),
        )

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        rows = self.scaler_(X)
        accepted = self.rest_.decide(self.stack_(rows)) > 0
        return _count(self.pairs_, rows, len(self.classes_)) + float(self.mu) * accepted

    def _log_weights(self, X: npt.ArrayLike) -> Floats:
        """Of the score itself, a number of votes."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(self._checked_scores(X), 0.0)))

    def _get_state(self) -> tuple[Arrays, dict[str, Any]]:
        arrays = {"refined": self.refined_} | self.scaler_.arrays() | self.stack_.arrays()
        arrays |= self.pairs_.arrays("pairs") | self.rest_.arrays("rest")
        return arrays, {"kernel": self.kernel_}

    def _set_state(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        self.kernel_, self.refined_ = facts["kernel"], arrays["refined"]
        self.scaler_ = Scaler.from_arrays(arrays, self.scaling)
        self.pairs_ = Machines.from_arrays(arrays, "pairs", self.kernel_)
        self.rest_ = Machines.from_arrays(arrays, "rest", self.kernel_)
        self.stack_ = Stack.from_arrays(arrays, self.pairs_)


def _count(machines: Machines, rows: Floats, n_classes: int) -> Floats:
    counted = np.empty((len(rows), n_classes))
    for part, decisions in machines.blocks(rows):
        counted[part] = votes(decisions, n_classes)
    return counted


def _rest_tasks(refined: Mask) -> Iterator[Task]:
    rows = np.arange(len(refined))
    for label in range(refined.shape[1]):
        yield rows, refined[:, label]
