"""A report: the tables of everything that a store holds, and the page that shows them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import amongst
from amongst.bench.export import read_records, read_requests
from amongst.bench.page import assemble
from amongst.bench.paper import TABLES, Slot, published_cells
from amongst.bench.payload import payload
from amongst.bench.places import Place
from amongst.bench.plans import Cell, Plan, Request, remembered
from amongst.bench.record import Record, Trial, grouped, now
from amongst.bench.rounds import advance
from amongst.bench.tables import Significance, Table, collect
from amongst.bench.words import overview
from amongst.errors import InputError
from amongst.markup import Section
from amongst.wording import counted


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
    planned = {trial.bare_key for plan in known for trial in plan.trials}
    rest = [record for record in kept if record.trial.bare_key not in planned]
    laid_out = _told_apart(known)
    if rest:
        laid_out += _versions(found_plan(rest, "Other results" if plans else "Results"), kept)
    tables = [collect(kept, plan, metric=metric, significance=significance) for plan in laid_out]
    touched = tuple(t for t in tables if any(e.n or e.failed for e in t.entries.values()))
    if not touched:
        has = ", ".join(sorted({name for record in kept for name in record.metrics}))
        raise InputError(
            f"has no value in these results, which have {has}; choose one of them.",
            code="no-value",
            argument="metric",
            got=tables[0].metric,
        )
    return Report(kept, touched, source)


def read_report(
    path: str | Path, *, metric: str = "", significance: Significance | None = None
) -> Report:
    """The report of a store, laid out as its requests were; or of an export, ``.parquet`` or ``.csv``."""
    return build_report(
        read_records(path),
        remembered(read_requests(path)),
        source=Path(path).name,
        metric=metric,
        significance=significance,
    )


def to_html(report: Report, *, title: str = "", opening: Section | None = None) -> str:
    """One page that opens offline: no font, script or picture comes from elsewhere. `opening` comes
    before the summary."""
    titles = [table.plan.title for table in report.tables]
    return assemble(
        title or (titles[0] if len(titles) == 1 else "Results"),
        _lead(report),
        overview(report.records, report.tables),
        report.tables,
        payload(report.records, report.tables),
        f"Made by amongst {amongst.__version__} on {now()[:10]}.",
        opening,
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
    words = []
    for name, value in vars(request).items():
        differs = any(getattr(other, name) != value for other in others)
        if differs and name not in silent and value not in (None, (), "", False):
            text = "+".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words.append(name.replace("_", " ") + ("" if value is True else f" {text}"))
    return ", ".join(words)


def _digests(name: str, records: Sequence[Record]) -> list[str]:
    """Of the data that go by this name, oldest first; an empty one if none is known."""
    own = sorted((r for r in records if r.trial.dataset == name), key=lambda r: r.created)
    return list(dict.fromkeys(filter(None, (r.trial.data_digest for r in own)))) or [""]


def _version(plan: Plan, digests: Mapping[str, str], several: Collection[str]) -> Plan:
    cells = tuple(cell for cell in plan.cells if cell.slot.dataset in digests)
    names = ", ".join(digest[:8] for name, digest in digests.items() if name in several)
    return replace(plan, cells=cells, title=f"{plan.title} (data {names})").bind(digests, {})


def _lead(report: Report) -> str:
    count = counted(len(report.records), "trial")
    source = f" from {report.source}" if report.source else ""
    dates = sorted(record.created[:10] for record in report.records if record.created)
    if not dates:
        return f"{count}{source}."
    span = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    return f"{count}{source}, {span}."


def found_plan(records: Sequence[Record], title: str = "Results") -> Plan:
    """Cells for everything that is there, with the paper's figures where it has any.

    >>> record = Record(Trial("mine", "real", "rc", "mlp", 0), {"accuracy_final": 0.9})
    >>> plan = found_plan([record])
    >>> plan.cells[0].slot.dataset, plan.report
    ('mine', 'accuracy_final')
    """
    paper = {cell.place: cell.published for table in TABLES for cell in published_cells(table)}
    cells: dict[Place, dict[str, Trial]] = {}
    for record in records:
        trial = record.trial.with_data("")
        place = Place(trial.dataset, trial.condition, trial.method, trial.model)
        cells.setdefault(place, {})[trial.key] = trial
    found = tuple(
        Cell(Slot(*place[:4], published=paper.get(place)), tuple(trials.values()))
        for place, trials in cells.items()
    )
    last10 = all("accuracy_last10" in r.metrics for r in records if not r.failed)
    report = "accuracy_last10" if last10 else "accuracy_final"
    return Plan(Request("demo", search="none"), title, found, report, found=True)
