"""Columns of labels, as people write them into files, become candidate sets and true labels."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal, TypedDict, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets, as_candidates
from amongst.checks import check_choice
from amongst.errors import AmongstWarning, InputError

__all__ = [
    "Empty",
    "Kind",
    "LabelOptions",
    "Outside",
    "candidate_column",
    "check_inside",
    "true_labels",
    "whole_numbers",
]

Kind = Literal["auto", "mask", "labels", "strings", "annotators"]
Empty = Literal["error", "full"]
Outside = Literal["error", "keep"]
WHOLE = re.compile(r"-?(0|[1-9][0-9]*)(\.0+)?")
SEPARATORS = "|;,/"


class LabelOptions(TypedDict, total=False):
    """How candidate labels are written in a file; see `amongst.datasets.read_table`."""

    classes: Iterable[Hashable] | None
    separator: str
    kind: Kind
    empty: Empty


def candidate_column(
    frame: pd.DataFrame,
    *,
    classes: Iterable[Hashable] | None = None,
    separator: str = "|",
    kind: Kind = "auto",
    empty: Empty = "error",
) -> CandidateSets:
    """Candidate sets from one column (strings, lists or labels) or several (votes, or a mask).

    Labels that are all whole numbers become ints, so that ``"1|2"`` and a true label ``1`` meet.

    Examples
    --------
    >>> frame = pd.DataFrame({"labels": ["3|1", "1"]})
    >>> candidate_column(frame).to_lists()
    [[1, 3], [1]]
    """
    check_choice("kind", kind, get_args(Kind))
    check_choice("empty", empty, get_args(Empty))
    where = ", ".join(map(repr, frame.columns[:3])) + (", …" if frame.shape[1] > 3 else "")
    try:
        rows, found = _rows(frame, separator, kind)
        return as_candidates(rows, classes, kind=found, empty=empty)
    except InputError as error:
        raise InputError(f"candidates (column {where}): {error}") from error


def true_labels(column: pd.Series, classes: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """True labels, shape (n,), of the type that the candidate sets' classes have.

    >>> true_labels(pd.Series(["2", "0"]), np.array([0, 1, 2])).tolist()
    [2, 0]
    """
    if column.isna().any():
        row = int(np.argmax(column.isna().to_numpy()))
        raise InputError(
            f"truth (column {column.name!r}): row {row} is empty; give every row its true label, "
            "or leave truth out."
        )
    values = column.tolist()
    textual = classes is not None and classes.dtype.kind in "UO"
    if textual and all(isinstance(label, str) for label in classes.tolist()):  # type: ignore[union-attr]
        return np.array([str(value) for value in values])
    return np.array(whole_numbers(values))


def check_inside(sets: CandidateSets, truth: npt.NDArray[Any], outside: Outside, name: str) -> None:
    """An error where a true label is not among its row's candidates, unless `outside` is keep.

    >>> check_inside(as_candidates(["a|b"]), np.array(["c"]), "error", "truth")
    Traceback (most recent call last):
    amongst.errors.InputError: truth: row 0 has the true label 'c', which is not among its candidates a|b (1 of 1 rows). Correct the rows, or pass outside="keep" if the sets are noisy.
    """
    bad = np.flatnonzero(~sets.contains(truth))
    if not len(bad) or outside == "keep":
        return
    row = int(bad[0])
    raise InputError(
        f"{name}: row {row} has the true label {truth[row].item()!r}, which is not among its "
        f"candidates {sets[row].to_strings()[0]} ({len(bad)} of {len(sets)} rows). Correct the "
        'rows, or pass outside="keep" if the sets are noisy.'
    )


def whole_numbers(values: Sequence[Any]) -> list[Any]:
    """Strings as ints where every one of them is a whole number without leading zeros.

    >>> whole_numbers(["1", "2.0"]), whole_numbers(["01", "2"])
    ([1, 2], ['01', '2'])
    """
    if values and all(isinstance(v, str) and WHOLE.fullmatch(v) for v in values):
        return [int(v.partition(".")[0]) for v in values]
    return [v.item() if isinstance(v, np.generic) else v for v in values]


def _rows(frame: pd.DataFrame, separator: str, kind: str) -> tuple[Any, Literal["mask", "sets"]]:
    """What `as_candidates` is to read, and as which kind."""
    if frame.shape[1] > 1 or kind in ("mask", "annotators"):
        if kind == "mask" or (kind == "auto" and _looks_like_mask(frame)):
            return frame.apply(pd.to_numeric, errors="coerce"), "mask"
        return _votes(frame), "sets"
    cells = frame.iloc[:, 0].tolist()
    if kind == "labels" or not any(isinstance(cell, str) for cell in cells):
        return _plain(cells), "sets"
    rows = [_cell(cell, separator, row) for row, cell in enumerate(cells)]
    _suspect_separator(rows, separator)
    return _converted(rows), "sets"


def _plain(cells: list[Any]) -> list[list[Any]]:
    """Cells that hold lists (Parquet) or one label each."""
    return _converted([_cell(cell, "\0", row) for row, cell in enumerate(cells)])


def _cell(cell: Any, separator: str, row: int) -> list[Any]:
    if isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        return list(cell)
    if not isinstance(cell, str):
        return [] if pd.isna(cell) else [cell]
    text = cell.strip()
    if text[:1] in ("[", "{", "(") and text[-1:] in ("]", "}", ")"):
        return _python_list(text, row)
    return [part.strip() for part in text.split(separator) if part.strip()]


def _python_list(text: str, row: int) -> list[Any]:
    """``"['a', 'b']"``: what a data frame of lists looks like once it was written as CSV."""
    try:
        return [str(label) for label in ast.literal_eval(text)]
    except (ValueError, SyntaxError, TypeError) as error:
        raise InputError(
            f"row {row} holds {text!r}, which is neither labels joined by a separator nor a list "
            "in Python's notation. Write it as a|b."
        ) from error


def _votes(frame: pd.DataFrame) -> list[list[Any]]:
    table = frame.to_numpy(dtype=object)
    rows = [
        [v.strip() if isinstance(v, str) else v for v in row if not pd.isna(v)] for row in table
    ]
    return _converted([[_whole(v) for v in row if v != ""] for row in rows])


def _whole(value: Any) -> Any:
    """2.0 is 2: a missing answer made the whole column float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _converted(rows: list[list[Any]]) -> list[list[Any]]:
    flat = iter(whole_numbers([label for row in rows for label in row]))
    return [[next(flat) for _ in row] for row in rows]


def _looks_like_mask(frame: pd.DataFrame) -> bool:
    numbers = frame.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
    return bool(np.isin(numbers, (0.0, 1.0)).all())


def _suspect_separator(rows: list[list[Any]], separator: str) -> None:
    """A warning where no cell was split, though many hold another usual separator."""
    if any(len(row) > 1 for row in rows):
        return
    counts = {
        other: sum(other in str(row[0]) for row in rows if row)
        for other in SEPARATORS
        if other != separator
    }
    likely = max(counts, key=lambda other: counts[other])
    if counts[likely] > len(rows) / 10:
        warnings.warn(
            f"no cell contains the separator {separator!r}, but {counts[likely]} of {len(rows)} "
            f"contain {likely!r}: each cell counts as one label. Is separator={likely!r} meant?",
            AmongstWarning,
            stacklevel=2,
        )
