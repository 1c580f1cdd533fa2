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
from amongst.bench.reproduction_sheet import BELOW, MISSING, REPRODUCED, Reasons, Sheet, Shown
from amongst.bench.reproduction_text import figure_text, listed, pipe_table

__all__ = ["WAYS", "below_table", "counts_table", "findings"]

WAYS = {
    "grid": "each method's own grid, chosen without true labels",
    "oracle": "the same, chosen by the oracle",
    "equal": "one grid and optimiser for all",
}


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
    rows = []
    for shown, sheet in found:
        entry = shown.entry
        assert entry.published is not None
        rule = reasons.of(BELOW, sheet.plan, entry.place)
        rows.append([
            titles[sheet.plan].partition(":")[0],
            entry.place.where,
            row_label(entry.place),
            str(rule.get("reason", "")),
            figure_text(entry),
            figure_text(shown.oracle) if shown.oracle else "–",
            f"{number(entry.published.mean)} ± {number(entry.published.std)}",
            signed(entry.difference),
        ])  # fmt: skip
    head = ["table", "data", "method", "why", "ours", "oracle", "paper", "difference"]
    return pipe_table(head, rows, 4) if rows else ""


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
    both = [(c.entry, c.oracle, c.entry.published) for c in shown if c.oracle and c.entry.n]
    if not both:
        return ""
    ours = float(np.mean([entry.mean for entry, _, _ in both]))
    theirs = float(np.mean([oracle.mean for _, oracle, _ in both]))
    below = [
        oracle.mean >= paper.mean - 2 * paper.std
        for entry, oracle, paper in both
        if paper and entry.mean < paper.mean - 2 * paper.std
    ]
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
