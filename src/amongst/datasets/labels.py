"""Columns of labels, as people write them into files, become candidate sets and true labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Literal, TypedDict, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets, as_candidates
from amongst.candidates.cells import (
    Cells,
    alike,
    different_cells,
    read_cell,
    whole,
    whole_numbers,
    zeros_and_ones,
)
from amongst.candidates.convert import from_cells
from amongst.candidates.suspects import suspect_separator, suspect_votes
from amongst.checks import check_choice
from amongst.errors import InputError

__all__ = [
    "Empty",
    "Kind",
    "LabelOptions",
    "Outside",
    "candidate_column",
    "check_inside",
    "true_labels",
]

Kind = Literal["auto", "mask", "labels", "strings", "annotators"]
Empty = Literal["error", "full"]
Outside = Literal["error", "keep"]


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
    Cells are read as by `as_candidates`, in one column or several.

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
        if kind == "mask" or (kind == "auto" and _looks_like_mask(frame)):
            return as_candidates(frame, classes, kind=kind, empty=empty)
        table = frame.to_numpy(dtype=object)
        cells, known = different_cells(table), None if classes is None else list(classes)
        labels = _labels(cells, separator, kind, frame.shape[1] > 1, known)
        if kind == "auto" and frame.shape[1] > 1:
            _check_shares(labels)
            suspect_votes(table, labels)
        return from_cells(cells, labels, known, empty)
    except InputError as error:
        noun = "column" if frame.shape[1] == 1 else "columns"
        raise InputError(f"candidates ({noun} {where}): {error}") from error


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
    values = [v.strip() if isinstance(v, str) else v for v in column.tolist()]
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
    shown = "|".join(map(str, sets[row].to_lists()[0]))
    raise InputError(
        f"{name}: row {row} has the true label {truth[row].item()!r}, which is not among its "
        f"candidates {shown} ({len(bad)} of {len(sets)} rows). Correct the "
        'rows, or pass outside="keep" if the sets are noisy.'
    )


def _looks_like_mask(frame: pd.DataFrame) -> bool:
    return frame.shape[1] > 1 and zeros_and_ones(frame) is not None


def _check_shares(labels: list[list[Any]]) -> None:
    """An error where several columns hold numbers between 0 and 1 alone: weights are no labels."""
    numbers = pd.to_numeric(pd.Series([label for found in labels for label in found]), "coerce")
    parts = numbers[(numbers > 0) & (numbers < 1)]
    if len(parts) and bool(numbers.between(0, 1).all()):
        raise InputError(
            f"they hold {parts.iloc[0]:g} and other numbers between 0 and 1, which are weights, not "
            "labels. Write 1 for a candidate and 0 for another class; or, if these are the labels of "
            'annotators, pass kind="annotators".'
        )


def _labels(
    cells: Cells, separator: str, kind: str, several: bool, known: list[Any] | None
) -> list[list[Any]]:
    """The labels of each different cell."""
    alone = kind == "labels"
    labels = [
        read_cell(_as_one(cell) if alone else cell, separator, f"row {row}") for cell, row in cells
    ]
    if known is None and not alone:
        suspect_separator(labels, separator)
    labels = [list(map(whole, found)) for found in labels] if several else labels
    return alike(labels) if known is None else [_like(found, known) for found in labels]


def _like(labels: list[Any], known: list[Any]) -> list[Any]:
    """Text where the classes are text, though all of these may be numbers; else numbers."""
    if known and all(isinstance(label, str) for label in known):
        return list(map(str, labels))
    return [whole_numbers([label])[0] for label in labels]


def _as_one(cell: Any) -> Any:
    """A string as a set of one label, unless it is blank."""
    return [cell.strip()] if isinstance(cell, str) and cell.strip() else cell
