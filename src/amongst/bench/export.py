"""Records and requests, wherever they are kept: a store, an export of one, a folder of evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from amongst.bench.conditions import check_condition
from amongst.bench.paper import LW
from amongst.bench.points import method_labels
from amongst.bench.record import ENDINGS, Record, read_beside, read_file
from amongst.bench.request import SHORT, check_within
from amongst.bench.store import FILTERS, Store
from amongst.checks import check_choice
from amongst.data import names
from amongst.errors import InputError
from amongst.optional import import_study


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
    >>> from amongst.bench.record import Trial, write_export
    >>> record = Record(Trial("mnist", "q=0.1", "cc", "mlp", 0), {"accuracy_final": 0.9})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_export([record], [], f"{folder}/mine.csv")
    ...     [found.metrics for found in read_records(path)]
    [{'accuracy_final': 0.9}]
    """
    source = Path(path)
    if not source.is_dir() and source.suffix not in ENDINGS:
        with Store(source, readonly=True) as store:
            return store.records(**filters)
    records = _evidence(source).records if source.is_dir() else read_file(source)
    wanted = {
        check_choice("filter", name, FILTERS): [value] if isinstance(value, str | int) else [*value]
        for name, value in filters.items()
        if value is not None and name != "curves"
    }
    return [r for r in records if all(getattr(r.trial, n) in wanted[n] for n in wanted)]


def read_requests(path: str | Path) -> list[dict[str, Any]]:
    """What was asked for: from a store, from the file beside an export, or from evidence."""
    source = Path(path)
    if source.is_dir():
        return list(_evidence(source).requests)
    if source.suffix in ENDINGS:
        return read_beside(source)
    with Store(source, readonly=True) as store:
        return store.requests()


def narrow_records(
    records: Sequence[Record], wanted: Mapping[str, Sequence[str]], place: str
) -> list[Record]:
    """Records with these data, methods and conditions; what the store, `place`, does not have is refused.

    >>> from amongst.bench import Trial
    >>> found = [Record(Trial("digits", "q=0.1", name, "mlp", 0)) for name in ("rc", "lw-sigmoid")]
    >>> [r.trial.method for r in narrow_records(found, {"method": ["lw"]}, "demo.sqlite")]
    ['lw-sigmoid']
    """
    kept = list(records)
    for name, values in wanted.items():
        has = {getattr(record.trial, name) for record in records}
        chosen = {found for value in values for found in _meant(name, value, has, place)}
        kept = [record for record in kept if not values or getattr(record.trial, name) in chosen]
    if any(wanted.values()) and not kept:
        raise InputError(
            f"no record of {place} has these datasets, methods and conditions at once."
        )
    return kept


def _meant(name: str, value: str, has: set[str], place: str) -> set[str]:
    """What the store has under a name."""
    if name == "condition":
        value = check_condition(value)
    variants = has & set(LW)
    if value == SHORT and variants:
        return variants
    elsewhere = {"dataset": names(), "method": (*method_labels(), SHORT), "condition": (value,)}
    shown = has | ({SHORT} if variants else set())
    return {check_within(f"{name}s", value, shown, place, elsewhere[name])}


def _evidence(folder: Path) -> Any:
    purpose = f"{folder} is a folder; to read one of evidence"
    return import_study("lw2021.evidence", purpose=purpose).read_evidence(folder)
