"""MATLAB files of the partial-label field: `data`, `partial_target`, `target`.

Version 5 (scipy) and version 7.3, which is HDF5 (h5py); dense and sparse; K×n and n×K.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.io
import scipy.sparse as sp

from amongst.candidates import CandidateSets
from amongst.errors import FileFormatError, MissingDependencyError
from amongst.optional import optional_import

__all__ = ["MatContents", "read_mat", "read_partial_mat"]

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True, eq=False)
class MatContents:
    """What a partial-label `.mat` file holds.

    Attributes
    ----------
    features : (n, d) float64.
    candidates : CandidateSets with classes 0 … K−1, or None where the file has none.
    labels : (n,) columns of the true classes, or None where the file has none.
    """

    features: npt.NDArray[np.float64]
    candidates: CandidateSets | None
    labels: npt.NDArray[np.int64] | None


def read_mat(path: Path) -> dict[str, Any]:
    """Every numeric matrix of a `.mat` file, by name: arrays, or CSC matrices where sparse."""
    try:
        if _is_hdf5(path):
            return _read_hdf5(path)
        loaded = scipy.io.loadmat(path)
    except (FileFormatError, MissingDependencyError):
        raise
    except Exception as error:  # scipy and h5py raise many kinds on a damaged file
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(f"{path} cannot be read as a MATLAB file: {reason}") from error
    return {name: value for name, value in loaded.items() if not name.startswith("__")}


def read_partial_mat(
    path: Path,
    *,
    data: str = "data",
    candidates: str | None = "partial_target",
    truth: str | None = "target",
    empty: str = "error",
) -> MatContents:
    """Features, candidate sets and true labels of a `.mat` file in the field's layout.

    Parameters
    ----------
    path : file of MATLAB version 5 or 7.3.
    data : key of the features, n×d.
    candidates : key of the 0/1 candidate matrix, K×n or n×K; None to leave it out.
    truth : key of the 0/1 matrix of true labels, likewise; None to leave it out.
    empty : a row without candidates is an ``"error"``, or means no information: ``"full"``.
    """
    arrays = read_mat(path)
    features = _features(path, arrays, data)
    n = len(features)
    sets = None if candidates is None else _sets(path, arrays, candidates, n, empty)
    labels = None if truth is None else _labels(path, arrays, truth, n)
    return MatContents(features, sets, labels)


def _features(path: Path, arrays: dict[str, Any], key: str) -> npt.NDArray[np.float64]:
    found = _get(path, arrays, key, "features")
    dense = found.toarray() if sp.issparse(found) else np.asarray(found)
    if not dense.size:
        raise FileFormatError(f"{path}: {key!r} has no rows or no columns (shape {dense.shape}).")
    features = np.ascontiguousarray(dense, dtype=np.float64)
    bad = np.argwhere(~np.isfinite(features))
    if len(bad):
        row, column = bad[0].tolist()
        raise FileFormatError(
            f"{path}: {key!r} holds {features[row, column]} in row {row}, column {column}; "
            "fill in or drop such rows."
        )
    return features


def _sets(path: Path, arrays: dict[str, Any], key: str, n: int, empty: str) -> CandidateSets:
    mask = _by_rows(path, arrays, key, n, "candidate labels")
    rows = np.flatnonzero(~mask.any(axis=1))
    if len(rows) and empty != "full":
        raise FileFormatError(
            f"{path}: {key!r} gives row {rows[0]} no candidate ({len(rows)} such rows); every "
            'row needs at least one. Drop the rows, or pass empty="full".'
        )
    mask[rows] = True
    return CandidateSets(mask, np.arange(mask.shape[1]))


def _labels(path: Path, arrays: dict[str, Any], key: str, n: int) -> npt.NDArray[np.int64]:
    mask = _by_rows(path, arrays, key, n, "true labels")
    odd = np.flatnonzero(mask.sum(axis=1) != 1)
    if len(odd):
        raise FileFormatError(
            f"{path}: {key!r} gives row {odd[0]} {int(mask[odd[0]].sum())} true labels; each row "
            "has exactly one."
        )
    labels: npt.NDArray[np.int64] = mask.argmax(axis=1)
    return labels


def _by_rows(
    path: Path, arrays: dict[str, Any], key: str, n: int, what: str
) -> npt.NDArray[np.bool_]:
    """The 0/1 matrix `key` with one row for each example; K×n is the field's habit."""
    found = _get(path, arrays, key, what)
    dense = found.toarray() if sp.issparse(found) else np.asarray(found)
    if not np.isin(dense, (0, 1)).all():
        raise FileFormatError(f"{path}: {key!r} must hold 0 and 1 only: one row for each class.")
    if dense.shape[1] == n:
        dense = dense.T
    elif dense.shape[0] != n:
        raise FileFormatError(
            f"{path}: {key!r} is {dense.shape[0]} × {dense.shape[1]}, but there are {n} rows of "
            "features; one of its sides must be that long. Transpose the features if their rows "
            "are not the examples."
        )
    return np.ascontiguousarray(dense, dtype=bool)


def _get(path: Path, arrays: dict[str, Any], key: str, what: str) -> Any:
    if key not in arrays:
        there = ", ".join(sorted(arrays)) or "no numeric matrix"
        raise FileFormatError(
            f"{path} has no key {key!r} ({what}); it holds: {there}. Features are called "
            "data, X, x or features; name other keys, or None for candidates or truth that are not "
            "known."
        )
    found = arrays[key]
    numeric = sp.issparse(found) or np.asarray(found).dtype.kind in "biuf"
    if not numeric or found.ndim != 2:
        raise FileFormatError(f"{path}: {key!r} is not a numeric matrix ({what}).")
    return found


def _is_hdf5(path: Path) -> bool:
    """HDF5 begins at 0 (plain) or at 512 (MATLAB's 7.3, behind its own header)."""
    with path.open("rb") as file:
        start = file.read(520)
    return start[:8] == HDF5_SIGNATURE or start[512:520] == HDF5_SIGNATURE


def _read_hdf5(path: Path) -> dict[str, Any]:
    h5py = optional_import("h5py", extra="data", purpose="reading MATLAB 7.3 files")
    with h5py.File(path, "r") as file:
        found = {name: _from_hdf5(h5py, item) for name, item in file.items() if name[0] != "#"}
    return {name: value for name, value in found.items() if value is not None}


def _from_hdf5(h5py: Any, item: Any) -> Any:
    """MATLAB keeps matrices by columns, so HDF5 shows them transposed."""
    if isinstance(item, h5py.Group):
        return _sparse_from_hdf5(item) if "MATLAB_sparse" in item.attrs else None
    if item.dtype.kind not in "biuf":
        return None
    values = item[()]
    return values.T if "MATLAB_class" in item.attrs else values


def _sparse_from_hdf5(group: Any) -> sp.csc_array:
    """A group of `data`, `ir` (rows) and `jc` (column bounds); its attribute counts the rows."""
    bounds = group["jc"][()]
    shape = (int(group.attrs["MATLAB_sparse"]), len(bounds) - 1)
    if "data" not in group:
        return sp.csc_array(shape, dtype=np.float64)
    return sp.csc_array((group["data"][()], group["ir"][()], bounds), shape=shape)
