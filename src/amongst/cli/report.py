"""`amongst report`: the tables of a store in the terminal, as files, and as one page."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from amongst.cli.files import check_folder_target, check_target
from amongst.cli.results import Results
from amongst.cli.saying import screen, tell
from amongst.errors import InputError

if TYPE_CHECKING:
    from amongst.bench.report import Report
    from amongst.bench.tables import Table

__all__ = ["report"]


class Paired(StrEnum):
    """Paired tests by their names."""

    wilcoxon = "wilcoxon"
    t = "t"


def report(
    store: Results,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="One page that opens offline.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Markdown tables.")] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="LaTeX tables.")] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="One line for each cell.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Figures as PNG and SVG.")
    ] = None,
    title: Annotated[str, typer.Option(help="Of the page.")] = "",
    metric: Annotated[
        str, typer.Option(help="Instead of the plan's own, e.g. accuracy_final.")
    ] = "",
    test: Annotated[
        Paired, typer.Option(help="One-sided paired test behind the stars.")
    ] = Paired.wilcoxon,
    alpha: Annotated[float, typer.Option(help="Level of the test.")] = 0.05,
    holm: Annotated[bool, typer.Option("--holm", help="Correct p over each table.")] = False,
) -> None:
    """Show what a store holds: in the terminal, or as a page, Markdown, LaTeX, CSV, figures."""
    from amongst.bench.report import read_report
    from amongst.bench.tables import Significance

    wanted = {"--html": html, "--markdown": markdown, "--latex": latex, "--csv": csv}
    _check_targets(wanted, figures, store)
    rule = Significance(test.value, alpha, "holm" if holm else "none")
    found = read_report(store, metric=metric, significance=rule)
    written = [_write(name, path, found, title) for name, path in wanted.items() if path]
    drawn = _draw(found, figures) if figures else []
    written += drawn
    console = screen()
    if figures and not drawn:
        console.print("no figure to draw: no trial has a learning curve of test rows")
    for path in written:
        tell(f"written to {path}")
    if not written:
        _show(found, console)


def _check_targets(wanted: dict[str, Path | None], figures: Path | None, store: Path) -> None:
    """Mistakes are said before anything is computed."""
    from amongst.optional import optional_import

    taken: dict[Path, str] = {}
    for name, path in wanted.items():
        if path is not None:
            check_target(name, path, (store,))
            if (other := taken.setdefault(path.resolve(), name)) != name:
                raise InputError(f"{other} and {name} both name {path}; name two files.")
    if figures is not None:
        optional_import("matplotlib", extra="plot", purpose="drawing figures")
        check_folder_target("--figures", figures)


def _write(name: str, path: Path, report: Report, title: str) -> Path:
    from amongst.atomic import write_atomically
    from amongst.bench.render import to_latex, to_markdown
    from amongst.bench.report import to_html

    texts: dict[str, Callable[[], str]] = {
        "--html": lambda: to_html(report, title=title),
        "--markdown": lambda: "\n".join(map(to_markdown, report.tables)),
        "--latex": lambda: "\n".join(map(to_latex, report.tables)),
        "--csv": lambda: _csv(report.tables),
    }
    write_atomically(path, texts[name]().encode())
    return path


def _csv(tables: tuple[Table, ...]) -> str:
    """One head for all tables."""
    from amongst.bench.render import to_csv

    parts = [to_csv(table) for table in tables]
    return parts[0] + "".join(part.partition("\n")[2] for part in parts[1:])


def _draw(report: Report, folder: Path) -> list[Path]:
    from amongst.bench.figures import report_figures

    return report_figures(report.records, report.tables, folder)


def _show(report: Report, console: Console) -> None:
    from amongst.bench.render import to_rich

    for table in report.tables:
        console.print(to_rich(table), "")
    console.print("For a page to look at: --html FILE", style="dim")
