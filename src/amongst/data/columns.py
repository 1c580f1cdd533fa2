"""Which columns of a file are what: as its reader was told, as they plainly are, or as they look."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import filter as filter_names
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypedDict, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets
from amongst.candidates.cells import (
    check_separator,
    class_array,
    whole_numbers,
)
from amongst.candidates.convert import Empty, from_columns
from amongst.candidates.marks import Hierarchy
from amongst.candidates.raters import RaterLaw
from amongst.checks import as_float, check_choice, near_matches
from amongst.errors import AmongstWarning, InputError, Shown, named, warn

Kind = Literal["auto", "mask", "labels", "strings", "annotators", "votes"]
Outside = Literal["error", "keep", "some"]
EmptyRows = Literal["error", "full", "keep", "drop"]
CHOICES: Mapping[str, Any] = {
    "kind": Kind,
    "empty": EmptyRows,
    "outside": Outside,
    "raters": RaterLaw,
}

ANSWERS = re.compile(
    r"(true|real|gold|correct)?[ _-]?(truth|labels?|class(es)?|target|answer|y)|ground[ _-]?truth|gt",
    re.IGNORECASE,
)
"""Names that people give to the column of true labels."""
IDS = re.compile(r"(?i:(.*[ _.-])?u?id)|.*[a-z]I[Dd]")
"""Names that people give to numbers of samples, patients or sites."""
UNNAMED = re.compile(r"(Unnamed: 0(\.\d+)?)?")
"""What pandas calls a first column without a name, also once it was written again."""
FEWEST = 20
"""Rows from which numbers that grow with each row are hardly chance."""
COMMA = re.compile(r"[+-]?[0-9]+(,[0-9]+)+(\.[0-9]+)?(e[+-]?[0-9]+)?", re.IGNORECASE)
WHOLE = re.compile(r"0|-?[1-9][0-9]{,3999}")  # int() takes no more than 4300 digits


class LabelOptions(TypedDict, total=False):
    """How candidate labels are written in a file; see `amongst.data.read_table`."""

    classes: Iterable[Hashable] | None
    separator: str
    kind: Kind
    empty: EmptyRows


@dataclass(frozen=True)
class Columns:
    """Which columns, or arrays, are what; None where nothing was said. See `amongst.data.read_table`.

    >>> list(Columns(candidates=("labels",), truth="species", ignore=("id",)).taken)
    ['labels', 'species', 'id']
    """

    candidates: tuple[str, ...] | None = None
    truth: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    index: str | None = None
    separator: str = "|"
    kind: Kind = "auto"
    classes: tuple[Hashable, ...] | None = None
    empty: EmptyRows = "error"
    outside: Outside = "error"
    hierarchy: Hierarchy | None = None
    raters: RaterLaw = "votes"
    rater: str | None = None
    header: bool | None = None
    mixed: bool = False

    def __post_init__(self) -> None:
        for name, kind in CHOICES.items():
            check_choice(name, getattr(self, name), get_args(kind))
        check_separator(self.separator)

    @property
    def empty_sets(self) -> Empty:
        """What `as_candidates` makes of them; rows are dropped once they are known.

        >>> Columns(empty="drop").empty_sets
        'keep'
        """
        return "keep" if self.empty == "drop" else self.empty

    @property
    def taken(self) -> dict[str, None]:
        """Names that are not features, in this order."""
        names = (*(self.candidates or ()), self.truth, *self.ignore, self.index, self.rater)
        return dict.fromkeys(name for name in names if name is not None)

    def check(self, path: Path, names: Sequence[str], levels: Collection[Any] = ()) -> None:
        """An error that names the first column asked for that is not there, with near matches;
        `levels` are those of the file's own index."""
        for argument in ("candidates", "truth", "features", "index", "rater", "ignore"):
            for name in names_of(argument, getattr(self, argument) or None) or ():
                if name not in names and not (argument == "index" and name in levels):
                    raise no_column(path, names, argument, name)
        for name in self.features or ():
            if name in self.taken or (self.features or ()).count(name) > 1:
                problem = f"names {name!r}, which is named before; name it once."
                raise InputError(problem, code="twice", argument="features", got=name)


def no_column(path: Path, names: Sequence[str], argument: str, name: str) -> InputError:
    """The error for a column that is not there; `argument` names it, or, if empty, a fitted model."""
    near = near_matches(name, names)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
    place = f"{named(argument)}: " if argument else ""
    model = "" if argument else ", which the model was fitted on"
    problem = f"{place}{path} has no column {name!r}{model}{hint} Its columns: {listed(names, 12)}."
    return InputError(problem, code="no-column", argument=argument, got=name)


def names_of(argument: str, given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """One name or several, as a tuple."""
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else tuple(given)
    if argument != "ignore" and not names:
        problem = "is empty; name at least one column, or leave it out."
        raise InputError(problem, code="no-name", argument=argument)
    return names


def apart(names: tuple[str, ...] | None, known: Collection[str]) -> tuple[str, ...] | None:
    """Names of columns as a person types them: one that is unknown, but whose parts between commas
    are known, is these parts; ``rater*`` is every name that begins so.

    >>> apart(("wing,tail", "height, m"), ["wing", "tail", "height, m"])
    ('wing', 'tail', 'height, m')
    >>> apart(("rater*",), ["wing", "rater 1", "rater 2"])
    ('rater 1', 'rater 2')
    """
    if names is None:
        return None
    found: list[str] = []
    for name in names:
        parts = [part.strip() for part in name.split(",") if part.strip()]
        each = [[part] if part in known else filter_names(known, part) for part in parts]
        found += chain(*each) if parts and name not in known and all(each) else [name]
    return tuple(found)


def listed(names: Sequence[str], most: int) -> str:
    """The first names; and how many they are, where there are more."""
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")


def column_candidates(frame: pd.DataFrame, columns: Columns) -> CandidateSets:
    """The candidate sets in these columns of a file; an error says which columns they are."""
    try:
        return from_columns(
            frame,
            columns.classes,
            kind="annotators" if columns.rater and columns.kind == "auto" else columns.kind,
            separator=columns.separator,
            empty=columns.empty_sets,
            hierarchy=columns.hierarchy,
            raters=columns.raters,
        )
    except InputError as error:
        names = ", ".join(map(repr, frame.columns[:3])) + (", …" if frame.shape[1] > 3 else "")
        noun = "column" if frame.shape[1] == 1 else "columns"
        error.place = f"{named('candidates')} ({noun} {names})"
        raise


def true_labels(column: pd.Series, sets: CandidateSets | None) -> npt.NDArray[Any]:
    """True labels, shape (n,), of the type that the candidate sets' classes have."""
    if column.isna().any():
        row = int(np.argmax(column.isna().to_numpy()))
        raise InputError(
            f"{named('truth')} (column {column.name!r}): row {row} is empty.",
            code="empty-truth",
            argument="truth",
            at=row,
            remedy=("give every row its true label", f"leave {named('truth')} out"),
        )
    values = [v.strip() if isinstance(v, str) else v for v in column.tolist()]
    if sets is not None and all(isinstance(label, str) for label in sets.classes.tolist()):
        return np.array([str(value) for value in values])
    return np.array(whole_numbers(values))


def check_inside(sets: CandidateSets, truth: npt.NDArray[Any], where: str, found: str = "") -> None:
    """An error where a true label is not among its row's candidates; `found` is the array that holds
    them, if nobody named it.
    """
    bad = np.flatnonzero(~sets.contains(truth))
    if not len(bad):
        return
    row = int(bad[0])
    label, shown = truth[row].item(), "|".join(map(str, sets[row].to_lists()[0]))
    leave_out = f"leave {named('truth')} out" if not found else f"pass {named('ignore', found)}"
    keep = f"pass {named('outside', 'keep')} if the sets are noisy"
    raise InputError(
        f"{where}: {named('truth')}: row {row} has the true label {label!r}, which is not among its "
        f"candidates {shown} ({len(bad)} of {len(sets)} rows).",
        code="truth-outside",
        argument="truth",
        at=row,
        got=label,
        remedy={"python": ("correct the rows", keep), "command": ("correct the rows", leave_out)},
    )


def row_names(frame: pd.DataFrame, name: str | None) -> npt.NDArray[Any]:
    """The column of this name, or the level of the frame's own index; that index where none is named.
    Numbers are numbers where all are, and 007 is none.
    """
    if name is not None and name in frame.columns:
        names = frame[name].tolist()
        whole = all(isinstance(name, str) and WHOLE.fullmatch(name) for name in names)
        return class_array(map(int, names)) if whole else frame[name].to_numpy()
    index = frame.index if name is None else frame.index.get_level_values(name)
    if index.nlevels > 1:
        index = index.map(lambda levels: ", ".join(map(str, levels)))
    return index.to_numpy()  # type: ignore[no-any-return]


def feature_columns(
    path: Path, frame: pd.DataFrame, columns: Columns, sets: CandidateSets | None
) -> tuple[str, ...]:
    """The names of the features: those asked for, or all that are nothing else, and do not look like
    row numbers, ids or true labels.

    A first column without a name that counts the rows is the index that ``to_csv()`` writes. It
    would tell the order of the rows, so it is left out, with a warning.
    """
    if columns.features is not None:
        return columns.features
    names = [name for name in frame.columns if name not in columns.taken]
    if names and UNNAMED.fullmatch(names[0]) and names[0] == frame.columns[0]:
        first = frame[names[0]]
        counts = counts_rows(first)
        if counts or (first.dtype.kind == "i" and first.is_unique and len(first) > 1):
            what = "has no name and looks like the row numbers that pandas writes"
            _suspect(path, names[0], what, counts, ("to say otherwise, give it a name",))
        names = names[1:] if counts else names
    if not names and not columns.mixed:  # else it may be enough to describe the labels
        raise InputError(
            f"{path} has no feature column left: all are named as something else.",
            code="no-features",
            remedy=f"Say which are features with {named('features', Shown('…'))}.",
        )
    if not columns.mixed or all(is_plain(frame[name]) for name in names):
        out = _suspect_id(path, [frame[name] for name in names], columns.mixed and len(names) > 1)
        names = [name for name in names if name not in out]
    if sets is not None and columns.truth is None:
        out = _suspect_answer(path, [frame[name] for name in names], sets, columns.mixed)
        names = [name for name in names if name not in out]
    return tuple(names)


def _suspect(path: Path, name: str, what: str, out: bool, remedy: tuple[str, ...]) -> list[str]:
    """A warning of a column that is hardly a feature; the name, if it is to be left out."""
    problem = (
        f"{path}: the column {name!r} {what}, and is {'left out' if out else 'taken as a feature'}."
    )
    code = "no-feature" if out else "perhaps-no-feature"
    warn(AmongstWarning(problem, code=code, got=name, remedy=remedy))
    return [name] if out else []


def _all_named() -> str:
    return f"if it is a feature, name all of them with {named('features')}"


def _suspect_id(path: Path, columns: list[pd.Series], leave_out: bool) -> list[str]:
    """Whole numbers count the rows, grow with each of them, or are ids by their name. Such a feature
    tells the order of the rows, and a file sorted by its labels their labels."""
    columns = [column for column in columns if not UNNAMED.fullmatch(column.name)]
    found = next((column for column in columns if numbers_rows(column) or is_id(column)), None)
    if found is None or len(found) < FEWEST:
        return []
    what = "seems to number the rows" if numbers_rows(found) else "sounds like an id"
    out = leave_out and names_rows(found)
    ignore = f"if it is none, leave it out: {named('ignore', found.name)}"
    return _suspect(path, found.name, what, out, (_all_named() if out else ignore,))


def _suspect_answer(
    path: Path, columns: list[pd.Series], sets: CandidateSets, mixed: bool
) -> list[str]:
    """Whole numbers, or labels, go by a name of the true labels, or are a candidate in every row: a
    network would learn from the answers, and know nothing of rows without. Numbers are features all
    the same; labels are left out, where columns may be `mixed`."""
    columns = [column for column in columns if mixed or is_whole(column)]
    by_name = (c for c in columns if ANSWERS.fullmatch(c.name.strip()) and _may_answer(c, sets))
    found, what = next(by_name, None), "sounds like the true labels"
    if found is None:
        rows = np.flatnonzero((sets.sizes > 0) & (sets.sizes < sets.n_classes))
        inside = (column for column in columns if _is_candidate(column, sets, rows))
        found, what = next(inside, None), "is a candidate in every row, as the true labels are"
    if found is None:
        return []
    out = not is_whole(found)
    ignore = f"if it is no feature, leave it out: {named('ignore', found.name)}"
    is_truth = f"if it holds them, say so: {named('truth', found.name)}"
    return _suspect(path, found.name, what, out, (is_truth, _all_named() if out else ignore))


def _is_candidate(column: pd.Series, sets: CandidateSets, rows: npt.NDArray[np.intp]) -> bool:
    """Whether a column that is not constant is a candidate in all of many rows, whose sets exclude
    some class."""
    if len(rows) < FEWEST or not _alike(column, sets):
        return False
    numbers = _numeric(column)
    labels = (
        column.to_numpy(np.float64) if numbers else column.astype(str).str.strip().to_numpy(str)
    )
    parts = rows[:FEWEST], rows  # few of them tell of most columns
    inside = (sets[part].contains(labels[part]).all() for part in parts)
    return all(inside) and column.nunique() > 1


def _may_answer(column: pd.Series, sets: CandidateSets) -> bool:
    """Whether these are whole numbers, or labels that are nearly all known."""
    if not _alike(column, sets) or _numeric(column):
        return is_whole(column)
    return bool(column.astype(str).str.strip().isin(sets.classes.tolist()).mean() > 0.9)


def _alike(column: pd.Series, sets: CandidateSets) -> bool:
    """Whether a column and the classes are both numbers, or both strings."""
    if sets.classes.dtype.kind in "iu":
        return _numeric(column)
    return not _numeric(column) and bool(pd.api.types.is_string_dtype(column.dtype))


def _numeric(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column.dtype)) and column.dtype.kind != "c"


def is_whole(column: pd.Series) -> bool:
    """Whether a column is of whole numbers, some of which may be missing."""
    return _numeric(column) and bool((column.dropna().astype(np.float64) % 1 == 0).all())


def is_plain(column: pd.Series) -> bool:
    """Whether a column is of numbers or bools, none of them missing."""
    return _numeric(column) and not column.hasnans


def is_id(column: pd.Series) -> bool:
    """Whether whole numbers are ids by their name."""
    return IDS.fullmatch(column.name.strip()) is not None and is_whole(column)


def counts_rows(column: pd.Series) -> bool:
    """Whether a column holds 0 … n−1, or 1 … n, in any order."""
    if not _numeric(column):
        return False
    count, ordered = np.arange(len(column)), np.sort(column.to_numpy(dtype=np.float64))
    return bool(np.array_equal(ordered, count) or np.array_equal(ordered, count + 1))


def numbers_rows(column: pd.Series) -> bool:
    """Whether whole numbers count rows, or grow with each of them."""
    if column.dtype.kind not in "iu" or not column.is_unique or column.isna().any():
        return False
    return column.is_monotonic_increasing or counts_rows(column)


def names_rows(column: pd.Series) -> bool:
    """Whether whole numbers tell most rows apart, as those of measurements do not."""
    return numbers_rows(column) or (is_id(column) and 2 * column.nunique() > len(column))


def numeric(path: Path, frame: pd.DataFrame, labelled: bool = True) -> npt.NDArray[Any]:
    """The feature columns as one float array, or which of them are not numbers.

    `labelled` says whether the candidates were named; where not, one of these may hold them.
    """
    bad = [name for name in frame.columns if not _numeric(frame[name])]
    if bad:
        raise _not_numbers(path, frame, bad, labelled)
    columns = frame.to_numpy(dtype=np.float64 if frame.isna().any(axis=None) else None)
    if columns.dtype.kind not in "biuf":
        columns = frame.to_numpy(dtype=np.float64)
    features = np.ascontiguousarray(as_float(columns))
    check_finite(path, features, tuple(frame.columns))
    return features


def check_finite(
    path: Path, features: npt.NDArray[Any], names: Sequence[str], named_in_file: bool = True
) -> None:
    """An error that names the first column and row with NaN or infinity."""
    bad = np.flatnonzero(~np.isfinite(features).all(axis=0))
    if not len(bad):
        return
    name, column = names[bad[0]], features[:, bad[0]]
    row = int(np.argmax(~np.isfinite(column)))
    more = f" ({len(bad)} columns have such cells)" if len(bad) > 1 else ""
    what = "empty (NaN)" if np.isnan(column[row]) else "infinite"
    leave_out = (f"leave the column out with {named('ignore', name)}",) if named_in_file else ()
    raise InputError(
        f"{path}: column {name!r} is {what} in row {row}{more}.",
        code="not-finite",
        got=name,
        at=row,
        remedy=("fill them in", "drop the rows", *leave_out),
    )


def _not_numbers(path: Path, frame: pd.DataFrame, bad: list[str], labelled: bool) -> InputError:
    """What the first of the columns holds, and what may be done; they may be something else."""
    first = frame[bad[0]]
    odd = pd.to_numeric(first.astype(object).map(str), errors="coerce").isna() & first.notna()
    row = int(np.argmax(odd))
    value, shown = first.iloc[row], listed([repr(name) for name in bad], 5)
    problem = f"{path}: these feature columns are not numeric: {shown}; {bad[0]!r} holds {value!r} in row {row}."
    if isinstance(value, str) and COMMA.fullmatch(value.strip()):
        problem += " Write numbers without a comma, decimals with a point."
    name, which = (bad[0], repr(bad[0])) if len(bad) == 1 else (Shown("…"), "one of them")
    remedy = [
        "encode them as numbers",
        f"leave them out with {named('ignore', name)}",
        f"choose columns with {named('features', Shown('…'))}",
    ]
    if not labelled:
        remedy.append(f"if {which} holds the candidate labels, pass {named('candidates', name)}")
    if odd.all() and len(odd) > 1 and first.astype(str).is_unique:
        remedy.append(f"if {bad[0]!r} names the rows, pass {named('index', bad[0])}")
    fitted = "Encode them as in the file that the model was fitted on."
    return InputError(
        problem,
        code="not-numbers",
        got=bad[0],
        at=row,
        remedy={"python": tuple(remedy), "fitted": fitted},
    )
