"""`amongst report`: the tables of a store in the terminal, as files, and as one page."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amongst.cli.files import check_folder_target, check_target
from amongst.cli.results import Results
from amongst.cli.saying import screen, tell
from amongst.errors import InputError

if TYPE_CHECKING:
    from amongst.bench.report import Report

__all__ = ["report"]


Paired = StrEnum("Paired", "wilcoxon t")


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
    from amongst.bench.figures import report_figures
    from amongst.bench.render import to_rich
    from amongst.bench.report import read_report
    from amongst.bench.tables import Significance

    wanted = {"--html": html, "--markdown": markdown, "--latex": latex, "--csv": csv}
    _check_targets(wanted, figures, store)
    rule = Significance(test.value, alpha, "holm" if holm else "none")
    found = read_report(store, metric=metric, significance=rule)
    written = [_write(name, path, found, title) for name, path in wanted.items() if path]
    drawn = report_figures(found.records, found.tables, figures) if figures else []
    written += drawn
    console = screen()
    if figures and not drawn:
        console.print("no figure to draw: no trial has a learning curve of test rows")
    for path in written:
        tell(f"written to {path}")
    if not written:
        for table in found.tables:
            console.print(to_rich(table), "")
        console.print("For a page to look at: --html FILE", style="dim")


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
    from amongst.bench.render import to_csv, to_latex, to_markdown
    from amongst.bench.report import to_html
    from amongst.files import write_atomically

    texts: dict[str, Callable[[], str]] = {
        "--html": lambda: to_html(report, title=title),
        "--markdown": lambda: "\n".join(map(to_markdown, report.tables)),
        "--latex": lambda: "\n".join(map(to_latex, report.tables)),
        "--csv": lambda: to_csv(*report.tables),
    }
    write_atomically(path, texts[name]().encode())
    return path
