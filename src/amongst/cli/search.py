"""search: find hyper-parameters on a person's own file, by candidate labels alone."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as RichTable

from amongst.cli.files import as_file, check_table_target, check_target, write_table
from amongst.cli.reading import Columns, frame_of, sets_of
from amongst.cli.saying import interruptible, tell
from amongst.cli.tables import (
    BatchSize,
    Candidates,
    Device,
    Empty,
    EmptyRows,
    Epochs,
    Features,
    File,
    Ignore,
    Index,
    KindName,
    KindOption,
    MethodName,
    MethodOption,
    Network,
    Psi,
    Seed,
    Separator,
    check_device,
    estimator_of,
    own_params,
)

if TYPE_CHECKING:
    from amongst.selection import SearchResult

__all__ = ["search"]

console = Console()
SHOWN, TRIALS = 10, 50


class CriterionName(StrEnum):
    """Criteria by their names."""

    risk = "risk"
    covering = "covering"
    approximated = "approximated"


def search(
    file: File,
    candidates: Candidates = None,
    features: Features = None,
    ignore: Ignore = None,
    index: Index = None,
    separator: Separator = "|",
    empty: Empty = EmptyRows.error,
    kind: KindOption = KindName.auto,
    trials: Annotated[
        int | None,
        typer.Option(help="Search with TPE, so many trials (50 with --study); else the grid."),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(help="Where to keep the trials: sqlite:///file.db or postgresql://…"),
    ] = None,
    study_name: Annotated[str, typer.Option(help="The same name goes on.")] = "amongst",
    batch: Annotated[int, typer.Option(help="Trials trained together.")] = 16,
    prune: Annotated[bool, typer.Option(help="End poor trials early.")] = True,
    criterion: Annotated[
        CriterionName, typer.Option(help="How to judge, by held-out candidate labels.")
    ] = CriterionName.risk,
    validation: Annotated[float, typer.Option(help="Share of the rows held out.")] = 0.1,
    method: MethodOption = MethodName.lw,
    psi: Psi = None,
    model: Network = "mlp",
    epochs: Epochs = 100,
    batch_size: BatchSize = None,
    device: Device = "auto",
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(help="Model file to write, fitted on all rows.")
    ] = None,
    table: Annotated[Path | None, typer.Option(help="CSV file to write all points to.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Find hyper-parameters by candidate labels alone, and fit the best on all rows."""
    _check(file, out, table, validation, device)
    file = as_file(file)
    others = {"features": features, "ignore": ignore, "index": index}
    others |= {"empty": empty.value, "kind": kind.value}
    columns = Columns.of(file, candidates, separator, **others)
    read = columns.read(file)
    params: dict[str, Any] = {"model": model, "epochs": epochs}
    params["batch_size"] = "auto" if batch_size is None else batch_size
    params |= {"device": device} | own_params(method, psi=psi)
    shared = {
        "criterion": criterion.value,
        "validation": validation,
        "refit": out is not None,
        "random_state": seed,
        "verbose": not quiet,
    }
    asked = {"study": study, "study_name": study_name, "batch": batch, "prune": prune}
    by_trials = TRIALS if trials is None and study is not None else trials
    with interruptible(study):
        result = _run(estimator_of(method)(**params), read, file, by_trials, asked, shared)
    if table is not None:
        write_table(result.ranked(), table)
    if out is not None and result.model is not None:
        result.model.save(out, metadata=columns.told(file))
    _show(result)
    if table is not None:
        tell(f"{len(result.table)} points written to {table}")
    if out is not None and result.model is not None:
        tell(f"model written to {out}")


def _check(
    file: Path, out: Path | None, table: Path | None, validation: float, device: str
) -> None:
    """Mistakes are said before anything is computed."""
    from amongst.errors import InputError

    if not 0 < validation < 1:
        raise InputError(f"--validation {validation:g} must lie between 0 and 1, both excluded.")
    check_device(device)
    if out is not None:
        check_target("--out", out, (file,))
    if table is not None:
        check_target("--table", table, (file, out))
        check_table_target("--table", table)


def _run(
    estimator: Any,
    read: Any,
    file: Path,
    trials: int | None,
    asked: dict[str, Any],
    shared: dict[str, Any],
) -> SearchResult:
    from amongst.selection import grid_search, optuna_search

    frame, sets = frame_of(read), sets_of(read, file)
    if trials is None:
        return grid_search(estimator, frame, sets, **shared)
    return optuna_search(estimator, frame, sets, trials=trials, **asked, **shared)


def _show(result: SearchResult) -> None:
    """The best points; `--table` has the seconds, too, which would not fit on a line."""
    found = result.ranked().drop(columns="seconds", errors="ignore")
    if set(found.get("state", ())) == {"complete"}:
        found = found.drop(columns="state")
    shown = RichTable(title=f"{len(result.table)} points, best {result.criterion} first")
    for column in found.columns:
        shown.add_column(column.replace("_", "\n"), justify="right", no_wrap=True)
    for _, row in found.head(SHOWN).iterrows():
        shown.add_row(*(_text(value) for value in row))
    console.print(shown)
    console.print(f"chosen: {result}", highlight=False, markup=False)


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
