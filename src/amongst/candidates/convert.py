"""The door: whatever people keep candidate labels in becomes `CandidateSets`, once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from itertools import chain
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from amongst.candidates.cells import (
    Cells,
    alike,
    check_separator,
    different_cells,
    is_collection,
    read_cell,
    whole,
    zeros_and_ones,
)
from amongst.candidates.container import CandidateSets
from amongst.candidates.labels import (
    class_array,
    flat_labels,
    microseconds,
    plain_labels,
    unmasked,
    whole_floats,
)
from amongst.candidates.suspects import (
    suspect_classes,
    suspect_mask,
    suspect_separator,
    suspect_votes,
)
from amongst.checks import check_choice
from amongst.errors import InputError
from amongst.tensors import on_host

__all__ = ["Kind", "as_candidates", "from_cells", "is_binary"]

Kind = Literal["auto", "mask", "sets", "labels", "strings", "annotators"]
Empty = Literal["error", "full"]
PERHAPS = ' If the columns are annotators, who answered 0 or 1, pass kind="annotators".'


def as_candidates(
    y: Any,
    classes: Iterable[Hashable] | None = None,
    *,
    kind: Kind = "auto",
    separator: str = "|",
    empty: Empty = "error",
) -> CandidateSets:
    """Turn candidate labels in any common form into `CandidateSets`.

    Parameters
    ----------
    y : one of
        * a 0/1 or bool matrix n×K, dense or scipy sparse, or such a DataFrame (``kind="mask"``);
        * a list of sets, lists or tuples of labels, ragged or not (``"sets"``). Lists stay sets
          of labels even where they are rows of zeros and ones, as ``mask.tolist()`` is: if labels
          repeat within such rows, a warning says to give ``np.asarray(y)``;
        * ordinary labels, one a row: singleton sets (``"labels"``);
        * strings such as ``"cat|dog"``, or lists as text, ``'["cat", "dog"]'`` (``"strings"``);
        * a 2-d array or DataFrame of labels, one column for each annotator: the row's set is the
          union, missing answers (None, NaN) are skipped, and strings are read as above
          (``"annotators"``); a single column is read as the 1-d array that it holds;
        * `CandidateSets`, which pass through.
    classes : the K class labels in the order of the columns; found in `y` if None
        (sorted where they can be). A date of NumPy or pandas is the same label as Python's.
    kind : which of these `y` is; ``"auto"`` looks at it. A 2-d array of zeros and ones is read as
        a mask: say ``kind="annotators"`` if the numbers are labels.
    separator : between the labels of a string.
    empty : an empty set is an ``"error"``, or means no information: ``"full"``.

    Returns
    -------
    CandidateSets

    Examples
    --------
    >>> as_candidates([{0, 2}, {1}, {0, 1, 2}]).mask.astype(int)
    array([[1, 0, 1],
           [0, 1, 0],
           [1, 1, 1]])
    >>> votes = [["owl", "owl", "kite"], ["kite", None, "kite"]]
    >>> as_candidates(votes, kind="annotators").to_lists()
    [['kite', 'owl'], ['kite']]
    >>> as_candidates([["a"], []])
    Traceback (most recent call last):
    amongst.errors.InputError: y[1] is an empty candidate set; every row needs at least one label. Drop the row, or pass empty="full".
    """
    check_choice("kind", kind, get_args(Kind))
    check_choice("empty", empty, get_args(Empty))
    check_separator(separator)
    known = None if classes is None else _distinct(list(classes))
    if isinstance(y, CandidateSets):
        return _handle_empty(y if known is None else _realign(y, known), empty)
    if sp.issparse(y):
        sets = _from_mask(sp.csr_array(y), known)
    else:
        sets = _from_other(unmasked(on_host(y)), known, kind, separator)
    if known is None:
        suspect_classes(sets.classes)
    return _handle_empty(sets, empty, y if kind == "auto" and _is_table(y) else None)


def from_cells(
    cells: Cells, labels: list[list[Any]], classes: Iterable[Hashable] | None, empty: Empty
) -> CandidateSets:
    """For each row of a table the labels of its cells, given those of each different cell.

    >>> cells = different_cells(np.array([["a", "b"], [None, "b"]], dtype=object))
    >>> from_cells(cells, [["owl"], ["kite"]], None, "error").to_lists()
    [['kite', 'owl'], ['kite']]
    """
    known = None if classes is None else _distinct(list(classes))
    sets = _union(cells, labels, known)
    if known is None:
        suspect_classes(sets.classes)
    return _handle_empty(sets, empty)


def _from_other(y: Any, known: npt.NDArray[Any] | None, kind: str, separator: str) -> CandidateSets:
    if hasattr(y, "to_pandas") and hasattr(y, "columns"):
        y = y.to_pandas()  # a table of Arrow or polars, whose columns may be the classes
    if hasattr(y, "__array__") and not isinstance(y, np.ndarray | pd.DataFrame | pd.Series):
        y = np.asarray(y)  # a tensor would give its numbers as tensors, of which no two are equal
    y = y if kind in ("mask", "annotators") else _one_column(y, kind)
    found = kind if kind != "auto" else _guess(y)
    if found == "mask":
        return (
            _from_frame(y, known) if isinstance(y, pd.DataFrame) else _from_mask(_array(y), known)
        )
    if found == "labels":
        return _from_labels(y, known)
    if found == "strings":
        return _from_strings(y, known, separator)
    if found == "annotators":
        return _from_votes(y, known, separator, kind == "auto")
    rows = [read_cell(row, separator, f"y[{index}]") for index, row in enumerate(y)]
    if kind == "auto":
        suspect_mask(rows)
    return _from_rows(rows, known)


def _array(y: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(y)
    except ValueError as error:
        raise InputError("y has rows of different lengths; a mask has shape (n, K).") from error


def _one_column(y: Any, kind: str) -> Any:
    """A frame or array of one column as that column; several cannot be of such a kind."""
    if not _is_table(y):
        return y
    if y.shape[1] == 1:
        return y.iloc[:, 0] if isinstance(y, pd.DataFrame) else y[:, 0]
    if kind == "auto":
        return y
    raise InputError(
        f"y has {y.shape[1]} columns, but kind={kind!r} needs one. Take one of them, or pass "
        'kind="annotators" or kind="mask".'
    )


def _from_strings(y: Any, known: npt.NDArray[Any] | None, separator: str) -> CandidateSets:
    cells = different_cells(np.fromiter(y, dtype=object, count=len(y))[:, None])
    for text, row in cells:
        if not isinstance(text, str):
            raise InputError(
                f"y[{row}]={text!r} is not a string, while others are: mixed types. Make all of "
                "them strings."
            )
    labels = [read_cell(text, separator, f"y[{row}]") for text, row in cells]
    if known is None:
        suspect_separator(labels, separator)
    texts = all(isinstance(label, str) for label in chain.from_iterable(labels))
    return _union(cells, labels if texts else alike(labels), known)


def _from_votes(
    y: Any, known: npt.NDArray[Any] | None, separator: str, guessed: bool
) -> CandidateSets:
    if isinstance(y, np.ndarray):
        y = microseconds(y)
    table = y.to_numpy(dtype=object) if isinstance(y, pd.DataFrame) else _object_table(y)
    cells = different_cells(table)
    labels = [read_cell(cell, separator, f"y[{row}]") for cell, row in cells]
    if known is None:
        suspect_separator(labels, separator)
    if guessed:
        suspect_votes(table, labels)
    return _union(cells, [list(map(whole, found)) for found in labels], known)


def _is_table(y: Any) -> bool:
    return isinstance(y, pd.DataFrame | np.ndarray) and y.ndim == 2


def _guess(y: Any) -> str:
    """Which kind of thing `y` is."""
    if _is_table(y):
        return "mask" if is_binary(y) else "annotators"
    if isinstance(y, np.ndarray) and y.ndim != 1:
        raise InputError(f"y has {y.ndim} dimensions; give one label, or one set, for each row.")
    if isinstance(y, str | Mapping | Set) or not hasattr(y, "__len__"):
        raise InputError(
            f"y is {y!r} of type {type(y).__name__}; give one entry for each row: "
            "a list of sets, a 0/1 matrix, or labels."
        )
    items = list(y)
    if any(map(is_collection, items)):
        return "sets"
    return "strings" if any(isinstance(item, str) for item in items) else "labels"


def is_binary(y: npt.NDArray[Any] | pd.DataFrame) -> bool:
    """Whether a table holds 0 and 1, or bools, alone: it is read as a mask.

    >>> is_binary(np.eye(2)), is_binary(np.array([[0, 2]]))
    (True, False)
    """
    values = np.asarray(y)
    if values.dtype.kind in "OU":
        return zeros_and_ones(values) is not None
    return values.dtype.kind in "biuf" and bool(_are_bits(values).all())


def _are_bits(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where a table holds 0 or 1; `np.isin` would copy numbers to eight bytes each."""
    numbers = values.dtype.kind in "biuf"
    bits: npt.NDArray[np.bool_]
    bits = (values == 0) | (values == 1) if numbers else np.isin(values, (0, 1))
    return bits


def _from_frame(y: pd.DataFrame, known: npt.NDArray[Any] | None) -> CandidateSets:
    """A mask whose columns have names: where these are classes, their order does not matter."""
    names = _distinct(y.columns.tolist()) if known is None else known
    if known is not None and not isinstance(y.columns, pd.RangeIndex):
        named = set(y.columns.tolist()) & set(known.tolist())
        names = _distinct(y.columns.tolist()) if named else known
    sets = _from_mask(np.asarray(y), names)
    return sets if known is None else _realign(sets, known)


def _from_mask(mask: Any, known: npt.NDArray[Any] | None) -> CandidateSets:
    if mask.ndim != 2:
        raise InputError(f"y is a mask of {mask.ndim} dimensions; a mask has shape (n, K).")
    values = mask.data if sp.issparse(mask) else mask
    if values.dtype.kind in "OU":  # 0 and 1 may be text
        found = zeros_and_ones(values)
        values = values if found is None else found
    odd = ~_are_bits(values)
    if odd.any():
        raise InputError(
            f"y is a mask, but holds {values[odd].flat[0]!r}; a mask holds 0 and 1 only. For "
            'columns of annotators\' labels pass kind="annotators".'
        )
    if known is None:
        known = np.arange(mask.shape[1])
    if len(known) != mask.shape[1]:
        raise InputError(
            f"classes has {len(known)} labels, but the mask y has {mask.shape[1]} columns."
        )
    if sp.issparse(mask):
        members = mask.astype(bool)
        members.sum_duplicates()  # an entry may be stated twice
        members.eliminate_zeros()
        return CandidateSets(members, known)
    return CandidateSets(np.array(values, dtype=bool, order="C"), known)


def _from_labels(y: Any, known: npt.NDArray[Any] | None) -> CandidateSets:
    values = flat_labels(unmasked(y))
    if values.dtype.kind in "mM":
        values = np.fromiter(plain_labels(values), dtype=object, count=len(values))
    if values.dtype.kind == "f":
        values = whole_floats(values)
    if values.dtype.kind == "O":
        cells = different_cells(values[:, None])
        return _union(cells, [read_cell([v], where=f"y[{row}]") for v, row in cells], known)
    classes = np.unique(values) if known is None else known
    codes = _encode(values.tolist(), classes)
    members = sp.csr_array(
        (np.ones(len(values), bool), codes, np.arange(len(values) + 1)),
        shape=(len(values), len(classes)),
    )
    return CandidateSets(members.toarray(), classes)


def _from_rows(rows: list[list[Any]], known: npt.NDArray[Any] | None) -> CandidateSets:
    members, classes = _members(rows, np.arange(len(rows)), known)
    return CandidateSets(members.toarray(), classes)


def _union(cells: Cells, labels: list[list[Any]], known: npt.NDArray[Any] | None) -> CandidateSets:
    """For each row the labels of its cells, given those of each different cell."""
    members, classes = _members(labels, cells.first, known)
    return CandidateSets((cells.of_rows @ members).toarray(), classes)


def _members(
    labels: list[list[Any]], rows: npt.NDArray[np.int64], known: npt.NDArray[Any] | None
) -> tuple[sp.csr_array, npt.NDArray[Any]]:
    """Lists of labels as a sparse mask, and the classes; `rows` are for messages."""
    flat, sizes = list(chain.from_iterable(labels)), [len(found) for found in labels]
    classes = class_array(_ordered(set(flat))) if known is None else known
    columns = _encode(flat, classes, np.repeat(rows, sizes))
    parts = np.ones(len(flat), dtype=bool), columns, np.cumsum([0, *sizes])
    return sp.csr_array(parts, shape=(len(labels), len(classes))), classes


def _encode(
    labels: list[Any], classes: npt.NDArray[Any], row_of: npt.NDArray[Any] | None = None
) -> npt.NDArray[np.int64]:
    column = {label: code for code, label in enumerate(classes.tolist())}
    try:
        return np.array([column[label] for label in labels], dtype=np.int64)
    except KeyError as error:
        unknown = error.args[0]
    where = labels.index(unknown)
    row = where if row_of is None else int(row_of[where])
    raise _not_in_classes(f"y[{row}]", unknown, classes)


def _not_in_classes(where: str, label: Any, classes: npt.NDArray[Any]) -> InputError:
    shown = ", ".join(map(repr, classes.tolist()[:8])) + (", …" if len(classes) > 8 else "")
    return InputError(
        f"{where} contains the label {label!r}, which is not in classes ({shown}). Add it to "
        "classes, or correct the row."
    )


def _distinct(labels: list[Any]) -> npt.NDArray[Any]:
    known = class_array(labels)
    names = known.tolist()
    if len(set(names)) != len(names):
        twice = next(label for label in names if names.count(label) > 1)
        raise InputError(f"classes names {twice!r} more than once; class names must be distinct.")
    return known


def _ordered(labels: set[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))


def _object_table(y: Any) -> npt.NDArray[Any]:
    rows = [list(row) if is_collection(row) else [row] for row in y]
    table = np.empty((len(rows), max(map(len, rows), default=0)), dtype=object)
    table[:] = None
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return table


def _handle_empty(sets: CandidateSets, empty: Empty, table: Any = None) -> CandidateSets:
    rows = np.flatnonzero(sets.sizes == 0)
    if not len(rows):
        return sets
    if empty == "full" and not sets.n_classes:
        raise InputError("y has no label in any row, and so no classes. Give some rows a label.")
    if empty == "full":
        mask = sets.to_mask()
        mask[rows] = True
        return CandidateSets(mask, sets.classes)
    more = f" ({len(rows)} rows are empty)" if len(rows) > 1 else ""
    perhaps = PERHAPS if table is not None and is_binary(table) else ""
    raise InputError(
        f"y[{rows[0]}] is an empty candidate set; every row needs at least one label{more}. "
        f'Drop the row, or pass empty="full".{perhaps}'
    )


def _realign(sets: CandidateSets, known: npt.NDArray[Any]) -> CandidateSets:
    """The same sets over the classes `known`, which must cover every candidate."""
    if sets.classes.tolist() == known.tolist():
        return sets
    position = {label: code for code, label in enumerate(known.tolist())}
    used = np.asarray(sets.members.sum(axis=0)).ravel() > 0
    lost = [c for c, u in zip(sets.classes.tolist(), used, strict=True) if u and c not in position]
    if lost:
        raise _not_in_classes("y", lost[0], known)
    coo = sets.to_sparse().tocoo()
    target = np.array([position.get(label, -1) for label in sets.classes.tolist()])
    members = sp.csr_array(
        (coo.data, (coo.row, target[coo.col])), shape=(len(sets), len(known)), dtype=bool
    )
    return CandidateSets(members if sets.is_sparse else members.toarray(), known)
