"""Records as the columns of a Parquet or CSV file, and what was asked for in a file beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from amongst.bench.record import RECORD_TEXTS, Record, flat, unflat
from amongst.errors import DataNotFoundError, FileFormatError, InputError
from amongst.files import write_atomically
from amongst.optional import optional_import

ENDINGS = (".parquet", ".csv")


def write_export(
    records: Sequence[Record], requests: Sequence[Mapping[str, Any]], path: str | Path
) -> Path:
    """Write records to a ``.parquet`` or ``.csv`` file, which appears whole or not at all, and what was asked
    for beside it, as ``NAME.requests.json``."""
    target = check_ending("path", Path(path))
    frame = pd.DataFrame([_row(record) for record in records])
    if "fold" in frame:
        frame["fold"] = frame["fold"].astype("Int64")
    if target.suffix == ".csv":
        content = frame.to_csv(index=False).encode()
    else:
        optional_import("pyarrow", extra="data", purpose="writing Parquet")
        content = frame.to_parquet(index=False, compression="zstd")
    with suppress(OSError):  # the writing says why
        target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, content)
    asked = json.dumps([dict(request) for request in requests], indent=1, ensure_ascii=False)
    write_atomically(_beside(target), asked.encode())
    return target


def check_ending(name: str, path: Path) -> Path:
    """The path, if it ends as a file of records does."""
    if path.suffix not in ENDINGS:
        problem = "must end in .parquet or .csv."
        raise InputError(problem, code="ending", argument=name, got=str(path))
    return path


def read_file(path: Path) -> list[Record]:
    """The records of an export."""
    return [_record(row, path) for row in read_rows(path)]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """What each row of a file has, under the names of its columns."""
    if not path.is_file():
        raise DataNotFoundError(f"there is no file {path}.", code="no-file")
    try:
        if path.suffix == ".csv":
            rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
        else:
            parquet = optional_import("pyarrow.parquet", extra="data", purpose="reading Parquet")
            rows = parquet.read_table(path).to_pylist()
    except (ValueError, OSError) as error:
        problem = f"{path} cannot be read as {path.suffix[1:]} ({error})."
        raise FileFormatError(problem, code="damaged") from error
    return [{str(n): v for n, v in row.items() if v is not None and v != ""} for row in rows]


def read_beside(export: Path) -> list[dict[str, Any]]:
    """What was asked for, from the file beside an export; none without that file."""
    beside = _beside(export)
    if not beside.is_file():
        return []
    try:
        found: list[dict[str, Any]] = json.loads(beside.read_text("utf-8"))
    except ValueError as error:
        problem = f"{beside} is not JSON ({error}); export the store again."
        raise FileFormatError(problem, code="damaged") from error
    return found


def _beside(export: Path) -> Path:
    return export.with_name(export.stem + ".requests.json")


def _row(record: Record) -> dict[str, Any]:
    """Metrics before what is known of the run, and curves, as JSON, at the end."""
    row = flat(record)
    run = {name: row.pop(name) for name in ("seconds", *RECORD_TEXTS, "versions")}
    row |= {f"metric.{name}": value for name, value in record.metrics.items()}
    return row | run | {f"curve.{n}": json.dumps(values) for n, values in record.curves.items()}


def _record(row: Mapping[str, Any], source: Path) -> Record:
    metrics, curves = (
        {n.removeprefix(kind): value for n, value in row.items() if n.startswith(kind)}
        for kind in ("metric.", "curve.")
    )
    try:
        return unflat(row, metrics, {n: json.loads(value) for n, value in curves.items()})
    except (KeyError, TypeError, ValueError) as error:
        finding = f"no column {error}" if isinstance(error, KeyError) else error
        raise FileFormatError(
            f"{source} is not an export of a result store ({finding}).",
            code="no-export",
            remedy="Make one with: amongst results STORE --export FILE",
        ) from error
