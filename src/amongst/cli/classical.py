"""classical: the cells of the paper's Table 2 that need no network."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table as RichTable

from amongst.cli.results import method_names
from amongst.cli.saying import screen

if TYPE_CHECKING:
    from amongst.bench.plans import Request
    from amongst.bench.tables import Entry

DATASETS = ("lost", "msrcv2", "birdsong")
METHODS = ("ipal", "paloc", "plecoc")


def classical(
    datasets: Annotated[
        str, typer.Option(help="Of lost, msrcv2, birdsong; separated by commas.")
    ] = ",".join(DATASETS),
    methods: Annotated[
        str, typer.Option(help="Of ipal, paloc, plecoc; separated by commas.")
    ] = ",".join(METHODS),
    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="Choose settings in each fold by covering rate on a tenth of its training rows.",
        ),
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes; one for each core unless told.")
    ] = None,
    store: Annotated[Path, typer.Option(help="File of results; a run goes on from it.")] = Path(
        "classical.sqlite"
    ),
) -> None:
    """Run IPAL, PALOC and PL-ECOC on Lost, MSRCv2 and BirdSong: 10 folds, the paper beside."""
    from amongst.bench.execute import Options
    from amongst.bench.runner import run_request
    from amongst.bench.store import Store
    from amongst.bench.tables import collect

    request = _request(method_names([datasets]), method_names([methods]), tune)
    plan, _ = run_request(request, store, Options("local", "cpu", workers))
    with Store(store, readonly=True) as kept:
        table = collect(kept.records(curves=False), plan)
    screen().print(_beside(entry for entry in table.entries.values() if entry.n))


def _request(datasets: tuple[str, ...], methods: tuple[str, ...], tune: bool) -> Request:
    """All training rows of a fold are trained on, unless some are held out to choose settings."""
    from amongst.bench.plans import Request
    from amongst.checks import check_choice

    for name in datasets:
        check_choice("datasets", name, DATASETS)
    for name in methods:
        check_choice("methods", name, METHODS)
    return Request(
        "table2",
        datasets=datasets,
        methods=methods,
        search="grid" if tune else "none",
        criterion="covering",
        refit=not tune,
    )


def _beside(entries: Iterable[Entry]) -> RichTable:
    from amongst.bench.places import dataset_title, method_title

    shown = RichTable(
        *("data", "method", "here", "paper", "difference", "against one std of the paper"),
        title="Accuracy in 10-fold cross-validation, %, mean ± standard deviation over the folds",
        box=box.SIMPLE_HEAD,
    )
    for column in shown.columns[2:5]:
        column.justify, column.no_wrap = "right", True
    for entry in entries:
        paper, away = entry.published, entry.difference
        assert paper is not None
        within = "within" if abs(away) <= paper.std else "above" if away > 0 else "below"
        missing = f" ({entry.n} of {entry.planned} folds)" if entry.n < entry.planned else ""
        shown.add_row(
            dataset_title(entry.place.dataset),
            method_title(entry.place.method),
            f"{entry.mean:.2f} ± {entry.std:.2f}{missing}",
            f"{paper.mean:.2f} ± {paper.std:.2f}",
            f"{away:+.2f}",
            within,
        )
    return shown
