"""review: doubtful rows one after another, in the browser."""

from __future__ import annotations

import getpass
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amongst.cli.files import (
    STANDARD,
    Again,
    File,
    check_table_target,
    check_target,
    file_of_labels,
    grouped,
    sets_of,
    write_table,
)
from amongst.cli.saying import tell
from amongst.cli.tables import Model, load_model, read_for
from amongst.errors import InputError
from amongst.wording import counted

if TYPE_CHECKING:
    from amongst.review import Rows


@grouped
def review(
    model: Model,
    file: File,
    images: Annotated[
        Path | None, typer.Option(help="Folder of the pictures that a column names.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="Column of file names of --images; found unless told.")
    ] = None,
    db: Annotated[
        Path | None,
        typer.Option(help="SQLite file of the decisions; beside FILE, FILE.review.sqlite."),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write what was decided to a CSV, and end.")
    ] = None,
    who: Annotated[str | None, typer.Option(help="Who decides; your login unless told.")] = None,
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes a free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")
    ] = True,
    *,
    again: Again,
) -> None:
    """Look at doubtful rows in the browser and say which label is right; Ctrl-C ends."""
    from amongst.optional import optional_import
    from amongst.review import Decisions, file_digest
    from amongst.review.reading import read_rows

    if file == STANDARD:
        raise InputError("decisions are kept for a file; name one instead of -.", code="no-file")
    labels = file_of_labels(file, again.candidates)
    db = db or labels.with_name(f"{labels.name}.review.sqlite")
    if export is not None:
        check_table_target("--export", export, (model, labels, db))
        write_table(Decisions(db).export(), export)
        return
    check_target("--db", db, (model, labels))
    optional_import("starlette", extra="review", purpose="amongst review")
    optional_import("uvicorn", extra="review", purpose="amongst review")
    estimator = load_model(model)
    table, X = read_for(estimator, file, **again.given())
    sets_of(table, file)
    rows = read_rows(estimator, X, table, file, images, image)
    decisions = Decisions(db, file_digest(labels), by_name=table.columns.index is not None)
    _serve(rows, decisions, who or getpass.getuser(), file, port, browser)


def _serve(rows: Rows, decisions: Any, who: str, file: Path, port: int, browser: bool) -> None:
    from amongst.review.app import Review
    from amongst.review.server import serve

    def started(address: str) -> None:
        tell(f"{counted(len(rows), 'row')} to review, kept in {decisions.path}. Ctrl-C ends it.")
        tell(address)
        sys.stdout.flush()
        if browser and sys.stdout.isatty():
            webbrowser.open(address)

    serve(Review(rows, decisions, who, file.name), port, started)
    decisions.close()
