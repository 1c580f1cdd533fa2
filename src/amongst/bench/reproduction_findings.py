"""What came out, in plain words with computed numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from amongst.bench.layout import row_label
from amongst.bench.paper import method_title
from amongst.bench.record import Record
from amongst.bench.render import number, signed
from amongst.bench.reproduction_margins import Contest, Margin, tally
from amongst.bench.reproduction_sheet import (
    BELOW,
    MISSING,
    REPRODUCED,
    Reasons,
    Sheet,
    Shown,
    reaches,
)
from amongst.bench.reproduction_text import figure_text, listed, pipe_table
from amongst.bench.tables import Entry

__all__ = ["UNEQUAL", "WAYS", "automatic", "below_table", "counts_table", "findings", "peaks"]

WAYS = {
    "grid": "each method's own grid, chosen without true labels",
    "oracle": "the same, chosen by the oracle",
    "equal": "one grid and optimiser for all",
}
UNEQUAL = {"published": "not tuned alike: published settings, else defaults"}


def findings(
    sheets: Sequence[Sheet], contests: Sequence[Contest], records: Sequence[Record]
) -> list[str]:
    """Sentences; those that the evidence cannot carry yet are left out."""
    shown = [cell for sheet in sheets for cell in sheet.cells.values()]
    found = [_counts(shown), _by_method(shown), _oracle(shown)]
    found += [_remaining(contests, way) for way in WAYS]
    found += [_wins(contests, way) for way in ("grid", "equal")]
    return [text for text in [*found, _diverged(records)] if text]


def counts_table(sheets: Sequence[Sheet], titles: Mapping[str, str]) -> str:
    """Cells of each table by verdict, and how far the filled ones are from the paper."""
    rows = []
    for sheet in sheets:
        gaps = [shown.entry.difference for shown in sheet.filled]
        counts = [sheet.count(verdict) for verdict in (REPRODUCED, BELOW, MISSING)]
        middle = signed(float(np.median(gaps))) if gaps else "–"
        rows.append([titles[sheet.plan], str(len(sheet.cells)), *map(str, counts), middle])
    head = ["", "cells", "reproduced", "below", "no number", "median difference to the paper"]
    return pipe_table(head, rows)


def below_table(sheets: Iterable[Sheet], titles: Mapping[str, str], reasons: Reasons) -> str:
    """Every cell that is not reproduced, the worst first; empty if there is none."""
    found = [(shown, sheet) for sheet in sheets for shown in sheet.filled if shown.verdict == BELOW]
    found.sort(key=lambda pair: pair[0].entry.difference)
    head = ["table", "data", "method", "why", "ours", "oracle", "paper", "difference", "in stds"]
    return (
        pipe_table(head, [_below_row(*pair, titles, reasons) for pair in found], 4) if found else ""
    )


def _below_row(
    shown: Shown, sheet: Sheet, titles: Mapping[str, str], reasons: Reasons
) -> list[str]:
    entry, paper = shown.entry, shown.entry.published
    assert paper is not None
    rule = reasons.of(BELOW, sheet.plan, entry.place)
    return [
        titles[sheet.plan].partition(":")[0],
        entry.place.where,
        row_label(entry.place),
        str(rule.get("reason") or _why(shown)),
        figure_text(entry),
        figure_text(shown.oracle) if shown.oracle else "–",
        f"{number(paper.mean)} ± {number(paper.std)}",
        signed(entry.difference),
        number(entry.difference / paper.std, 1) if paper.std else "–",
    ]


def _why(shown: Shown) -> str:
    """What the numbers themselves tell."""
    if shown.unfinished:
        return "trials are still to run"
    if shown.untuned:
        return f"settings not searched ({shown.entry.note or 'as published'})"
    if shown.oracle is not None and reaches(shown.oracle):
        return "the choice of settings: the oracle's is within"
    return "not the choice of settings: the oracle's is below, too" if shown.oracle else ""


def peaks(sheet: Sheet) -> str:
    """Where each panel of a figure is highest.

    >>> from amongst.bench.reproduction_sheet import make_sheet
    >>> peaks(make_sheet("figure1", []))
    ''
    """
    best: dict[str, Entry] = {}
    for entry in (shown.entry for shown in sheet.filled):
        where = entry.place.where
        if where not in best or entry.mean > best[where].mean:
            best[where] = entry
    parts = [f"{where}: {e.place.variant} ({number(e.mean)})" for where, e in best.items()]
    return f"Highest mean: {'; '.join(parts)}." if parts else ""


def automatic(beyond: Sheet, table: Sheet) -> str:
    """β from the data against the β of Table 1, where both were run."""
    gaps = [
        shown.entry.mean - table.cells[home].entry.mean
        for place, shown in beyond.cells.items()
        if place.variant == "β=auto"
        and shown.entry.n
        and (home := place._replace(variant="")) in table.cells
        and table.cells[home].entry.n
    ]
    if not gaps:
        return ""
    return (
        f"β from the candidate sets (β=auto) minus the β of Table 1: {signed(float(np.mean(gaps)))} "
        f"points on average over {len(gaps)} cells, from {signed(min(gaps))} to {signed(max(gaps))}."
    )


def _counts(shown: Sequence[Shown]) -> str:
    verdicts = Counter(cell.verdict for cell in shown)
    there = verdicts[REPRODUCED] + verdicts[BELOW]
    text = (
        f"Of the {len(shown)} cells of Tables 1, 2 and 3, {there} have a number of ours. "
        f"{verdicts[REPRODUCED]} of these are reproduced (at least the paper's mean minus two of its "
        f"standard deviations), {verdicts[BELOW]} are below."
    )
    missing = verdicts[MISSING]
    return text + (f" {missing} have a stated reason instead." if missing else "")


def _by_method(shown: Sequence[Shown]) -> str:
    there = Counter(c.entry.place.method for c in shown if c.entry.n)
    good = Counter(c.entry.place.method for c in shown if c.verdict == REPRODUCED)
    if not there:
        return ""
    parts = [f"{method_title(name)} {good[name]} of {count}" for name, count in there.items()]
    return f"Reproduced by method: {listed(parts)}."


def _oracle(shown: Sequence[Shown]) -> str:
    both = [(c.entry, c.oracle) for c in shown if c.oracle and c.entry.n]
    if not both:
        return ""
    ours = float(np.mean([entry.mean for entry, _ in both]))
    theirs = float(np.mean([oracle.mean for _, oracle in both]))
    below = [reaches(oracle) for entry, oracle in both if entry.published and not reaches(entry)]
    text = (
        f"Settings chosen by covering rate, which needs no true label, reach {number(ours)} % on "
        f"average over {len(both)} searched cells; the oracle's choice of the same trials reaches "
        f"{number(theirs)} %."
    )
    if below:
        text += (
            f" Of the {len(below)} searched cells that are below, {sum(below)} would be reproduced "
            "with the oracle's choice."
        )
    return text


def _remaining(contests: Sequence[Contest], way: str) -> str:
    both = [(contest.paper, contest.ours[way]) for contest in contests if way in contest.ours]
    if not both:
        return ""
    paper = float(np.mean([margin.value for margin, _ in both]))
    ours = float(np.mean([margin.value for _, margin in both]))
    ahead = [sum(m.value > 0 for m in column) for column in zip(*both, strict=True)]
    share = f", {100 * ours / paper:.0f} % of it" if paper > 0 and ours > 0 else ""
    return (
        f"LW's margin over the best of RC, CC and PRODEN ({WAYS[way]}), mean of {len(both)} "
        f"comparisons: {signed(paper)} points in the paper, {signed(ours)} here{share}. LW is ahead "
        f"in {ahead[0]} of them in the paper, in {ahead[1]} here."
    )


def _wins(contests: Sequence[Contest], way: str) -> str:
    found = {c.where: c.ours[way] for c in contests if way in c.ours}
    tested = {where: margin for where, margin in found.items() if margin.p == margin.p}
    if not tested:
        return ""
    wins, ties, losses = tally(tested.values())
    text = (
        f"With {WAYS[way]}, a paired t test (two-sided, p ≤ 0.05, the repeats as pairs) finds LW "
        f"ahead in {wins} of {len(tested)} comparisons, behind in {losses}, and no difference in "
        f"{ties}."
    )
    return text + _places(" Ahead", tested, 1) + _places(" Behind", tested, -1)


def _places(word: str, tested: Mapping[str, Margin], side: int) -> str:
    where = [f"{w} ({signed(m.value)})" for w, m in tested.items() if m.side == side]
    return f"{word}: {'; '.join(where)}." if where else ""


def _diverged(records: Sequence[Record]) -> str:
    failed = sum(record.failed for record in records)
    return f"{failed:,} of {len(records):,} trials diverged; they are in the evidence, too."
