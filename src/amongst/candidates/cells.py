"""A label, and a cell that holds candidate labels as people write them: read here, once; and warnings of
what can be read, but hardly means what it says."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from amongst.checks import on_host
from amongst.errors import NOTHING, AmongstWarning, InputError, Remedy, named, warn

COLLECTIONS = (Set, list, tuple, range)
BRACKETS = {"[": "]", "{": "}", "(": ")"}
WHOLE = re.compile(r"-?(0|[1-9][0-9]{,3999})(\.0+)?")  # int() takes no more than 4300 digits
WORDS: dict[str, Any] = {"true": 1.0, "false": 0.0}
KINDS: dict[str, Any] = {"string": str, "number": int | float, "datetime": datetime, "date": date}


def read_cell(cell: Any, separator: str = "|", row: int | None = None) -> list[Any]:
    """The labels of one cell; `row` is for messages.

    A list or set gives its items as they are; a string is split at `separator`, or read as a list
    where it is one in Python's or JSON's notation; a missing value (None, NaN) gives none;
    anything else is a label.

    >>> read_cell("owl | kite"), read_cell('["owl", "kite"]'), read_cell(["owl|kite"])
    (['owl', 'kite'], ['owl', 'kite'], ['owl|kite'])
    """
    if isinstance(cell, str):
        return [_label(item, row) for item in _items_of(cell, separator, row)]
    if is_missing(cell):
        return []
    if getattr(cell, "ndim", 0) == 1:
        cell = plain_labels(cell)
    return [_label(item, row) for item in (cell if isinstance(cell, COLLECTIONS) else [cell])]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table, each different one once: many rows, but few ways to fill a cell.

    Attributes
    ----------
    different : the U cells that differ in value or type, missing ones left out.
    first : shape (U,), the row in which each of them stands first.
    codes : shape (n, m), which of them each cell is; −1 where one is missing.
    """

    different: list[Any]
    first: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int64]

    @property
    def of_rows(self) -> sp.csr_array:
        """How often each row holds each of them, CSR of shape (n, U)."""
        rows, _ = filled = np.nonzero(self.codes >= 0)
        parts = np.ones(len(rows), dtype=np.int64), (rows, self.codes[filled])
        return sp.csr_array(parts, shape=(len(self.codes), len(self.different)))

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        return zip(self.different, self.first.tolist(), strict=True)


def different_cells(table: npt.NDArray[Any]) -> Cells:
    """The cells of an object array of shape (n, m); a cell that cannot be hashed has no equal."""
    flat = table.ravel()
    filled = np.flatnonzero(~pd.isna(flat))
    values, rows = flat[filled].tolist(), filled // max(table.shape[1], 1)
    number: dict[Any, int] = {}
    try:  # True, 1 and 1.0 are three values
        codes = [number.setdefault((type(value), value), len(number)) for value in values]
    except TypeError:
        codes = list(range(len(values)))
    _, at = np.unique(np.array(codes, dtype=np.int64), return_index=True)
    found = np.full(table.size, -1)
    found[filled] = codes
    return Cells([values[i] for i in at], rows[at], found.reshape(table.shape))


def is_collection(item: Any) -> bool:
    """Whether this is a set of labels, and not one: a list, a set, or anything of one dimension."""
    return isinstance(item, COLLECTIONS) or getattr(item, "ndim", 0) == 1


def is_list_text(cell: Any) -> bool:
    """Whether a cell is a string in the brackets of a list."""
    text = cell.strip() if isinstance(cell, str) else ""
    return text[:1] in BRACKETS and text[1:].endswith(BRACKETS[text[0]])


def is_missing(value: Any) -> bool:
    """Whether a value says that there is none: None, NaN, NaT, NA."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    return isinstance(value, float | np.floating | np.datetime64) and bool(value != value)


def whole(value: Any) -> Any:
    """2.0 as 2: one missing answer makes a whole column float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def zeros_and_ones(table: Any) -> npt.NDArray[np.float64] | None:
    """A table of 0 and 1, of bools, or of these as text (``"True"``), as floats; else None."""
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
    """The rows with labels of one type: ints where all can be, text where some are text."""
    labels = [label for row in rows for label in row]
    if any(isinstance(label, str) for label in labels):
        labels = [str(label) for label in labels]
    flat = iter(whole_numbers(labels))
    return [[next(flat) for _ in row] for row in rows]


def check_separator(separator: object) -> str:
    """The separator, if it is a string of at least one character."""
    if not isinstance(separator, str) or not separator:
        problem = "must be a string of at least one character."
        raise InputError(problem, code="separator", argument="separator", got=separator)
    return separator


def _items_of(text: str, separator: str, row: int | None) -> list[Any]:
    """``"['a', 'b']"`` is what a data frame of lists looks like once it was written as CSV."""
    if is_list_text(text):
        try:
            found = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            found = None
        if isinstance(found, list | tuple | set) or found == {}:
            return list(found)
        if not text.strip().startswith("("):
            problem = f"holds {text.strip()!r}, neither labels joined by a separator nor a list in Python's notation."
            remedy = "write it as a|b", f"pass {named('kind', 'labels')} if it is one label"
            raise wrong("list", problem, remedy, row, text)
    return [part.strip() for part in text.split(separator) if part.strip()]


def _label(item: Any, row: int | None) -> Any:
    """The item, if it can be a label; a weight or a probability is none."""
    if isinstance(item, dict):
        problem = f"holds the dict {item!r} amongst labels."
        remedy = "Give each label of the row a weight, in one dict."
        raise wrong("weights", problem, remedy, row, item)
    if is_missing(item) or not _is_hashable(item):
        problem = (
            f"contains {item!r}, which cannot be a label: a string, a number, something hashable."
        )
        remedy = "Leave it out of the set." if is_missing(item) else "Make it a string."
        raise wrong("not-a-label", problem, remedy, row, item)
    label = plain(item)
    if isinstance(label, float) and not label.is_integer():
        problem = f"contains {label!r}, a continuous number. Unknown label type: it is not whole."
        remedy = "Make strings of such labels; or, of a matrix of weights, give np.asarray(y)."
        raise wrong("continuous", problem, remedy, row, label)
    return label


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


def plain(label: Any) -> Any:
    """A label without its wrapping; equal dates of Python, NumPy and pandas become one label.

    >>> plain(np.int64(3)), plain(np.datetime64("2024-05-01"))
    (3, datetime.date(2024, 5, 1))
    """
    if isinstance(label, pd.Timestamp):
        return label.to_pydatetime(warn=False)
    if isinstance(label, np.generic):
        return microseconds(np.asarray(label)).item()
    return label.item() if getattr(label, "ndim", None) == 0 else label  # a tensor of one number


def plain_labels(labels: npt.ArrayLike) -> list[Any]:
    """The labels of an array, each of them plain."""
    if isinstance(labels, list | tuple):
        return [plain(label) for label in labels]
    array = np.asarray(unmasked(on_host(labels)))
    found: list[Any] = microseconds(array).tolist()
    return [plain(label) for label in found] if array.dtype == object else found


def microseconds(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Times in nanoseconds, which Python has no type for, in microseconds; all else as it is."""
    is_time = array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] in ("ns", "ps")
    return array.astype(f"{array.dtype.kind}8[us]") if is_time else array


def unmasked(labels: Any) -> Any:
    """A masked array, or one of pandas' own types, with None where a label is missing; all else as
    it is. pandas would make floats of whole numbers beside a missing one."""
    if isinstance(labels, np.ma.MaskedArray):
        values, missing = labels.data, np.ma.getmaskarray(labels)
    elif isinstance(getattr(labels, "dtype", None), pd.api.extensions.ExtensionDtype):
        values, missing = labels, np.asarray(pd.isna(labels))
        if not missing.any():
            return labels
    else:
        return labels
    found: npt.NDArray[Any] = np.array(values.astype(object), dtype=object)
    found[missing] = None
    return found


def class_array(labels: Iterable[Any]) -> npt.NDArray[Any]:
    """Labels as an array: of their own type where they have one that NumPy has, else of objects.

    >>> class_array([np.int64(3), 5]), class_array([date(2024, 5, 1)])
    (array([3, 5]), array([datetime.date(2024, 5, 1)], dtype=object))
    """
    found = [plain(label) for label in labels]
    kinds = {type(label) for label in found}
    if kinds in ({int}, {float}, {bool}, {str}):
        array = np.array(found)
        if kinds != {int} or array.dtype.kind in "iu":
            return array
    if kinds == {datetime} and all(label.tzinfo is None for label in found):
        return np.array(found, dtype="datetime64[us]")
    return np.fromiter(found, dtype=object, count=len(found))


def label_kinds(labels: Iterable[Any]) -> dict[str, Any]:
    """The kinds of plain labels, each with the first label of it.

    >>> label_kinds(["owl", 1, 2.0, True, ("a", 1)])
    {'string': 'owl', 'number': 1, 'tuple': ('a', 1)}
    """
    found: dict[str, Any] = {}
    for label in labels:
        names = (name for name, kind in KINDS.items() if isinstance(label, kind))
        zone = " with a zone" if getattr(label, "tzinfo", None) else ""  # it equals none without
        found.setdefault(next(names, type(label).__name__) + zone, label)
    return found


def wrong(
    code: str, problem: str, remedy: Remedy = "", row: int | None = None, got: Any = NOTHING
) -> InputError:
    """What is wrong with y, or with a row of it."""
    return InputError(problem, code=code, argument="y", at=row, got=got, remedy=remedy)


def distinct(labels: list[Any]) -> npt.NDArray[Any]:
    """Names of classes as an array; an error where one is named twice, or is no name."""
    known = class_array(labels)
    names = known.tolist()
    odd = [name for name in names if is_missing(name) or not isinstance(name, Hashable)]
    if odd:
        problem = f"holds {odd[0]!r}, which cannot be the name of a class."
        raise InputError(problem, code="no-label", argument="classes")
    if len(set(names)) != len(names):
        twice = next(label for label in names if names.count(label) > 1)
        problem = f"names {twice!r} more than once; class names must be distinct."
        raise InputError(problem, code="twice", argument="classes")
    return known


def not_in_classes(row: int | None, label: Any, classes: npt.NDArray[Any]) -> InputError:
    """The error for a label that is no class; `row` is None where it is not known."""
    shown = ", ".join(map(repr, classes.tolist()[:8])) + (", …" if len(classes) > 8 else "")
    again = "Correct the row, or fit again with rows that have it."
    remedy = {"python": "Add it to classes, or correct the row."}
    problem = f"contains the label {label!r}, which is none of the classes ({shown})."
    return wrong(
        "not-in-classes", problem, remedy | {"estimator": again, "fitted": again}, row, label
    )


@dataclass(frozen=True)
class Note:
    """What one cell says: labels, with a weight for each where it has weights, or labels ruled out."""

    labels: list[Any]
    weights: list[float] | None = None
    excluded: list[Any] = field(default_factory=list)

    def shares(self) -> list[float]:
        """The weights, summing to 1; equal ones where none were given."""
        weights = self.weights or [1.0] * len(self.labels)
        return [weight / sum(weights) for weight in weights]


SEPARATORS = ("|", ";", ",", "/", "\n", " or ")
GAPS = ("?", "nan", "<na>", "na", "n/a", "#n/a", "nat", "null", "unknown", "-", "--", ".")
"""What a missing answer is written as; a class may have another such name, as `none`."""
MARKS = ({"yes", "no"}, {"y", "n"}, {"x"})
"""What people write for 1 and 0, or for 1 alone."""
QUOTES = "\"'“”„‘’«»"
DECIMAL = re.compile(r"[+-]?[0-9]*[.,][0-9]*[1-9][0-9]*(e[+-]?[0-9]+)?", re.IGNORECASE)
"""A number that is not whole."""
AS_ANNOTATORS = f"pass {named('kind', 'annotators')}"


def suspect_separator(cells: list[list[Any]], separator: str) -> None:
    """None of the different cells was split, though many hold another usual separator."""
    if any(len(labels) > 1 for labels in cells):
        return
    texts = [str(labels[0]) for labels in cells if labels]
    counts = {other: sum(other in text for text in texts) for other in SEPARATORS}
    likely = max(counts, key=lambda other: counts[other] if other != separator else -1)
    if counts[likely] > len(texts) / 10:
        problem = (
            f"no cell contains the separator {separator!r}, but {counts[likely]} of {len(texts)} "
            f"different ones contain {likely!r}: each cell counts as one label."
        )
        _warn("separator", problem, f"Is {named('separator', likely)} meant?")


def suspect_votes(table: npt.NDArray[Any], cells: list[list[Any]]) -> None:
    """A table that is read as answers of annotators may be a mask: it holds 0, 1 and empty cells, or
    yes and no, or marks."""
    labels, columns = list(chain.from_iterable(cells)), f"in {table.shape[1]} columns"
    words = {str(label).lower() for label in labels}
    if labels and zeros_and_ones(labels) is not None and pd.isna(table).any():
        problem = (
            f"holds 0 and 1 beside empty cells, {columns}, and is read as the labels 0 and 1 of as many "
            "annotators."
        )
        remedy = "If it is a 0/1 matrix, with a column for each class, fill in the empty cells."
        _warn("perhaps-mask", problem, remedy, argument="y")
    elif any(words and words <= marks for marks in MARKS):
        said = " and ".join(map(repr, sorted(words)))
        problem = (
            f"holds {said} alone, {columns}, and is read as the labels of as many annotators. If there is "
            "a column for each class, write 1 and 0."
        )
        remedy = f"If these are answers of annotators, {AS_ANNOTATORS}."
        _warn("perhaps-mask", problem, remedy, argument="y")


def suspect_mask(rows: list[list[Any]]) -> None:
    """Sets of labels look like the rows of a 0/1 matrix, as a list."""
    widths, labels = {len(row) for row in rows}, set(chain.from_iterable(rows))
    if len(widths) == 1 and labels <= {0, 1} and any(len(set(row)) < len(row) for row in rows):
        width = widths.pop()
        problem = (
            f"every y[i] is a list of {width} zeros and ones, and is read as the set of the labels 0 and "
            "1. If y is a 0/1 matrix, pass np.asarray(y)."
        )
        remedy = f"If these are labels of {width} annotators, {AS_ANNOTATORS}."
        _warn("perhaps-mask", problem, remedy)


def suspect_classes(classes: npt.NDArray[Any]) -> None:
    """A class is likely none, or two of them are likely one, or they are measurements."""
    labels = classes.tolist()
    texts = [label for label in labels if isinstance(label, str)]
    gaps: list[Any] = [text for text in texts if text.lower() in GAPS]
    if "+" in texts and "-" in gaps:
        gaps.remove("-")
    if len(labels) > 3 and labels == list(range(-1, len(labels) - 1)):
        gaps = [-1]
    if gaps:
        problem = f"the label {gaps[0]!r} looks like a missing answer, but counts as a class."
        _warn("perhaps-missing", problem, "If it is none, leave it out of the candidate sets.")
    _suspect_twins(texts)
    numbers = [text for text in texts if DECIMAL.fullmatch(text)]
    if len(numbers) > 2:  # as of a column that was taken for an annotator's by mistake
        problem = (
            f"{len(numbers)} labels are numbers with decimals, such as {numbers[0]!r} and "
            f"{numbers[1]!r}, and count as classes."
        )
        remedy = "If they are measurements, leave them out of the candidate sets."
        _warn("perhaps-measurements", problem, remedy)


def _suspect_twins(labels: list[str]) -> None:
    seen: dict[str, str] = {}
    for label in labels:
        twin = seen.setdefault(_bare(label), label)
        if twin != label:
            how = ascii if _visible(twin) == _visible(label) else repr
            problem = f"the labels {how(twin)} and {how(label)} count as two classes."
            _warn("perhaps-one", problem, "Write them in one way, if they are one.")
            return


def _bare(label: str) -> str:
    """What is left of a name however it is written: in capitals or not, in quotation marks (a CSV file
    takes the first pair alone), a whole number with decimals. Single letters keep their case."""
    seen = _visible(label).strip(QUOTES)
    whole = seen.partition(".")[0] if WHOLE.fullmatch(seen) else seen
    return whole.casefold() if len(whole) > 1 else whole


def _visible(label: str) -> str:
    """The label without what cannot be seen: the form of accents, spaces around it, marks."""
    seen = (mark for mark in label if unicodedata.category(mark) != "Cf")
    return unicodedata.normalize("NFC", " ".join("".join(seen).split()))


def _warn(code: str, problem: str, remedy: str, argument: str = "") -> None:
    warn(AmongstWarning(problem, code=code, argument=argument, remedy=remedy))
