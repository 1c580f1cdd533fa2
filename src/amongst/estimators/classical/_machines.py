"""Many binary support vector machines over the same rows: one feature map for all of them, trained in
parallel, kept as arrays."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from amongst.bars import bar
from amongst.checks import Seed, check_choice, check_integer, check_number
from amongst.errors import AmongstWarning, warn
from amongst.estimators.classical._neighbours import Floats, Rows, chunks
from amongst.estimators.classical._scaling import ScaledClassifier
from amongst.files import Arrays
from amongst.wording import readable

Task = tuple[Rows, npt.NDArray[np.bool_]]
"""Row numbers, and whether each of these rows is positive."""

KERNELS = ("auto", "linear", "rbf", "nystroem", "fourier")
EXACT_ROWS = 10_000
"""With kernel="auto", the exact RBF kernel serves up to this many rows, Nyström's map above."""

MAX_ITER = 2000
TRIED, LONG = 5.0, 60.0
"""After so many seconds it is told how long all will take, where that is more than this."""


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """x ↦ φ(x), so that a machine's decision is φ(x)·w + b.

    * ``linear``: x itself;
    * ``rbf``: (k(x, p))_p over the training rows p, with k(x, p) = exp(−γ ‖x − p‖²);
    * ``nystroem``: the same over a few of them, times K_pp^(−1/2);
    * ``fourier``: √(2/m) cos(x·p + t) for m random frequencies p and phases t.

    >>> FeatureMap("rbf", 0.5, np.array([[0.0], [2.0]]))(np.array([[0.0]])).round(4)
    array([[1.    , 0.1353]])
    """

    kind: str
    gamma: float = 1.0
    points: Floats | None = None
    mixing: Floats | None = None

    def __call__(self, X: Floats) -> Floats:
        """φ of scaled rows, shape (n, m)."""
        if self.points is None:
            return X
        if self.kind == "fourier":
            waves = np.cos(X @ self.points.T + np.asarray(self.mixing))
            return np.asarray(waves * np.sqrt(2 / len(self.points)))
        values: Floats = rbf_kernel(X, self.points, gamma=self.gamma)
        return values if self.mixing is None else values @ self.mixing

    def width(self, n_features: int) -> int:
        """m, the number of features that come out."""
        return n_features if self.points is None else len(self.points)

    def arrays(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """What `from_arrays` rebuilds it from."""
        found = {"gamma": np.array([self.gamma]), "points": self.points, "mixing": self.mixing}
        return {f"{prefix}/{name}": a for name, a in found.items() if a is not None}

    @classmethod
    def from_arrays(cls, arrays: Arrays, prefix: str, kind: str) -> FeatureMap:
        """The inverse of `arrays`."""
        gamma = float(arrays[f"{prefix}/gamma"][0])
        return cls(kind, gamma, arrays.get(f"{prefix}/points"), arrays.get(f"{prefix}/mixing"))


def fit_map(
    X: Floats, kernel: object, gamma: object, n_components: object, seed: int
) -> FeatureMap:
    """The feature map of one of the `KERNELS` for these scaled rows. γ is by default 1 / (sum of the
    columns' variances); `n_components` are Nyström's landmarks, or random frequencies.

    >>> fit_map(np.arange(4.0)[:, None], "auto", None, 100, seed=0).kind
    'rbf'
    """
    kind = check_choice("kernel", kernel, KERNELS)
    if kind == "auto":
        kind = "rbf" if len(X) <= EXACT_ROWS else "nystroem"
    spread = float(X.var(axis=0).sum())
    width = 1.0 / spread if spread > 0 else 1.0
    if gamma is not None:
        width = check_number("gamma", gamma, low=0, open_low=True)
    m = check_integer("n_components", n_components, low=1)
    if kind == "linear":
        return FeatureMap("linear")
    if kind == "rbf":
        return FeatureMap("rbf", width, X)
    state = np.random.RandomState(seed % 2**32)
    if kind == "fourier":
        waves = RBFSampler(gamma=width, n_components=m, random_state=state).fit(X)
        points = np.ascontiguousarray(waves.random_weights_.T)
        return FeatureMap(kind, width, points, waves.random_offset_)
    found = Nystroem(gamma=width, n_components=min(m, len(X)), random_state=state).fit(X)
    return FeatureMap(kind, width, found.components_, np.ascontiguousarray(found.normalization_.T))


Machine = tuple[Rows, Floats, float, bool]
"""φ(x)·w + b: the places of φ at which w is given, w there, and b; and whether it converged."""


@dataclass(frozen=True, eq=False)
class Machines:
    """P machines on one feature map: h(x) = φ(x) W + b, shape (n, P); W is sparse where the map has a
    place for each training row.

    >>> two = Machines(FeatureMap("linear"), np.array([[1.0, -1.0]]), np.array([0.0, 0.5]))
    >>> two.decide(np.array([[2.0]]))
    array([[ 2. , -1.5]])
    """

    map: FeatureMap
    coef: Any
    intercept: Floats

    def decide(self, X: Floats) -> Floats:
        """Decision values of scaled rows, shape (n, P)."""
        return np.vstack([block for _, block in self.blocks(X)])

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
        intercept, coef = arrays[f"{prefix}/intercept"], arrays.get(f"{prefix}/coef")
        found = FeatureMap.from_arrays(arrays, f"{prefix}/map", kind)
        if coef is None:
            assert found.points is not None
            parts = tuple(arrays[f"{prefix}/{name}"] for name in ("values", "places", "bounds"))
            coef = sp.csc_array(parts, shape=(len(found.points), len(intercept)))
        return cls(found, coef, intercept)


def fit_machines(
    X: Floats,
    tasks: Iterable[Task],
    count: int,
    feature_map: FeatureMap,
    *,
    C: object,
    n_jobs: int | None = None,
    title: str = "machines",
    verbose: bool = False,
) -> Machines:
    """Train one machine for each of `count` tasks, in threads, since the solvers let go of Python's
    lock; a task with one side alone gives a constant, ±1 or 0.

    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> task = (np.arange(4), np.array([False, False, True, True]))
    >>> machines = fit_machines(X, [task], 1, FeatureMap("linear"), C=1.0)
    >>> np.sign(machines.decide(X)).ravel()
    array([-1., -1.,  1.,  1.])
    """
    train = _trainer(X, feature_map, check_cost(C, feature_map.kind))
    work = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    found: list[Machine] = []
    began, told = time.perf_counter(), False
    with warnings.catch_warnings(), bar(title, count, verbose) as advance:
        warnings.simplefilter("ignore", ConvergenceWarning)
        for machine in work(delayed(train)(task) for task in tasks):
            found.append(machine)
            advance()
            passed = time.perf_counter() - began
            if not told and passed > TRIED:
                told = True
                _warn_if_long(passed * count / len(found), count, title, feature_map.kind)
    late = sum(not converged for *_, converged in found)
    if late:
        text = (
            f"{late} of {count} {title} stopped at {MAX_ITER} steps before they converged; lower C."
        )
        warn(AmongstWarning(text))
    return _gathered(feature_map, found, feature_map.width(X.shape[1]))


def check_cost(C: object, kernel: str) -> float:
    """C, or where it is None, 0.1 for a linear kernel and 10 for the others.

    >>> check_cost(None, "rbf"), check_cost(None, "linear"), check_cost(3, "rbf")
    (10.0, 0.1, 3.0)
    """
    if C is None:
        return 0.1 if kernel == "linear" else 10.0
    return check_number("C", C, low=0, open_low=True)


def _trainer(X: Floats, feature_map: FeatureMap, C: float) -> Callable[[Task], Machine]:
    """A function that trains the machine of a task on these rows."""
    exact = feature_map.kind == "rbf"
    features = X if exact else feature_map(X)

    def train(task: Task) -> Machine:
        rows, positive = task
        if not positive.any() or positive.all():
            side = 0.0 if not len(positive) else 1.0 if positive[0] else -1.0
            return np.empty(0, np.int64), np.empty(0), side, True
        if exact:
            svc = SVC(C=C, kernel="rbf", gamma=feature_map.gamma, random_state=0)
            svc.fit(features[rows], positive)
            return rows[svc.support_], svc.dual_coef_[0], float(svc.intercept_[0]), True
        linear = LinearSVC(C=C, dual="auto", max_iter=MAX_ITER, random_state=0)
        linear.fit(features[rows], positive)
        places, done = np.arange(features.shape[1]), bool(linear.n_iter_ < MAX_ITER)
        return places, linear.coef_[0], float(linear.intercept_[0]), done

    return train


def _gathered(feature_map: FeatureMap, found: list[Machine], width: int) -> Machines:
    places, values, intercept, _ = zip(*found, strict=True)
    bounds = np.cumsum([0, *map(len, places)])
    parts = np.concatenate(values), np.concatenate(places), bounds
    coef = sp.csc_array(parts, shape=(width, len(found)))
    sparse = feature_map.kind == "rbf"
    return Machines(feature_map, coef if sparse else coef.toarray(order="C"), np.array(intercept))


def _warn_if_long(seconds: float, count: int, title: str, kernel: str) -> None:
    if seconds > LONG:
        cheaper = "" if kernel == "linear" else ' kernel="linear" is the quickest.'
        text = f"{count:,} {title} take about {readable(seconds)}, judged by the first.{cheaper}"
        warn(AmongstWarning(text))


@dataclass(kw_only=True, eq=False, repr=False)
class MachineClassifier(ScaledClassifier):
    """A classifier made of binary machines.

    Parameters
    ----------
    kernel : ``"rbf"``, ``"linear"``, ``"nystroem"`` or ``"fourier"`` (approximations of ``"rbf"``
        for many rows), or ``"auto"``: ``"rbf"`` up to 10,000 rows, ``"nystroem"`` above.
    C : cost of violated margins; None for 10, or 0.1 with ``kernel="linear"``.
    gamma : of the RBF kernel; None for 1 / (sum of the variances of the scaled columns).
    n_components : landmarks or random features of the approximations.
    scaling : ``"standard"``, ``"unit"``, ``"standard+unit"`` or None; fitted on the rows of `fit`.
    random_state : of the approximations, and of what else is drawn.
    n_jobs : machines trained at once, in threads. Linear ones with fewer rows than features then
        share liblinear's random numbers, and are the same to its tolerance, not to the last bit.
    verbose : whether to show progress bars.

    Attributes
    ----------
    kernel_ : the kernel that was used.
    """

    facts = MappingProxyType({"kernel": None})

    kernel: str = "auto"
    C: float | None = None
    gamma: float | None = None
    n_components: int = 300
    scaling: str | None = "standard"
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: bool = False

    def _machines(
        self, rows: Floats, tasks: Iterable[Task], count: int, fitted: FeatureMap, title: str
    ) -> Machines:
        how: dict[str, Any] = {"C": self.C, "n_jobs": self.n_jobs, "verbose": bool(self.verbose)}
        return fit_machines(rows, tasks, count, fitted, title=title, **how)
