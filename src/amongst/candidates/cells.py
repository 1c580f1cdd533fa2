"""One cell that holds candidate labels, as people write them: read in one place, for every door."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from amongst.candidates.labels import plain, plain_labels
from amongst.errors import InputError

__all__ = [
    "Cells",
    "alike",
    "check_separator",
    "different_cells",
    "is_collection",
    "is_list_text",
    "is_missing",
    "read_cell",
    "reads_back",
    "whole",
    "whole_numbers",
    "zeros_and_ones",
]

COLLECTIONS = (Set, list, tuple, range)
BRACKETS = {"[": "]", "{": "}", "(": ")"}
WHOLE = re.compile(r"-?(0|[1-9][0-9]*)(\.0+)?")
WORDS: dict[str, Any] = {"true": 1.0, "false": 0.0}


def read_cell(cell: Any, separator: str = "|", where: str = "y") -> list[Any]:
    """The labels of one cell.

    A list or set gives its items as they are; a string is split at `separator`, or read as a list
    where it is one in Python's or JSON's notation; a missing value (None, NaN) gives none;
    anything else is a label.

    >>> read_cell("owl | kite"), read_cell('["owl", "kite"]'), read_cell(["owl|kite"])
    (['owl', 'kite'], ['owl', 'kite'], ['owl|kite'])
    >>> read_cell(None), read_cell(3)
    ([], [3])
    """
    if isinstance(cell, str) and not is_list_text(cell):
        return _split(cell, separator)
    if is_missing(cell):
        return []
    return [_label(item, where) for item in _items(cell, separator, where)]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table, each different one once: many rows, but few ways to fill a cell.

    Attributes
    ----------
    different : the U cells that differ in value or type, missing ones left out.
    first : shape (U,), the row in which each of them stands first.
    of_rows : bool CSR matrix, shape (n, U): which of them each row holds.
    """

    different: list[Any]
    first: npt.NDArray[np.int64]
    of_rows: sp.csr_array

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        return zip(self.different, self.first.tolist(), strict=True)


def different_cells(table: npt.NDArray[Any]) -> Cells:
    """The cells of an object array of shape (n, m); a cell that cannot be hashed has no equal.

    >>> cells = different_cells(np.array([["owl", None], ["kite", "owl"]], dtype=object))
    >>> cells.different, cells.of_rows.toarray().astype(int).tolist()
    (['owl', 'kite'], [[1, 0], [1, 1]])
    """
    flat = table.ravel()
    filled = np.flatnonzero(~pd.isna(flat))
    values, rows = flat[filled].tolist(), filled // max(table.shape[1], 1)
    try:
        codes = _number_by_value(values)
    except TypeError:
        codes = np.arange(len(values))
    at = np.zeros(codes.max(initial=-1) + 1, dtype=np.int64)
    at[codes[::-1]] = np.arange(len(codes))[::-1]
    ones = np.ones(len(values), dtype=bool)
    of_rows = sp.csr_array((ones, (rows, codes)), shape=(len(table), len(at)))
    return Cells([values[i] for i in at], rows[at], of_rows)


def is_collection(item: Any) -> bool:
    """Whether this is a set of labels, and not one: a list, a set, or anything of one dimension.

    >>> is_collection({1, 2}), is_collection(pd.Series([1])), is_collection("ab")
    (True, True, False)
    """
    return isinstance(item, COLLECTIONS) or getattr(item, "ndim", 0) == 1


def is_list_text(cell: Any) -> bool:
    """Whether a cell is a string in the brackets of a list.

    >>> is_list_text("['a', 'b']"), is_list_text("a|b"), is_list_text(["a"])
    (True, False, False)
    """
    text = cell.strip() if isinstance(cell, str) else ""
    return text[:1] in BRACKETS and text[1:].endswith(BRACKETS[text[0]])


def is_missing(value: Any) -> bool:
    """Whether a value says that there is none: None, NaN, NaT, NA.

    >>> is_missing(float("nan")), is_missing("")
    (True, False)
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, float | np.floating | np.datetime64) and bool(value != value)


def reads_back(labels: list[str], separator: str) -> bool:
    """Whether the labels, joined by the separator, are read as the same labels again.

    >>> reads_back(["a", "b"], "|"), reads_back(["a|b"], "|"), reads_back([" a"], "|")
    (True, False, False)
    """
    try:
        return read_cell(separator.join(labels), separator) == labels
    except InputError:
        return False


def whole(value: Any) -> Any:
    """2.0 as 2: one missing answer makes a whole column float.

    >>> whole(2.0), whole(2.5), whole("2.0")
    (2, 2.5, '2.0')
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


def zeros_and_ones(table: Any) -> npt.NDArray[np.float64] | None:
    """A table of 0 and 1, of bools, or of these as text (``"True"``), as floats; else None.

    >>> zeros_and_ones([["True", "false"], ["1", 0.0]])
    array([[1., 0.],
           [1., 0.]])
    >>> zeros_and_ones([["owl", "1"]]) is None
    True
    """
    values = np.asarray(table, dtype=object)
    try:
        return np.fromiter(map(_bit, values.flat), np.float64, values.size).reshape(values.shape)
    except (TypeError, ValueError):
        return None


def whole_numbers(values: Sequence[Any]) -> list[Any]:
    """Strings as ints where every one of them is a whole number without leading zeros.

    >>> whole_numbers(["1", "2.0"]), whole_numbers(["01", "2"])
    ([1, 2], ['01', '2'])
    """
    if values and all(isinstance(v, str) and WHOLE.fullmatch(v) for v in values):
        return [int(v.partition(".")[0]) for v in values]
    return [plain(v) for v in values]


def alike(rows: list[list[Any]]) -> list[list[Any]]:
    """The rows with labels of one type: ints where all can be, text where some are text.

    >>> alike([[1, 2], ["3"]]), alike([[1, 2], ["x"]])
    ([[1, 2], [3]], [['1', '2'], ['x']])
    """
    labels = [label for row in rows for label in row]
    if any(isinstance(label, str) for label in labels):
        labels = [str(label) for label in labels]
    flat = iter(whole_numbers(labels))
    return [[next(flat) for _ in row] for row in rows]


def check_separator(separator: object) -> str:
    """The separator, if it is a string of at least one character."""
    if not isinstance(separator, str) or not separator:
        raise InputError(f"separator={separator!r} must be a string of at least one character.")
    return separator


def _items(cell: Any, separator: str, where: str) -> list[Any]:
    if getattr(cell, "ndim", 0) == 1:
        return plain_labels(cell)
    if isinstance(cell, COLLECTIONS):
        return list(cell)
    return _list_of(cell.strip(), separator, where) if isinstance(cell, str) else [cell]


def _split(text: str, separator: str) -> list[Any]:
    return [part.strip() for part in text.split(separator) if part.strip()]


def _list_of(text: str, separator: str, where: str) -> list[Any]:
    """``"['a', 'b']"``: what a data frame of lists looks like once it was written as CSV."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        found = None
    if isinstance(found, list | tuple | set) or found == {}:
        return list(found)
    if text[0] == "(":
        return _split(text, separator)
    raise InputError(
        f"{where} holds {text!r}, which is neither labels joined by a separator nor a list in "
        'Python\'s notation. Write it as a|b, or pass kind="labels" if it is one label.'
    )


def _label(item: Any, where: str) -> Any:
    if isinstance(item, dict):
        raise InputError(
            f"{where} holds the dict {item!r}; candidate sets carry no weights. Give the labels "
            "alone: [list(row) for row in y]."
        )
    if _is_hashable(item) and not is_missing(item):
        return _no_share(plain(item), where)
    remedy = "Leave it out of the set." if is_missing(item) else "Make it a string."
    raise InputError(
        f"{where} contains {item!r}, which cannot be a label; labels are strings, numbers or other "
        f"hashable values. {remedy}"
    )


def _no_share(label: Any, where: str) -> Any:
    """The label, unless it is a number that is not whole: a weight or a probability is no label."""
    if not isinstance(label, float) or label.is_integer():
        return label
    raise InputError(
        f"Unknown label type: {where} contains {label!r}, a continuous number; labels are strings, "
        "whole numbers or dates. Make them strings; or, of a matrix of weights, give y > 0."
    )


def _is_hashable(item: Any) -> bool:
    try:
        hash(item)
    except TypeError:
        return False
    return True


def _bit(cell: Any) -> float:
    number = float(WORDS.get(cell.strip().lower(), cell) if isinstance(cell, str) else cell)
    if number not in (0.0, 1.0):
        raise ValueError(cell)
    return number


def _number_by_value(values: list[Any]) -> npt.NDArray[np.int64]:
    """0, 1, 2, … in the order of first appearance; True, 1 and 1.0 are three values."""
    numbers: defaultdict[Any, int] = defaultdict(count().__next__)
    keys = zip(map(type, values), values, strict=True)
    return np.fromiter(map(numbers.__getitem__, keys), np.int64, len(values))
