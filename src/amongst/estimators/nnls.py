"""Non-negative least squares for many small problems at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["batched_nnls"]

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

RIDGE = 1e-15
ROUNDING = 1e-12
SLOPE = 1e-10


def batched_nnls(gram: Floats, moments: Floats) -> Floats:
    """For each of n problems, the w ≥ 0 that minimises ‖A w − b‖², by active sets in lockstep.

    This is Lawson and Hanson's method on the normal equations: a variable is free when it lowers
    the residual, and bound again when its solution turns negative. All problems take their steps
    together; one that has met its optimality conditions leaves. It is exact up to rounding, and a
    column that depends on free ones has no slope, so copies of a row never make it singular.

    Parameters
    ----------
    gram : AᵀA of each problem, shape (n, k, k).
    moments : Aᵀb of each problem, shape (n, k).

    Returns
    -------
    array, shape (n, k).

    Examples
    --------
    >>> A, b = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0])
    >>> batched_nnls((A.T @ A)[None], (A.T @ b)[None])
    array([[2., 0.]])
    """
    weights, free = np.zeros_like(moments), np.zeros(moments.shape, dtype=bool)
    live = np.arange(len(moments))
    for _ in range(5 * moments.shape[1] + 5):
        weights[live], free[live], done = _step(
            gram[live], moments[live], weights[live], free[live]
        )
        live = live[~done]
        if not len(live):
            break
    return weights


def _step(gram: Floats, moments: Floats, weights: Floats, free: Mask) -> tuple[Floats, Mask, Mask]:
    """One step of every problem: new weights, new free variables, and who is done."""
    target = _solve(gram, moments, free)
    blocked: Mask = free & (target <= 0)
    stuck: Mask = np.asarray(blocked.any(axis=1, keepdims=True))
    moved = np.where(stuck, _toward(weights, target, blocked), target)
    free = free & ~(stuck & (moved <= ROUNDING * np.abs(moved).max(axis=1, keepdims=True)))
    moved = np.where(free, moved, 0.0)
    wanted = ~stuck & _steepest(gram, moments, moved, free)
    return moved, free | wanted, ~(stuck[:, 0] | wanted.any(axis=1))


def _steepest(gram: Floats, moments: Floats, weights: Floats, free: Mask) -> Mask:
    """The bound variable of each problem that lowers the residual most, if any does."""
    slope = moments - np.einsum("nij,nj->ni", gram, weights)
    slope = np.where(free, -np.inf, slope)
    first = np.arange(slope.shape[1]) == slope.argmax(axis=1, keepdims=True)
    steepest: Mask = first & (slope > SLOPE * np.abs(moments).max(axis=1, keepdims=True))
    return steepest


def _solve(gram: Floats, moments: Floats, free: Mask) -> Floats:
    """Least squares on the free variables alone; the others are 0."""
    both = free[:, :, None] & free[:, None, :]
    scale = np.trace(gram, axis1=1, axis2=2)[:, None]
    diagonal = np.where(free, RIDGE * scale, 1.0)
    system = np.where(both, gram, 0.0) + diagonal[:, :, None] * np.eye(gram.shape[1])
    wanted = np.where(free, moments, 0.0)[:, :, None]
    return np.asarray(np.linalg.solve(system, wanted)[:, :, 0], dtype=np.float64)


def _toward(weights: Floats, target: Floats, blocked: Mask) -> Floats:
    """As far toward the target as no blocked variable turns negative."""
    gap = np.where(blocked, weights - target, 1.0)
    shares = np.where(blocked, weights / np.where(gap > 0, gap, 1.0), 1.0)
    moved: Floats = weights + shares.min(axis=1, keepdims=True) * (target - weights)
    return moved
