"""Cells below the paper: what the numbers tell about why, counted and in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from amongst.bench.places import Place, dataset_title, method_title
from amongst.bench.record import grouped
from amongst.bench.words import number, signed
from amongst.estimators import CLASSICAL
from lw2021.plans import short_title
from lw2021.reproduction.sheet import BELOW, REPRODUCED, Reasons, Sheet, Shown, reaches
from lw2021.reproduction.text import figure_text, listed, pipe_table
from lw2021.runs import search_words

__all__ = ["below_table", "cause", "settings_words", "why", "why_table"]

CAUSES = {
    "published": "settings not searched: those published for these data",
    "nearest": "settings not searched: the nearest published ones, of other data or another q",
    "default": "settings not searched: none published, the default of this package",
    "unfinished": "trials of the search are still to run",
    "short": "a short round dropped most of the grid",
    "choice": "the choice among the whole grid: the oracle's is within",
    "beyond": "not the choice of settings: the oracle's among the whole grid is below, too",
    "known": "searched on the whole grid; the records do not know the oracle's choice",
}
"""In the order of the page."""


def cause(shown: Shown) -> str:
    """What the numbers themselves tell: a name in `CAUSES`."""
    if shown.untuned and _by_default(shown):
        return "default"
    if shown.untuned:
        starts = {"nearest": "nearest", "none": "default"}
        return starts.get(shown.entry.note.partition(" ")[0], "published")
    if shown.unfinished:
        return "unfinished"
    if shown.run is not None and shown.run.request.screen:
        return "short"
    if shown.oracle is None:
        return "known"
    return "choice" if reaches(shown.oracle) else "beyond"


def _by_default(shown: Shown) -> bool:
    kind = shown.run.kind if shown.run else ""
    return kind == "none" or shown.entry.place.method in CLASSICAL


def why(shown: Shown) -> str:
    """The cause with what belongs to this cell."""
    found = cause(shown)
    text = CAUSES[found]
    if found == "nearest":
        text = f"settings not searched: {shown.entry.note}"
    if found == "short" and shown.run is not None:
        text = _dropped(shown)
    lacks = shown.entry.planned - shown.entry.n - shown.entry.failed
    text += f"; {shown.entry.n} of {shown.entry.planned} repeats" if lacks > 0 else ""
    return text + (f"; within with {search_words(shown.other.request)}" if shown.other else "")


def settings_words(cells: Sequence[Shown]) -> str:
    """Where settings that were not searched come from, by method and data; empty if all were."""
    sources: dict[str, dict[str, dict[str, None]]] = {}
    for shown in cells:
        if shown.untuned and shown.entry.published:
            place = shown.entry.place
            own = sources.setdefault(method_title(place.method), {})
            own.setdefault(_source(shown), {})[dataset_title(place.dataset)] = None
    groups = grouped(sources, lambda method: _told(sources[method]))
    parts = [f"{listed(methods)}: {told}" for told, methods in groups.items()]
    return f"‡ Settings of {'. '.join(parts)}." if parts else ""


def _source(shown: Shown) -> str:
    """Without q, which differs by column.

    The note ``"nearest published setting: MNIST, q=0.1"`` becomes ``"nearest published setting,
    MNIST's"``.
    """
    found = cause(shown)
    if found != "nearest":
        return CAUSES[found].partition(": ")[2]
    what, _, where = shown.entry.note.partition(", q=")[0].partition(": ")
    return f"{what}, {where}'s"


def _told(sources: Mapping[str, Iterable[str]]) -> str:
    """Which data has which settings; no data where all have the same."""
    if len(sources) == 1:
        return next(iter(sources))
    return "; ".join(f"{source} ({listed(data)})" for source, data in sources.items())


def why_table(sheets: Sequence[Sheet], reasons: Reasons) -> str:
    """How many cells each method has by cause; empty if none is below."""
    found = _below(sheets)
    if not found:
        return ""
    there = [c for sheet in sheets for c in sheet.filled]
    methods = dict.fromkeys(method_title(c.entry.place.method) for c in there)
    good = [c.entry.place.method for c in there if c.verdict == REPRODUCED]
    counts: dict[str, Counter[str]] = {"**reproduced**": Counter(map(method_title, good))}
    order = {text: i for i, text in enumerate(CAUSES.values())}
    said = [(_said(shown, sheet, reasons, CAUSES[cause(shown)]), shown) for sheet, shown in found]
    for text, shown in sorted(said, key=lambda pair: order.get(pair[0], -1)):
        counts.setdefault(f"below; {text}", Counter())[method_title(shown.entry.place.method)] += 1
    rows = [
        [text, *(str(line[name] or "–") for name in methods), str(line.total())]
        for text, line in counts.items()
    ]
    return pipe_table(["", *methods, "together"], rows)


def below_table(sheets: Sequence[Sheet], reasons: Reasons) -> str:
    """Every cell that is not reproduced, by table and data; empty if there is none."""
    found = _below(sheets)
    head = ["table", "data", "method", "why", "ours", "oracle", "paper", "difference", "in stds"]
    rows = [_row(shown, sheet, reasons) for sheet, shown in found]
    return pipe_table(head, rows, 4) if rows else ""


def _below(sheets: Sequence[Sheet]) -> list[tuple[Sheet, Shown]]:
    return [
        (sheet, sheet.cells[place])
        for sheet in sheets
        for place in _by_data(sheet)
        if sheet.cells[place].verdict == BELOW
    ]


def _by_data(sheet: Sheet) -> list[Place]:
    """All of one data set and condition together."""
    places = list(sheet.layout.places)
    data = list(dict.fromkeys(place.dataset for place in places))
    conditions = list(dict.fromkeys(place.condition for place in places))
    return sorted(places, key=lambda p: (data.index(p.dataset), conditions.index(p.condition)))


def _row(shown: Shown, sheet: Sheet, reasons: Reasons) -> list[str]:
    entry, paper = shown.entry, shown.entry.published
    assert paper is not None
    return [
        short_title(sheet.plan),
        entry.place.where,
        entry.place.label,
        _said(shown, sheet, reasons, why(shown)),
        figure_text(entry),
        figure_text(shown.oracle) if shown.oracle else "–",
        f"{number(paper.mean)} ± {number(paper.std)}",
        signed(entry.difference),
        number(entry.difference / paper.std, 1) if paper.std else "–",
    ]


def _said(shown: Shown, sheet: Sheet, reasons: Reasons, computed: str) -> str:
    """The reason written by hand, else the computed one."""
    return str(reasons.of(BELOW, sheet.plan, shown.entry.place).get("reason") or computed)


def _dropped(shown: Shown) -> str:
    assert shown.run is not None
    request = shown.run.request
    text = f"{100 * (1 - request.kept_share):g} % of the grid was dropped after {request.screen} epochs"
    if shown.oracle is None:
        return text
    after = "within" if reaches(shown.oracle) else "below, too"
    return f"{text}; the oracle's choice after it is {after}"
