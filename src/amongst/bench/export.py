"""Records as a table that others read: Parquet or CSV, and back again without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from amongst.atomic import write_atomically
from amongst.bench.record import RECORD_TEXTS, TRIAL_TEXTS, Record, Trial
from amongst.bench.store import FILTERS, Store
from amongst.checks import check_choice
from amongst.datasets.frames import EXACT_FLOATS
from amongst.errors import DataNotFoundError, FileFormatError, InputError, StoreError
from amongst.optional import optional_import

if TYPE_CHECKING:
    from amongst.bench.evidence import Evidence

__all__ = ["read_records", "read_requests", "to_frame", "write_records", "write_requests"]


def to_frame(records: Sequence[Record]) -> pd.DataFrame:
    """One row for each record; a column for each metric and curve, settings as JSON.

    >>> record = Record(Trial("digits", "q=0.1", "rc", "mlp", 0), {"accuracy_final": 0.9})
    >>> float(to_frame([record])["metric.accuracy_final"].iloc[0])
    0.9
    """
    frame = pd.DataFrame([_flat(record) for record in records])
    if "fold" in frame:
        frame["fold"] = frame["fold"].astype("Int64")
    return frame


def write_records(records: Sequence[Record], path: str | Path) -> Path:
    """Write records to a ``.parquet`` or ``.csv`` file, which appears whole or not at all."""
    target = Path(path)
    if target.suffix not in (".parquet", ".csv"):
        raise InputError(f"path={str(path)!r} must end in .parquet or .csv.")
    frame = to_frame(records)
    partial = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(frame, partial, target.suffix)
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise StoreError(f"cannot write {target}: {error.strerror or error}.") from error
    return target


def read_records(path: str | Path, **filters: Any) -> list[Record]:
    """Records of a store, of a Parquet or CSV file that was exported from one, or of evidence.

    Parameters
    ----------
    path : a ``.parquet`` or ``.csv`` export, or a folder of evidence; any other name is taken for
        a store.
    filters : of a store; see `Store.records`.

    Examples
    --------
    >>> import tempfile
    >>> from amongst.bench.record import Trial
    >>> record = Record(Trial("mnist", "q=0.1", "cc", "mlp", 0), {"accuracy_final": 0.9})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_records([record], f"{folder}/mine.csv")
    ...     [found.metrics for found in read_records(path)]
    [{'accuracy_final': 0.9}]
    """
    source = Path(path)
    if source.is_dir():
        return [r for r in _evidence(source).records if _matches(r.trial, filters)]
    if source.suffix not in (".parquet", ".csv"):
        with Store(source, readonly=True) as store:
            return store.records(**filters)
    if not source.is_file():
        raise DataNotFoundError(f"there is no file {source}.")
    records = [_unflat(row, source) for row in _read(source).to_dict("records")]
    return [record for record in records if _matches(record.trial, filters)]


def read_requests(path: str | Path) -> list[dict[str, Any]]:
    """What was asked for: from a store, from the file beside an export, or from evidence."""
    source = Path(path)
    if source.is_dir():
        return list(_evidence(source).requests)
    if source.suffix not in (".parquet", ".csv"):
        with Store(source, readonly=True) as store:
            return store.requests()
    beside = _beside(source)
    if not beside.is_file():
        return []
    try:
        found: list[dict[str, Any]] = json.loads(beside.read_text("utf-8"))
    except ValueError as error:
        raise FileFormatError(f"{beside} is not JSON ({error}); export the store again.") from error
    return found


def write_requests(requests: Sequence[Mapping[str, Any]], export: Path) -> Path:
    """Put what was asked for beside an export, as ``NAME.requests.json``."""
    beside = _beside(export)
    text = json.dumps([dict(request) for request in requests], indent=1, ensure_ascii=False)
    write_atomically(beside, text.encode())
    return beside


def _evidence(folder: Path) -> Evidence:
    from amongst.bench.evidence import read_evidence

    return read_evidence(folder)


def _beside(export: Path) -> Path:
    return export.with_name(export.stem + ".requests.json")


def _flat(record: Record) -> dict[str, Any]:
    trial = record.trial
    row: dict[str, Any] = {"key": record.key}
    row |= {name: getattr(trial, name) for name in TRIAL_TEXTS}
    row |= {"seed": trial.seed, "fold": trial.fold, "settings": json.dumps(dict(trial.settings))}
    row |= {f"metric.{name}": value for name, value in record.metrics.items()}
    row |= {name: getattr(record, name) for name in ("seconds", *RECORD_TEXTS)}
    row["versions"] = json.dumps(dict(record.versions))
    return row | {f"curve.{name}": json.dumps(values) for name, values in record.curves.items()}


def _unflat(row: Mapping[str, Any], source: Path) -> Record:
    present = {name: value for name, value in row.items() if not pd.isna(value)}
    try:
        trial = Trial(
            **{name: str(present.get(name, "")) for name in TRIAL_TEXTS},
            seed=int(present["seed"]),
            fold=int(present["fold"]) if "fold" in present else None,
            settings=json.loads(present["settings"]),
        )
        return Record(
            trial,
            metrics=_prefixed(present, "metric."),
            curves={n: json.loads(v) for n, v in _prefixed(present, "curve.").items()},
            versions=json.loads(present.get("versions", "{}")),
            seconds=float(present.get("seconds", 0.0)),
            **{name: str(present.get(name, "")) for name in RECORD_TEXTS},
        )
    except (KeyError, TypeError, ValueError) as error:
        finding = f"no column {error}" if isinstance(error, KeyError) else error
        raise FileFormatError(
            f"{source} is not an export of a result store ({finding}). Make one with: amongst "
            "results STORE --export FILE"
        ) from error


def _prefixed(row: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {n.removeprefix(prefix): value for n, value in row.items() if n.startswith(prefix)}


def _write(frame: pd.DataFrame, path: Path, suffix: str) -> None:
    if suffix == ".csv":
        frame.to_csv(path, index=False)
        return
    optional_import("pyarrow", extra="data", purpose="writing Parquet")
    frame.to_parquet(path, index=False, compression="zstd")


def _read(path: Path) -> pd.DataFrame:
    try:
        if path.suffix == ".csv":
            return pd.read_csv(path, keep_default_na=False, na_values=[""], **EXACT_FLOATS)
        optional_import("pyarrow", extra="data", purpose="reading Parquet")
        return pd.read_parquet(path)
    except (ValueError, OSError) as error:
        raise FileFormatError(f"{path} cannot be read as {path.suffix[1:]} ({error}).") from error


def _matches(trial: Trial, filters: Mapping[str, Any]) -> bool:
    wanted = {k: v for k, v in filters.items() if v is not None and k != "curves"}
    return all(
        getattr(trial, check_choice("filter", name, FILTERS))
        in ([value] if isinstance(value, str | int) else list(value))
        for name, value in wanted.items()
    )
