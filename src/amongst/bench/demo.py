"""The demo: five methods on scikit-learn's digits, ending in a table, a picture and a page."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from amongst.atomic import write_atomically
from amongst.bench.execute import Options
from amongst.bench.figures import Figure, Panel, draw, over_columns
from amongst.bench.plans import Request
from amongst.bench.report import build_report, to_html
from amongst.bench.session import run_request
from amongst.bench.store import Store
from amongst.bench.tables import Table, collect
from amongst.errors import AmongstWarning, MissingDependencyError

__all__ = ["Demo", "conditions_figure", "run_demo"]


@dataclass(frozen=True)
class Demo:
    """What the demo leaves: the table, and the files (the picture is None without Matplotlib)."""

    table: Table
    store: Path
    page: Path
    picture: Path | None


def run_demo(folder: Path) -> Demo:
    """Train, compare, and write ``demo.sqlite``, ``demo.html`` and ``demo.png`` into a folder.

    The folder is made if it is not there; run again, the demo goes on from what is in it.
    """
    store = folder / "demo.sqlite"
    plan, _ = run_request(Request("demo"), store, Options(device="cpu"))
    with Store(store, readonly=True) as kept:
        records = kept.records()
    table = collect(records, plan)
    page = folder / "demo.html"
    report = build_report(records, [plan], source=store.name)
    write_atomically(page, to_html(report, title=plan.title).encode())
    return Demo(table, store, page, picture_of(table, folder / "demo.png"))


def conditions_figure(table: Table) -> Figure:
    """Accuracy over the conditions of a table: a panel for each data set, a line for each method.

    >>> from amongst.bench.plans import make_plan
    >>> figure = conditions_figure(collect([], make_plan(Request("demo"))))
    >>> figure.categories, [line.label for line in figure.panels[0].series][:2]
    (('q=0.1', 'q=0.3', 'q=0.5'), ['RC, MLP', 'CC, MLP'])
    """
    panels = tuple(
        Panel(group, tuple(over_columns(table, row, row.label) for row in rows))
        for group, rows in table.layout.groups.items()
    )
    label = "how candidate sets arise"
    return Figure(table.plan.title, label, "test accuracy, %", panels, table.layout.columns)


def picture_of(table: Table, path: Path) -> Path | None:
    """Draw the table; without Matplotlib, a warning that names the extra, and None."""
    try:
        return draw(conditions_figure(table), path)
    except MissingDependencyError as error:
        warnings.warn(f"there is no picture: {error}", AmongstWarning, stacklevel=2)
        return None
