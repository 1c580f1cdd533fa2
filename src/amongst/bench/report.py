"""A report: the tables of everything that a store holds, and the page that shows them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import amongst
from amongst.bench.export import read_records, read_requests
from amongst.bench.grouping import grouped
from amongst.bench.leftovers import found_plan, unclaimed
from amongst.bench.page import assemble
from amongst.bench.payload import payload
from amongst.bench.plans import Plan, Request, remembered
from amongst.bench.record import Record, now
from amongst.bench.stages import advance
from amongst.bench.summary import overview
from amongst.bench.tables import Significance, Table, collect
from amongst.errors import InputError
from amongst.wording import counted

__all__ = ["Report", "build_report", "read_report", "to_html"]


@dataclass(frozen=True)
class Report:
    """Records, and a table for each plan behind them."""

    records: tuple[Record, ...]
    tables: tuple[Table, ...]
    source: str = ""


def build_report(
    records: Iterable[Record],
    plans: Sequence[Plan] = (),
    *,
    source: str = "",
    metric: str = "",
    significance: Significance | None = None,
) -> Report:
    """Compute the table of each plan; records that no plan asks for get a table of their own.

    Parameters
    ----------
    records : with curves, if the page shall show them.
    plans : in the order of the page; those without any record are left out.
    source : where the records come from, for the page's head.
    metric, significance : see `amongst.bench.tables.collect`.

    Examples
    --------
    >>> from amongst.bench import Trial
    >>> found = [Record(Trial("mine", "real", "rc", "mlp", 0), {"accuracy_final": 0.9})]
    >>> build_report(found).tables[0].filled[0].mean
    90.0
    """
    kept = tuple(records)
    if not kept:
        raise InputError("there are no records to report: the store is empty.")
    versions = _distinct(version for plan in plans for version in _versions(plan, kept))
    known = [advance(version, kept) for version in versions]
    rest = unclaimed(kept, known)
    more = [found_plan(rest, "Other results" if plans else "Results")] if rest else []
    laid_out = _told_apart(known) + [version for plan in more for version in _versions(plan, kept)]
    tables = [collect(kept, plan, metric=metric, significance=significance) for plan in laid_out]
    touched = tuple(table for table in tables if _touched(table))
    if not touched:
        has = ", ".join(sorted({name for record in kept for name in record.metrics}))
        raise InputError(
            f"metric={tables[0].metric!r} has no value in these results, which have {has}; choose "
            "one of them."
        )
    return Report(kept, touched, source)


def read_report(
    path: str | Path, *, metric: str = "", significance: Significance | None = None
) -> Report:
    """The report of a store, laid out as its requests were; or of an exported file.

    Parameters
    ----------
    path : a store, or its export as ``.parquet`` or ``.csv``.
    metric, significance : see `amongst.bench.tables.collect`.
    """
    return build_report(
        read_records(path),
        remembered(read_requests(path)),
        source=Path(path).name,
        metric=metric,
        significance=significance,
    )


def to_html(report: Report, *, title: str = "") -> str:
    """One page that opens offline: no font, script or picture comes from elsewhere."""
    made = f"Made by amongst {amongst.__version__} on {now()[:10]}."
    return assemble(
        title or _title(report),
        _lead(report),
        overview(report.records, report.tables),
        report.tables,
        payload(report.records, report.tables),
        made,
    )


def _versions(plan: Plan, records: Sequence[Record]) -> list[Plan]:
    """The plan once for each version of its data, oldest first: one's own file may have changed, or
    two files have one name, and no cell mixes them."""
    found = {name: _digests(name, records) for name in plan.datasets}
    several = {name for name, digests in found.items() if len(digests) > 1}
    if not several:
        return [plan]
    if plan.request.digest:
        return [_version(plan, dict.fromkeys(plan.datasets, plan.request.digest), several)]
    most = max(map(len, found.values()))
    shown = [{n: all_[i] for n, all_ in found.items() if i < len(all_)} for i in range(most)]
    return [_version(plan, digests, several) for digests in shown]


def _distinct(plans: Iterable[Plan]) -> list[Plan]:
    """Each once, the last of those that differ in how a file was named."""
    found: dict[tuple[Request, frozenset[str]], Plan] = {}
    for plan in plans:
        keys = frozenset(trial.key for cell in plan.cells for trial in cell.pool or cell.trials)
        found[replace(plan.request, own=(), digest=""), keys] = plan
    return list(found.values())


def _told_apart(plans: Sequence[Plan]) -> list[Plan]:
    """Plans of one title have behind it what their requests differ in."""
    groups = grouped(plans, lambda plan: plan.title)
    words = [_differences(p.request, [q.request for q in groups[p.title]]) for p in plans]
    return [
        replace(plan, title=f"{plan.title} ({told})") if told else plan
        for plan, told in zip(plans, words, strict=True)
    ]


def _differences(request: Request, others: Sequence[Request]) -> str:
    """What this request says where the others say something else.

    >>> first, second = Request("demo", seeds=2, methods=("rc", "cc")), Request("demo", refit=True)
    >>> _differences(first, [first, second]), _differences(second, [first, second])
    ('methods rc+cc, seeds 2', 'refit')
    """
    silent = {"own", "digest"} | (set() if request.is_search else {"criterion"})
    names = [f.name for f in fields(request) if f.name not in silent]
    told = {n: v for n in names if (v := getattr(request, n)) not in (None, (), "", False)}
    return ", ".join(
        " ".join(filter(None, (name.replace("_", " "), _word(value))))
        for name, value in told.items()
        if any(getattr(other, name) != value for other in others)
    )


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return "" if value is True else str(value)


def _digests(name: str, records: Sequence[Record]) -> list[str]:
    """Of the data that go by this name, oldest first; an empty one if none is known."""
    own = sorted((r for r in records if r.trial.dataset == name), key=lambda r: r.created)
    return list(dict.fromkeys(filter(None, (r.trial.data_digest for r in own)))) or [""]


def _version(plan: Plan, digests: Mapping[str, str], several: Collection[str]) -> Plan:
    cells = tuple(cell for cell in plan.cells if cell.slot.dataset in digests)
    names = ", ".join(digest[:8] for name, digest in digests.items() if name in several)
    return replace(plan, cells=cells, title=f"{plan.title} (data {names})").bind(digests, {})


def _touched(table: Table) -> bool:
    return any(entry.n or entry.failed for entry in table.entries.values())


def _title(report: Report) -> str:
    titles = [table.plan.title for table in report.tables]
    return titles[0] if len(titles) == 1 else "Results"


def _lead(report: Report) -> str:
    count = counted(len(report.records), "trial")
    source = f" from {report.source}" if report.source else ""
    dates = sorted(record.created[:10] for record in report.records if record.created)
    if not dates:
        return f"{count}{source}."
    span = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    return f"{count}{source}, {span}."
