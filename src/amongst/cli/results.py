"""results and report: what a store holds, as a summary, an export, tables and a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich import box
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from amongst.cli.files import check_folder_target, check_target
from amongst.cli.saying import screen, tell
from amongst.errors import InputError

if TYPE_CHECKING:
    from amongst.bench.record import Record
    from amongst.bench.report import Report

Many = list[str] | None


def named(parameter: typer.CallbackParam, values: Many) -> Many:
    """Refuse an option without a name: a script's empty variable does not mean all there is."""
    if any(not split([value]) for value in values or ()):
        raise InputError(f"{parameter.opts[0]} names nothing; leave it out for all there is.")
    return values


Results = Annotated[
    Path,
    typer.Argument(
        metavar="STORE",
        help="A result store, its .parquet or .csv export, or a folder of evidence.",
    ),
]
Datasets = Annotated[
    Many, typer.Option(help="Only these; repeat it, or separate by commas.", callback=named)
]
Methods = Annotated[Many, typer.Option(help="Only these, e.g. rc,cc,proden,lw.", callback=named)]
Conditions = Annotated[
    Many, typer.Option(help="Only these, e.g. q=0.1 or 'case 1'.", callback=named)
]


def split(values: Many) -> tuple[str, ...]:
    """Values that were repeated or separated by commas.

    >>> split(["rc, cc", "lw"])
    ('rc', 'cc', 'lw')
    """
    return tuple(
        part.strip() for value in values or () for part in value.split(",") if part.strip()
    )


def method_names(values: Many) -> tuple[str, ...]:
    """In small letters.

    >>> method_names(["RC"])
    ('rc',)
    """
    return tuple(name.lower() for name in split(values))


def dataset_names(values: Many) -> tuple[str, ...]:
    """Names as the paper prints them are understood, too.

    >>> dataset_names(["Kuzushiji-MNIST,mnist"])
    ('kmnist', 'mnist')
    """
    from amongst.bench.places import DATASET_TITLES

    titles = {title.lower(): name for name, title in DATASET_TITLES.items()}
    return tuple(titles.get(value.lower(), value) for value in split(values))


def results(
    store: Results,
    datasets: Datasets = None,
    methods: Methods = None,
    conditions: Conditions = None,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write them as .parquet or .csv.")
    ] = None,
    curves: Annotated[
        bool, typer.Option("--curves", help="Export what was measured each epoch, too.")
    ] = False,
) -> None:
    """Ask a store what it holds, or export it."""
    from amongst.bench.export import narrow_records, read_records, read_requests
    from amongst.bench.record import check_ending, write_export
    from amongst.wording import counted

    check_target("--export", export, (store,))
    wanted = {
        "dataset": dataset_names(datasets),
        "method": method_names(methods),
        "condition": split(conditions),
    }
    found = narrow_records(read_records(store, curves=curves), wanted, store.name)
    if export is None:
        screen().print(_summary(found, store))
        return
    if not found:
        raise InputError(f"{store} holds no records, so that there is nothing to export.")
    path = write_export(found, read_requests(store), check_ending("export", export))
    tell(f"{counted(len(found), 'record')} written to {path}")


def _summary(records: Sequence[Record], store: Path) -> RichTable:
    """Methods below their data, so that no name is cut in 80 columns."""
    from amongst.bench.places import dataset_title
    from amongst.bench.record import grouped
    from amongst.wording import counted, readable

    total = readable(sum(record.seconds for record in records))
    title = f"{store.name}: {counted(len(records), 'trial')}, {total} of training"
    shown = RichTable(title=Text(title), box=box.SIMPLE_HEAD)
    shown.add_column("data, method", overflow="fold")
    for head in ("trials", "settings", "failed", "accuracy, %"):
        shown.add_column(head, justify="right", overflow="fold")
    data = grouped(records, lambda record: (record.trial.dataset, record.trial.condition))
    for (dataset, condition), group in data.items():
        shown.add_row(Text(f"{dataset_title(dataset)}, {condition}", style="bold"))
        for own in grouped(group, lambda r: (r.trial.method, r.trial.model)).values():
            shown.add_row(*_line(own))
        shown.add_section()
    return shown


def _line(records: Sequence[Record]) -> tuple[str, ...]:
    """Accuracy is the mean of the last ten epochs; where there are views at prediction, which only the
    end has, the last."""
    from amongst.bench.places import method_title

    trial = records[0].trial
    found = [
        r.metrics.get("accuracy_final" if "accuracy_plain" in r.metrics else "accuracy_last10")
        for r in records
    ]
    return (
        escape(method_title(trial.method) + ("" if trial.model == "-" else f", {trial.model}")),
        str(len(records)),
        str(len({record.trial.setting for record in records})),
        str(sum(record.failed for record in records) or "–"),
        _range(100 * value for value in found if value is not None),
    )


def _range(values: Iterable[float]) -> str:
    found = sorted(values)
    ends = found[:1] + found[1:][-1:]
    return "–".join(f"{end:.2f}" for end in ends) or "–"


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
        Literal["wilcoxon", "t"], typer.Option(help="One-sided paired test behind the stars.")
    ] = "wilcoxon",
    alpha: Annotated[float, typer.Option(help="Level of the test.")] = 0.05,
    holm: Annotated[bool, typer.Option("--holm", help="Correct p over each table.")] = False,
) -> None:
    """Show what a store holds: in the terminal, or as a page, Markdown, LaTeX, CSV, figures."""
    from amongst.bench.figures import report_figures
    from amongst.bench.render import to_rich
    from amongst.bench.report import read_report
    from amongst.bench.tables import Significance

    asked = {"--html": html, "--markdown": markdown, "--latex": latex, "--csv": csv}
    wanted = {name: path for name, path in asked.items() if path is not None}
    _check_targets(wanted, figures, store)
    rule = Significance(test, alpha, "holm" if holm else "none")
    found = read_report(store, metric=metric, significance=rule)
    written = [_write(name, path, found, title) for name, path in wanted.items()]
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


def _check_targets(wanted: dict[str, Path], figures: Path | None, store: Path) -> None:
    """Mistakes are said before anything is computed."""
    from amongst.optional import optional_import

    taken: dict[Path, str] = {}
    for name, path in wanted.items():
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
