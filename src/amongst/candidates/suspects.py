"""Warnings of candidate sets that can be read, but hardly mean what they say."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy.typing as npt
import pandas as pd

from amongst.candidates.cells import WHOLE, zeros_and_ones
from amongst.errors import AmongstWarning

__all__ = ["suspect_classes", "suspect_mask", "suspect_separator", "suspect_votes"]

SEPARATORS = ("|", ";", ",", "/", "\n", " or ")
GAPS = ("?", "nan", "<na>", "na", "n/a", "#n/a", "nat", "null", "unknown", "-", "--", ".")
"""What a missing answer is written as; a class may have another such name, as `none`."""
MARKS = ({"yes", "no"}, {"y", "n"}, {"x"})
"""What people write for 1 and 0, or for 1 alone."""
QUOTES = "\"'“”„‘’«»"
DECIMAL = re.compile(r"[+-]?[0-9]*[.,][0-9]*[1-9][0-9]*(e[+-]?[0-9]+)?", re.IGNORECASE)
"""A number that is not whole."""


def suspect_separator(cells: list[list[Any]], separator: str) -> None:
    """A warning where none of the different cells was split, though many hold another usual
    separator."""
    if any(len(labels) > 1 for labels in cells):
        return
    texts = [str(labels[0]) for labels in cells if labels]
    others = [other for other in SEPARATORS if other != separator]
    counts = {other: sum(other in text for text in texts) for other in others}
    likely = max(counts, key=lambda other: counts[other])
    if counts[likely] > len(texts) / 10:
        warnings.warn(
            f"no cell contains the separator {separator!r}, but {counts[likely]} of {len(texts)} "
            f"different ones contain {likely!r}: each cell counts as one label. Is separator={likely!r} meant?",
            AmongstWarning,
            stacklevel=5,
        )


def suspect_votes(table: npt.NDArray[Any], cells: list[list[Any]]) -> None:
    """A warning where a table that is read as answers of annotators may be a mask: it holds 0, 1 and
    empty cells, or yes and no, or marks."""
    labels, columns = list(chain.from_iterable(cells)), table.shape[1]
    if labels and zeros_and_ones(labels) is not None and pd.isna(table).any():
        warnings.warn(
            f"y holds 0 and 1 beside empty cells, in {columns} columns, and is read as the labels 0 "
            "and 1 of as many annotators. If it is a 0/1 matrix, with a column for each class, fill "
            "in the empty cells.",
            AmongstWarning,
            stacklevel=5,
        )
    words = {str(label).lower() for label in labels}
    if any(words and words <= marks for marks in MARKS):
        warnings.warn(
            f"y holds {' and '.join(map(repr, sorted(words)))} alone, in {columns} columns, and is read "
            "as the labels of as many annotators. If there is a column for each class, write 1 and "
            '0; if these are answers of annotators, pass kind="annotators".',
            AmongstWarning,
            stacklevel=5,
        )


def suspect_mask(rows: list[list[Any]]) -> None:
    """A warning where sets of labels look like the rows of a 0/1 matrix, as a list."""
    width = len(rows[0]) if rows else 0
    if width < 2 or any(len(row) != width for row in rows):
        return
    labels = set(chain.from_iterable(rows))
    if labels <= {0, 1} and any(len(set(row)) < width for row in rows):
        warnings.warn(
            f"every y[i] is a list of {width} zeros and ones, and is read as the set of the labels "
            "0 and 1. If y is a 0/1 matrix, pass np.asarray(y); if these are labels of "
            f'{width} annotators, pass kind="annotators".',
            AmongstWarning,
            stacklevel=4,
        )


def suspect_classes(classes: npt.NDArray[Any]) -> None:
    """A warning where a class is likely none, or two of them are likely one."""
    texts = [label for label in classes.tolist() if isinstance(label, str)]
    _suspect_gaps(classes.tolist())
    _suspect_twins(texts)
    _suspect_measurements(texts)


def _suspect_gaps(labels: list[Any]) -> None:
    """A label that says that there is none: text of a missing value, or -1 before 0, 1, 2, …."""
    found: list[Any] = [v for v in labels if isinstance(v, str) and v.lower() in GAPS]
    if "+" in labels and "-" in found:
        found.remove("-")
    if len(labels) > 3 and labels == list(range(-1, len(labels) - 1)):
        found = [-1]
    if found:
        warnings.warn(
            f"the label {found[0]!r} looks like a missing answer, but counts as a class. If it is none, "
            "leave it out of the candidate sets.",
            AmongstWarning,
            stacklevel=5,
        )


def _suspect_measurements(labels: list[str]) -> None:
    """Numbers with decimals, as of a column that was taken for an annotator's by mistake."""
    found = [label for label in labels if DECIMAL.fullmatch(label)]
    if len(found) > 2:
        warnings.warn(
            f"{len(found)} labels are numbers with decimals, such as {found[0]!r} and {found[1]!r}, and "
            "count as classes. If they are measurements, leave them out of the candidate sets.",
            AmongstWarning,
            stacklevel=5,
        )


def _suspect_twins(labels: list[str]) -> None:
    """They look the same, but Unicode writes them otherwise, or they differ in case or quotation
    marks alone, or are one number with and without decimals."""
    for key, how in TWINS.items():
        seen: dict[str, str] = {}
        for label in labels:
            twin = seen.setdefault(key(label), label)
            if twin != label:
                shown = " and ".join(map(ascii if key is _looks else repr, (twin, label)))
                warnings.warn(
                    f"the labels {shown} {how}, so that they count as two classes. Write them in "
                    "one way, if they are one.",
                    AmongstWarning,
                    stacklevel=5,
                )
                return


def _looks(label: str) -> str:
    """The label without what cannot be seen: the form of accents, spaces around it, marks."""
    seen = (mark for mark in label if unicodedata.category(mark) != "Cf")
    return unicodedata.normalize("NFC", " ".join("".join(seen).split()))


def _uncased(label: str) -> str:
    """Single letters keep their case: they may be what is told apart."""
    return _looks(label).casefold() if len(label) > 1 else label


def _unquoted(label: str) -> str:
    """In a CSV file ``"owl"|"kite"`` loses the first pair alone."""
    return label.strip(QUOTES)


def _number(label: str) -> str:
    return label.partition(".")[0] if WHOLE.fullmatch(label) else label


TWINS: dict[Callable[[str], str], str] = {
    _looks: "look the same, but are written with other characters",
    _uncased: "differ in upper and lower case alone",
    _unquoted: "differ in quotation marks alone",
    _number: "are the same number",
}
"""What two labels that are likely one have in common, and how it is said."""
