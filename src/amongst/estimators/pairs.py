"""Pairs of classes: who is trained on for each, and what their machines vote."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from amongst.estimators.machines import Task

__all__ = ["class_pairs", "pair_sizes", "pair_task", "refine", "votes"]

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

TIE = 1e-3


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """All pairs j < k, in the order of the pairwise machines.

    >>> class_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    first, second = np.triu_indices(n_classes, 1)
    return list(zip(first.tolist(), second.tolist(), strict=True))


def pair_sizes(mask: Mask) -> npt.NDArray[np.int64]:
    """How many rows each pair is trained on, shape (P,).

    >>> pair_sizes(np.array([[True, False], [True, True], [False, True]]))
    array([2])
    """
    inside = mask.astype(np.float64)
    together = inside.T @ inside
    count = np.diag(together)
    first, second = np.triu_indices(mask.shape[1], 1)
    sizes = count[first] + count[second] - 2 * together[first, second]
    return sizes.astype(np.int64)


def pair_task(mask: Mask, j: int, k: int) -> Task:
    """The rows with exactly one of j, k amongst their candidates; positive are those with j.

    >>> pair_task(np.array([[True, False], [True, True], [False, True]]), 0, 1)
    (array([0, 2]), array([ True, False]))
    """
    rows = np.flatnonzero(mask[:, j] != mask[:, k])
    return rows, mask[rows, j]


def votes(decisions: Floats, n_classes: int) -> Floats:
    """Votes of the pairwise machines, ties ordered by their decision values; shape (n, K).

    Machine (j, k), in the order of `class_pairs`, votes for j where it is positive.

    >>> votes(np.array([[1.0, 2.0, -1.0]]), 3).argsort()
    array([[1, 2, 0]])
    """
    turn = _incidence(n_classes)
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
    winner = counted.argmax(axis=1)
    alone = np.arange(mask.shape[1]) == winner[:, None]
    inside = (mask & alone).any(axis=1, keepdims=True)
    return np.where(inside, alone, mask)


def _incidence(n_classes: int) -> sp.csr_array:
    """(P, K): +1 for the first class of a pair, −1 for the second."""
    first, second = np.triu_indices(n_classes, 1)
    pairs = np.arange(len(first))
    places = (np.concatenate([pairs, pairs]), np.concatenate([first, second]))
    values = np.repeat([1.0, -1.0], len(first))
    return sp.csr_array((values, places), shape=(len(first), n_classes))
