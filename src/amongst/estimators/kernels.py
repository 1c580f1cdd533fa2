"""Kernels as feature maps: one map serves every machine that is trained on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import rbf_kernel

from amongst.archive import Arrays
from amongst.checks import check_choice, check_integer, check_number

__all__ = ["EXACT_ROWS", "KERNELS", "FeatureMap", "fit_map"]

Floats = npt.NDArray[np.float64]

KERNELS = ("auto", "linear", "rbf", "nystroem", "fourier")
EXACT_ROWS = 10_000
"""With kernel="auto", the exact RBF kernel serves up to this many rows, Nyström's map above."""


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """x ↦ φ(x), so that a machine's decision is φ(x)·w + b.

    * ``linear``: x itself;
    * ``rbf``: (k(x, p))_p over the training rows p, with k(x, p) = exp(−γ ‖x − p‖²);
    * ``nystroem``: the same over a few of them, times K_pp^(−1/2);
    * ``fourier``: √(2/m) cos(x·p + t) for m random frequencies p and phases t.

    Examples
    --------
    >>> FeatureMap("rbf", 0.5, np.array([[0.0], [2.0]]))(np.array([[0.0]])).round(4)
    array([[1.    , 0.1353]])
    """

    kind: str
    gamma: float = 1.0
    points: Floats | None = None
    mixing: Floats | None = None

    def __call__(self, X: Floats) -> Floats:
        """φ of scaled rows, shape (n, m)."""
        if self.kind == "linear" or self.points is None:
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
    """The feature map of a kernel for these (scaled) rows.

    Parameters
    ----------
    X : shape (n, d).
    kernel : one of `KERNELS`.
    gamma : of the RBF kernel; None for 1 / (sum of the columns' variances).
    n_components : m, landmarks of Nyström's map or random frequencies.
    seed : of landmarks and frequencies.

    Examples
    --------
    >>> fit_map(np.arange(4.0)[:, None], "auto", None, 100, seed=0).kind
    'rbf'
    """
    kind = check_choice("kernel", kernel, KERNELS)
    if kind == "auto":
        kind = "rbf" if len(X) <= EXACT_ROWS else "nystroem"
    width = _width(X) if gamma is None else check_number("gamma", gamma, low=0, open_low=True)
    m = check_integer("n_components", n_components, low=1)
    if kind == "linear":
        return FeatureMap("linear")
    if kind == "rbf":
        return FeatureMap("rbf", width, X)
    return _approximation(X, kind, width, m, seed)


def _width(X: Floats) -> float:
    spread = float(X.var(axis=0).sum())
    return 1.0 / spread if spread > 0 else 1.0


def _approximation(X: Floats, kind: str, gamma: float, m: int, seed: int) -> FeatureMap:
    state = np.random.RandomState(seed % 2**32)
    if kind == "fourier":
        sampler = RBFSampler(gamma=gamma, n_components=m, random_state=state).fit(X)
        weights, phases = sampler.random_weights_, sampler.random_offset_
        return FeatureMap(kind, gamma, np.ascontiguousarray(weights.T), phases)
    found = Nystroem(gamma=gamma, n_components=min(m, len(X)), random_state=state).fit(X)
    return FeatureMap(kind, gamma, found.components_, np.ascontiguousarray(found.normalization_.T))
