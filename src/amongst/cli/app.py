"""The command `amongst`: its parts put together, and errors turned into one line."""

from __future__ import annotations

import ctypes
import os
import shlex
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from amongst.cli import bench, datasets, evidence, tables
from amongst.cli.classical import classical
from amongst.cli.explain import explain
from amongst.cli.files import as_given
from amongst.cli.report import report
from amongst.cli.results import results
from amongst.cli.review import review
from amongst.cli.saying import OPTIONS, fail, in_words, one_line_warnings, options_of
from amongst.cli.search import search
from amongst.cli.theory import theory
from amongst.errors import AmongstError
from amongst.wording import COMMAND, without_secrets

__all__ = ["app", "main"]


WAITING = ("GOMP_SPINCOUNT", "1000")
"""How long PyTorch's threads spin for each other, read when it is loaded. By default they hold the
cores that others have work for, and each other, when a machine is busy."""

TRIM, MMAP = -1, -3
KEPT = ((TRIM, 1 << 30), (MMAP, 32 << 20))
"""What glibc keeps: by default every training step gives large pieces back to the system, and asks
for them anew."""

NO_MEMORY = "DefaultCPUAllocator"
"""In PyTorch's error where memory cannot be had."""

USAGE: Any = typer.BadParameter.__base__
"""What is wrong with a command line, as the package below Typer calls it."""


class Commands(TyperGroup):
    """The commands; one that is interrupted, and does not say so itself, says so."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            fail("interrupted", 130)
        except USAGE as error:
            error.message = without_secrets(error.message)
            raise


app = typer.Typer(
    name="amongst",
    cls=Commands,
    help="Learn from ambiguous labels: every row has several candidate labels, one is right.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

for _own in (tables.describe, tables.fit, tables.predict, tables.disambiguate):
    app.command(rich_help_panel="Your data")(_own)
for _own in (explain, review, search):
    app.command(rich_help_panel="Your data")(_own)
for _research in (bench.demo, bench.reproduce, bench.compare, results, report, classical, theory):
    app.command(rich_help_panel="Research")(_research)
app.add_typer(datasets.app, name="datasets", rich_help_panel="Research")
app.add_typer(evidence.app, name="evidence", rich_help_panel="Research")


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


def prepare() -> None:
    """Settle both before PyTorch is loaded; what the environment says of threads stays."""
    os.environ.setdefault(*WAITING)
    _keep_memory()


def _keep_memory() -> None:
    """Nothing changes where there is no glibc."""
    if sys.platform != "linux":
        return
    try:
        keep = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for name, size in KEPT:
        keep(name, size)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a mistake costs one line on standard error and exit code 2."""
    prepare()
    given = sys.argv[1:] if arguments is None else arguments
    command = COMMAND.set(without_secrets(shlex.join(["amongst", *given])))
    options = OPTIONS.set(lambda: options_of(typer.main.get_command(app), given))
    try:
        with one_line_warnings():
            app(arguments)
    except AmongstError as error:
        fail(as_given(in_words(error)))
    except OSError as error:
        fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except (MemoryError, RuntimeError) as error:
        if type(error).__name__ == "OutOfMemoryError":
            fail("the GPU has not enough memory. Use a smaller --batch-size, or --device cpu.")
        if isinstance(error, RuntimeError) and NO_MEMORY not in str(error):
            raise
        fail("this machine has not enough memory for it.")
    finally:
        COMMAND.reset(command)
        OPTIONS.reset(options)
