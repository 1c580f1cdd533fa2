"""The commands of this study: `amongst reproduce`, tables and figures of the paper; `amongst evidence`, from
stores to a committed folder, back to a store, and on to the pages; and `amongst classical`, the cells of
the paper's Table 2 that need no network; `amongst theory` verifies the theory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich import box
from rich.table import Table as RichTable

from amongst.cli import bench
from amongst.cli.bench import Running, Search, Searching, Seeds
from amongst.cli.files import check_folder_target, check_target, grouped
from amongst.cli.results import (
    Conditions,
    Datasets,
    Many,
    Methods,
    dataset_names,
    method_names,
    named,
    split,
)
from amongst.cli.saying import screen, tell

if TYPE_CHECKING:
    from amongst.bench.plans import Request
    from amongst.bench.tables import Entry

PlanName = StrEnum(
    "PlanName",
    "table1 table2 table3 figure1 figure2 beyond images images-own images-parts images-wide demo",
)


@grouped
def reproduce(
    plans: Annotated[
        list[PlanName],
        typer.Argument(metavar="PLAN", help="Tables and figures of the paper, or more."),
    ],
    datasets: Datasets = None,
    methods: Methods = None,
    conditions: Conditions = None,
    models: Annotated[
        Many, typer.Option(help="Only these, e.g. mlp, linear, convnet.", callback=named)
    ] = None,
    seeds: Seeds = None,
    epochs: Annotated[int | None, typer.Option(help="Instead of the plan's own.")] = None,
    search: Annotated[
        Search, typer.Option(help="Settings: published, each method's grid, one grid for all.")
    ] = "published",
    *,
    searching: Searching,
    protocol: Annotated[
        Literal["default", "paper", "official"], typer.Option(help="Where paper and code differ.")
    ] = "default",
    precision: Annotated[
        str, typer.Option(help="float32, float64; on a GPU also tf32, bf16.")
    ] = "float32",
    running: Running,
) -> None:
    """Run tables and figures of the paper; killed at any moment, the same command goes on."""
    first = searching.request(
        plans[0].value,
        datasets=dataset_names(datasets),
        methods=method_names(methods),
        conditions=split(conditions),
        models=split(models),
        seeds=seeds,
        epochs=epochs,
        search=search,
        protocol=protocol,
        precision=precision,
    )
    requests = [replace(first, plan=plan.value) for plan in dict.fromkeys(plans)]
    bench.run_all(requests, running.options(), running.store, running.dry_run)


evidence = typer.Typer(
    help="Results as a committed folder, and the pages made from it.", no_args_is_help=True
)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Of evidence.")]
PAPER = Path("results/paper")


@evidence.command()
def pack(
    stores: Annotated[
        list[Path], typer.Argument(metavar="STORE…", help="Result stores, or such folders.")
    ],
    into: Annotated[Path, typer.Option(help="Folder; made, or added to.")] = PAPER,
    revision: Annotated[
        str, typer.Option(help="Git revision, for trials that were run outside a clone.")
    ] = "",
) -> None:
    """Add every trial of these stores to a folder: Parquet and JSON, small enough to commit."""
    check_folder_target("--into", into)
    from lw2021.evidence import pack as packed

    found = packed(stores, into, revision=revision)
    size = sum(path.stat().st_size for path in into.iterdir() if path.is_file())
    tell(f"{len(found.records):,} trials in {into}, {size / 2**20:.2f} MiB")


@evidence.command()
def unpack(
    folder: Folder = PAPER,
    store: Annotated[Path, typer.Option(help="Store to add them to.")] = Path("amongst.sqlite"),
) -> None:
    """Make a store of a folder again, so that `reproduce --store` goes on from it."""
    from lw2021.evidence import unpack as unpacked

    tell(f"{unpacked(folder, store):,} new trials in {store}")


@evidence.command()
def pages(
    folder: Folder = PAPER,
    docs: Annotated[Path, typer.Option(help="Folder of the pages.")] = Path("docs"),
) -> None:
    """Write reproduction.md, .html and figures from a folder: our results beside the paper's. Of image plans,
    write images-results.md."""
    check_folder_target("--docs", docs)
    import images_report
    from lw2021 import reproduction

    images = images_report.write_pages(folder, docs)
    for path in images or reproduction.write_pages(folder, docs):
        tell(f"written to {path}")


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


def theory(
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page with plots.")
    ] = None,
    problems: Annotated[int, typer.Option(help="Random problems for each identity.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0)] = 0,
) -> None:
    """Verify the theory of the LW loss: what holds, what does not, and the β that follows."""
    from amongst.optional import optional_import
    from lw2021.theory.terminal import show

    if html is not None:
        check_target("--html", html)
        optional_import("matplotlib", extra="plot", purpose="drawing the theory page")
    if not show(html, problems, seed):
        raise typer.Exit(1)


def add_to(app: typer.Typer) -> None:
    """Add the commands to `amongst`."""
    app.command(rich_help_panel="Research")(reproduce)
    app.add_typer(evidence, name="evidence", rich_help_panel="Research")
    app.command(rich_help_panel="Research")(classical)
    app.command(rich_help_panel="Research")(theory)
