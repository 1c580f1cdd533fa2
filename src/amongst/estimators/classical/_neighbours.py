"""Nearest rows, and their non-negative reconstruction of a row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls
from sklearn.neighbors import NearestNeighbors

from amongst.checks import check_integer
from amongst.errors import InputError

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

CHUNK_BYTES = 2**26


def check_neighbours(n_neighbors: object, n: int, *, spare: int) -> int:
    """The number of neighbours, if there are as many rows and `spare` more.

    >>> check_neighbours(10, 8, spare=1)
    Traceback (most recent call last):
    amongst.errors.InputError: n_neighbors=10 needs at least 11 rows, but X has 8; lower n_neighbors to 7 or less, or give more rows.
    """
    k = check_integer("n_neighbors", n_neighbors, low=1)
    if n >= k + spare:
        return k
    lower = f"lower n_neighbors to {n - spare} or less, or " if n > spare else ""
    raise InputError(
        f"n_neighbors={k} needs at least {k + spare} rows, but X has {n}; {lower}give more rows."
    )


def index_rows(rows: Floats, n_neighbors: int, n_jobs: int | None) -> NearestNeighbors:
    """scikit-learn's index of the rows, by Euclidean distance."""
    return NearestNeighbors(n_neighbors=n_neighbors, n_jobs=n_jobs).fit(rows)


def nearest(index: NearestNeighbors, X: Floats | None = None) -> tuple[Floats, Rows]:
    """Distances and row numbers of the neighbours of X, or of the indexed rows without itself."""
    distances, rows = index.kneighbors(X)
    return distances, rows.astype(np.int64)


def reconstruction(X: Floats, rows: Floats, neighbours: Rows) -> Floats:
    """Weights w ≥ 0 that minimise ‖x − Σ_a w_a x_a‖ over each row's neighbours a, shape (n, k).

    >>> reconstruction(np.array([[2.0, 1.0]]), np.eye(2), np.array([[0, 1]]))
    array([[2., 1.]])
    """
    pairs = zip(X, neighbours, strict=True)
    return np.array([nnls(rows[near].T, x)[0] for x, near in pairs])


def chunks(n: int, bytes_per_row: int) -> Iterator[slice]:
    """Slices of n rows that take about `CHUNK_BYTES` each.

    >>> list(chunks(5, CHUNK_BYTES // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, CHUNK_BYTES // max(bytes_per_row, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
