"""Features beside the decision values of machines on them: [x; h(x)]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.archive import Arrays
from amongst.errors import InputError
from amongst.estimators.machines import Machines

__all__ = ["STACK_LIMIT_BYTES", "Stack", "fit_stack"]

Floats = npt.NDArray[np.float64]

STACK_LIMIT_BYTES = 4 * 2**30
SMALL = 1e-12


@dataclass(frozen=True, eq=False)
class Stack:
    """Rows [x; h(x)], or shorter rows with the same distances and products between them.

    Where h is linear in φ, [x; h(x)] = A u with u = [x; φ(x); 1]. With A Aᵀ = L Lᵀ the rows u L
    have the products of the long ones, so that every machine trained on them is the same; they
    are as wide as u, however many machines there are.

    Examples
    --------
    >>> from amongst.estimators.kernels import FeatureMap
    >>> machines = Machines(FeatureMap("linear"), np.array([[2.0, -2.0]]), np.array([0.0, 1.0]))
    >>> short, X = fit_stack(machines, 1), np.array([[1.0], [3.0]])
    >>> long = np.hstack([X, machines.decide(X)])
    >>> bool(np.allclose(short(X) @ short(X).T, long @ long.T))
    True
    """

    machines: Machines
    root: Floats | None

    def __call__(self, X: Floats) -> Floats:
        """Stacked rows of scaled rows X."""
        if self.root is not None:
            return _lifted(self.machines, X) @ self.root
        width = X.shape[1] + len(self.machines.intercept)
        if 8 * len(X) * width > STACK_LIMIT_BYTES:
            raise InputError(
                f'kernel="rbf" would hold {len(X)} rows × {width} decision values '
                f'({8 * len(X) * width / 2**30:.0f} GiB); use kernel="linear" or "nystroem".'
            )
        return np.hstack([X, self.machines.decide(X)])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What `from_arrays` rebuilds it from, but for its machines."""
        return {} if self.root is None else {"stack/root": self.root}

    @classmethod
    def from_arrays(cls, arrays: Arrays, machines: Machines) -> Stack:
        """The inverse of `arrays`."""
        return cls(machines, arrays.get("stack/root"))


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


def _lifted(machines: Machines, X: Floats) -> Floats:
    """u = [x; φ(x); 1], where φ is not x itself."""
    ones = np.ones((len(X), 1))
    if machines.map.kind == "linear":
        return np.hstack([X, ones])
    return np.hstack([X, machines.map(X), ones])
