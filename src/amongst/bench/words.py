"""A table in sentences: the notes beside it, and what a report says of it first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from amongst.bench.paper import IMAGE_PLANS
from amongst.bench.places import dataset_title
from amongst.bench.record import Record, grouped
from amongst.bench.request import EPOCHS
from amongst.bench.tables import Entry, Table
from amongst.wording import counted, readable

PAPER = EPOCHS["paper"]
LAST = 10
"""Epochs that a cell is the mean of."""

TOLD = 3
"""Cells whose failures are told below a table; the page lists all trials."""

MISSING = "–"

METRICS = {
    "accuracy": "test accuracy",
    "accuracy_final": "test accuracy after the last epoch",
    "accuracy_plain": "test accuracy without views at prediction",
    "accuracy_train": "training rows whose best candidate is right",
    "covering_test": "covering rate, the share of predictions that are candidates, of test rows",
    "approximated_test": "approximated accuracy, from candidate sets alone, of test rows",
    "covering_val": "covering rate of held-out rows",
    "approximated_val": "approximated accuracy of held-out rows",
    "risk_val": "estimated risk of held-out rows",
    "accuracy_val": "accuracy on held-out rows",
}
UNTUNED = {
    "published": "the published ones or the nearest, else the method's default",
    "none": "each method's default",
}


def number(value: float, digits: int = 2) -> str:
    """A number with a true minus sign; a dash for NaN.

    >>> number(-0.5), number(float("nan"))
    ('−0.50', '–')
    """
    return MISSING if math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")


def signed(value: float) -> str:
    """A difference with its sign; none for 0.00."""
    text = number(value)
    if text.strip("−0.") == "":
        return text.removeprefix("−")
    return text if value < 0 or text == MISSING else f"+{text}"


def p_text(p: float) -> str:
    """A p value for people, held together by no-break spaces."""
    return "p\u00a0<\u00a00.001" if p < 0.001 else f"p\u00a0=\u00a0{p:.2g}"


def metric_title(metric: str) -> str:
    """The name of a metric for people."""
    name = metric.removesuffix("_last10")
    title = METRICS.get(name, name.replace("_", " "))
    return title if name == metric else f"{title}, mean of the last ten epochs"


def notes(table: Table) -> list[str]:
    """Sentences that explain a table: metric, marks, test, choice of settings, what is missing."""
    by_model = table.layout.underline == "model"
    second = "the best of a base model" if by_model else "the second best"
    marks = f"Bold: the best. Underlined: {second}."
    oracle = (
        "† chosen by the oracle, which reads true labels: on data of one's own such a figure cannot "
        "be had."
    )
    found = [_metric(table), marks, _stars(table), _paper(table), _choice(table)]
    found += [oracle if table.oracle else "", *_gaps(table.entries.values())]
    return [note for note in found if note]


def _metric(table: Table) -> str:
    counts = sorted({entry.n for entry in table.filled})
    repeats = f" over {_span(counts)} repeat{'s' * (counts[-1] != 1)}" if counts else ""
    said = f"In percent: {metric_title(table.metric)}, mean ± standard deviation (n − 1){repeats}."
    least = min(_epochs(table.filled), default=PAPER)
    if not table.metric.endswith("_last10") or not 1 < least < 2 * LAST:
        return said
    return (  # in a short run the last ten epochs are not its end
        f"{said} Runs of {counted(least, 'epoch')}: that is {'all' if least <= LAST else 'most'} of "
        "them, so that a figure may lie below where its runs ended."
    )


def _epochs(entries: Iterable[Entry]) -> set[int]:
    """How long the trials behind them are."""
    return {int(entry.settings.get("epochs", PAPER)) for entry in entries}


def _span(counts: Sequence[int]) -> str:
    """Of sorted numbers, the ends."""
    return str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"


def _stars(table: Table) -> str:
    rule, tested = table.significance, table.tested
    if not tested:
        return ""
    holm = rule.correction == "holm"
    more = f", Holm over {len(tested)} comparisons" if holm else ""
    text = f"*: the best is significantly better ({rule.title}, p ≤ {rule.alpha:g}{more})."
    if rule.test != "wilcoxon":
        return text
    pairs = max(entry.pairs for entry in tested)
    least = max(entry.least for entry in tested if entry.pairs == pairs)
    reach = least * (len(tested) if holm else 1)
    text += f" With {pairs} pairs the least p is {least:.2g}"
    return text + (": no star can be reached." if reach > rule.alpha else ".")


def _paper(table: Table) -> str:
    if not table.published:
        return ""
    text = "Second line: the paper's figure, and ours minus the paper's in percentage points."
    found = _epochs(entry for entry in table.filled if entry.published)
    return text + (f" Ours: {_span(sorted(found))} epochs, not {PAPER}." if found - {PAPER} else "")


def _choice(table: Table) -> str:
    """How settings came about; of a search in rounds also which."""
    plan, request = table.plan, table.plan.request
    chosen = {entry.criterion for entry in table.filled} - {""}
    if not table.filled:
        return ""
    if not chosen:
        how = UNTUNED.get(request.search, "one for each method")
        how = "those of the plan" if request.plan in IMAGE_PLANS else how
        how = "as the trials have them, which no request here asks for" if plan.found else how
        return f"Settings: {how}; nothing was selected."
    most = max(entry.considered for entry in table.filled)
    text = f"Settings: the best of up to {most} by {', '.join(sorted(map(metric_title, chosen)))}"
    if plan.staged and request.screen is not None:
        epochs = counted(request.screen, "epoch")
        text += f"; after {epochs} the best {request.kept_share:.0%} went on"
    if plan.staged and request.search_seeds is not None:
        text += f"; searched with {counted(request.search_seeds, 'seed')}"
    return (
        text + "; then trained again on all training rows" * (plan.staged and request.refit) + "."
    )


def _gaps(found: Iterable[Entry]) -> Iterator[str]:
    """Cells that are empty, short of repeats or of choices; trials that failed, and what they say."""
    entries = list(found)
    wanting = {
        " have no result yet.": [not e.n and not e.failed for e in entries],
        " lack some of their repeats.": [0 < e.n < e.planned for e in entries],
        ": the search is not finished, and the choice may change.": [
            e.n > 0 and e.pending > 0 for e in entries
        ],
    }
    for words, those in wanting.items():
        yield f"{sum(those)} of {len(entries)} cells{words}" if any(those) else ""
    if failed := [entry for entry in entries if entry.failed]:
        count = sum(entry.failed for entry in failed)
        more = len(failed) - TOLD
        rest = f" {more} more cells have such trials." if more > 0 else ""
        yield f"{counted(count, 'trial')} failed; a cell rests on its others, or says failed.{rest}"
        for entry in failed[:TOLD]:
            yield f"{entry.label}, {entry.place.where}: {entry.reason}"


@dataclass(frozen=True)
class Overview:
    """What a person should see first."""

    figures: tuple[tuple[str, str, str], ...]  # value, of how many, what it is
    findings: tuple[tuple[str, str], ...]  # title of a table, if there are several; sentences
    alerts: tuple[str, ...]  # sentences that put the numbers in doubt
    folded: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()  # for those who open it


def overview(records: Sequence[Record], tables: Sequence[Table]) -> Overview:
    """Summarise a report."""
    findings = []
    for table in tables:
        parts = (_wins(table), *_against_paper(table), _ranks(table))
        findings.append((table.plan.title * (len(tables) > 1), " ".join(filter(None, parts))))
    told = tuple(finding for finding in findings if finding[1])
    return Overview(tuple(_figures(records, tables)), told, tuple(_alerts(records, tables)))


def _figures(records: Sequence[Record], tables: Sequence[Table]) -> Iterator[tuple[str, str, str]]:
    planned = {trial.key for table in tables for trial in table.plan.trials}
    done = len({key for record in records for key in record.keys} & planned)
    if planned:
        yield f"{done:,}", f"of {len(planned):,}", "planned trials finished"
    else:
        yield f"{len(records):,}", "", "trials"
    if cells := sum(len(table.entries) for table in tables):
        filled = sum(len(table.filled) for table in tables)
        yield str(filled), f"of {cells}", "cells with a result"
    if compared := [entry for table in tables for entry in table.filled if entry.published]:
        near = sum(entry.agrees for entry in compared)
        yield str(near), f"of {len(compared)}", "within two standard errors of the paper"
        middle = np.median([abs(entry.difference) for entry in compared])
        yield f"{middle:.2f}", "points", "median distance to the paper"
    if records:
        value, unit = readable(sum(record.seconds for record in records)).split()
        yield value, unit, "of training in all"


def _wins(table: Table) -> str:
    best = Counter(entry.label for entry in table.filled if entry.best)
    if not best:
        return ""
    contests, wins = best.total(), max(best.values())
    if contests == 1:
        return f"Best: {next(iter(best))}."
    leaders = [label for label, count in best.items() if count == wins]
    verb = "is" if len(leaders) == 1 else "are each"
    return f"{' and '.join(leaders)} {verb} best in {wins} of {contests} comparisons."


def _against_paper(table: Table) -> Iterator[str]:
    """How often the paper's winner is ours too, where it met another method; and the extremes."""
    met = Counter(entry.place.contest for entry in table.filled)
    compared = [entry for entry in table.filled if entry.published]
    winners = [e for e in compared if e.published and e.published.mark == "best"]
    shared = [entry for entry in winners if met[entry.place.contest] > 1]
    if shared:
        same = sum(entry.best for entry in shared)
        yield f"The paper's best method is ours too in {same} of {len(shared)}."
    if len(compared) > 1:
        order = sorted(compared, key=lambda entry: entry.difference)
        low, high = (
            f"{signed(entry.difference)} ({entry.label}; {entry.place.where})"
            for entry in (order[0], order[-1])
        )
        yield f"Against the paper from {low} to {high}."


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
    for name, own in grouped(records, lambda record: record.trial.dataset).items():
        if (versions := len({record.trial.data_digest for record in own})) > 1:
            yield f"Results on {dataset_title(name)} come from {versions} versions of its data."
    revisions = {record.revision for record in records}
    if len(revisions) > 1:
        yield f"Results come from {len(revisions)} revisions of the software."
