"""The first screen of a report: a few figures and a few sentences, computed from the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from amongst.bench.paper import dataset_title
from amongst.bench.record import Record
from amongst.bench.render import p_text, signed
from amongst.bench.tables import Entry, Table

__all__ = ["Overview", "duration", "overview"]


@dataclass(frozen=True)
class Overview:
    """What a person should see first.

    Attributes
    ----------
    figures : (value, of how many, what it is); the second may be empty.
    findings : (title of a table, sentences about it); the title is empty if there is one table.
    alerts : sentences that put the numbers in doubt.
    folded : (title, findings) of what is read by those who open it.
    """

    figures: tuple[tuple[str, str, str], ...]
    findings: tuple[tuple[str, str], ...]
    alerts: tuple[str, ...]
    folded: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()


def overview(records: Sequence[Record], tables: Sequence[Table]) -> Overview:
    """Summarise a report.

    >>> overview([], []).figures[0]
    ('0', '', 'trials')
    """
    return Overview(
        tuple(filter(None, _figures(records, tables))),
        tuple(
            (table.plan.title if len(tables) > 1 else "", text)
            for table in tables
            if (text := _findings(table))
        ),
        tuple(_alerts(records, tables)),
    )


def duration(seconds: float) -> str:
    """A length of time for people.

    >>> duration(42), duration(600), duration(9000), duration(400_000)
    ('42 s', '10 min', '2.5 h', '4.6 days')
    """
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:.0f} s"


def _figures(
    records: Sequence[Record], tables: Sequence[Table]
) -> list[tuple[str, str, str] | None]:
    planned = {trial.key for table in tables for trial in table.plan.trials}
    done = len({key for record in records for key in record.keys} & planned)
    cells = sum(len(table.entries) for table in tables)
    filled = sum(len(table.filled) for table in tables)
    compared = [e for table in tables for e in table.filled if e.published]
    near = sum(entry.agrees for entry in compared)
    gaps = [abs(entry.difference) for entry in compared]
    seconds = sum(record.seconds for record in records)
    return [
        (f"{done:,}", f"of {len(planned):,}", "planned trials finished") if planned
        else (f"{len(records):,}", "", "trials"),
        (str(filled), f"of {cells}", "cells with a result") if cells else None,
        (str(near), f"of {len(gaps)}", "within two standard errors of the paper") if gaps else None,
        (f"{np.median(gaps):.2f}", "points", "median distance to the paper") if gaps else None,
        (*duration(seconds).split(), "of training in all") if records else None,  # type: ignore[list-item]
    ]  # fmt: skip


def _findings(table: Table) -> str:
    found = [_wins(table), _agreement(table), _extremes(table), _ranks(table)]
    return " ".join(filter(None, found))


def _wins(table: Table) -> str:
    best = Counter(e.label for e in table.filled if e.best)
    if not best:
        return ""
    contests, wins = best.total(), max(best.values())
    if contests == 1:
        return f"Best: {next(iter(best))}."
    leaders = [label for label, count in best.items() if count == wins]
    verb = "is" if len(leaders) == 1 else "are each"
    return f"{' and '.join(leaders)} {verb} best in {wins} of {contests} comparisons."


def _agreement(table: Table) -> str:
    """How often the paper's winner is ours too, of the contests where it met another method."""
    met = Counter(entry.place.contest for entry in table.filled)
    shared = [
        e
        for e in table.filled
        if e.published and e.published.mark == "best" and met[e.place.contest] > 1
    ]
    same = sum(entry.best for entry in shared)
    return f"The paper's best method is ours too in {same} of {len(shared)}." if shared else ""


def _extremes(table: Table) -> str:
    compared = sorted((e for e in table.filled if e.published), key=lambda e: e.difference)
    if len(compared) < 2:
        return ""
    low, high = compared[0], compared[-1]
    return f"Against the paper from {_gap(low)} to {_gap(high)}."


def _gap(entry: Entry) -> str:
    return f"{signed(entry.difference)} ({entry.label}; {entry.place.where})"


def _ranks(table: Table) -> str:
    ranking = table.ranking
    if ranking is None:
        return ""
    differ = "differ" if ranking.p <= 0.05 else "cannot be told apart"
    return f"Mean ranks over {ranking.blocks} comparisons {differ} (Friedman, {p_text(ranking.p)})."


def _alerts(records: Sequence[Record], tables: Sequence[Table]) -> Iterator[str]:
    if failed := sum(record.failed for record in records):
        share = f"{failed} of {len(records)} trials failed"
        yield f"{share}: they diverged, or their method refused the data."
    if any(table.oracle for table in tables):
        yield "Some settings were chosen by the oracle, which reads true labels (marked †)."
    digests: dict[str, set[str]] = {}
    for record in records:
        digests.setdefault(record.trial.dataset, set()).add(record.data_digest)
    for name, found in digests.items():
        if len(found) > 1:
            yield f"Results on {dataset_title(name)} come from {len(found)} versions of its data."
    revisions = {record.revision for record in records}
    if len(revisions) > 1:
        yield f"Results come from {len(revisions)} revisions of the software."
