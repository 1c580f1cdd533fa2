"""Files of tables, opened by their endings; those with named columns (CSV, Parquet) are parsed once."""

from __future__ import annotations

import csv
import gzip
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from amongst.candidates.cells import is_list_text
from amongst.data.arrays import LIKELY_NAMES, ArrayFile, open_mat, open_npz
from amongst.errors import (
    DataNotFoundError,
    FileFormatError,
    InputError,
    named,
    reading,
)
from amongst.optional import optional_import

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "<NA>")

COMMA_NUMBER = r"\s*[+-]?(?:\d+,?\d*|,\d+)(?:[eE][+-]?\d+)?\s*"
"""A number without thousands, its decimals, if it has any, after a comma."""

REMEDIES = {
    "utf-8": "Save it again as UTF-8.",
    "fields in line": "Put a cell that holds the delimiter between double quotes.",
    "inside string": "A double quote opens a cell and is not closed; close it, or write it twice.",
    "Length of header": "The first line must name every column.",
}
"""What helps, by words of Python and pandas."""

CODE = re.compile(r"0[0-9]+")
"""A number whose first digit says that it is none."""

HEAD_ROWS = 1000
"""So many rows are looked at, to see what columns hold, before the file is parsed."""

_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2])
EXACT_FLOATS: dict[str, Any] = {} if _PANDAS >= (3, 1) else {"float_precision": "round_trip"}
"""For `pandas.read_csv`: before 3.1 it missed every third number by the last bit."""


@dataclass(frozen=True, eq=False)
class ColumnFile:
    """A file with named columns, opened: names and first rows are known, the rest when it is parsed.

    Attributes
    ----------
    path : the file.
    names : of its columns.
    head : for each column its first cells; of a CSV file as text.
    parse : gives the data frame. Of a CSV file the columns in its first argument hold labels: they
        are kept as text, and only an empty cell is missing; those in its second hold annotators'
        answers: they are kept as text, too, but ``NA`` and the like are missing.
    """

    path: Path
    names: tuple[str, ...]
    head: tuple[list[Any], ...]
    parse: Callable[[Collection[str], Collection[str]], pd.DataFrame]

    def guess(self, separator: str = "|") -> str | None:
        """The one column in which some cell is a list or has the separator, or one with a likely
        name; None where it is not plain.
        """
        columns = zip(self.names, self.head, strict=True)
        joined = [name for name, cells in columns if _holds_sets(cells, separator)]
        likely = (name for name in LIKELY_NAMES if name in self.names)
        return joined[0] if len(joined) == 1 else next(likely, None)

    def codes(self) -> set[str]:
        """The columns with texts such as 01067, which as numbers would be others."""
        columns = zip(self.names, self.head, strict=True)
        return {n for n, cells in columns if any(CODE.fullmatch(str(c).strip()) for c in cells)}


def _holds_sets(cells: list[Any], separator: str) -> bool:
    """Whether some of the cells is a list, or a text with the separator, and not all are numbers.

    Round brackets are as often a remark.
    """
    if any(isinstance(cell, list | tuple | np.ndarray) for cell in cells):
        return True
    texts = [cell for cell in cells if isinstance(cell, str)]
    found = any(
        separator in text or (is_list_text(text) and not text.lstrip().startswith("("))
        for text in texts
    )
    return found and not all(is_number(text) or text in MISSING for text in texts)


def open_csv(path: Path, header: bool | None = None) -> ColumnFile:
    """A CSV or TSV file (also gzipped); commas, semicolons or tabs are found in it.

    Between semicolons, 1,5 is a number where no other column has a decimal point. The first line names
    the columns, and one that looks like data is an error (None); or it does, whatever it looks like
    (True); or it is data, and the columns are called 1, 2, … (False).
    """
    with _csv_errors(path), _open_text(path) as lines:
        first = lines.readline()
        delimiter = max(",;\t", key=first.count) if path.suffix != ".tsv" else "\t"
        cells = csv.reader(chain([first], lines), delimiter=delimiter, skipinitialspace=True)
        line = next(cells, [])
        rows: list[list[str]] = []
        with suppress(csv.Error):  # a cell may be longer than this reader takes
            rows.extend(islice(cells, HEAD_ROWS))
    if header is False:
        rows, line = [line, *rows], [str(at + 1) for at in range(len(line))]
    columns = [[row[at] for row in rows if at < len(row)] for at in range(len(line))]
    _check_header(path, line, rows)
    if header is None and _is_data(line, columns):
        raise _without_names(path, line)
    names = [name if name.strip() else f"Unnamed: {at}" for at, name in enumerate(line)]
    kept = [at for at, name in enumerate(line) if name.strip() or any(map(str.strip, columns[at]))]

    def parse(text: Collection[str], answers: Collection[str]) -> pd.DataFrame:
        with _csv_errors(path):
            return _parsed(path, line, delimiter, text, answers, header is not False)

    return ColumnFile(
        path, tuple(names[at] for at in kept), tuple(columns[at] for at in kept), parse
    )


def open_parquet(path: Path) -> ColumnFile:
    """A Parquet file; categories become plain values, and decimals floats."""
    pyarrow = optional_import("pyarrow", extra="data", purpose="reading Parquet files")
    parquet = optional_import("pyarrow.parquet", extra="data", purpose="reading Parquet files")
    with reading(path, "Parquet"):
        table = parquet.read_table(path)
        table.validate(full=True)  # a text may be none
        frame = _plain(pyarrow, table)
    head = tuple(frame.iloc[:HEAD_ROWS, at].tolist() for at in range(frame.shape[1]))
    return ColumnFile(path, tuple(frame.columns), head, lambda *_: frame)


def _plain(pyarrow: Any, table: Any) -> pd.DataFrame:
    frame = table.to_pandas()
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


def _parsed(
    path: Path,
    header: list[str],
    delimiter: str,
    text: Collection[str],
    answers: Collection[str],
    headed: bool,
) -> pd.DataFrame:
    labels = {*text, *answers}
    frame = pd.read_csv(
        path,
        sep=delimiter,
        header=0 if headed else None,
        names=None if headed else header,
        encoding="utf-8-sig",
        dtype={name: str for name in header if name in labels},
        keep_default_na=False,
        na_values={name: [""] if name in text else list(MISSING) for name in header},
        index_col=False,
        skipinitialspace=True,
        low_memory=False,
        **EXACT_FLOATS,
    )
    if delimiter == ";":
        frame = _with_points(frame, labels)
    blank = [at for at, name in enumerate(header) if not name.strip()]
    return frame.drop(columns=[frame.columns[at] for at in blank if _is_blank(frame.iloc[:, at])])


def _with_points(frame: pd.DataFrame, labels: Collection[str]) -> pd.DataFrame:
    """Decimal commas as a spreadsheet of many countries writes them, read as points."""
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


def _open_text(path: Path) -> IO[str]:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


@contextmanager
def _csv_errors(path: Path) -> Iterator[None]:
    """What readers of CSV raise and warn of, with what helps."""
    try:
        with warnings.catch_warnings(), reading(path, "CSV"):
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except FileFormatError as error:
        known = (remedy for words, remedy in REMEDIES.items() if words in error.problem)
        error.remedy = next(known, "")
        raise


def _bad(path: Path, problem: str, remedy: str) -> FileFormatError:
    return FileFormatError(f"{path} {problem}.", code="layout", remedy=remedy)


def _check_header(path: Path, names: list[str], rows: list[list[str]]) -> None:
    again = "Save it again with commas, semicolons or tabs."
    told = [name for name in names if name.strip()]
    if not told:
        raise _bad(path, "has an empty first line", "The first line names the columns.")
    if len(names) == 1 and "|" in names[0]:
        problem = "has | between its columns, which stands between the labels of a cell"
        raise _bad(path, problem, again)
    if len({*told}) < len(told):
        twice = next(name for name in told if told.count(name) > 1)
        raise _bad(path, f"has two columns named {twice!r}", "Rename one of them.")
    # As R's write.table has it, with the numbers of the rows or without; a name of two words alone
    # stands over one value.
    second = rows[0] if rows else []
    words, values = (len(" ".join(line).split()) for line in (names, second))
    if len(names) == len(second) == 1 and words > 1 and values in (words, words + 1):
        raise _bad(path, "has blanks between its columns", again)


def _is_data(names: list[str], columns: list[list[str]]) -> bool:
    """Whether a first line is a row like those below it: its cells are numbers over all columns of
    numbers, and labels that occur again over one other column at least.
    """
    if all(map(is_number, names)):
        return names != [str(at) for at in range(len(names))]
    cells = [[cell for cell in column if cell.strip() not in MISSING] for column in columns]
    numeric = [bool(column) and all(map(is_number, column)) for column in cells]
    words = [at for at, is_numeric in enumerate(numeric) if cells[at] and not is_numeric]
    numbers = [name for name, is_numeric in zip(names, numeric, strict=True) if is_numeric]
    if not all(is_number(name) or name.strip() in MISSING for name in numbers):
        return False
    again = [_labels([names[at]]) <= _labels(cells[at]) for at in words]
    return any(again) if numbers else all(again) and len(again) > 1


def _labels(cells: list[str]) -> set[str]:
    """What stands in cells, between the usual separators."""
    return {part.strip() for cell in cells for part in re.split(r"[|;,]", cell)} - {""}


def _without_names(path: Path, line: list[str]) -> FileFormatError:
    shown = ", ".join(line[:5]) + (", …" if len(line) > 5 else "")
    return FileFormatError(
        f"{path} starts with a row of data ({shown}), but the first line must name the columns.",
        code="no-header",
        remedy=(
            "add such a line",
            f"pass {named('header', False)}, which calls the columns 1, 2, …",
            f"pass {named('header', True)} where these are names",
        ),
    )


def is_number(text: str) -> bool:
    """Whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


OPENERS: Mapping[str, Callable[[Path], ColumnFile | ArrayFile]] = {
    ".csv": open_csv,
    ".tsv": open_csv,
    ".txt": open_csv,
    ".csv.gz": open_csv,
    ".tsv.gz": open_csv,
    ".parquet": open_parquet,
    ".pq": open_parquet,
    ".npz": open_npz,
    ".mat": open_mat,
}
"""Each format of a table by its endings."""

SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


def open_table(path: str | Path, header: bool | None = None) -> ColumnFile | ArrayFile:
    """A file whose names can be asked for before it is known what they mean; `header` as for
    `read_table`.
    """
    found = existing_file(path)
    name = found.name.lower()
    opener = next((OPENERS[ending] for ending in OPENERS if name.endswith(ending)), None)
    if opener is not None:
        return open_csv(found, header) if opener is open_csv else opener(found)
    raise InputError(
        "has an unknown ending; it must be .csv, .tsv, .parquet, .npz or .mat.",
        code="ending",
        argument="path",
        got=str(path),
        remedy="Save a spreadsheet as CSV (UTF-8)." if name.endswith(SPREADSHEETS) else "",
    )


def existing_file(path: str | Path) -> Path:
    """The path, if a file is there."""
    found = Path(path)
    if found.is_dir():
        remedy = {"python": "Give a file, or use load_image_folder for images."}
        remedy["command"] = remedy["fitted"] = "Give a file."
        raise InputError(f"{found} is a folder.", code="folder", remedy=remedy)
    if not found.is_file():
        problem = f"{found} does not exist; check the spelling and the folder."
        raise DataNotFoundError(problem, code="no-file")
    if found.stat().st_size == 0:
        problem = f"{found} is empty (0 bytes); write the table again."
        raise FileFormatError(problem, code="no-rows")
    return found
