"""A command from its words to its end: errors and warnings as one line each on standard error, in the
words of the running command."""

from __future__ import annotations

import ctypes
import io
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

from amongst.errors import NOTHING, AmongstError, AmongstWarning, as_option, without_secrets
from amongst.processes import interrupts
from amongst.wording import COMMAND

OPTIONS: ContextVar[Callable[[], Collection[str]] | None] = ContextVar("OPTIONS", default=None)
"""Tells the arguments that are options of the running command; None where any may be one."""

OTHER_NAMES = {"random_state": ("seed",), "condition": ("conditions",), "path": ("export", "plot")}
"""Arguments of Python whose option has another name: one of these."""

WORDS = {"y": "the table of candidates", "X": "the features"}
"""What is no option, as a person at the command line calls it."""

OVERFLOW = "some feature values are too large to compute with; rescale them."
WITHOUT = "no model was written"
WIDEST = 1000
"""Columns of a pipe or file, unless the environment says COLUMNS."""

WAITING = ("GOMP_SPINCOUNT", "1000")
"""How long PyTorch's threads spin for each other, read when it is loaded. By default they hold the
cores that others have work for, and each other, when a machine is busy."""

TRIM, MMAP = -1, -3
KEPT = ((TRIM, 1 << 30), (MMAP, 32 << 20))
"""What glibc keeps: by default every training step gives large pieces back to the system, and asks
for them anew."""

NO_MEMORY = "DefaultCPUAllocator"
"""In PyTorch's error where memory cannot be had."""

PIPES: dict[str, str] = {}
"""Of files that hold what was read from a pipe, the pipe."""

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


def _version(show: bool) -> None:
    if show:
        from amongst import __version__

        print(f"amongst {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Learn from ambiguous labels: every row has several candidate labels, one is right."""


def run(app: Callable[[list[str] | None], Any], arguments: list[str] | None = None) -> None:
    """Run the command line; a mistake costs one line on standard error and exit code 2."""
    prepare()
    given = sys.argv[1:] if arguments is None else arguments
    command = COMMAND.set(without_secrets(shlex.join(["amongst", *given])))
    options = OPTIONS.set(lambda: options_of(typer.main.get_command(app), given))  # type: ignore[arg-type]
    try:
        with one_line_warnings():
            app(arguments)
    except AmongstError as error:
        fail(as_given(in_words(error)))
    except KeyboardInterrupt:
        fail("interrupted", 130)
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
        plain = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if arguments is None and plain:  # only the end of the process is left to interrupt
            signal.signal(signal.SIGINT, lambda *_: os._exit(130))


def prepare() -> None:
    """Settle both before PyTorch is loaded; what the environment says of threads stays. Nothing is kept
    where there is no glibc."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # β is ? where the output has no such sign
    os.environ.setdefault(*WAITING)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            keep = ctypes.CDLL(None).mallopt
            for name, size in KEPT:
                keep(name, size)


def screen() -> Console:
    """Where tables are printed: as wide as the terminal, or, in a pipe, as they are themselves."""
    console = Console()
    narrow = console.is_terminal or "COLUMNS" in os.environ
    return console if narrow else Console(width=WIDEST)


def tell(line: str) -> None:
    """Print a line as it is: names of files and labels hold no markup, and are not broken."""
    screen().print(line, highlight=False, markup=False, soft_wrap=True)


def fail(message: str, code: int = 2) -> NoReturn:
    """Say it, and end."""
    _say(message, "red")
    sys.exit(code)


def options_of(command: Any, words: Sequence[str]) -> set[str]:
    """The options of the command that these words run, also of one inside another."""
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    return {option.name for option in command.params if option.param_type_name == "option"}


def as_given(text: str) -> str:
    """A message that names pipes as the person did."""
    for kept, given in PIPES.items():
        text = text.replace(kept, given)
    return text


def in_words(told: AmongstError | AmongstWarning) -> str:
    """An error or a warning as one line for a person at the command line."""
    audience = "command" if told.audience == "python" else "fitted"
    return " ".join(told.said(audience, _as_typed).split())


def _as_typed(name: str, value: Any) -> str | None:
    ask = OPTIONS.get()
    if ask is None:
        return as_option(name, value)
    options = ask()
    known = next((n for n in (name, *OTHER_NAMES.get(name, ())) if n in options), None)
    if known is None:
        return WORDS.get(name) if value is NOTHING else None
    return as_option(known, value)


@contextmanager
def interruptible(place: str | Path | None) -> Iterator[None]:
    """Ctrl-C (or SIGTERM, or a closed terminal) inside is one line, which says how to go on where there is a place to go on from."""
    try:
        with interrupts():
            yield
    except KeyboardInterrupt:
        kept = place is not None and (isinstance(place, str) or place.exists())
        fail(f"interrupted; {f'the same command goes on from {place}' if kept else WITHOUT}.", 130)


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Every warning once, without the place in the code; nothing on what packages will change."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object) -> None:
        line = in_words(message) if isinstance(message, AmongstWarning) else str(message)
        if issubclass(category, RuntimeWarning) and line.startswith("overflow"):
            line = OVERFLOW
        if line not in said:
            said.add(line)
            _say(f"warning: {line}", "yellow")

    with warnings.catch_warnings():
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _say(message: str, style: str) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with suppress(OSError):  # the terminal may be closed
        console.print(f"amongst: {without_secrets(message)}", markup=False, style=style)
