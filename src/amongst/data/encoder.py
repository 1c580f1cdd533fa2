"""`TableEncoder`: columns of any kind become numbers, as the training rows say.

What a column holds is a `ColumnKind`, one class for each kind. It is fitted on training rows by
`kind_of`; its fields are plain values that JSON can hold.
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from amongst.checks import near_matches
from amongst.data.columns import COMMA, FEWEST, is_id, is_plain, listed, names_rows
from amongst.data.frames import MISSING
from amongst.errors import AmongstWarning, InputError, warn
from amongst.optional import optional_import
from amongst.wording import counted

__all__ = ["TableEncoder"]

Floats = npt.NDArray[np.float64]

MOST_CATEGORIES = 100
"""Categories that get a column of their own, the most frequent ones."""
FEW_CATEGORIES = 30
"""So many are kept, however rare each of them is."""
MOST_WORDS = 10_000
WORDY = 3
"""Words a cell, on average, from which on strings are a text."""
LIKELY = 0.9
"""Share of a column's cells that are numbers, or dates, where it is one of numbers, or of dates."""

ALONE = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
WORD = rf"(?u)[{ALONE}]|[^\W{ALONE}]{{2,}}"
"""A word of two letters or more; each letter in the scripts that put no blanks between words."""

TIME = r"([ T]\d{1,2}:\d{2}.*)?"
FORMATS = {
    "2024-05-31": re.compile(rf"\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}{TIME}"),
    "31/05/2024": re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2\d{{4}}{TIME}"),
    "31 May 2024": re.compile(rf"\d{{1,2}}\.?[ -][^\W\d]{{3,9}}\.?[ -]\d{{4}}{TIME}"),
    "May 31, 2024": re.compile(rf"[^\W\d]{{3,9}}\.? \d{{1,2}},? \d{{4}}{TIME}"),
}
DAY, YEAR = 86_400.0, 365.2425


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Make features of a table whose columns are numbers, bools, categories, dates or texts.

    Numbers stay as they are, a missing one is the median; categories are one-hot; of dates there are
    days, season, weekday and hour; of texts TF-IDF. Columns that name the rows, or are the same in each,
    are left out. A table of numbers alone, without holes, stays what it is.

    Parameters
    ----------
    ids : whether numbers that name the rows, such as a ``record_id``, are features, too.
    text : a model of sentence-transformers, such as ``"all-MiniLM-L6-v2"``, that makes numbers of texts in
        place of TF-IDF.

    Attributes
    ----------
    columns_ : the names of the columns; `used_` those that `transform` needs.
    kinds_ : for each of them what it is.
    notes_ : a line for each kind of column, such as ``"habitat: 6 categories, one-hot"``.

    Examples
    --------
    >>> birds = pd.DataFrame({"wing": [10.5, None, 12.0], "habitat": ["wood", "lake", "wood"]})
    >>> encoder = TableEncoder().fit(birds)
    >>> encoder.transform(birds)
    array([[10.5 ,  0.  ,  0.  ,  1.  ],
           [11.25,  1.  ,  1.  ,  0.  ],
           [12.  ,  0.  ,  0.  ,  1.  ]])
    >>> print(*encoder.notes_, sep="\\n")
    wing: numbers, the median 11.25 where missing
    habitat: 2 categories, one-hot
    >>> encoder.get_feature_names_out().tolist()
    ['wing', 'wing (missing)', 'habitat=lake', 'habitat=wood']
    """

    columns_: tuple[str, ...]
    kinds_: dict[str, ColumnKind]

    def __init__(self, ids: bool = False, text: str | None = None) -> None:
        self.ids = ids
        self.text = text

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """See what each column of the training rows holds."""
        frame = _as_frame(X)
        if all(map(is_plain, (frame[name] for name in frame))):
            kinds: dict[str, Any] = {name: _plain_number(frame[name]) for name in frame}
        else:
            options: dict[str, Any] = {"ids": not self.ids, "text": self.text}
            kinds = {name: kind_of(name, frame[name], **options) for name in frame}
        if all(isinstance(kind, LeftOut) for kind in kinds.values()):
            told = "; ".join(f"{name}: {kind.note}" for name, kind in kinds.items())
            problem = f"there is no column to learn from{told and ': ' + told}."
            raise InputError(problem, code="no-features")
        if self.text is not None and not any(isinstance(k, Embedded) for k in kinds.values()):
            problem = f"no column is a text, so that {self.text!r} makes no numbers."
            warn(AmongstWarning(problem, code="no-text"))
        if any(isinstance(kind, Text) for kind in kinds.values()):
            kinds = {name: _standardised(name, kinds[name], frame[name]) for name in kinds}
        self.columns_, self.kinds_ = tuple(kinds), kinds
        return self

    def transform(self, X: pd.DataFrame) -> npt.NDArray[np.float64] | sp.csr_array:
        """The features, shape (n, d): an array, or, where some column is a text, a sparse matrix.

        A column that is not there is an error, as in scikit-learn's `ColumnTransformer`; others than
        those of `fit` are not looked at.
        """
        check_is_fitted(self)
        frame = _as_frame(X)
        for name in self.used_:
            if name not in frame:
                near = near_matches(name, frame.columns)
                problem = f"there is no column {name!r}, which the training rows had."
                remedy = f"Did you mean {near[0]!r}?" if near else ""
                raise InputError(problem, code="no-column", got=name, remedy=remedy)
        parts: list[Any] = [self.kinds_[name].values(name, frame[name]) for name in self.used_]
        if any(map(sp.issparse, parts)):
            return sp.csr_array(sp.hstack(parts, format="csr"))
        return np.hstack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Names of the features, shape (d,)."""
        names = [made for name, kind in self.kinds_.items() for made in kind.names(name)]
        return np.array(names, dtype=object)

    @property
    def used_(self) -> tuple[str, ...]:
        """The columns that are not left out."""
        return tuple(n for n, kind in self.kinds_.items() if not isinstance(kind, LeftOut))

    @property
    def notes_(self) -> list[str]:
        """A line for each column; those of one kind, such as plain numbers, share one."""
        alike: dict[str, list[str]] = {}
        for name, kind in self.kinds_.items():
            alike.setdefault(kind.note, []).append(name)
        return [f"{listed(names, 5)}: {note}" for note, names in alike.items()]

    def to_state(self) -> dict[str, Any]:
        """All that was fitted, as JSON holds it.

        >>> frame = pd.DataFrame({"wing": [1.0, 2.0]})
        >>> state = TableEncoder().fit(frame).to_state()
        >>> TableEncoder.from_state(state).transform(frame).tolist()
        [[1.0], [2.0]]
        """
        kinds = self.kinds_.items()
        columns = [[name, type(kind).__name__, asdict(kind)] for name, kind in kinds]
        return {"columns": columns} | ({} if self.text is None else {"text": self.text})

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The inverse of `to_state`."""
        made = cls(text=state.get("text"))
        made.kinds_ = {
            name: KINDS[kind](**{key: _tuples(value) for key, value in fields.items()})
            for name, kind, fields in state["columns"]
        }
        made.columns_ = tuple(made.kinds_)
        return made


@dataclass(frozen=True)
class ColumnKind(ABC):
    """A column of some kind, fitted: what it says of itself, its names, and its numbers."""

    note: str

    def names(self, name: str) -> list[str]:
        """Of the columns that are made of the column of this name."""
        return [name]

    @abstractmethod
    def values(self, name: str, column: pd.Series) -> Floats | sp.csr_array | None:
        """These columns, shape (n, width); None for a column that is left out."""


@dataclass(frozen=True)
class LeftOut(ColumnKind):
    """A column that tells nothing of other rows."""

    def names(self, name: str) -> list[str]:
        return []

    def values(self, name: str, column: pd.Series) -> None:
        return None


@dataclass(frozen=True)
class Measured(ColumnKind):
    """Numbers, the median of the training rows where there is none; and, where training rows lacked
    some, a column that says so."""

    fills: tuple[float, ...]
    holes: bool
    scaling: tuple[tuple[float, ...], ...] = ()

    @abstractmethod
    def measured(self, name: str, column: pd.Series) -> Floats:
        """The numbers, shape (n, width), NaN where there is none."""

    def values(self, name: str, column: pd.Series) -> Floats:
        found = self.measured(name, column)
        missing = np.isnan(found[:, :1])
        if len(found) and missing.all():
            problem = (
                f"the column {name!r} holds nothing that can be read as fit read it, in any row; medians "
                "of the training rows stand for it."
            )
            warn(AmongstWarning(problem, code="all-missing", got=name))
        found = np.where(missing, self.fills, found)
        found = np.hstack([found, missing]) if self.holes else found
        return (found - self.scaling[0]) / self.scaling[1] if self.scaling else found


@dataclass(frozen=True)
class Number(Measured):
    """Numbers and bools; some words may stand where one is missing."""

    odd: bool = False

    def names(self, name: str) -> list[str]:
        return [name, f"{name} (missing)"][: 1 + self.holes]

    def measured(self, name: str, column: pd.Series) -> Floats:
        found = as_numbers(column)
        strange = np.isnan(found)
        if strange.any() and not self.odd and (strange := strange & texts(column).notna()).any():
            raise _bad(name, column, strange, "is no number", "not-numbers")
        if np.isinf(found).any():
            raise _bad(name, column, np.isinf(found), "is infinite", "not-finite")
        return found[:, None]


@dataclass(frozen=True)
class Moment(Measured):
    """Dates and times: days since 1970, the season and, if there are times, the hour as angles, and
    the day of the week."""

    day_first: bool = False
    clock: bool = False

    def names(self, name: str) -> list[str]:
        parts = ["days", "season sin", "season cos", "weekday"]
        parts += ["hour sin", "hour cos"] if self.clock else []
        return [f"{name} ({part})" for part in parts + ["missing"] * self.holes]

    def measured(self, name: str, column: pd.Series) -> Floats:
        days = as_days(column, self.day_first)
        angles = [days / YEAR] + [days % 1] * self.clock
        turns = [turn(2 * np.pi * angle) for angle in angles for turn in (np.sin, np.cos)]
        return np.column_stack([days, *turns[:2], (np.floor(days) + 3) % 7, *turns[2:]])


@dataclass(frozen=True)
class Category(ColumnKind):
    """Strings, one-hot: a column of 0 and 1 for each that is kept; a missing cell is one of them where
    training rows had some. Others are 0 everywhere."""

    kept: tuple[str, ...]
    complete: bool

    def names(self, name: str) -> list[str]:
        return [f"{name}={value}" if value else f"{name} (missing)" for value in self.kept]

    def values(self, name: str, column: pd.Series) -> Floats:
        cells = texts(column)
        codes = pd.Index(self.kept).get_indexer(cells.fillna(""))
        unseen = cells[(codes < 0) & cells.notna().to_numpy()]
        if len(unseen) and self.complete:
            problem = (
                f"the column {name!r} has categories that the training rows lacked, such as "
                f"{unseen.iloc[0]!r}, in {counted(len(unseen), 'row')}; they count as none of the known."
            )
            warn(AmongstWarning(problem, code="unseen", got=name))
        hot: Floats = (codes[:, None] == np.arange(len(self.kept))).astype(np.float64)
        return hot


@dataclass(frozen=True)
class Text(ColumnKind):
    """TF-IDF of words and pairs of them, as scikit-learn's `TfidfVectorizer` has it, with 1 + log of
    the counts: rows of length 1."""

    words: tuple[str, ...]
    weights: tuple[float, ...]

    def names(self, name: str) -> list[str]:
        return [f"{name}: {word}" for word in self.words]

    def values(self, name: str, column: pd.Series) -> sp.csr_array:
        known = _words(vocabulary=self.words)
        known.idf_ = np.array(self.weights)
        return sp.csr_array(known.transform(texts(column).fillna("")))


@dataclass(frozen=True)
class Embedded(ColumnKind):
    """The numbers that a model of sentence-transformers makes of each text."""

    model: str
    width: int

    def names(self, name: str) -> list[str]:
        return [f"{name} ({at})" for at in range(self.width)]

    def values(self, name: str, column: pd.Series) -> Floats:
        return embedded(self.model, texts(column))


KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (LeftOut, Number, Moment, Category, Text, Embedded)
}


def kind_of(name: str, column: pd.Series, *, ids: bool = True, text: str | None = None) -> Any:
    """The kind of a column, fitted on its rows; `ids` says whether to leave numbers that name the rows
    out, and `text` which model makes numbers of texts.

    >>> kind_of("habitat", pd.Series(["wood", "lake", "wood", None])).note
    '2 categories and missing, one-hot'
    """
    cells = texts(column)
    n, distinct = int(cells.notna().sum()), cells.nunique()
    if not n:
        return LeftOut("empty in every row, left out")
    if column.map(lambda cell: isinstance(cell, list | tuple | dict | np.ndarray)).any():
        return LeftOut("holds lists, left out")
    if column.dtype != "category" and (found := _quantity(name, column, cells, ids)):
        return found
    if distinct == 1 and n == len(cells):
        return LeftOut("the same in every row, left out")
    once = pd.Series(cells.dropna().unique())
    words = once.str.count(WORD).mean()
    if words >= WORDY and (distinct > FEW_CATEGORIES or 2 * distinct > n):
        return _text(cells) if text is None else _embedded(cells, text)
    if distinct == n > 2:
        return LeftOut("names each row, left out")
    return _category(cells)


def texts(column: pd.Series) -> pd.Series:
    """The cells as stripped strings, None where one is missing; whole numbers as such."""

    def text(cell: Any) -> str | None:
        if not isinstance(cell, str):
            if not isinstance(cell, list | tuple | dict | np.ndarray) and pd.isna(cell):
                return None
            whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
            cell = str(int(cell)) if whole else str(cell)
        stripped: str = cell.strip()
        return None if stripped in MISSING else stripped

    return pd.Series([text(cell) for cell in column.tolist()], index=column.index, dtype=object)


def as_numbers(column: pd.Series) -> Floats:
    """The cells as floats, NaN for what is none."""
    if pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c":
        found: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return found
    if column.dtype.kind == "m":
        return np.asarray(column.dt.total_seconds() / DAY, dtype=np.float64)
    plain = column.astype(object).map(lambda cell: float(cell) if isinstance(cell, bool) else cell)
    return np.asarray(pd.to_numeric(plain, errors="coerce"), dtype=np.float64)


def as_days(column: pd.Series, day_first: bool) -> Floats:
    """Days since 1970 with their parts, NaN for what is no date."""
    if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
        column = texts(column)
        of_year = column[column.str.match(r"\d{4}\D", na=False)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = _moments(column, dayfirst=day_first)
            found[of_year.index] = _moments(of_year)
    else:
        found = pd.to_datetime(column, utc=True)
    return np.asarray((found - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1), dtype=np.float64)


def _moments(cells: pd.Series, **options: Any) -> pd.Series:
    return pd.to_datetime(cells, format="mixed", errors="coerce", utc=True, **options)


def _quantity(name: str, column: pd.Series, cells: pd.Series, ids: bool) -> ColumnKind | None:
    """The column as numbers or dates, or left out as an id; None where it is neither."""
    if column.dtype.kind == "M" or column.map(lambda cell: isinstance(cell, date)).any():
        return _moment(column, [])
    numbers = as_numbers(column)
    strange = cells[np.isnan(numbers)].dropna()
    n = int(cells.notna().sum())
    if len(strange) <= (1 - LIKELY) * n and not cells.str.match(r"0\d").any():
        return _number(name, column, numbers, strange, ids)
    if all(isinstance(cell, str) and COMMA.fullmatch(cell) for cell in cells.dropna()):
        remedy = "Write numbers without a comma, decimals with a point."
        raise _bad(
            name, column, cells.notna().to_numpy(), "is no plain number", "not-numbers", remedy
        )
    forms = [form for form, like in FORMATS.items() if cells.str.fullmatch(like).any()]
    dated = sum(int(cells.str.fullmatch(FORMATS[form]).sum()) for form in forms)
    return _moment(cells, forms) if dated >= LIKELY * n else None


def _number(
    name: str, column: pd.Series, numbers: Floats, strange: pd.Series, ids: bool
) -> ColumnKind:
    known = numbers[~np.isnan(numbers)]
    whole = bool((known == np.floor(known)).all())
    if ids and whole and len(known) >= FEWEST and names_rows(column):
        return LeftOut("names or numbers the rows, left out")
    if ids and is_id(column) and len(np.unique(known)) > 1:
        return _category(texts(column))
    if np.isinf(known).any():
        raise _bad(name, column, np.isinf(numbers), "is infinite", "not-finite")
    holes = len(known) < len(numbers)
    if not holes and len(np.unique(known)) == 1:
        return LeftOut("the same in every row, left out")
    median = float(np.median(known))
    note = "yes or no" if set(known) <= {0, 1} and column.dtype != np.float64 else "numbers"
    note += f", {strange.iloc[0]!r} and the like are missing" if len(strange) else ""
    note += f", the median {median:g} where missing" if holes else ""
    return Number(note, (median,), holes, odd=bool(len(strange)))


def _plain_number(column: pd.Series) -> Number:
    note = "numbers" if column.nunique() > 1 else "the same in every row, which tells nothing"
    return Number(note, (float(column.median()),), False)


def _moment(cells: pd.Series, forms: list[str]) -> Moment:
    parts = cells.astype(str).str.extract(FORMATS["31/05/2024"])[[0, 2]].astype(float)
    first, second = (parts > 12).any()
    dotted = cells.astype(str).str.match(r"\d{1,2}\.\d{1,2}\.").any()
    day_first = bool(first or (dotted and not second))
    days = as_days(cells, day_first)
    clock = bool((days[~np.isnan(days)] % 1 > 0).any())
    kind = Moment("", (), bool(np.isnan(days).any()), day_first=day_first, clock=clock)
    fills = tuple(np.nanmedian(kind.measured("", cells), axis=0).tolist())
    low, high = (
        pd.Timestamp(found(days) * DAY, unit="s").date() for found in (np.nanmin, np.nanmax)
    )
    note = f"dates, {low} to {high}"
    first_of = (cells[cells.str.fullmatch(FORMATS[form], na=False)].iloc[0] for form in forms)
    note += f", written as {' and '.join(first_of)}" if len(forms) > 1 else ""
    if "31/05/2024" in forms and not (first or second):
        note += f", read as {'day, month' if day_first else 'month, day'}"
    note += " and both orders of day and month" if first and second else ""
    return Moment(note, fills, kind.holes, day_first=day_first, clock=clock)


def _category(cells: pd.Series) -> ColumnKind:
    counts = cells.dropna().value_counts()
    total = len(counts)
    if total > FEW_CATEGORIES:
        counts = counts[counts > 1].head(MOST_CATEGORIES)
    if not len(counts):
        return LeftOut("names each row, left out")
    holes = bool(cells.isna().any())
    kept = (*sorted(counts.index), *[""] * holes)
    note = f"{total:,} categor{'y' if total == 1 else 'ies'}{' and missing' if holes else ''}"
    rest = f", the {len(counts):,} most frequent" if len(counts) < total else ","
    return Category(f"{note}{rest} one-hot", kept, len(counts) == total)


def _text(cells: pd.Series) -> ColumnKind:
    try:
        found = _words(max_features=MOST_WORDS, min_df=2 if len(cells) > 100 else 1)
        found.fit(cells.fillna(""))
    except ValueError:  # no word at all
        return LeftOut("a text without words, left out")
    words = tuple(found.get_feature_names_out().tolist())
    weights = tuple(found.idf_.tolist())
    return Text(f"text, TF-IDF of {len(words):,} words and pairs", words, weights)


def _embedded(cells: pd.Series, model: str) -> Embedded:
    width = embedded(model, cells[:1]).shape[1]
    return Embedded(f"text, {width:,} numbers by {model}", model, width)


def embedded(model: str, cells: pd.Series) -> Floats:
    """What a model of sentence-transformers makes of each text, shape (n, width)."""
    found = _sentence_model(model).encode(cells.fillna("").tolist(), show_progress_bar=False)
    return np.asarray(found, dtype=np.float64)


@lru_cache(maxsize=1)
def _sentence_model(name: str) -> Any:
    package = optional_import(
        "sentence_transformers", extra="text", purpose=f"making numbers of texts by {name!r}"
    )
    try:
        return package.SentenceTransformer(name)
    except (OSError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        problem = f"{name!r} is no model that sentence-transformers can load here: {reason}"
        remedy = "Name one such as all-MiniLM-L6-v2, or the folder of one."
        raise InputError(problem, code="no-model", got=name, remedy=remedy) from error


def _words(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(token_pattern=WORD, ngram_range=(1, 2), sublinear_tf=True, **options)


def _bad(
    name: str, column: pd.Series, where: Any, what: str, code: str, remedy: str = ""
) -> InputError:
    row = int(np.argmax(where))
    cell = column.iloc[row]
    shown = repr(cell.item() if isinstance(cell, np.generic) else cell)
    problem = f"the column {name!r} holds {shown} in row {row}, which {what}."
    return InputError(problem, code=code, got=name, at=row, remedy=remedy)


def _as_frame(X: Any) -> pd.DataFrame:
    if not isinstance(X, pd.DataFrame):
        X = pd.DataFrame(np.asarray(X)).infer_objects()
        X.columns = [f"x{at}" for at in range(X.shape[1])]
    names = list(map(str, X.columns))
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two columns are named {twice!r}; rename one.", code="twice")
    if not len(X):
        raise InputError("the table has no rows.", code="no-rows")
    return X.set_axis(names, axis=1)


def _standardised(name: str, kind: ColumnKind, column: pd.Series) -> ColumnKind:
    """So that a matrix that is scaled without centring, as sparse ones are, does numbers justice."""
    if not isinstance(kind, Measured):
        return kind
    values = kind.values(name, column)
    spread = values.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    return replace(kind, scaling=(tuple(values.mean(axis=0).tolist()), tuple(scale.tolist())))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value
