"""results: what a store holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from amongst.cli.files import check_target
from amongst.cli.narrowing import (
    Conditions,
    Datasets,
    Methods,
    dataset_names,
    method_names,
    split,
)
from amongst.cli.saying import screen, tell

if TYPE_CHECKING:
    from amongst.bench.record import Record

__all__ = ["results"]


Results = Annotated[
    Path,
    typer.Argument(
        metavar="STORE",
        help="A result store, its .parquet or .csv export, or a folder of evidence.",
    ),
]


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
    from amongst.bench.export import narrow_records, read_records

    if export is not None:
        check_target("--export", export, (store,))
    wanted = {
        "dataset": dataset_names(datasets),
        "method": method_names(methods),
        "condition": split(conditions),
    }
    found = narrow_records(read_records(store, curves=curves), wanted, store.name)
    if export is None:
        screen().print(_summary(found, store))
    else:
        _export(found, store, export)


def _export(records: Sequence[Record], store: Path, target: Path) -> None:
    from amongst.bench.columns import check_ending, write_export
    from amongst.bench.export import read_requests
    from amongst.errors import InputError
    from amongst.wording import counted

    if not records:
        raise InputError(f"{store} holds no records, so that there is nothing to export.")
    path = write_export(records, read_requests(store), check_ending("export", target))
    tell(f"{counted(len(records), 'record')} written to {path}")


def _summary(records: Sequence[Record], store: Path) -> RichTable:
    """Methods below their data, so that no name is cut in 80 columns."""
    from amongst.bench.places import dataset_title
    from amongst.wording import counted, readable

    total = readable(sum(record.seconds for record in records))
    title = f"{store.name}: {counted(len(records), 'trial')}, {total} of training"
    shown = RichTable(title=Text(title), box=box.SIMPLE_HEAD)
    shown.add_column("data, method", overflow="fold")
    for head in ("trials", "settings", "failed", "accuracy, %"):
        shown.add_column(head, justify="right", overflow="fold")
    for (dataset, condition), group in _grouped(records, "dataset", "condition").items():
        shown.add_row(Text(f"{dataset_title(dataset)}, {condition}", style="bold"))
        for (method, model), own in _grouped(group, "method", "model").items():
            shown.add_row(*_line(method, model, own))
        shown.add_section()
    return shown


def _line(method: str, model: str, records: Sequence[Record]) -> tuple[str, ...]:
    from amongst.bench.places import method_title

    accuracies = [record.metrics.get(_accuracy_of(record)) for record in records]
    return (
        escape(method_title(method) + ("" if model == "-" else f", {model}")),
        str(len(records)),
        str(len({str(sorted(record.trial.settings.items())) for record in records})),
        str(sum(record.failed for record in records) or "–"),
        _range(value for value in accuracies if value is not None),
    )


def _accuracy_of(record: Record) -> str:
    """The mean of the last ten epochs; where there are views at prediction, which only the end has, the
    last."""
    return "accuracy_final" if "accuracy_plain" in record.metrics else "accuracy_last10"


def _grouped(records: Iterable[Record], *names: str) -> dict[tuple[str, ...], list[Record]]:
    from amongst.bench.record import grouped

    return grouped(records, lambda record: tuple(getattr(record.trial, n) for n in names))


def _range(values: Iterable[float]) -> str:
    found = sorted(100 * value for value in values)
    if not found:
        return "–"
    return f"{found[0]:.2f}–{found[-1]:.2f}" if len(found) > 1 else f"{found[0]:.2f}"
