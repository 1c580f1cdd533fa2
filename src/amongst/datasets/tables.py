"""One's own data: a file of features and candidate labels, read through one door."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets, as_candidates
from amongst.candidates.cells import check_separator
from amongst.checks import check_choice
from amongst.datasets.arrays import (
    feature_array,
    feature_key,
    named_array,
    one_column,
    read_npz,
)
from amongst.datasets.columns import (
    Layout,
    check_columns,
    check_finite,
    feature_columns,
    numeric,
    row_names,
    suspect_answers,
)
from amongst.datasets.frames import (
    existing_file,
    read_csv_frame,
    read_parquet_frame,
    table_format,
)
from amongst.datasets.labels import (
    Empty,
    Kind,
    LabelOptions,
    Outside,
    candidate_column,
    check_inside,
    true_labels,
)
from amongst.datasets.mat import MatContents, read_mat, read_partial_mat
from amongst.errors import FileFormatError, InputError

__all__ = [
    "Table",
    "TableOptions",
    "load_csv",
    "load_mat",
    "load_npz",
    "load_parquet",
    "read_table",
]


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A person's own data.

    Attributes
    ----------
    features : (n, d) float32 or float64, finite.
    feature_names : d names.
    candidates : the candidate sets of the rows, or None where the file has none.
    truth : (n,) true labels, or None; for evaluation only.
    index : (n,) names of the rows: the index column, or else the index that pandas kept in a
        Parquet file, or 0 … n−1.

    Examples
    --------
    >>> Table(np.eye(2), ("wing", "weight"), None, None, np.arange(2))
    Table(n=2, d=2, candidates=None)
    """

    features: npt.NDArray[Any]
    feature_names: tuple[str, ...]
    candidates: CandidateSets | None
    truth: npt.NDArray[Any] | None
    index: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        n, d = self.features.shape
        truth = "" if self.truth is None else ", with true labels"
        return f"Table(n={n}, d={d}, candidates={self.candidates}{truth})"


class TableOptions(LabelOptions, total=False):
    """What `read_table` and the loaders of one format accept; see `read_table`."""

    candidates: str | Sequence[str] | None
    truth: str | None
    features: str | Sequence[str] | None
    ignore: Sequence[str]
    index: str | None
    outside: Outside


def read_table(
    path: str | Path,
    *,
    candidates: str | Sequence[str] | None = None,
    truth: str | None = None,
    features: str | Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    index: str | None = None,
    separator: str = "|",
    kind: Kind = "auto",
    classes: Iterable[Hashable] | None = None,
    empty: Empty = "error",
    outside: Outside = "error",
) -> Table:
    """Read features and candidate labels from a CSV, TSV, Parquet, NPZ or MATLAB file.

    Parameters
    ----------
    path : file; its ending says the format (``.csv``, ``.tsv``, either with ``.gz``,
        ``.parquet``, ``.npz``, ``.mat``).
    candidates : the column with the candidate labels, such as ``"cat|dog"`` or ``["cat", "dog"]``
        (in Parquet also lists); or several columns, one for each annotator, whose cells are read
        likewise, or 0/1 (True/False) columns, one for each class. In
        NPZ and MATLAB files the name of an array: a 0/1 matrix n×K (MATLAB: also K×n), or one
        column for each annotator. None: the file has none (a MATLAB file's ``partial_target`` is
        taken where it is there).
    truth : the column with the true labels, if they are known (for evaluation).
    features : the feature columns; all that are not named otherwise if None, but for a first
        column without a name that counts the rows: an index, left out with a warning. In NPZ and
        MATLAB files the name of one array; ``data``, ``X`` and the like are found if None.
    ignore : columns that are no features; of a MATLAB file also ``partial_target`` and ``target``.
    index : the column that names the rows. None: the index of the data frame that was written as a
        Parquet file, of several levels with commas between them; 0 … n−1 in other files.
    separator : between the labels of a cell.
    kind : what `candidates` holds, if looking at it is not enough, as for `as_candidates`.
    classes : the class labels; found in the data if None.
    empty : an empty cell is an ``"error"``, or means no information: ``"full"``.
    outside : a true label that is not among its candidates is an ``"error"``, or ``"keep"``.

    Returns
    -------
    Table

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "birds.csv"
    >>> _ = file.write_text("wing,weight,labels\\n10,1.5,owl|kite\\n12,1.1,kite\\n")
    >>> table = read_table(file, candidates="labels")
    >>> table
    Table(n=2, d=2, candidates=CandidateSets(n=2, K=2, mean size 1.50))
    >>> table.feature_names
    ('wing', 'weight')
    """
    check_choice("kind", kind, get_args(Kind))
    check_choice("empty", empty, get_args(Empty))
    check_choice("outside", outside, get_args(Outside))
    layout = Layout(
        candidates=_names("candidates", candidates),
        truth=truth,
        features=_names("features", features),
        ignore=_names("ignore", ignore) or (),
        index=index,
        separator=check_separator(separator),
        kind=kind,
        classes=None if classes is None else tuple(classes),
        empty=empty,
        outside=outside,
    )
    file = existing_file(path)
    return _READERS[table_format(file)](file, layout)


def load_csv(path: str | Path, **options: Unpack[TableOptions]) -> Table:
    """Read a CSV or TSV file with a header line; options as for `read_table`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = file.write_text("size,anna,ben\\n1.0,owl,kite\\n2.0,owl,\\n")
    >>> load_csv(file, candidates=["anna", "ben"]).candidates.to_lists()
    [['kite', 'owl'], ['owl']]
    """
    return read_table(_ending(path, ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"), **options)


def load_parquet(path: str | Path, **options: Unpack[TableOptions]) -> Table:
    """Read a Parquet file (needs pyarrow); options as for `read_table`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "birds.parquet"
    >>> pd.DataFrame({"size": [1.0, 2.0], "labels": [["owl", "kite"], ["owl"]]}).to_parquet(file)
    >>> load_parquet(file, candidates="labels").candidates.to_lists()
    [['kite', 'owl'], ['owl']]
    """
    return read_table(_ending(path, ".parquet", ".pq"), **options)


def load_npz(path: str | Path, **options: Unpack[TableOptions]) -> Table:
    """Read a NumPy `.npz` archive; options as for `read_table`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "birds.npz"
    >>> np.savez(file, X=np.eye(2), S=np.array([[1, 1], [0, 1]]))
    >>> load_npz(file, candidates="S").candidates.to_lists()
    [[0, 1], [1]]
    """
    return read_table(_ending(path, ".npz"), **options)


def load_mat(
    path: str | Path,
    *,
    data: str = "data",
    candidates: str = "partial_target",
    truth: str | None = "target",
    outside: Outside = "error",
) -> Table:
    """Read a MATLAB file in the layout of the field: `data`, `partial_target`, `target`.

    Version 5 or 7.3, dense or sparse; the label matrices K×n or n×K, 0/1. Classes are 0 … K−1.

    Parameters
    ----------
    path : file.
    data, candidates, truth : keys; ``truth=None`` where true labels are unknown.
    outside : a true label that is not among its candidates is an ``"error"``, or ``"keep"``.

    Examples
    --------
    >>> import scipy.io, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "small.mat"
    >>> mask = np.array([[1, 0, 1], [1, 1, 0]])
    >>> scipy.io.savemat(file, {"data": np.ones((3, 4)), "partial_target": mask})
    >>> load_mat(file, truth=None).candidates.to_lists()
    [[0, 1], [1], [0]]
    """
    check_choice("outside", outside, get_args(Outside))
    file = existing_file(_ending(path, ".mat"))
    contents = read_partial_mat(file, data=data, candidates=candidates, truth=truth)
    return _from_contents(file, contents, outside)


def _from_csv(path: Path, layout: Layout) -> Table:
    votes = layout.candidates or ()
    answers = votes if len(votes) > 1 else ()
    text = {*votes, layout.truth or "", layout.index or ""} - {*answers}
    return _from_frame(path, read_csv_frame(path, text=text, answers=answers, commas=True), layout)


def _from_parquet(path: Path, layout: Layout) -> Table:
    return _from_frame(path, read_parquet_frame(path), layout)


def _from_frame(path: Path, frame: pd.DataFrame, layout: Layout) -> Table:
    if not len(frame):
        raise FileFormatError(f"{path} has column names but no rows.")
    check_columns(path, frame, layout)
    names = feature_columns(path, frame, layout)
    said = layout.candidates is not None or layout.features is not None
    features = numeric(path, frame[list(names)], labelled=said)
    labels = None if layout.candidates is None else frame[list(layout.candidates)]
    sets = None if labels is None else _column_candidates(labels, layout)
    if sets is not None and layout.features is None and layout.truth is None:
        suspect_answers(path, frame[list(names)], sets)
    classes = None if sets is None else sets.classes
    truth = None if layout.truth is None else true_labels(frame[layout.truth], classes)
    index = row_names(frame, layout.index)
    return _checked(path, Table(features, tuple(names), sets, truth, index), layout.outside)


def _column_candidates(frame: pd.DataFrame, layout: Layout) -> CandidateSets:
    return candidate_column(
        frame,
        classes=layout.classes,
        separator=layout.separator,
        kind=layout.kind,
        empty=layout.empty,
    )


def _from_npz(path: Path, layout: Layout) -> Table:
    arrays = read_npz(path)
    features = feature_array(path, arrays, _only("features", layout.features), layout.taken())
    key = _only("candidates", layout.candidates)
    sets = None if key is None else _array_candidates(path, arrays, key, layout)
    truth = None
    if layout.truth is not None:
        values = one_column(path, arrays, "truth", layout.truth)
        truth = true_labels(
            pd.Series(values, name=layout.truth), None if sets is None else sets.classes
        )
    index = np.arange(len(features))
    if layout.index is not None:
        index = one_column(path, arrays, "index", layout.index)
    names = tuple(f"x{column}" for column in range(features.shape[1]))
    check_finite(path, features, names)
    return _checked(path, Table(features, names, sets, truth, index), layout.outside)


def _array_candidates(
    path: Path, arrays: dict[str, Any], key: str, layout: Layout
) -> CandidateSets:
    found = named_array(path, arrays, "candidates", key)
    if found.ndim == 1:
        return _column_candidates(pd.DataFrame({key: found}), layout)
    try:
        return as_candidates(found, layout.classes, kind=layout.kind, empty=layout.empty)
    except InputError as error:
        raise InputError(f"candidates ({key!r} of {path}): {error}") from error


def _from_mat(path: Path, layout: Layout) -> Table:
    there = read_mat(path)
    candidates = _only("candidates", layout.candidates)
    truth = layout.truth
    known = there.keys() - layout.ignore
    if candidates is None and "partial_target" in known:
        candidates = "partial_target"
        truth = truth or ("target" if "target" in known else None)
    data = _only("features", layout.features) or _mat_features(there, layout)
    contents = read_partial_mat(
        path, data=data, candidates=candidates, truth=truth, empty=layout.empty
    )
    table = _from_contents(path, contents, layout.outside, layout.classes)
    if layout.index is None:
        return table
    index = one_column(path, there, "index", layout.index)
    return _checked(path, replace(table, index=index), layout.outside)


_READERS: dict[str, Callable[[Path, Layout], Table]] = {
    "csv": _from_csv,
    "parquet": _from_parquet,
    "npz": _from_npz,
    "mat": _from_mat,
}


def _mat_features(there: dict[str, Any], layout: Layout) -> str:
    """The field's key first; where it is not there, as in an NPZ file."""
    return "data" if "data" in there else feature_key(there, layout.taken()) or "data"


def _from_contents(
    path: Path,
    contents: MatContents,
    outside: Outside,
    classes: Sequence[Hashable] | None = None,
) -> Table:
    n, d = contents.features.shape
    names = tuple(f"x{column}" for column in range(d))
    sets, truth = contents.candidates, contents.labels
    if sets is not None and classes is not None:
        sets = as_candidates(sets.mask, classes, kind="mask")
        truth = None if truth is None else sets.classes[truth]
    return _checked(path, Table(contents.features, names, sets, truth, np.arange(n)), outside)


def _checked(path: Path, table: Table, outside: Outside) -> Table:
    """The table, if its parts are equally long and true labels lie in their sets."""
    parts = {"candidates": table.candidates, "truth": table.truth, "index": table.index}
    for name, part in parts.items():
        if part is not None and len(part) != len(table):
            raise InputError(f"{path}: {name} has {len(part)} rows, the features {len(table)}.")
    if table.candidates is not None and table.truth is not None:
        check_inside(table.candidates, table.truth, outside, f"{path}: truth")
    return table


def _names(argument: str, given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else tuple(given)
    if argument != "ignore" and not names:
        raise InputError(f"{argument} is empty; name at least one column, or leave it out.")
    return names


def _only(argument: str, names: tuple[str, ...] | None) -> str | None:
    if names is not None and len(names) > 1:
        raise InputError(f"{argument}={list(names)!r}: name one array of an NPZ or MATLAB file.")
    return None if names is None else names[0]


def _ending(path: str | Path, *endings: str) -> Path:
    if not str(path).lower().endswith(endings):
        raise InputError(f"path={str(path)!r} must end in {' or '.join(endings)}.")
    return Path(path)
