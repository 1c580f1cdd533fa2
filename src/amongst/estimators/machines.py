"""Many binary support vector machines over the same rows: trained in parallel, kept as arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from amongst.archive import Arrays
from amongst.bars import bar
from amongst.checks import check_number
from amongst.errors import AmongstWarning
from amongst.estimators.kernels import FeatureMap
from amongst.estimators.neighbours import chunks

__all__ = ["Machine", "Machines", "Task", "check_cost", "fit_machine", "fit_machines"]

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Task = tuple[Rows, npt.NDArray[np.bool_]]
"""Row numbers, and whether each of these rows is positive."""

MAX_ITER = 2000


@dataclass(frozen=True, eq=False)
class Machine:
    """One machine: φ(x)·w + b with w given at some places of φ; and whether it converged."""

    places: Rows
    values: Floats
    intercept: float
    converged: bool = True


@dataclass(frozen=True, eq=False)
class Machines:
    """P machines on one feature map: h(x) = φ(x) W + b, shape (n, P).

    Attributes
    ----------
    map : φ.
    coef : W, (m, P), dense, or sparse where the map has a place for each training row.
    intercept : b, (P,).

    Examples
    --------
    >>> two = Machines(FeatureMap("linear"), np.array([[1.0, -1.0]]), np.array([0.0, 0.5]))
    >>> two.decide(np.array([[2.0]]))
    array([[ 2. , -1.5]])
    """

    map: FeatureMap
    coef: Any
    intercept: Floats

    def decide(self, X: Floats) -> Floats:
        """Decision values of scaled rows, shape (n, P)."""
        values = np.empty((len(X), len(self.intercept)))
        for part, block in self.blocks(X):
            values[part] = block
        return values

    def blocks(self, X: Floats) -> Iterator[tuple[slice, Floats]]:
        """The same by a few rows at a time, where (n, P) would be too large."""
        wide = self.map.width(X.shape[1]) + len(self.intercept)
        for part in chunks(len(X), 8 * wide):
            yield part, self.map(X[part]) @ self.coef + self.intercept

    def arrays(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """What `from_arrays` rebuilds it from."""
        found = self.map.arrays(f"{prefix}/map") | {f"{prefix}/intercept": self.intercept}
        if not sp.issparse(self.coef):
            return found | {f"{prefix}/coef": self.coef}
        parts = {"values": self.coef.data, "places": self.coef.indices, "bounds": self.coef.indptr}
        return found | {f"{prefix}/{name}": array for name, array in parts.items()}

    @classmethod
    def from_arrays(cls, arrays: Arrays, prefix: str, kind: str) -> Machines:
        """The inverse of `arrays`, for a map of this kind."""
        where, intercept = f"{prefix}/", arrays[f"{prefix}/intercept"]
        found = FeatureMap.from_arrays(arrays, f"{prefix}/map", kind)
        if f"{where}coef" in arrays:
            return cls(found, arrays[f"{where}coef"], intercept)
        assert found.points is not None
        parts = (arrays[f"{where}values"], arrays[f"{where}places"], arrays[f"{where}bounds"])
        shape = (len(found.points), len(intercept))
        return cls(found, sp.csc_array(parts, shape=shape), intercept)


def fit_machines(
    X: Floats,
    tasks: Iterable[Task],
    count: int,
    feature_map: FeatureMap,
    *,
    C: float,
    n_jobs: int | None = None,
    title: str = "machines",
    verbose: bool = False,
) -> Machines:
    """Train one machine for each task; a task with one side alone gives a constant, ±1 or 0.

    Parameters
    ----------
    X : scaled rows, shape (n, d).
    tasks : for each machine its rows, and which of them are positive.
    count : how many tasks there are.
    feature_map : of the kernel; see `fit_map`.
    C : cost of violated margins.
    n_jobs : threads (the solvers let go of Python's lock), as joblib has it.
    title, verbose : of the progress bar, and whether to show it.

    Examples
    --------
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> task = (np.arange(4), np.array([False, False, True, True]))
    >>> machines = fit_machines(X, [task], 1, FeatureMap("linear"), C=1.0)
    >>> np.sign(machines.decide(X)).ravel()
    array([-1., -1.,  1.,  1.])
    """
    train = fit_machine(X, feature_map, C)
    work = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    found: list[Machine] = []
    with warnings.catch_warnings(), bar(title, count, verbose) as advance:
        warnings.simplefilter("ignore", ConvergenceWarning)
        for machine in work(delayed(train)(task) for task in tasks):
            found.append(machine)
            advance()
    _warn_unconverged(found, title)
    return _gather(feature_map, found, feature_map.width(X.shape[1]))


def check_cost(C: object, kernel: str) -> float:
    """C, or where it is None, 0.1 for a linear kernel and 10 for the others.

    >>> check_cost(None, "rbf"), check_cost(None, "linear"), check_cost(3, "rbf")
    (10.0, 0.1, 3.0)
    """
    if C is None:
        return 0.1 if kernel == "linear" else 10.0
    return check_number("C", C, low=0, open_low=True)


def fit_machine(X: Floats, feature_map: FeatureMap, C: float) -> Callable[[Task], Machine]:
    """A function that trains the machine of a task on these rows."""
    exact = feature_map.kind == "rbf"
    features = X if exact else feature_map(X)

    def train(task: Task) -> Machine:
        rows, positive = task
        if not positive.any() or positive.all():
            return _constant(positive)
        if exact:
            return _kernel_machine(features, rows, positive, C, feature_map.gamma)
        return _linear_machine(features, rows, positive, C)

    return train


def _constant(positive: npt.NDArray[np.bool_]) -> Machine:
    side = 0.0 if not len(positive) else 1.0 if positive[0] else -1.0
    return Machine(np.empty(0, np.int64), np.empty(0), side)


def _kernel_machine(
    X: Floats, rows: Rows, positive: npt.NDArray[np.bool_], C: float, gamma: float
) -> Machine:
    fitted = SVC(C=C, kernel="rbf", gamma=gamma, random_state=0).fit(X[rows], positive)
    places = rows[fitted.support_]
    return Machine(places, fitted.dual_coef_[0], float(fitted.intercept_[0]))


def _linear_machine(
    features: Floats, rows: Rows, positive: npt.NDArray[np.bool_], C: float
) -> Machine:
    solver = LinearSVC(C=C, dual="auto", max_iter=MAX_ITER, random_state=0)
    fitted = solver.fit(features[rows], positive)
    places = np.arange(features.shape[1])
    done = bool(fitted.n_iter_ < MAX_ITER)
    return Machine(places, fitted.coef_[0], float(fitted.intercept_[0]), done)


def _gather(feature_map: FeatureMap, found: list[Machine], width: int) -> Machines:
    intercept = np.array([machine.intercept for machine in found])
    bounds = np.cumsum([0] + [len(machine.places) for machine in found])
    places = np.concatenate([machine.places for machine in found])
    values = np.concatenate([machine.values for machine in found])
    coef = sp.csc_array((values, places, bounds), shape=(width, len(found)))
    sparse = feature_map.kind == "rbf"
    return Machines(feature_map, coef if sparse else coef.toarray(order="C"), intercept)


def _warn_unconverged(found: list[Machine], title: str) -> None:
    late = sum(not machine.converged for machine in found)
    if late:
        warnings.warn(
            f"{late} of {len(found)} {title} stopped at {MAX_ITER} steps before they converged; "
            "lower C.",
            AmongstWarning,
            stacklevel=7,
        )
