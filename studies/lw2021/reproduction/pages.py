"""The pages of the reproduction, made from committed evidence alone: text, figures and HTML."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import amongst
from amongst.bench.figures import Figure, Panel, draw, variant_figure
from amongst.bench.page import assemble
from amongst.bench.payload import payload
from amongst.bench.places import dataset_title, short_labels
from amongst.bench.tables import Entry, Table
from amongst.bench.words import Overview, number, overview
from amongst.errors import InputError
from amongst.files import write_atomically
from amongst.wording import counted
from lw2021.reproduction.findings import in_detail, in_short
from lw2021.reproduction.found import FIGURES, Reproduction, run_title
from lw2021.reproduction.gaps import find_gaps
from lw2021.reproduction.page import picture, reproduction_markdown
from lw2021.reproduction.sheet import REPRODUCED
from lw2021.reproduction.text import plain
from lw2021.runs import Run

__all__ = ["Reproduction", "reproduction_html", "reproduction_markdown", "write_pages"]

PAGE = "reproduction"
PERCENT = (0.0, 108.0)


def write_pages(folder: str | Path, docs: str | Path) -> list[Path]:
    """Write ``reproduction.md``, its figures and ``reproduction.html``.

    Parameters
    ----------
    folder : of evidence; one without a trial of the paper's tables and figures is refused.
    docs : folder of pages.
    """
    found, home = Reproduction.read(folder), Path(docs)
    _check(found)
    home.mkdir(parents=True, exist_ok=True)
    texts = {".md": reproduction_markdown, ".html": reproduction_html}
    written = []
    for ending, render in texts.items():
        written.append(home / f"{PAGE}{ending}")
        write_atomically(written[-1], render(found).encode())
    drawn = [plan for plan in FIGURES if found.sheets[plan].filled]
    return written + [draw(figure(found, plan), home / picture(plan)) for plan in drawn]


def _check(found: Reproduction) -> None:
    if any(run.records for run in found.runs):
        return
    names = sorted({dataset_title(record.trial.dataset) for record in found.evidence.records})
    raise InputError(
        f"{found.folder} holds no trial of the paper's tables and figures, which these pages are "
        f"about; it has {counted(len(found.evidence.records), 'trial')} of other plans, on "
        f"{', '.join(names)}. For a page of them: "
        + shlex.join(["amongst", "report", found.folder, "--html", "report.html"])
    )


def figure(found: Reproduction, plan: str) -> Figure:
    """The data of a figure with all its panels; one without a point says why it has none."""
    sheet = found.sheets[plan]
    table = next(run.table for run in found.runs if run.request.plan == plan)
    entries = {place: shown.entry for place, shown in sheet.cells.items()}
    whole = variant_figure(replace(table, layout=sheet.layout, entries=entries))
    gaps = find_gaps(sheet, found.runs, found.reasons, found.evidence.records)
    reasons = {place.where: gap.reason for gap in gaps for place in gap.places}
    panels = tuple(_noted(panel, reasons) for panel in whole.panels)
    return replace(whole, panels=panels, limits=PERCENT, written=True)


def _noted(panel: Panel, reasons: Mapping[str, str]) -> Panel:
    reason = reasons.get(panel.title, "").replace("`", "")
    told = reason if reason.startswith(panel.note) else f"{panel.note}\n{reason}"
    return replace(panel, note=told) if panel.note else panel


def reproduction_html(found: Reproduction) -> str:
    """One page that opens offline: a table for each run, and every trial that a table reports."""
    records = found.evidence.records
    tables = [_titled(run, found) for run in found.runs if run.table.filled]
    reported = {key for table in tables for entry in table.filled for key in entry.keys}
    listed = [record for record in records if record.key in reported]
    return assemble(
        "The paper, run again",
        f"{len(records):,} trials in {found.folder}, of which the {len(listed):,} behind these "
        f"tables are listed here; the last of {max(record.created for record in records)[:10]}. "
        f"Why cells are missing or below the paper: {PAGE}.md beside this page.",
        _overview(found, tables),
        tables,
        payload(listed, tables),
        f"Made by amongst {amongst.__version__}.",
    )


def _overview(found: Reproduction, tables: Sequence[Table]) -> Overview:
    """Every cell of the paper once; the answers first, the rest and what each run says folded."""
    told = overview(found.evidence.records, tables)
    short, detail = (
        tuple(("", plain(text)) for text in texts) for texts in (in_short(found), in_detail(found))
    )
    figures = (told.figures[0], *_verdicts(found), told.figures[-1])
    folded = (("In more detail", detail), ("Run by run", told.findings))
    return replace(told, figures=figures, findings=short, folded=folded)


def _verdicts(found: Reproduction) -> Iterator[tuple[str, str, str]]:
    cells = [shown for sheet in found.tables for shown in sheet.cells.values()]
    filled = [shown for shown in cells if shown.entry.n]
    good = sum(shown.verdict == REPRODUCED for shown in filled)
    yield str(len(filled)), f"of {len(cells)}", "cells of the paper's tables have a number"
    yield str(good), f"of {len(filled)}", "are reproduced"
    if filled:
        middle = np.median([abs(shown.entry.difference) for shown in filled])
        yield number(float(middle)), "points", "median distance to the paper"


def _titled(run: Run, found: Reproduction) -> Table:
    """The table of a run under its own name; a figure has all its panels."""
    table = replace(run.table, plan=replace(run.plan, title=run_title(run)))
    if run.request.plan not in FIGURES:
        return table
    layout = found.sheets[run.request.plan].layout
    bare = {place: Entry(place, label) for place, label in short_labels(layout.places).items()}
    return replace(table, layout=layout, entries=bare | dict(table.entries))
