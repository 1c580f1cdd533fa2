"""Errors and warnings as one line each on standard error, in the words of the running command."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

from amongst.errors import NOTHING, AmongstError, AmongstWarning, as_option, without_secrets
from amongst.processes import interrupts

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
