"""`amongst evidence`: from stores to a committed folder, back to a store, and on to the pages.

The study in the repository does it.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from amongst.cli.files import check_folder_target
from amongst.cli.saying import tell

__all__ = ["app"]

app = typer.Typer(
    help="Results as a committed folder, and the pages made from it.", no_args_is_help=True
)

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Of evidence.")]
PAPER = Path("results/paper")


@app.command()
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
    found = _study("lw2021.evidence").pack(stores, into, revision=revision)
    size = sum(path.stat().st_size for path in into.iterdir() if path.is_file())
    tell(f"{len(found.records):,} trials in {into}, {size / 2**20:.2f} MiB")


@app.command()
def unpack(
    folder: Folder = PAPER,
    store: Annotated[Path, typer.Option(help="Store to add them to.")] = Path("amongst.sqlite"),
) -> None:
    """Make a store of a folder again, so that `reproduce --store` goes on from it."""
    tell(f"{_study('lw2021.evidence').unpack(folder, store):,} new trials in {store}")


@app.command()
def pages(
    folder: Folder = PAPER,
    docs: Annotated[Path, typer.Option(help="Folder of the pages.")] = Path("docs"),
) -> None:
    """Write reproduction.md, .html and figures from a folder: our results beside the paper's. Of image plans,
    write images-results.md."""
    check_folder_target("--docs", docs)
    images = _study("images_report").write_pages(folder, docs)
    for path in images or _study("lw2021.reproduction").write_pages(folder, docs):
        tell(f"written to {path}")


def _study(module: str) -> ModuleType:
    from amongst.optional import import_study

    return import_study(module, purpose="amongst evidence")
