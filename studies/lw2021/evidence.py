"""Results as a folder that is committed: every trial, what was asked for, and by what it was made.

``trials.parquet`` has a row for each trial, ``curves.parquet`` the learning curves that a page
draws, ``manifest.json`` the rest. A folder is read as a store is, and becomes one again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amongst.bench.plans import remembered
from amongst.bench.record import (
    RECORD_TEXTS,
    TRIAL_TEXTS,
    Record,
    canonical_json,
    json_text,
    read_file,
    read_rows,
)
from amongst.bench.store import Store
from amongst.errors import DataNotFoundError, FileFormatError, InputError, StoreError
from amongst.files import write_atomically
from amongst.optional import optional_import
from lw2021.runs import find_runs

__all__ = ["Evidence", "is_evidence", "pack", "read_evidence", "unpack", "write_evidence"]

FORMAT = 1
TRIALS, CURVES, MANIFEST = "trials.parquet", "curves.parquet", "manifest.json"
KEPT = ("accuracy_test",)
"""Curves that are kept, of the trials that a table reports; the others stay with the store."""


@dataclass(frozen=True)
class Evidence:
    """What a folder holds.

    Attributes
    ----------
    records : every trial; curves of those that a table reports.
    requests : what was asked for, oldest first.
    manifest : `environments`, `stores`, `curves`, …: plain values.
    """

    records: tuple[Record, ...]
    requests: tuple[dict[str, Any], ...]
    manifest: Mapping[str, Any]


def is_evidence(path: str | Path) -> bool:
    """Whether this is a folder of evidence.

    >>> is_evidence("no/such/folder")
    False
    """
    return (Path(path) / MANIFEST).is_file()


def read_evidence(folder: str | Path) -> Evidence:
    """Read a folder; one whose files do not belong together is refused."""
    home = Path(folder)
    if not is_evidence(home):
        raise DataNotFoundError(
            f"{home} holds no evidence ({MANIFEST} is missing).",
            code="no-evidence",
            remedy=f"Make it with: amongst evidence pack STORE --into {home}",
        )
    manifest = _read_manifest(home)
    records = read_file(home / TRIALS)
    for row in read_rows(home / CURVES):
        place = row.pop("trial")
        if not 0 <= place < len(records):
            problem = "a curve belongs to none of the trials beside it."
            raise FileFormatError(problem, code="other-trials")
        records[place] = replace(records[place], curves=row)
    if digest_of(records) != manifest.get("keys"):
        raise FileFormatError(
            f"{home / TRIALS} does not belong to {MANIFEST} beside it: their trials differ.",
            code="other-trials",
            remedy="Take both files from one revision, and the amongst of that revision.",
        )
    return Evidence(tuple(records), tuple(manifest["requests"]), manifest)


def digest_of(records: Iterable[Record]) -> str:
    """A digest of all keys."""
    keys = "\n".join(sorted(record.key for record in records))
    return hashlib.sha256(keys.encode()).hexdigest()


def _read_manifest(home: Path) -> dict[str, Any]:
    try:
        manifest = dict(json.loads((home / MANIFEST).read_text("utf-8")))
        newer = int(manifest["format"]) > FORMAT
        requests = [] if newer else [dict(request) for request in manifest["requests"]]
    except (ValueError, KeyError, TypeError) as error:
        problem = f"{home / MANIFEST} is damaged ({error})."
        raise FileFormatError(problem, code="damaged") from error
    if newer:
        problem = f"{home} was written by a newer release of amongst: "
        raise FileFormatError(problem + "pip install --upgrade amongst", code="newer")
    return manifest | {"requests": requests}


def pack(stores: Iterable[str | Path], folder: str | Path, *, revision: str = "") -> Evidence:
    """Add stores to a folder, which is made if it is not there; nothing that it holds is lost.

    A trial that is in several places is kept once: the record made first. Packing the same stores
    again changes nothing.

    Parameters
    ----------
    stores : files of `Store`, or other folders of evidence.
    folder : of evidence.
    revision : of the software, for records that know none because they were made outside git.

    Examples
    --------
    >>> import tempfile
    >>> from amongst.bench import Trial
    >>> home = tempfile.TemporaryDirectory()
    >>> path = Path(home.name) / "runs.sqlite"
    >>> record = Record(Trial("digits", "q=0.1", "rc", "mlp", seed=0), {"accuracy_final": 0.9})
    >>> with Store(path) as store:
    ...     _ = store.add(record)
    >>> evidence = pack([path], Path(home.name) / "evidence")
    >>> evidence.records == (record,), evidence.manifest["stores"]
    (True, {'runs.sqlite': 1})
    >>> home.cleanup()
    """
    old = read_evidence(folder) if is_evidence(folder) else Evidence((), (), {})
    records, requests = list(old.records), list(old.requests)
    sources = dict(old.manifest.get("stores", {}))
    dropped = _dropped(old)
    for path in stores:
        found = _open(path)
        records += [r if r.revision else replace(r, revision=revision) for r in found.records]
        requests += found.requests
        sources |= found.manifest["stores"]
        dropped |= _dropped(found)
    asked = _distinct(requests)
    return write_evidence(_once(records), asked, folder, stores=sources, dropped=dropped)


def write_evidence(
    records: Sequence[Record],
    requests: Sequence[Mapping[str, Any]],
    folder: str | Path,
    *,
    stores: Mapping[str, int] | None = None,
    dropped: Iterable[str] = (),
) -> Evidence:
    """Write a folder; each of its files appears whole or not at all.

    Parameters
    ----------
    records, requests : of stores.
    folder : of evidence.
    stores : their names, and how many records each had.
    dropped : names of curves that were left out before.
    """
    if not records:
        raise InputError("there are no records to pack: the stores are empty.")
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    reported = _reported(records, requests)
    kept = [_thinned(record, record.key in reported) for record in sorted(records, key=_order)]
    asked = tuple(dict(request) for request in requests)
    manifest = {
        "format": FORMAT,
        "trials": len(kept),
        "keys": digest_of(kept),
        "curves": _curve_facts(kept, records, dropped),
        "stores": dict(sorted((stores or {}).items())),
        "environments": environments(kept),
        "requests": asked,
    }
    _write_table(_trial_table(kept), home / TRIALS)
    _write_table(_curve_table(kept, KEPT), home / CURVES)
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    write_atomically(home / MANIFEST, text.encode())
    return Evidence(tuple(kept), asked, manifest)


def unpack(folder: str | Path, store: str | Path) -> int:
    """Add a folder's records and requests to a store, to go on from; how many were new."""
    evidence = read_evidence(folder)
    with Store(store) as kept:
        for request in evidence.requests:
            kept.add_request(request)
        return kept.add_all(evidence.records)


def environments(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Devices, engines, versions and revisions, with how many trials and seconds each has.

    >>> from amongst.bench import Trial
    >>> record = Record(Trial("digits", "q=0.1", "rc", "mlp", 0), seconds=2.0, revision="5a2387d")
    >>> environments([record, record])[0]["trials"]
    2
    """
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        facts = {
            "device": record.device,
            "engine": record.engine,
            "revision": record.revision,
            "versions": dict(record.versions),
        }
        kept = found.setdefault(canonical_json(facts), facts | {"trials": 0, "seconds": 0.0})
        kept["trials"] += 1
        kept["seconds"] += record.seconds
        kept["first"] = min(kept.get("first", record.created), record.created)
        kept["last"] = max(kept.get("last", record.created), record.created)
    return [f | {"seconds": round(f["seconds"], 1)} for _, f in sorted(found.items())]


def _open(path: str | Path) -> Evidence:
    """A folder, or a store as if it were one."""
    if Path(path).is_dir():
        return read_evidence(path)
    with Store(path, readonly=True) as store:
        records, requests = tuple(store.records()), tuple(store.requests())
    return Evidence(records, requests, {"stores": {Path(path).name: len(records)}})


def _dropped(evidence: Evidence) -> set[str]:
    return set(evidence.manifest.get("curves", {}).get("dropped", ()))


def _once(records: Iterable[Record]) -> list[Record]:
    """One record for each trial: the first made; of copies, what each of them knows."""
    kept: dict[str, Record] = {}
    for record in records:
        other = kept.get(record.key)
        if other is None or record.created < other.created:
            kept[record.key] = record
        elif record.created == other.created:
            kept[record.key] = replace(
                other,
                curves={**other.curves, **record.curves},
                revision=other.revision or record.revision,
            )
    return list(kept.values())


def _distinct(requests: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return list({canonical_json(request): dict(request) for request in requests}.values())


def _reported(records: Sequence[Record], requests: Sequence[Mapping[str, Any]]) -> set[str]:
    """Keys behind the tables of all requests, by the criterion asked for and by the oracle."""
    runs = find_runs(remembered(requests), records, every=True)
    tables = [table for run in runs for table in (run.table, run.oracle)]
    return {key for table in tables for entry in table.filled for key in entry.keys}


def _thinned(record: Record, reported: bool) -> Record:
    names = KEPT if reported else ()
    return replace(record, curves={n: record.curves[n] for n in names if n in record.curves})


def _curve_facts(
    kept: Sequence[Record], records: Sequence[Record], dropped: Iterable[str]
) -> dict[str, Any]:
    names = {name for record in records for name in record.curves} | set(dropped)
    return {
        "kept": list(KEPT),
        "trials": sum(bool(record.curves) for record in kept),
        "dropped": sorted(names - set(KEPT)),
    }


def _order(record: Record) -> tuple[Any, ...]:
    trial = record.trial
    fold = -1 if trial.fold is None else trial.fold
    settings = canonical_json(trial.settings)
    place = (trial.dataset, trial.condition, trial.method, trial.model)
    return *place, settings, trial.seed, fold, record.key


def _trial_table(records: Sequence[Record]) -> Any:
    """An Arrow table: a row for each record, without curves; texts as dictionaries, numbers exact.

    A trial's key is not written: it follows from the other columns.
    """
    arrow = optional_import("pyarrow", extra="data", purpose="writing Parquet")
    trials = [record.trial for record in records]
    texts = {name: [getattr(trial, name) for trial in trials] for name in TRIAL_TEXTS}
    texts["settings"] = [json_text(trial.settings) for trial in trials]
    texts |= {name: [getattr(record, name) for record in records] for name in RECORD_TEXTS}
    texts["versions"] = [json_text(record.versions) for record in records]
    whole = {"seed": [t.seed for t in trials], "fold": [t.fold for t in trials]}
    names = sorted({name for record in records for name in record.metrics})
    real = {f"metric.{n}": [record.metrics.get(n) for record in records] for n in names}
    real["seconds"] = [record.seconds for record in records]
    columns = {n: arrow.array(v, arrow.string()).dictionary_encode() for n, v in texts.items()}
    columns |= {n: arrow.array(v, arrow.int64()) for n, v in whole.items()}
    columns |= {n: arrow.array(v, arrow.float64()) for n, v in real.items()}
    return arrow.table(columns)


def _curve_table(records: Sequence[Record], names: Sequence[str]) -> Any:
    """An Arrow table: the number of a record, and its curves of these names in single precision."""
    arrow = optional_import("pyarrow", extra="data", purpose="writing Parquet")
    kept = [i for i, record in enumerate(records) if any(n in record.curves for n in names)]
    single = arrow.list_(arrow.float32())
    columns = {n: arrow.array([records[i].curves.get(n) for i in kept], single) for n in names}
    return arrow.table({"trial": arrow.array(kept, arrow.int32()), **columns})


def _write_table(table: Any, path: Path) -> None:
    """Write a table, compressed; the file appears whole or not at all."""
    parquet = optional_import("pyarrow.parquet", extra="data", purpose="writing Parquet")
    part = path.with_name(path.name + ".part")
    try:
        parquet.write_table(
            table, part, compression="zstd", compression_level=19, write_statistics=False
        )
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {error.strerror or error}.") from error
