"""Which columns are what, and whether the feature columns are numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets
from amongst.candidates.labels import class_array
from amongst.checks import near_matches
from amongst.datasets.arrays import as_float
from amongst.datasets.labels import Empty, Kind, Outside
from amongst.errors import AmongstWarning, InputError

__all__ = [
    "Layout",
    "check_columns",
    "check_finite",
    "feature_columns",
    "numeric",
    "row_names",
    "suspect_answers",
    "unknown_column",
]

UNNAMED = re.compile(r"(Unnamed: 0(\.\d+)?)?")
"""What pandas calls a first column without a name, also once it was written again."""

ANSWERS = re.compile(
    r"(true|real|gold|correct)?[ _-]?(truth|labels?|class(es)?|target|answer|y)|ground[ _-]?truth|gt",
    re.IGNORECASE,
)
"""Names that people give to the column of true labels."""

IDS = re.compile(r"(?i:(.*[ _.-])?u?id)|.*[a-z]I[Dd]")
"""Names that people give to numbers of samples, patients or sites."""

FEWEST = 20
"""Rows from which numbers that grow with each row are hardly chance."""

WHOLE = re.compile(r"0|-?[1-9][0-9]*")
COMMA = re.compile(r"[+-]?[0-9]+(,[0-9]+)+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """The options, with `candidates` and `features` as tuples of names (None: not said)."""

    candidates: tuple[str, ...] | None
    truth: str | None
    features: tuple[str, ...] | None
    ignore: tuple[str, ...]
    index: str | None
    separator: str
    kind: Kind
    classes: tuple[Hashable, ...] | None
    empty: Empty
    outside: Outside

    def taken(self) -> set[str]:
        """Names that are not features."""
        single = {name for name in (self.truth, self.index) if name is not None}
        return single | set(self.candidates or ()) | set(self.ignore)


def feature_columns(path: Path, frame: pd.DataFrame, layout: Layout) -> tuple[str, ...]:
    """The names of the features: those asked for, or all that are nothing else.

    A first column without a name that counts the rows is the index that ``to_csv()`` writes. It
    would tell the order of the rows, so it is left out, with a warning.
    """
    if layout.features is not None:
        return layout.features
    names = tuple(name for name in frame.columns if name not in layout.taken())
    if names and UNNAMED.fullmatch(names[0]) and names[0] == frame.columns[0]:
        names = _without_index(path, frame[names[0]], names)
    if not names:
        raise InputError(f"{path} has no feature column left; say which with features=[…].")
    _suspect_numbers_of_rows(path, frame[list(names)])
    return names


def _without_index(path: Path, first: pd.Series, names: tuple[str, ...]) -> tuple[str, ...]:
    counts = _counts(first)
    if counts or (first.dtype.kind == "i" and first.is_unique and len(first) > 1):
        what = "is left out" if counts else "is taken as a feature all the same"
        warnings.warn(
            f"{path}: the first column has no name and looks like the row numbers that pandas "
            f"writes into a CSV file; it {what}. To say otherwise, give it a name.",
            AmongstWarning,
            stacklevel=6,
        )
    return names[1:] if counts else names


def _suspect_numbers_of_rows(path: Path, frame: pd.DataFrame) -> None:
    """A warning where whole numbers count the rows, grow with each of them, or are ids by their name:
    such a feature tells the order of the rows, and a file sorted by its labels their labels."""
    named = (frame[name] for name in frame.columns if not UNNAMED.fullmatch(name))
    found = next((column for column in named if _numbers_rows(column) or _is_id(column)), None)
    if found is not None and len(frame) >= FEWEST:
        what = "seems to number the rows" if _numbers_rows(found) else "sounds like an id"
        warnings.warn(
            f"{path}: the column {found.name!r} {what}, and is taken as a feature. If it is none, "
            f"leave it out: ignore={found.name!r}.",
            AmongstWarning,
            stacklevel=6,
        )


def suspect_answers(path: Path, frame: pd.DataFrame, sets: CandidateSets) -> None:
    """A warning where whole numbers go by a name of the true labels, or are a candidate in every row:
    a network would learn from the answers, and know nothing of rows without."""
    columns = [frame[name] for name in frame.columns]
    named = (c for c in columns if ANSWERS.fullmatch(c.name.strip()) and _is_whole(c))
    found, what = next(named, None), "sounds like the true labels"
    if found is None:
        rows = np.flatnonzero(sets.sizes < sets.n_classes)
        inside = (column for column in columns if _is_candidate(column, sets, rows))
        found, what = next(inside, None), "is a candidate in every row, as the true labels are"
    if found is not None:
        warnings.warn(
            f"{path}: the column {found.name!r} {what}, and is taken as a feature. If it holds them, "
            f"say so: truth={found.name!r}; if not, and it is no feature, leave it out: "
            f"ignore={found.name!r}.",
            AmongstWarning,
            stacklevel=5,
        )


def _is_candidate(column: pd.Series, sets: CandidateSets, rows: npt.NDArray[np.intp]) -> bool:
    """Whether a column that is not constant is a candidate in all of many rows, whose sets exclude
    some class."""
    numbers = sets.classes.dtype.kind in "iu" and pd.api.types.is_numeric_dtype(column.dtype)
    if not numbers or len(rows) < FEWEST:
        return False
    parts = rows[:FEWEST], rows  # few of them tell of most columns
    inside = (sets[part].contains(column.iloc[part].astype(np.float64)).all() for part in parts)
    return all(inside) and column.nunique() > 1


def _is_whole(column: pd.Series) -> bool:
    numbers = pd.api.types.is_numeric_dtype(column.dtype)
    return numbers and bool((column.dropna().astype(np.float64) % 1 == 0).all())


def _is_id(column: pd.Series) -> bool:
    return IDS.fullmatch(column.name.strip()) is not None and _is_whole(column)


def _numbers_rows(column: pd.Series) -> bool:
    if column.dtype.kind not in "iu" or not column.is_unique or column.isna().any():
        return False
    return column.is_monotonic_increasing or _counts(column)


def _counts(column: pd.Series) -> bool:
    """Whether a column holds 0 … n−1, or 1 … n, in any order."""
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return False
    ordered = np.sort(column.to_numpy(dtype=np.float64))
    count = np.arange(len(ordered))
    return bool(np.array_equal(ordered, count) or np.array_equal(ordered, count + 1))


def numeric(path: Path, frame: pd.DataFrame, labelled: bool = True) -> npt.NDArray[Any]:
    """The feature columns as one float array, or which of them are not numbers.

    `labelled` says whether the candidates were named; where not, one of these may hold them.
    """
    bad = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    if bad:
        hint = "" if labelled else _perhaps_candidates(bad)
        raise InputError(_not_numbers(path, frame, bad) + hint)
    columns = frame.to_numpy(dtype=None if not frame.isna().any(axis=None) else np.float64)
    if columns.dtype.kind not in "biuf":
        columns = frame.to_numpy(dtype=np.float64)
    features = np.ascontiguousarray(as_float(columns))
    check_finite(path, features, tuple(frame.columns))
    return features


def row_names(frame: pd.DataFrame, name: str | None) -> npt.NDArray[Any]:
    """The column of this name, or the level of the frame's own index; that index where none is named.

    >>> frame = pd.DataFrame({"size": [1.0, 2.0]}, index=pd.Index(["owl", "kite"], name="bird"))
    >>> row_names(frame, None).tolist(), row_names(frame, "bird").tolist()
    (['owl', 'kite'], ['owl', 'kite'])
    """
    if name is not None and name in frame.columns:
        return _as_written(frame[name])
    index = frame.index if name is None else frame.index.get_level_values(name)
    if index.nlevels > 1:
        index = index.map(lambda levels: ", ".join(map(str, levels)))
    found: npt.NDArray[Any] = index.to_numpy()
    return found


def _as_written(column: pd.Series) -> npt.NDArray[Any]:
    """Numbers are numbers where all are, and 007 is none.

    >>> _as_written(pd.Series(["7", "12"])), _as_written(pd.Series(["007"], dtype=object))
    (array([ 7, 12]), array(['007'], dtype=object))
    """
    names = column.tolist()
    whole = all(isinstance(name, str) and WHOLE.fullmatch(name) for name in names)
    return class_array(map(int, names)) if whole else column.to_numpy()


def _not_numbers(path: Path, frame: pd.DataFrame, bad: list[str]) -> str:
    shown = ", ".join(map(repr, bad[:5])) + (f", … ({len(bad)} in all)" if len(bad) > 5 else "")
    numbers = pd.to_numeric(frame[bad[0]].astype(object).map(str), errors="coerce")
    odd = np.flatnonzero(numbers.isna() & frame[bad[0]].notna())
    row = int(odd[0]) if len(odd) else 0
    value = frame[bad[0]].iloc[row]
    some = len(odd) and numbers.notna().any()
    mixed = " while other rows hold numbers (mixed types)" if some else ""
    comma = isinstance(value, str) and COMMA.fullmatch(value.strip()) is not None
    hint = " Write numbers without a comma, decimals with a point." if comma else ""
    unlike = len(odd) == len(frame) > 1 and frame[bad[0]].astype(str).is_unique
    names = f" If {bad[0]!r} names the rows, pass index={bad[0]!r}." if unlike else ""
    return (
        f"{path}: these feature columns are not numeric: {shown}; {bad[0]!r} holds {value!r} in "
        f"row {row}{mixed}.{hint} Encode them as numbers, name them in ignore=[…], or choose columns "
        f"with features=[…].{names}"
    )


def _perhaps_candidates(bad: list[str]) -> str:
    if len(bad) > 1:
        return " If one of them holds the candidate labels, name it in candidates=…."
    return f" If {bad[0]!r} holds the candidate labels, pass candidates={bad[0]!r}."


def check_finite(path: Path, features: npt.NDArray[Any], names: Sequence[str]) -> None:
    """An error that names the first column and row with NaN or infinity."""
    bad = np.flatnonzero(~np.isfinite(features).all(axis=0))
    if not len(bad):
        return
    column = int(bad[0])
    row = int(np.argmax(~np.isfinite(features[:, column])))
    more = f" ({len(bad)} columns have such cells)" if len(bad) > 1 else ""
    what = "empty (NaN)" if np.isnan(features[row, column]) else "infinite"
    raise InputError(
        f"{path}: column {names[column]!r} is {what} in row {row}{more}. Fill them in, drop the rows, or name the column in ignore=[…]."
    )


def check_columns(path: Path, frame: pd.DataFrame, layout: Layout) -> None:
    """An error that names the first column asked for that is not there, with near matches."""
    wanted = {
        "candidates": layout.candidates or (),
        "truth": () if layout.truth is None else (layout.truth,),
        "features": layout.features or (),
        "index": () if layout.index is None else (layout.index,),
        "ignore": layout.ignore,
    }
    for argument, names in wanted.items():
        known = {*frame.columns, *(frame.index.names if argument == "index" else ())}
        for name in names:
            if name not in known:
                raise InputError(unknown_column(path, frame, argument, name))
    named = layout.features or ()
    twice = [name for name in named if named.count(name) > 1]
    if twice:
        raise InputError(f"features names {twice[0]!r} more than once; name it once.")
    both = [name for name in named if name in layout.taken()]
    if both:
        raise InputError(f"{both[0]!r} is named in features and as something else; choose one.")


def unknown_column(path: Path, frame: pd.DataFrame, argument: str, name: str) -> str:
    """The message for a column that is not there."""
    columns = [str(column) for column in frame.columns]
    near = near_matches(name, columns)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
    shown = ", ".join(columns[:12]) + (f", … ({len(columns)} in all)" if len(columns) > 12 else "")
    return f"{argument}: {path} has no column {name!r}{hint} Its columns: {shown}."
