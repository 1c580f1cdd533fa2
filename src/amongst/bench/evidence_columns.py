"""Between records and the columns of a Parquet file: texts as dictionaries, numbers exact.

A trial's key is not written: it follows from the other columns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from amongst.bench.record import RECORD_TEXTS, TRIAL_TEXTS, Record, Trial
from amongst.bench.rows import json_text
from amongst.errors import DataNotFoundError, FileFormatError, StoreError
from amongst.optional import optional_import

__all__ = [
    "curve_table",
    "read_table",
    "trial_table",
    "unpack_curves",
    "unpack_trials",
    "write_table",
]

_METRIC = "metric."


def trial_table(records: Sequence[Record]) -> Any:
    """An Arrow table: a row for each record, without curves."""
    arrow = _arrow()
    trials = [record.trial for record in records]
    texts = {name: [getattr(trial, name) for trial in trials] for name in TRIAL_TEXTS}
    texts["settings"] = [json_text(trial.settings) for trial in trials]
    texts |= {name: [getattr(record, name) for record in records] for name in RECORD_TEXTS}
    texts["versions"] = [json_text(record.versions) for record in records]
    whole = {"seed": [t.seed for t in trials], "fold": [t.fold for t in trials]}
    names = sorted({name for record in records for name in record.metrics})
    real = {_METRIC + n: [record.metrics.get(n) for record in records] for n in names}
    real["seconds"] = [record.seconds for record in records]
    columns = {n: arrow.array(v, arrow.string()).dictionary_encode() for n, v in texts.items()}
    columns |= {n: arrow.array(v, arrow.int64()) for n, v in whole.items()}
    columns |= {n: arrow.array(v, arrow.float64()) for n, v in real.items()}
    return arrow.table(columns)


def unpack_trials(table: Any) -> list[Record]:
    """The inverse of `trial_table`."""
    rows = table.to_pylist()
    metrics = [name for name in table.column_names if name.startswith(_METRIC)]
    try:
        return [_record(row, metrics) for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"this file is not a table of trials ({type(error).__name__}: {error})."
        ) from error


def curve_table(records: Sequence[Record], names: Sequence[str]) -> Any:
    """An Arrow table: the number of a record, and its curves of these names in single precision."""
    arrow = _arrow()
    kept = [i for i, record in enumerate(records) if any(n in record.curves for n in names)]
    single = arrow.list_(arrow.float32())
    columns = {n: arrow.array([records[i].curves.get(n) for i in kept], single) for n in names}
    return arrow.table({"trial": arrow.array(kept, arrow.int32()), **columns})


def unpack_curves(records: Sequence[Record], table: Any, names: Sequence[str]) -> list[Record]:
    """The records with the curves of `curve_table`."""
    found = list(records)
    for row in table.to_pylist():
        curves = {name: row[name] for name in names if row.get(name) is not None}
        if not 0 <= row["trial"] < len(found):
            raise FileFormatError("a curve belongs to none of the trials beside it.")
        found[row["trial"]] = replace(found[row["trial"]], curves=curves)
    return found


def write_table(table: Any, path: Path) -> Path:
    """Write a table, compressed; the file appears whole or not at all."""
    parquet = _parquet("writing Parquet")
    part = path.with_name(path.name + ".part")
    try:
        parquet.write_table(
            table, part, compression="zstd", compression_level=19, write_statistics=False
        )
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {error.strerror or error}.") from error
    return path


def read_table(path: Path) -> Any:
    """Read what `write_table` wrote."""
    parquet = _parquet("reading Parquet")
    if not path.is_file():
        raise DataNotFoundError(f"there is no file {path}.")
    try:
        return parquet.read_table(path)
    except (ValueError, OSError) as error:
        raise FileFormatError(f"{path} cannot be read as Parquet ({error}).") from error


def _record(row: dict[str, Any], metrics: Sequence[str]) -> Record:
    trial = Trial(
        **{name: row[name] for name in TRIAL_TEXTS},
        seed=row["seed"],
        fold=row["fold"],
        settings=json.loads(row["settings"]),
    )
    return Record(
        trial,
        metrics={n.removeprefix(_METRIC): row[n] for n in metrics if row[n] is not None},
        versions=json.loads(row["versions"]),
        seconds=row["seconds"],
        **{name: row[name] for name in RECORD_TEXTS},
    )


def _arrow() -> Any:
    return optional_import("pyarrow", extra="data", purpose="writing Parquet")


def _parquet(purpose: str) -> Any:
    return optional_import("pyarrow.parquet", extra="data", purpose=purpose)
