"""Files with named columns (CSV, Parquet) as data frames, with one clear line where they are bad."""

from __future__ import annotations

import csv
import gzip
import re
import warnings
from collections.abc import Collection
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from amongst.errors import DataNotFoundError, FileFormatError, InputError
from amongst.optional import optional_import

__all__ = [
    "EXACT_FLOATS",
    "existing_file",
    "read_csv_frame",
    "read_parquet_frame",
    "table_format",
]

FORMATS = {
    "csv": (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"),
    "parquet": (".parquet", ".pq"),
    "npz": (".npz",),
    "mat": (".mat",),
}
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "<NA>")

COMMA_NUMBER = r"\s*[+-]?(?:\d+,?\d*|,\d+)(?:[eE][+-]?\d+)?\s*"
"""A number without thousands, its decimals, if it has any, after a comma."""

LONGER_LINE = re.compile(
    r"Expected (?P<names>\d+) fields in line (?P<line>\d+), saw (?P<cells>\d+)"
)
"""How pandas says it."""

OPEN_QUOTE = " A double quote opens a cell there and is not closed; close it, or write it twice."

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
EXACT_FLOATS: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
"""For `pandas.read_csv`: before 3.1 it missed every third number by the last bit."""


def existing_file(path: str | Path) -> Path:
    """The path, if a file is there.

    >>> existing_file("no_such.csv")
    Traceback (most recent call last):
    amongst.errors.DataNotFoundError: no_such.csv does not exist; check the spelling and the folder.
    """
    found = Path(path)
    if found.is_dir():
        raise InputError(f"{found} is a folder; give a file, or use load_image_folder for images.")
    if not found.is_file():
        raise DataNotFoundError(f"{found} does not exist; check the spelling and the folder.")
    if found.stat().st_size == 0:
        raise FileFormatError(f"{found} is empty (0 bytes); write the table again.")
    return found


def table_format(path: Path) -> str:
    """csv, parquet, npz or mat, by the ending.

    >>> table_format(Path("birds.TSV"))
    'csv'
    """
    name = path.name.lower()
    found = next((kind for kind, endings in FORMATS.items() if name.endswith(endings)), None)
    if found is not None:
        return found
    hint = " Save a spreadsheet as CSV (UTF-8)." if name.endswith(SPREADSHEETS) else ""
    raise InputError(
        f"path={str(path)!r} has an unknown ending; it must be .csv, .tsv, .parquet, .npz or .mat.{hint}"
    )


def read_csv_frame(
    path: Path, *, text: Collection[str], answers: Collection[str], commas: bool = False
) -> pd.DataFrame:
    """A CSV or TSV file (also gzipped) with a header line.

    Parameters
    ----------
    path : file; the delimiter is found in the header: comma, semicolon or tab.
    text : columns that hold labels: kept as strings, only an empty cell is missing.
    answers : columns that hold annotators' answers: kept as strings, ``NA`` and the like missing.
    commas : between semicolons, read 1,5 as a number where no other column has a decimal point.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return _parsed(path, text, answers, commas)
    except pd.errors.ParserWarning as error:
        raise FileFormatError(
            f"{path} has rows with more cells than the first line has names; the first line must "
            "name every column."
        ) from error
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path} is not UTF-8 text (byte {error.start}); save it again as UTF-8."
        ) from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error, OSError, EOFError) as error:
        reason = " ".join(str(error).split())
        if longer := LONGER_LINE.search(reason):
            raise FileFormatError(
                f"{path} cannot be read as CSV: line {longer['line']} has {longer['cells']} cells, the "
                f"first {longer['names']}. Put a cell that holds the delimiter between double quotes."
            ) from error
        hint = OPEN_QUOTE if "inside string" in reason else ""
        raise FileFormatError(f"{path} cannot be read as CSV: {reason}.{hint}") from error


def _parsed(
    path: Path, text: Collection[str], answers: Collection[str], commas: bool
) -> pd.DataFrame:
    header, delimiter = _header(path)
    labels = {*text, *answers}
    frame = pd.read_csv(
        path,
        sep=delimiter,
        encoding="utf-8-sig",
        dtype={name: str for name in header if name in labels},
        keep_default_na=False,
        na_values={name: [""] if name in text else list(MISSING) for name in header},
        index_col=False,
        skipinitialspace=True,
        low_memory=False,
        **EXACT_FLOATS,
    )
    if commas and delimiter == ";":
        frame = _with_points(frame, labels)
    blank = [at for at, name in enumerate(header) if not name.strip()]
    return frame.drop(columns=[frame.columns[at] for at in blank if _is_blank(frame.iloc[:, at])])


def _with_points(frame: pd.DataFrame, labels: Collection[str]) -> pd.DataFrame:
    """Decimal commas as a spreadsheet of many countries writes them, read as points.

    >>> frame = pd.DataFrame({"wing": ["1,5", "2"], "labels": ["1,5", "2"]})
    >>> _with_points(frame, {"labels"})["wing"].tolist()
    [1.5, 2.0]
    """
    others = [name for name in frame.columns if name not in labels]
    if any(frame[name].dtype.kind == "f" and (frame[name] % 1 > 0).any() for name in others):
        return frame
    for name in others:
        if _has_commas(frame[name]):
            frame[name] = frame[name].str.strip().str.replace(",", ".").astype(np.float64)
    return frame


def _has_commas(column: pd.Series) -> bool:
    """Whether every cell is a number or empty, and one at least has a decimal comma."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return False
    cells = column.dropna().astype(str)
    return bool(cells.str.fullmatch(COMMA_NUMBER).all() and cells.str.contains(",").any())


def _is_blank(column: pd.Series) -> bool:
    """Whether a column holds nothing, as where each line of a spreadsheet ends in a delimiter."""
    return bool(column.isin(["", None, float("nan")]).all())


def read_parquet_frame(path: Path) -> pd.DataFrame:
    """A Parquet file; categories become plain values, and decimals floats."""
    pyarrow = optional_import("pyarrow", extra="data", purpose="reading Parquet files")
    parquet = optional_import("pyarrow.parquet", extra="data", purpose="reading Parquet files")
    try:
        table = parquet.read_table(path)
        frame = table.to_pandas()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise FileFormatError(f"{path} cannot be read as Parquet: {reason}") from error
    exact = [field.name for field in table.schema if pyarrow.types.is_decimal(field.type)]
    frame = frame.astype({name: float for name in exact if name in frame.columns})
    for field in table.schema:
        # pandas made floats of whole numbers with holes, which round large ones
        holes = pyarrow.types.is_integer(field.type) and table[field.name].null_count
        if holes and field.name in frame.columns:
            kind = "UInt64" if pyarrow.types.is_unsigned_integer(field.type) else "Int64"
            frame[field.name] = pd.array(table[field.name].to_pylist(), dtype=kind)
    frame.columns = frame.columns.map(str)
    for name in frame.columns[frame.dtypes == "category"]:
        frame[name] = frame[name].astype(frame[name].cat.categories.dtype)
    return frame


def _header(path: Path) -> tuple[list[str], str]:
    """Column names and delimiter, from the first line; a name in quotes may be of several lines."""
    with _open_text(path) as lines:
        first = lines.readline()
        delimiter = max(",;\t", key=first.count) if path.suffix != ".tsv" else "\t"
        rest = csv.reader(chain([first], lines), delimiter=delimiter, skipinitialspace=True)
        names, second = next(rest, []), next(rest, [])
    _check_names(path, names)
    _check_spaces(path, names, second)
    return names, delimiter


def _open_text(path: Path) -> IO[str]:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _check_names(path: Path, names: list[str]) -> None:
    if not any(name.strip() for name in names):
        raise FileFormatError(f"{path} has an empty first line; the first line names the columns.")
    if all(_is_number(name) for name in names) and names != [str(i) for i in range(len(names))]:
        raise FileFormatError(
            f"{path} starts with numbers ({names[0]}, …); the first line must name the columns. "
            "Add such a line."
        )
    if len(names) == 1 and "|" in names[0]:
        raise FileFormatError(
            f"{path} has | between its columns, which stands between the labels of a cell; save it "
            "again with commas, semicolons or tabs."
        )
    told = [name for name in names if name.strip()]
    twice = [name for name in told if told.count(name) > 1] if len({*told}) < len(told) else []
    if twice:
        raise FileFormatError(f"{path} has two columns named {twice[0]!r}; rename one of them.")


def _check_spaces(path: Path, names: list[str], second: list[str]) -> None:
    """An error where blanks stand between the columns, as R's write.table has it, with the numbers of
    the rows or without; a name of two words alone stands over one value."""
    words, values = (len(" ".join(line).split()) for line in (names, second))
    if len(names) == len(second) == 1 and words > 1 and values in (words, words + 1):
        raise FileFormatError(
            f"{path} has blanks between its columns; save it again with commas, semicolons or tabs."
        )


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
