"""The command `amongst`: its parts put together, and errors turned into one line."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from amongst.cli import bench, datasets, evidence, tables
from amongst.cli.classical import classical
from amongst.cli.files import as_given
from amongst.cli.process import prepare
from amongst.cli.report import report
from amongst.cli.results import results
from amongst.cli.saying import fail, one_line_warnings
from amongst.cli.search import search
from amongst.cli.theory import theory
from amongst.cli.wording import worded
from amongst.errors import AmongstError
from amongst.wording import COMMAND

__all__ = ["app", "main"]


class Commands(TyperGroup):
    """The commands; one that is interrupted, and does not say so itself, says so."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            fail("interrupted", 130)


app = typer.Typer(
    name="amongst",
    cls=Commands,
    help="Learn from ambiguous labels: every row has several candidate labels, one is right.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

YOUR_DATA = "Your data"
app.command(rich_help_panel=YOUR_DATA)(tables.describe)
app.command(rich_help_panel=YOUR_DATA)(tables.fit)
app.command(rich_help_panel=YOUR_DATA)(tables.predict)
app.command(rich_help_panel=YOUR_DATA)(tables.disambiguate)
app.command(rich_help_panel=YOUR_DATA)(search)

RESEARCH = "Research"
app.add_typer(datasets.app, name="datasets", rich_help_panel=RESEARCH)
app.command(rich_help_panel=RESEARCH)(bench.demo)
app.command(rich_help_panel=RESEARCH)(bench.reproduce)
app.command(rich_help_panel=RESEARCH)(bench.compare)
app.command(rich_help_panel=RESEARCH)(results)
app.command(rich_help_panel=RESEARCH)(report)
app.add_typer(evidence.app, name="evidence", rich_help_panel=RESEARCH)
app.command(rich_help_panel=RESEARCH)(classical)
app.command(rich_help_panel=RESEARCH)(theory)


def _version(show: bool) -> None:
    if show:
        from amongst import __version__

        print(f"amongst {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Learn from ambiguous labels: every row has several candidate labels, one is right."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a mistake costs one line on standard error and exit code 2."""
    prepare()
    given = sys.argv[1:] if arguments is None else arguments
    command = COMMAND.set(shlex.join(["amongst", *given]))
    try:
        with one_line_warnings():
            app(arguments)
    except AmongstError as error:
        fail(worded(as_given(str(error))))
    except OSError as error:
        fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        fail("the GPU has not enough memory. Use a smaller --batch-size, or --device cpu.")
    finally:
        COMMAND.reset(command)
