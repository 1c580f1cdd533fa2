"""reproduce, compare, demo: experiments from the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amongst.cli.files import check_folder_target
from amongst.cli.narrowing import (
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
from amongst.cli.tables import (
    Candidates,
    Device,
    Empty,
    EmptyRows,
    Features,
    Ignore,
    KindName,
    KindOption,
    Separator,
)

if TYPE_CHECKING:
    from amongst.bench.execute import Options
    from amongst.bench.plans import Request
    from amongst.bench.sources import Files

__all__ = ["compare", "demo", "reproduce"]


class PlanName(StrEnum):
    """What can be reproduced."""

    table1 = "table1"
    table2 = "table2"
    table3 = "table3"
    figure1 = "figure1"
    figure2 = "figure2"
    beyond = "beyond"
    demo = "demo"


class Search(StrEnum):
    """Where settings come from."""

    none = "none"
    published = "published"
    grid = "grid"
    equal = "equal"


class Criterion(StrEnum):
    """What chooses between settings."""

    approximated = "approximated"
    covering = "covering"
    risk = "risk"
    oracle = "oracle"


class Protocol(StrEnum):
    """Where the paper and its code differ."""

    default = "default"
    paper = "paper"
    official = "official"


class Engine(StrEnum):
    """Who trains."""

    auto = "auto"
    local = "local"
    population = "population"
    ray = "ray"


Seeds = Annotated[int | None, typer.Option(help="Repeats.")]
Epochs = Annotated[int | None, typer.Option(help="Instead of the plan's own.")]
CriterionOption = Annotated[
    Criterion | None,
    typer.Option(
        help="Chooses settings on held-out rows: covering unless told; oracle reads true labels."
    ),
]
SearchSeeds = Annotated[
    int | None,
    typer.Option(help="Search the grid with so many seeds; the chosen settings train with all."),
]
Screen = Annotated[
    int | None,
    typer.Option(metavar="EPOCHS", help="First a short round of the whole grid; the best go on."),
]
Keep = Annotated[
    float | None,
    typer.Option(help="Share of the grid that goes on from --screen: 0.25 unless told."),
]
Refit = Annotated[
    bool,
    typer.Option("--refit", help="Report trainings on all training rows, none held out."),
]
ProtocolOption = Annotated[Protocol, typer.Option(help="Where paper and code differ.")]
Precision = Annotated[str, typer.Option(help="float32, float64; on a GPU also tf32, bf16.")]
EngineOption = Annotated[
    Engine, typer.Option(help="auto: a population on a GPU, processes elsewhere.")
]
Workers = Annotated[int | None, typer.Option(help="Processes; one for each core unless told.")]
RayAddress = Annotated[str | None, typer.Option(help="Of a Ray cluster, e.g. auto.")]
StoreOption = Annotated[Path, typer.Option(help="File of results; a run goes on from it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, and stop.")]
Quick = Annotated[
    bool, typer.Option("--quick", help="A miniature in a minute; plans run it on digits.")
]

RESULTS = Path("amongst.sqlite")


def reproduce(
    plans: Annotated[
        list[PlanName],
        typer.Argument(metavar="PLAN", help="Tables and figures of the paper, or more."),
    ],
    datasets: Datasets = None,
    methods: Methods = None,
    conditions: Conditions = None,
    models: Annotated[
        Many, typer.Option(help="Only these: mlp, linear, convnet.", callback=named)
    ] = None,
    seeds: Seeds = None,
    epochs: Epochs = None,
    search: Annotated[
        Search, typer.Option(help="Settings: published, each method's grid, one grid for all.")
    ] = Search.published,
    search_seeds: SearchSeeds = None,
    screen: Screen = None,
    keep: Keep = None,
    refit: Refit = False,
    criterion: CriterionOption = None,
    protocol: ProtocolOption = Protocol.default,
    precision: Precision = "float32",
    quick: Quick = False,
    device: Device = "auto",
    engine: EngineOption = Engine.auto,
    workers: Workers = None,
    ray_address: RayAddress = None,
    store: StoreOption = RESULTS,
    dry_run: DryRun = False,
) -> None:
    """Run tables and figures of the paper; killed at any moment, the same command goes on."""
    from amongst.bench.execute import Options
    from amongst.bench.plans import Request

    first = Request(
        plans[0].value,
        datasets=dataset_names(datasets),
        methods=method_names(methods),
        conditions=split(conditions),
        models=split(models),
        seeds=seeds,
        epochs=epochs,
        search=search.value,
        criterion=(criterion or Criterion.covering).value,
        protocol=protocol.value,
        precision=precision,
        quick=quick,
        search_seeds=search_seeds,
        screen=screen,
        keep=keep,
        refit=refit,
    )
    if criterion is not None:
        first.check_searched("criterion")
    requests = [replace(first, plan=plan.value) for plan in dict.fromkeys(plans)]
    _run(requests, Options(engine.value, device, workers, None, ray_address), store, dry_run)


def compare(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="A file of one's own, or names in the catalogue, by commas."
        ),
    ],
    methods: Methods = None,
    models: Annotated[Many, typer.Option(help="mlp, linear; repeatable.", callback=named)] = None,
    conditions: Conditions = None,
    candidates: Candidates = None,
    truth: Annotated[str | None, typer.Option(help="Column of true labels, to score by.")] = None,
    features: Features = None,
    ignore: Ignore = None,
    separator: Separator = "|",
    empty: Empty = EmptyRows.error,
    kind: KindOption = KindName.auto,
    folds: Annotated[int | None, typer.Option(help="Of the cross-validation.")] = None,
    seeds: Seeds = None,
    epochs: Annotated[int | None, typer.Option(help="100 unless told; 10 with --quick.")] = None,
    search: Annotated[
        Search, typer.Option(help="none: defaults; grid: chosen without true labels.")
    ] = Search.none,
    search_seeds: SearchSeeds = None,
    screen: Screen = None,
    keep: Keep = None,
    refit: Refit = False,
    criterion: CriterionOption = None,
    quick: Quick = False,
    device: Device = "auto",
    engine: EngineOption = Engine.auto,
    workers: Workers = None,
    ray_address: RayAddress = None,
    store: StoreOption = RESULTS,
    dry_run: DryRun = False,
) -> None:
    """Compare methods on one's own data, or on data sets of the catalogue."""
    from amongst.bench.execute import Options
    from amongst.bench.plans import Request

    columns = {"candidates": candidates, "truth": truth, "features": features, "ignore": ignore}
    columns |= {"separator": separator} if separator != "|" else {}
    columns |= {"empty": empty.value} if empty != EmptyRows.error else {}
    columns |= {"kind": kind.value} if kind != KindName.auto else {}
    datasets, files = _own(data, columns)
    metric = "" if files is None or truth else "covering_test_last10"
    request = Request(
        "compare",
        datasets=datasets,
        methods=method_names(methods),
        models=split(models),
        conditions=split(conditions),
        folds=folds or (None if files is None and _have_split(datasets) else 3 if quick else 5),
        seeds=seeds,
        epochs=100 if epochs is None and not quick else epochs,
        search=search.value,
        criterion=(criterion or Criterion.covering).value,
        quick=quick,
        metric=metric,
        search_seeds=search_seeds,
        screen=screen,
        keep=keep,
        refit=refit,
        own=() if files is None else _words(data, columns),
    )
    if criterion is not None:
        request.check_searched("criterion")
    _run([request], Options(engine.value, device, workers, files, ray_address), store, dry_run)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("amongst-demo"),
) -> None:
    """Five methods on scikit-learn's digits: a table, a picture and a page in half a minute."""
    from amongst.bench.demo import run_demo
    from amongst.bench.render import to_rich

    check_folder_target("--out", out)
    found = run_demo(out)
    screen().print(to_rich(found.table))
    for path in (found.picture, found.page, found.store):
        if path is not None:
            tell(f"written to {path}")


def _run(requests: Sequence[Request], options: Options, store: Path, dry: bool) -> None:
    """One after another; what one of them would refuse is refused before the first begins."""
    from amongst.bench.plans import plan_titles
    from amongst.bench.session import checked_plan

    console = screen()
    if len(requests) > 1:
        for request in requests:
            checked_plan(request, options, store)
    for request in requests:
        if dry and len(requests) > 1:
            console.print(plan_titles()[request.plan], style="bold", highlight=False)
        (_estimate if dry else _train)(request, options, store)
    if not dry:
        command = shlex.join(["amongst", "report", str(store), "--html", "report.html"])
        line = f"For a page to look at: {command}"
        console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)


def _estimate(request: Request, options: Options, store: Path) -> None:
    from amongst.bench.session import dry_run

    tell(str(dry_run(request, options, store)))


def _train(request: Request, options: Options, store: Path) -> None:
    from amongst.bench.render import to_rich
    from amongst.bench.session import run_request
    from amongst.bench.store import Store
    from amongst.bench.tables import collect

    plan, _ = run_request(request, store, options)
    with Store(store, readonly=True) as kept:
        screen().print(to_rich(collect(kept.records(curves=False), plan)))


def _own(data: str, columns: Mapping[str, Any]) -> tuple[tuple[str, ...], Files | None]:
    """Names for the data, and the file behind them; None for those of the catalogue."""
    from amongst.bench.sources import OwnFile
    from amongst.checks import near_matches
    from amongst.cli.reading import Columns
    from amongst.datasets import names
    from amongst.errors import DataNotFoundError

    path, given = Path(data), tuple(dict.fromkeys(dataset_names([data])))
    unknown = next((name for name in given if name not in names()), "" if given else data)
    if given and not unknown:
        return given, None
    if not path.is_file():
        near = near_matches(unknown, names())
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise DataNotFoundError(f"{unknown!r} is neither a file nor a name in the catalogue.{hint}")
    read = Columns.of(path, **columns)
    return (path.stem,), {path.stem: OwnFile(str(path), tuple(read.options.items()))}


def _words(data: str, columns: Mapping[str, str | Many]) -> tuple[str, ...]:
    """The part of the command that says which file to read, and how.

    >>> _words("birds.csv", {"truth": "species", "ignore": ["a", "b"], "features": None})
    ('birds.csv', '--truth', 'species', '--ignore', 'a', '--ignore', 'b')
    """
    given = ((n, [v] if isinstance(v, str) else v or []) for n, v in columns.items())
    return (data, *(word for name, all_ in given for v in all_ for word in (f"--{name}", v)))


def _have_split(datasets: Sequence[str]) -> bool:
    """Whether they come with test rows; all of them or none."""
    from amongst.datasets import entry
    from amongst.errors import InputError

    found = {name: bool(entry(name).n_test) for name in datasets}
    if len(set(found.values())) > 1:
        some, none = (next(n for n, has in found.items() if has is kind) for kind in (True, False))
        raise InputError(
            f"{some} comes with test rows and {none} without. Compare them one by one, or say --folds."
        )
    return any(found.values())
