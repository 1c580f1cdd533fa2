"""compare, reproduce, demo: experiments from the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from amongst.cli.files import Labelled, check_folder_target, grouped
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
from amongst.cli.training import Device

if TYPE_CHECKING:
    from amongst.bench.execute import Options
    from amongst.bench.plans import Request
    from amongst.bench.sources import Files

Search = Literal["none", "published", "grid", "equal"]
Criterion = Literal["approximated", "covering", "risk", "oracle"]
Seeds = Annotated[int | None, typer.Option(help="Repeats.")]
RESULTS = Path("amongst.sqlite")


@dataclass(frozen=True)
class Searching:
    """Options of a search."""

    search_seeds: Annotated[
        int | None,
        typer.Option(
            help="Search the grid with so many seeds; the chosen settings train with all."
        ),
    ] = None
    screen: Annotated[
        int | None,
        typer.Option(
            metavar="EPOCHS", help="First a short round of the whole grid; the best go on."
        ),
    ] = None
    keep: Annotated[
        float | None,
        typer.Option(help="Share of the grid that goes on from --screen: 0.25 unless told."),
    ] = None
    refit: Annotated[
        bool,
        typer.Option("--refit", help="Report trainings on all training rows, none held out."),
    ] = False
    criterion: Annotated[
        Criterion | None,
        typer.Option(
            help="Chooses settings on held-out rows: covering unless told; oracle reads true labels."
        ),
    ] = None
    quick: Annotated[
        bool, typer.Option("--quick", help="A miniature in a minute; plans run it on digits.")
    ] = False

    def request(self, plan: str, **more: Any) -> Request:
        """Of these options and more; a criterion that was named must have something to choose."""
        from amongst.bench.plans import Request

        own = vars(self) | {"criterion": self.criterion or "covering"}
        made = Request(plan, **own, **more)
        if self.criterion is not None:
            made.check_searched("criterion")
        return made


@dataclass(frozen=True)
class Running:
    """Options that say where and how to run."""

    device: Device = "auto"
    engine: Annotated[
        Literal["auto", "local", "population", "ray"],
        typer.Option(help="auto: a population on a GPU, processes elsewhere."),
    ] = "auto"
    workers: Annotated[
        int | None, typer.Option(help="Processes; one for each core unless told.")
    ] = None
    ray_address: Annotated[str | None, typer.Option(help="Of a Ray cluster, e.g. auto.")] = None
    store: Annotated[Path, typer.Option(help="File of results; a run goes on from it.")] = RESULTS
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost, and stop.")
    ] = False

    def options(self, files: Files | None = None) -> Options:
        """For the runner."""
        from amongst.bench.execute import Options

        return Options(self.engine, self.device, self.workers, files, self.ray_address)


@grouped
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
    *,
    reading: Labelled,
    folds: Annotated[int | None, typer.Option(help="Of the cross-validation.")] = None,
    seeds: Seeds = None,
    epochs: Annotated[int | None, typer.Option(help="100 unless told; 10 with --quick.")] = None,
    search: Annotated[
        Search, typer.Option(help="none: defaults; grid: chosen without true labels.")
    ] = "none",
    searching: Searching,
    running: Running,
) -> None:
    """Compare methods on one's own data, or on data sets of the catalogue.

    On a file they have the settings that `fit` gives them, unless a search finds others.
    """
    from amongst.bench.sources import open_dataset

    quick = searching.quick
    datasets, files = _own(data, reading)
    many = folds or (None if files is None and _have_split(datasets) else 3 if quick else 5)
    seen, rows = True, None
    if files is not None:
        own = open_dataset(datasets[0], files)
        seen, rows = own.has_truth, None if quick else len(own) * ((many or 2) - 1) // (many or 2)
    request = searching.request(
        "compare",
        datasets=datasets,
        methods=method_names(methods),
        models=split(models),
        conditions=split(conditions),
        folds=many,
        seeds=seeds,
        epochs=100 if epochs is None and not quick else epochs,
        search=search,
        metric="" if seen else "covering_test_last10",
        own=() if files is None else _words(data, reading.typed()),
        rows=rows,
    )
    run_all([request], running.options(files), running.store, running.dry_run)


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
    run_all(requests, running.options(), running.store, running.dry_run)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("amongst-demo"),
) -> None:
    """Digits with several possible labels, and what they are; then four methods compared."""
    from amongst.bench.demo import run_demo
    from amongst.bench.render import to_rich

    check_folder_target("--out", out)
    found, table, files = run_demo(out)
    tell(found.in_words())
    screen().print(to_rich(table))
    for path in files:
        tell(f"written to {path}")


def run_all(requests: Sequence[Request], options: Options, store: Path, dry: bool) -> None:
    """One after another; what one of them would refuse is refused before the first begins."""
    from amongst.bench.paper import PLAN_TITLES
    from amongst.bench.runner import checked_plan, dry_run

    console = screen()
    if len(requests) > 1:
        for request in requests:
            checked_plan(request, options, store)
    for request in requests:
        if dry and len(requests) > 1:
            console.print(PLAN_TITLES[request.plan], style="bold", highlight=False)
        if dry:
            tell(str(dry_run(request, options, store)))
        else:
            _train(request, options, store)
    if not dry:
        command = shlex.join(["amongst", "report", str(store), "--html", "report.html"])
        line = f"For a page to look at: {command}"
        console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)


def _train(request: Request, options: Options, store: Path) -> None:
    from amongst.bench.export import read_records
    from amongst.bench.render import to_rich
    from amongst.bench.runner import run_request
    from amongst.bench.tables import collect

    plan, _ = run_request(request, store, options)
    screen().print(to_rich(collect(read_records(store, curves=False), plan)))


def _own(data: str, reading: Labelled) -> tuple[tuple[str, ...], Files | None]:
    """Names for the data, and the file behind them; None for those of the catalogue."""
    from amongst.bench.sources import OwnFile
    from amongst.checks import near_matches
    from amongst.data import names
    from amongst.errors import DataNotFoundError

    path, given = Path(data), tuple(dict.fromkeys(dataset_names([data])))
    unknown = next((name for name in given if name not in names()), "" if given else data)
    if given and not unknown:
        return given, None
    if not path.is_file():
        near = near_matches(unknown, names())
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise DataNotFoundError(f"{unknown!r} is neither a file nor a name in the catalogue.{hint}")
    return (path.stem,), {path.stem: OwnFile(str(path), tuple(reading.options().items()))}


def _words(data: str, columns: Mapping[str, str | Many]) -> tuple[str, ...]:
    """The part of the command that says which file to read, and how.

    >>> _words("birds.csv", {"truth": "species", "ignore": ["a", "b"], "features": None})
    ('birds.csv', '--truth', 'species', '--ignore', 'a', '--ignore', 'b')
    """
    given = ((n, [v] if isinstance(v, str) else v or []) for n, v in columns.items())
    return (data, *(word for name, all_ in given for v in all_ for word in (f"--{name}", v)))


def _have_split(datasets: Sequence[str]) -> bool:
    """Whether they come with test rows; all of them or none."""
    from amongst.data import entry
    from amongst.errors import InputError

    found = {name: bool(entry(name).n_test) for name in datasets}
    if len(set(found.values())) > 1:
        some, none = (next(n for n, has in found.items() if has is kind) for kind in (True, False))
        raise InputError(
            f"{some} comes with test rows and {none} without. Compare them one by one, or say --folds."
        )
    return any(found.values())
