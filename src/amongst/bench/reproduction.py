"""The pages of the reproduction, made from committed evidence alone: text, figures and HTML."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from pathlib import Path

import amongst
from amongst.archive import write_atomically
from amongst.bench.figures import Figure, draw, variant_figure
from amongst.bench.page import assemble
from amongst.bench.payload import payload
from amongst.bench.reproduction_found import FIGURES, Reproduction, run_title
from amongst.bench.reproduction_page import picture, reproduction_markdown
from amongst.bench.summary import overview

__all__ = ["Reproduction", "reproduction_html", "reproduction_markdown", "write_pages"]

PAGE = "reproduction"


def write_pages(folder: str | Path, docs: str | Path) -> list[Path]:
    """Write ``reproduction.md``, its figures and ``reproduction.html``.

    Parameters
    ----------
    folder : of evidence.
    docs : folder of pages.
    """
    found, home = Reproduction.read(folder), Path(docs)
    home.mkdir(parents=True, exist_ok=True)
    texts = {".md": reproduction_markdown, ".html": reproduction_html}
    written = []
    for ending, render in texts.items():
        written.append(home / f"{PAGE}{ending}")
        write_atomically(written[-1], render(found).encode())
    drawn = [plan for plan in FIGURES if found.sheets[plan].filled]
    return written + [draw(figure(found, plan), home / picture(plan)) for plan in drawn]


def figure(found: Reproduction, plan: str) -> Figure:
    """The data of a figure, without panels that have no point."""
    sheet = found.sheets[plan]
    table = next(run.table for run in found.runs if run.request.plan == plan)
    entries = {place: shown.entry for place, shown in sheet.cells.items()}
    whole = variant_figure(replace(table, layout=sheet.layout, entries=entries))
    panels = [p for p in whole.panels if any(isfinite(m) for line in p.series for m in line.mean)]
    return replace(whole, panels=tuple(panels))


def reproduction_html(found: Reproduction) -> str:
    """One page that opens offline: a table for each run, and every trial that a table reports."""
    records = found.evidence.records
    tables = [
        replace(run.table, plan=replace(run.plan, title=run_title(run)))
        for run in found.runs
        if run.table.filled
    ]
    reported = {key for table in tables for entry in table.filled for key in entry.keys}
    listed = [record for record in records if record.key in reported]
    return assemble(
        "The paper, run again",
        f"{len(records):,} trials in {found.folder}, of which the {len(listed):,} behind these "
        f"tables are listed here; the last of {max(record.created for record in records)[:10]}.",
        overview(records, tables),
        tables,
        payload(listed, tables),
        f"Made by amongst {amongst.__version__}.",
    )
