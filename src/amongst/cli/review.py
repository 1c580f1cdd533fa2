"""explain and review: what happened to the label of every row, and doubtful rows before a person."""

from __future__ import annotations

import getpass
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from amongst.cli.files import (
    STANDARD,
    Again,
    File,
    Reviewed,
    as_file,
    check_target,
    file_of_labels,
    grouped,
    sets_of,
    tell_company,
    write_table,
)
from amongst.cli.saying import screen, tell
from amongst.cli.tables import Model, load_model, read_for, write_answer
from amongst.errors import InputError
from amongst.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from amongst.data import Table
    from amongst.review import Rows
    from amongst.review.rows import Pictures
    from amongst.trust import Explanation

Images = Annotated[Path | None, typer.Option(help="Folder of the pictures that a column names.")]
Image = Annotated[
    str | None, typer.Option(help="Column of file names of --images; found unless told.")
]

SHOWN = 10
"""Rows in the terminal."""

THUMB = 320
"""Pixels of the longer side of a picture on the page."""

FEW = 8
"""So many features are shown of rows that have nothing else to show."""


@grouped
def explain(
    model: Model,
    file: File,
    html: Annotated[
        Path | None, typer.Option(help="Page to write, one file for a browser.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Table to write: .csv, .tsv or .parquet; - prints CSV.")
    ] = None,
    images: Images = None,
    image: Image = None,
    ensemble: Annotated[
        int,
        typer.Option(
            help="Models that are trained on FILE, each without a part of it, to judge that part; "
            "0 for rows that MODEL was not fitted on."
        ),
    ] = 5,
    reviewed: Reviewed = None,
    rows: Annotated[int, typer.Option(help="Rows on the page, the least sure ones.", min=1)] = 60,
    *,
    again: Again,
) -> None:
    """Explain the label of every row: how sure it is, what else it may be, and whom to ask next."""
    from amongst.estimators.ensemble import explain as explained
    from amongst.review.reading import unread

    check_target("--html", html, (model, file, out, reviewed))
    check_target("--out", out, (model, file, html, reviewed), table=True)
    estimator, file = load_model(model), as_file(file)
    table, X = read_for(estimator, file, **again.given())
    sets = sets_of(table, file, reviewed, again.candidates)
    texts, pictures = unread(table, file, estimator.metadata_.get("truth"), images, image)
    found = explained(estimator, X, sets, ensemble)
    found.rows.index = table.index
    if html is not None:
        _write_page(html, found, _texts(table, texts), pictures, f"{file.name}, {model.name}", rows)
        tell(f"page written to {html}")
    if out is not None:
        write_answer(_flat(found.rows), table, out)
    if out != STANDARD:
        _show(found)
        tell_company(sets)


def _write_page(
    path: Path,
    found: Explanation,
    texts: pd.DataFrame | None,
    pictures: Pictures | None,
    of: str,
    most: int,
) -> None:
    from amongst import __version__
    from amongst.errors import AmongstError
    from amongst.files import write_atomically
    from amongst.trust import explained_page

    def picture(row: int) -> tuple[str, bytes] | None:
        with suppress(AmongstError):
            return small.thumbnail(row)
        return None

    if pictures is not None:
        small = type(pictures)(pictures.folder, pictures.names, THUMB)
    page = explained_page(
        found,
        title="Look at your labels",
        lead=f"{counted(len(found.rows), 'row')} of {of}.",
        texts=texts,
        picture=None if pictures is None else picture,
        most=most,
        made=f"Made by amongst {__version__}.",
    )
    write_atomically(path, page.encode())


def _texts(table: Table, texts: pd.DataFrame | None) -> pd.DataFrame | None:
    """What is shown of rows: columns that no model reads, else the features where they are few."""
    if texts is not None and texts.shape[1]:
        return texts
    few = 0 < len(table.feature_names) <= FEW
    return table.frame if few else None


def _flat(rows: pd.DataFrame) -> pd.DataFrame:
    """The table with the candidates of a row in one cell."""
    cells = [
        "|".join(f"{label}:{share:.4g}" for label, share in shares.items())
        for shares in rows["candidates"]
    ]
    return rows.assign(candidates=cells)


def _show(found: Explanation) -> None:
    """The whole in a sentence, and the rows to look at first."""
    asked = found.rows.sort_values("rank")[:SHOWN]
    shown = RichTable("row", "label", "sure", "or", "looks most like", title="worth a second look")
    for name, row in asked.iterrows():
        cells = (name, row["label"], f"{row['confidence']:.0%}", row["runner_up"], row["outside"])
        shown.add_row(*("" if cell is None else escape(str(cell)) for cell in cells))
    screen().print(shown)
    tell(
        f"{found.right:.1%} ± {1.96 * found.right_se:.1%} of {counted(len(found.rows), 'label')} "
        "are expected to be right, if wrong candidates are there by chance."
    )


@grouped
def review(
    model: Model,
    file: File,
    images: Images = None,
    image: Image = None,
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
        check_target("--export", export, (model, labels, db), table=True)
        found = Decisions(db).export()
        write_table(found, export)
        if export != STANDARD:
            tell(f"{counted(len(found), 'row')} written to {export}")
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
    tell(
        f"{counted(len(decisions.export()), 'row')} decided. Add --export reviewed.csv to this command "
        "to write them down, and --reviewed reviewed.csv to amongst fit to train with them."
    )
    decisions.close()
