"""The paper's figures beside ours: in notes, in what a report says first, in a cell, and as a
plot; and its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from amongst.bench.figures import Figure, Series, variant_figure
from amongst.bench.page import part
from amongst.bench.payload import number as number_of
from amongst.bench.tables import Entry, Table
from amongst.bench.words import PAPER, epochs_of, number, signed, span
from amongst.markup import Markup, element

SCRIPT = Path(__file__).parent / "data" / "beside.js"
"""Draws the differences to the paper, and the figures."""

BOLD = "Bold differences are further than two standard errors from the paper."


def note(table: Table) -> str:
    """Of a table."""
    text = "Second line: the paper's figure, and ours minus the paper's in percentage points."
    found = epochs_of(entry for entry in table.filled if entry.published)
    return text + (f" Ours: {span(sorted(found))} epochs, not {PAPER}." if found - {PAPER} else "")


def figures(tables: Sequence[Table]) -> Iterator[tuple[str, str, str]]:
    """Value, of how many, what it is."""
    if compared := [entry for table in tables for entry in table.filled if entry.published]:
        near = sum(entry.agrees for entry in compared)
        yield str(near), f"of {len(compared)}", "within two standard errors of the paper"
        middle = np.median([abs(entry.difference) for entry in compared])
        yield f"{middle:.2f}", "points", "median distance to the paper"


def findings(table: Table) -> Iterator[str]:
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


def plot() -> list[Markup]:
    """Where the script draws."""
    return [
        element("h4", "Distance to the paper"),
        element("div", class_="controls legend"),
        element("div", class_="differences"),
    ]


def second_line(entry: Entry) -> Markup:
    """Below a mean: the paper's, and the difference."""
    paper = entry.published
    assert paper is not None
    side = "" if entry.agrees or not entry.n else "above" if entry.difference > 0 else "below"
    shown = element(
        "span",
        part("hidden", "paper "),
        number(paper.mean),
        part("std", f" ± {number(paper.std)}"),
        "*" if paper.star else None,
        class_="paper",
    )
    gap = part(f"diff {side}".strip(), signed(entry.difference), entry.n > 0)
    return element("span", shown, gap, class_="second-line")


def drawn(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """Tables that are figures, for the script."""
    shown = ((f"t{i}", table) for i, table in enumerate(tables) if table.layout.is_figure)
    return [_figure(name, variant_figure(table)) for name, table in shown]


def _figure(name: str, figure: Figure) -> dict[str, Any]:
    def line(series: Series) -> dict[str, Any]:
        ends = {n: list(map(number_of, getattr(series, n))) for n in ("mean", "low", "high")}
        return {"label": series.label} | ends

    panels = [
        {"title": panel.title, "note": panel.note, "series": [line(s) for s in panel.series]}
        for panel in figure.panels
    ]
    axes = {"xlabel": figure.xlabel, "x": figure.categories, "joined": figure.joined}
    return {"id": name, **axes, "panels": panels}
