"""search: find hyper-parameters on a person's own file, by candidate labels alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table as RichTable

from amongst.cli.files import (
    File,
    Reading,
    as_file,
    check_target,
    grouped,
    save_model,
    sets_of,
    write_table,
)
from amongst.cli.saying import interruptible, screen, tell
from amongst.cli.training import Training

if TYPE_CHECKING:
    from amongst.selection import SearchResult

SHOWN, TRIALS = 10, 50


@grouped
def search(
    file: File,
    reading: Reading,
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
        Literal["risk", "covering", "approximated"],
        typer.Option(help="How to judge, by held-out candidate labels."),
    ] = "risk",
    validation: Annotated[float, typer.Option(help="Share of the rows held out.")] = 0.1,
    *,
    training: Training,
    out: Annotated[
        Path | None, typer.Option(help="Model file to write, fitted on all rows.")
    ] = None,
    table: Annotated[Path | None, typer.Option(help="CSV file to write all points to.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Find hyper-parameters by candidate labels alone, and fit the best on all rows."""
    from amongst.checks import check_share

    check_share("validation", validation)
    training.check_device()
    check_target("--out", out, (file,))
    check_target("--table", table, (file, out))
    check_target("--table", table, table=True)
    estimator = training.estimator()
    estimator.encodes = True
    file = as_file(file)
    read = reading.read(file)
    by_trials = TRIALS if trials is None and study is not None else trials
    asked = {"study": study, "study_name": study_name, "batch": batch, "prune": prune}
    shared = {
        "criterion": criterion,
        "validation": validation,
        "refit": out is not None,
        "random_state": training.seed,
        "verbose": not quiet,
    }
    with interruptible(study):
        result = _run(estimator, read.frame, sets_of(read, file), by_trials, asked, shared)
    try:
        if out is not None and result.model is not None:
            save_model(result.model, out, read.told())
    finally:
        if table is not None:
            write_table(result.ranked(), table)
        _show(result)
    if table is not None:
        tell(f"{len(result.table)} points written to {table}")
    if out is not None and result.model is not None:
        tell(f"model written to {out}")


def _run(
    estimator: Any, X: Any, sets: Any, trials: int | None, asked: Any, shared: Any
) -> SearchResult:
    from amongst.selection import grid_search, optuna_search
    from amongst.selection.space import grid_with_default

    if trials is None:
        return grid_search(estimator, X, sets, grid=grid_with_default(estimator), **shared)
    return optuna_search(estimator, X, sets, trials=trials, **asked, **shared)


def _show(result: SearchResult) -> None:
    """The best points; `--table` has the seconds, too, which would not fit on a line."""
    found = result.ranked().drop(columns="seconds", errors="ignore")
    if set(found.get("state", ())) == {"complete"}:
        found = found.drop(columns="state")
    shown = RichTable(title=f"{len(result.table)} points, best {result.criterion} first")
    for column in found.columns:
        shown.add_column(column.replace("_", "\n"), justify="right", no_wrap=True)
    for _, row in found.head(SHOWN).iterrows():
        shown.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row))
    screen().print(shown)
    screen().print(f"chosen: {result}", highlight=False, markup=False)
