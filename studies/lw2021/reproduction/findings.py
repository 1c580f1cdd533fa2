"""What came out, in plain words with computed numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from amongst.bench.paper import PLAN_TITLES
from amongst.bench.places import method_title
from amongst.bench.record import Record
from amongst.bench.words import number, signed
from lw2021.plans import short_title
from lw2021.reproduction.beyond import beyond_margins
from lw2021.reproduction.found import TABLES, Reproduction
from lw2021.reproduction.gains import gains
from lw2021.reproduction.margins import Contest, tally
from lw2021.reproduction.ranks import ranks
from lw2021.reproduction.rounds import short_rounds
from lw2021.reproduction.sheet import (
    BELOW,
    MISSING,
    REPRODUCED,
    Sheet,
    Shown,
    reaches,
)
from lw2021.reproduction.text import listed, pipe_table
from lw2021.reproduction.ways import SEARCHED, SHARED, UNEQUAL, WAYS, tested_text

__all__ = [
    "counts_table",
    "in_detail",
    "in_short",
    "margins_table",
    "peaks",
]


def in_short(found: Reproduction) -> list[str]:
    """What is reproduced, what is left of LW's margin, where LW is ahead, and what the figures show;
    what the evidence cannot carry yet is left out."""
    shown = [cell for sheet in found.tables for cell in sheet.cells.values()]
    said = [_counts(shown), *_remains(found.contests)]
    said += [_wins(found.contests, "equal"), _everywhere(found.contests)]
    said += [_leverage(found.sheets["figure1"]), _ablation(found.sheets["figure2"])]
    said += [beyond_margins(found, "study")]
    return [text for text in said if text]


def in_detail(found: Reproduction) -> list[str]:
    """By method, by way of tuning, and what choosing without true labels costs."""
    shown = [cell for sheet in found.tables for cell in sheet.cells.values()]
    contests, records = found.contests, found.evidence.records
    said = [_by_method(shown), _wins(contests, "grid"), _schedules(found), *gains(found)]
    said += [_wins(contests, "study"), short_rounds(found.runs, records)]
    said += [*(_oracle(found, kind) for kind in SEARCHED), ranks(found), _diverged(records)]
    return [text for text in said if text]


def counts_table(sheets: Sequence[Sheet]) -> str:
    """Cells of each table by verdict, and how far the filled ones are from the paper."""
    rows = []
    for sheet in sheets:
        gaps = [shown.entry.difference for shown in sheet.filled]
        counts = [sheet.count(verdict) for verdict in (REPRODUCED, BELOW, MISSING)]
        middle = signed(float(np.median(gaps))) if gaps else "–"
        rows.append([PLAN_TITLES[sheet.plan], str(len(sheet.cells)), *map(str, counts), middle])
    head = ["", "cells", "reproduced", "below", "no number", "median difference to the paper"]
    return pipe_table(head, rows)


def margins_table(contests: Sequence[Contest]) -> str:
    """LW's margins in the paper and here, by way of tuning; empty if there are none."""
    head = ["tuned by", "comparisons", "paper, mean", "here, mean", "LW ahead, paper", "LW ahead, here",
            "significantly ahead", "significantly behind"]  # fmt: skip
    rows = [_margins_row(contests, way, words) for way, words in (WAYS | UNEQUAL).items()]
    rows = [row for row in rows if row]
    return pipe_table(head, rows) if rows else ""


def _margins_row(contests: Sequence[Contest], way: str, words: str) -> list[str]:
    both = [(c.paper, c.ours[way]) for c in contests if way in c.ours and c.ours[way].tested]
    if not both:
        return []
    columns = [list(column) for column in zip(*both, strict=True)]
    means = [signed(float(np.mean([m.value for m in column]))) for column in columns]
    ahead = [str(sum(m.value > 0 for m in column)) for column in columns]
    wins, _, losses = tally(columns[1])
    return [words, str(len(both)), *means, *ahead, str(wins), str(losses)]


def peaks(sheet: Sheet) -> str:
    """Where each panel of a figure is highest.

    >>> from lw2021.reproduction.sheet import make_sheet
    >>> peaks(make_sheet("figure1", []))
    ''
    """
    parts = [f"{e.place.where}: {e.place.variant} ({number(e.mean)})" for e in sheet.best]
    return f"Highest mean: {'; '.join(parts)}." if parts else ""


def _counts(shown: Sequence[Shown]) -> str:
    verdicts = Counter(cell.verdict for cell in shown)
    there = verdicts[REPRODUCED] + verdicts[BELOW]
    text = (
        f"Of the {len(shown)} cells of Tables 1, 2 and 3, {there} have a number of ours. "
        f"{verdicts[REPRODUCED]} of these are reproduced (at least the paper's mean minus two of its "
        f"standard deviations), {verdicts[BELOW]} are below."
    )
    other = sum(cell.other is not None for cell in shown)
    if other:
        text += (
            f" {other} of those below reach the paper in another run of ours, with other settings or "
            "all rows; the run that counts was settled before."
        )
    missing = verdicts[MISSING]
    few = sum(0 < cell.entry.n < cell.entry.planned for cell in shown)
    text += f" {few} of our numbers are of fewer repeats than the paper's (marked)." if few else ""
    return text + (f" {missing} cells have a stated reason instead." if missing else "")


def _by_method(shown: Sequence[Shown]) -> str:
    there = Counter(c.entry.place.method for c in shown if c.entry.n)
    good = Counter(c.entry.place.method for c in shown if c.verdict == REPRODUCED)
    if not there:
        return ""
    parts = [f"{method_title(name)} {good[name]} of {count}" for name, count in there.items()]
    return f"Reproduced by method: {listed(parts)}."


def _oracle(found: Reproduction, kind: str) -> str:
    """Choice without true labels against the oracle's, wherever a search is finished."""
    cells = [c for plan in TABLES for c in found.of_kind(plan, kind).filled if not c.unfinished]
    both = [(c.entry, c.oracle) for c in cells if c.oracle]
    if not both:
        return ""
    ours = float(np.mean([entry.mean for entry, _ in both]))
    theirs = float(np.mean([oracle.mean for _, oracle in both]))
    below = [reaches(oracle) for entry, oracle in both if not reaches(entry)]
    text = (
        f"Settings chosen by covering rate, which needs no true label, reach {number(ours)} % on "
        f"average over {len(both)} cells with {SEARCHED[kind]}; the oracle's choice there reaches "
        f"{number(theirs)} %."
    )
    if below:
        text += (
            f" {len(below)} of these cells are below the paper; with the oracle's choice "
            f"{len(below) - sum(below)} would be."
        )
    return text


def _remains(contests: Sequence[Contest]) -> list[str]:
    """What is left of the paper's margin, a sentence for each table tuned in both ways."""
    return [
        _left(short_title(plan), both)
        for plan in TABLES
        if (both := [c for c in contests if c.plan == plan and {"grid", "equal"} <= c.ours.keys()])
    ]


def _left(table: str, contests: Sequence[Contest]) -> str:
    margins = [[c.paper, c.ours["grid"], c.ours["equal"]] for c in contests]
    paper, own, equal = np.mean([[m.value for m in row] for row in margins], axis=0)
    return (
        f"How much of LW's margin remains in {table}: the best LW minus the best of RC, CC and PRODEN, "
        f"points on average over the {len(contests)} comparisons tuned both ways: {signed(paper)} in "
        f"the paper; here {signed(own)} with each method's own grid, {signed(equal)} with one grid, "
        "optimiser and schedule for all."
    )


def _wins(contests: Sequence[Contest], way: str) -> str:
    found = {c.where: c.ours[way] for c in contests if way in c.ours}
    return tested_text(f"With {WAYS[way]}", found)


def _everywhere(contests: Sequence[Contest]) -> str:
    """Where LW is ahead by all ways of tuning on a grid, own ones and one that all methods share."""
    ways = {c.where: {way: c.ours[way] for way in WAYS if way in c.ours} for c in contests}
    several = {
        where: found.values()
        for where, found in ways.items()
        if found.keys() & SHARED and found.keys() - SHARED
    }
    if not several:
        return ""
    ahead = [
        f"{where} ({signed(min(values))} to {signed(max(values))})"
        for where, found in several.items()
        if all(margin.side == 1 for margin in found)
        and (values := [margin.value for margin in found])
    ]
    return (
        "Where own grids and a grid or schedule for all were run, LW is significantly ahead by every "
        f"way of tuning in {len(ahead)} of {len(several)} comparisons"
        f"{': ' if ahead else ''}{'; '.join(ahead)}."
    )


def _schedules(found: Reproduction) -> str:
    """Which methods' own grids come with learning rates that fall, and which with constant ones."""
    kinds: dict[bool, set[str]] = {True: set(), False: set()}
    for run in found.runs:
        for record in run.records if run.kind == "grid" else ():
            if schedule := record.trial.settings.get("schedule"):
                name = method_title(record.trial.method)
                kinds[schedule == "constant"].add(name.partition("-")[0])
    if not all(kinds.values()):
        return ""
    stays, falls = (listed(sorted(kinds[constant])) for constant in (True, False))
    text = (
        f"These grids are not alike: the learning rate of {falls} falls during training, that of "
        f"{stays} stays, as their authors have it. So part of a margin may be the schedule's."
    )
    own = [contest for contest in found.contests if "grid" in contest.ours]
    ran = sum("equal" in contest.ours for contest in own)
    return (
        f"{text} One grid and schedule for all (`--search equal`) was run for {ran} of these "
        f"{len(own)} comparisons."
    )


def _leverage(sheet: Sheet) -> str:
    """Figure 1 against what the paper says of it: β of 1 and 2 are best."""
    best = sheet.best
    if not best:
        return ""
    good = sum(entry.place.variant in ("β=1", "β=2") for entry in best)
    return (
        f"Figure 1: β of 1 or 2 is best in {good} of the {len(best)} panels that were run; the paper "
        "finds the same in all four."
    )


def _ablation(sheet: Sheet) -> str:
    """Figure 2: the parts of the loss alone, and both."""
    parts: dict[bool, list[float]] = {True: [], False: []}
    for shown in sheet.filled:
        values = shown.entry.place.variant.replace(" ", "").split(",")
        parts[all(not value.endswith("=0") for value in values)].append(shown.entry.mean)
    if not all(parts.values()):
        return ""
    return (
        f"Figure 2: one part of the loss alone reaches {number(max(parts[False]))} % at most, both "
        f"together {number(min(parts[True]))} % at least; the paper finds the parts alone far from "
        "satisfactory, too."
    )


def _diverged(records: Sequence[Record]) -> str:
    failed = sum(record.failed for record in records)
    if not failed:
        return f"None of the {len(records):,} trials diverged."
    return (
        f"{failed:,} of {len(records):,} trials failed: they diverged, or their method refused the "
        "data; they are in the evidence, too."
    )
