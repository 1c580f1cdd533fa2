"""The commands of this study: `amongst evidence`, from stores to a committed folder, back to a store, and on to the pages; `amongst theory` verifies the theory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amongst.cli.files import check_folder_target, check_target
from amongst.cli.saying import tell

if TYPE_CHECKING:
    pass

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
    app.add_typer(evidence, name="evidence", rich_help_panel="Research")
    app.command(rich_help_panel="Research")(theory)
