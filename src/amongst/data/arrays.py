"""Files of named arrays: NPZ, and MATLAB's of version 5 and 7.3."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from amongst.candidates import CandidateSets, as_candidates
from amongst.candidates.convert import is_annotators
from amongst.checks import as_float, near_matches
from amongst.data.columns import Columns, check_finite, column_candidates, true_labels
from amongst.data.matlab import is_hdf5, read_matlab
from amongst.errors import FileFormatError, InputError, Shown, named, reading
from amongst.optional import optional_import

FEATURE_NAMES = ("X", "x", "features", "data")
PARTIAL_TARGET, TARGET = "partial_target", "target"
"""What the field calls candidates and true labels in MATLAB files; `data` are the features."""
LIKELY_NAMES = ("candidates", "candidate_labels", "candidate labels", "labels", PARTIAL_TARGET)
"""Names that people give to candidates."""


@dataclass(frozen=True, eq=False)
class ArrayFile:
    """A file of arrays by name; some of a MATLAB file may be sparse.

    Attributes
    ----------
    path : the file.
    arrays : every array of it that can be read.
    is_mat : whether it is MATLAB's, where labels are K×n by habit, and numbers float64.
    """

    path: Path
    arrays: dict[str, Any]
    is_mat: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Of its arrays."""
        return tuple(self.arrays)

    @property
    def is_partial_mat(self) -> bool:
        """Whether it has the layout of the field, so that candidates and truth need no naming."""
        return self.is_mat and PARTIAL_TARGET in self.arrays

    def stored(self, argument: str, name: str) -> Any:
        """The array of that name, as the file has it; `argument` named it."""
        if name not in self.arrays:
            near = near_matches(name, self.arrays)
            raise InputError(
                f"is not in {self.path}; it holds: {', '.join(sorted(self.arrays)) or 'nothing'}.",
                code="no-array",
                argument=argument,
                got=name,
                remedy=f"Did you mean {near[0]!r}?" if near else "",
            )
        return self.arrays[name]

    def array(self, argument: str, name: str) -> npt.NDArray[Any]:
        """The array of that name, dense."""
        found = self.stored(argument, name)
        try:
            return found.toarray() if sp.issparse(found) else np.asarray(found)
        except (MemoryError, ValueError) as error:  # of a shape that no array has
            problem = f"{self.path}: {name!r}, {found.shape[0]} × {found.shape[1]}, is too large."
            raise FileFormatError(problem, code="memory") from error

    def column(self, argument: str, name: str, n: int) -> npt.NDArray[Any]:
        """The array of that name, shape (n,); a matrix of one row or column is one, too."""
        found = self.rows(argument, name, n)
        if found.size != n:
            problem = (
                f"has shape {found.shape}; it must hold one value for each row of {self.path}."
            )
            raise InputError(problem, code="shape", argument=argument, got=name)
        return found.reshape(-1)

    def features(self, name: str | None, taken: Collection[str]) -> npt.NDArray[Any]:
        """The features, shape (n, d): named, or found by `feature_name`."""
        name = name or self.feature_name(taken)
        if name is None:
            raise InputError(
                f"which array of {self.path} holds the features? It holds: "
                f"{', '.join(sorted(self.arrays)) or 'nothing'}.",
                code="which-features",
                remedy=f"Name it with {named('features', Shown('…'))}.",
            )
        found = self.array("features", name)
        if found.ndim < 2 or found.dtype.kind not in "biuf":
            raise InputError(
                f"has shape {found.shape} and type {found.dtype}; it must be numeric with one row for "
                f"each example of {self.path}.",
                code="shape",
                argument="features",
                got=name,
            )
        if not found.size:
            problem = f"{self.path}: {name!r} has no rows or no columns (shape {found.shape})."
            raise FileFormatError(problem, code="no-rows")
        rows = found.reshape(len(found), -1)
        return np.ascontiguousarray(rows, dtype=np.float64) if self.is_mat else as_float(rows)

    def feature_name(self, taken: Collection[str]) -> str | None:
        """The array that is plainly the features: by its name, or the only one left."""
        free = [name for name in self.arrays if name not in taken]
        usual = ("data", *FEATURE_NAMES) if self.is_mat else FEATURE_NAMES
        known = [name for name in usual if name in free]
        return next(iter(known or free)) if known or len(free) == 1 else None

    def rows(self, argument: str, name: str, n: int) -> npt.NDArray[Any]:
        """The array of that name with a row for each of n examples; a matrix may be turned."""
        self.check_rows(argument, name, n)
        found = np.atleast_1d(self.array(argument, name))
        first = self.is_mat or len(found) != n  # K×n is MATLAB's habit
        return found.T if found.ndim == 2 and found.shape[1] == n and first else found

    def check_rows(self, argument: str, name: str, n: int) -> None:
        """Whether one side of it is n, which needs no dense array."""
        shape = self.stored(argument, name).shape or (1,)
        if n not in (shape if len(shape) == 2 else shape[:1]):
            raise InputError(
                f"is {' × '.join(map(str, shape))} in {self.path}, but there are {n} rows of features; one of its sides "
                "must be that long.",
                code="lengths",
                argument=argument,
                got=name,
                remedy="Transpose the features if their rows are not the examples.",
            )

    def guess(self, separator: str = "|") -> str | None:
        """The array with a likely name, or the only 0/1 matrix besides the features; None where it is
        not plain, and in the field's layout, which the reader knows."""
        if self.is_partial_mat:
            return None
        likely = [name for name in LIKELY_NAMES if name in self.arrays]
        features = self.feature_name(likely)
        n = (*self.arrays[features].shape, -1)[0] if features is not None else -1
        free = [name for name in self.arrays if name != features and self._is_mask(name, n)]
        return likely[0] if likely else free[0] if len(free) == 1 else None

    def _is_mask(self, name: str, n: int) -> bool:
        """Whether an array is a 0/1 matrix of several classes with a side of n."""
        found = self.arrays[name]
        if found.ndim != 2 or n not in found.shape or min(found.shape) < 2:
            return False
        values = found.data if sp.issparse(found) else found
        return values.dtype.kind in "biuf" and bool(np.isin(values, (0, 1)).all())


def open_npz(path: Path) -> ArrayFile:
    """An `.npz` file. Arrays of Python objects (pickles) are refused."""
    try:
        with reading(path, "NPZ"), np.load(path, allow_pickle=False) as archive:
            return ArrayFile(path, {name: archive[name] for name in archive.files}, is_mat=False)
    except FileFormatError as error:
        raise _explained(path, error) from error


def open_mat(path: Path) -> ArrayFile:
    """A `.mat` file: arrays, or CSC matrices where sparse."""
    with reading(path, "a MATLAB file"):
        if is_hdf5(path):
            optional_import("h5py", extra="data", purpose="reading MATLAB 7.3 files")
        return ArrayFile(path, read_matlab(path), is_mat=True)


def _explained(path: Path, error: FileFormatError) -> FileFormatError:
    """NumPy speaks of pickles where a file holds Python objects, or is no archive at all."""
    if "Object arrays" in error.problem:
        reason = (
            "it holds Python objects, which are not read for safety; keep candidate sets as a "
            "0/1 matrix n × K, or as strings such as 'a|b'"
        )
    elif "allow_pickle" in error.problem or isinstance(error.__cause__, TypeError):
        reason = "it is no archive of arrays such as np.savez writes"
    else:
        return error
    return FileFormatError(f"{path} cannot be read as NPZ: {reason}.", code="unreadable")


def parts_of_arrays(file: ArrayFile, columns: Columns, found: dict[str, str]) -> Any:
    """What a `Table` is made of."""
    if file.is_partial_mat and not columns.candidates and PARTIAL_TARGET not in columns.ignore:
        columns, found = _in_the_layout(file, columns)
    key, sets = _only("candidates", columns.candidates), None
    named_one = _only("features", columns.features)
    held: Any = file.arrays.get(named_one or file.feature_name(columns.taken) or "")
    if key is not None and sp.issparse(held):  # a short file may say that it has a billion rows
        file.check_rows("candidates", key, held.shape[0])
    features = file.features(named_one, columns.taken)
    n, d = features.shape
    names = tuple(f"x{column}" for column in range(d))
    check_finite(file.path, features, names, named_in_file=False)
    if key is not None:
        rows = file.rows("candidates", key, n)
        sets = _candidates(file, key, rows, columns)
        if columns.kind == "auto" and is_annotators(rows):
            columns = replace(columns, kind="annotators")
    truth = None if columns.truth is None else _truth(file, columns.truth, n, sets)
    index = np.arange(n) if columns.index is None else file.column("index", columns.index, n)
    return features, names, sets, truth, index, columns, found


def _in_the_layout(file: ArrayFile, columns: Columns) -> tuple[Columns, dict[str, str]]:
    """Candidates, and the truth unless it is named or ignored, as the field's MATLAB files have them."""
    found = {PARTIAL_TARGET: "layout"}
    kind = "mask" if columns.kind == "auto" else columns.kind
    columns = replace(columns, candidates=(PARTIAL_TARGET,), kind=kind)
    if columns.truth is None and TARGET in file.names and TARGET not in columns.ignore:
        columns, found = replace(columns, truth=TARGET), found | {TARGET: "layout"}
    return columns, found


def _candidates(file: ArrayFile, key: str, rows: Any, columns: Columns) -> CandidateSets:
    if rows.ndim == 1:
        return column_candidates(pd.DataFrame({key: rows}), columns)
    try:
        return as_candidates(
            rows,
            columns.classes,
            kind=columns.kind,
            empty=columns.empty_sets,
            hierarchy=columns.hierarchy,
            raters=columns.raters,
        )
    except InputError as error:
        error.place = f"{named('candidates')} ({key!r} of {file.path})"
        raise


def _truth(file: ArrayFile, key: str, n: int, sets: CandidateSets | None) -> Any:
    """One label a row, or the class of each row of a 0/1 matrix."""
    found = file.rows("truth", key, n)
    if found.size == n:
        return true_labels(pd.Series(found.reshape(-1), name=key), sets)
    of_numbers = found.ndim == 2 and found.dtype.kind in "biuf"
    if not of_numbers or not np.isin(found, (0, 1)).all():
        problem = "must hold 0 and 1 only, or one label for each row."
        raise InputError(problem, code="not-binary", argument="truth", got=key)
    odd = np.flatnonzero(found.sum(axis=1) != 1)
    if len(odd):
        row, count = int(odd[0]), int(found[odd[0]].sum())
        problem = (
            f"{named('truth', key)} gives row {row} {count} true labels; each has exactly one."
        )
        raise InputError(problem, code="true-labels", argument="truth", at=row)
    codes = found.argmax(axis=1)
    return codes if sets is None or found.shape[1] > sets.n_classes else sets.classes[codes]


def _only(argument: str, names: tuple[str, ...] | None) -> str | None:
    if names is not None and len(names) > 1:
        problem = "names several; name one array of an NPZ or MATLAB file."
        raise InputError(problem, code="several", argument=argument, got=list(names))
    return None if names is None else names[0]
