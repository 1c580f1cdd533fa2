"""Errors and warnings as one line each on standard error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from rich.console import Console

from amongst.cli.wording import worded

__all__ = ["fail", "interruptible", "one_line_warnings", "screen", "tell"]

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


@contextmanager
def interruptible(place: str | Path | None) -> Iterator[None]:
    """Ctrl-C inside is one line, which says how to go on where there is a place to go on from."""
    try:
        yield
    except KeyboardInterrupt:
        kept = place is not None and (isinstance(place, str) or place.exists())
        fail(f"interrupted; {f'the same command goes on from {place}' if kept else WITHOUT}.", 130)


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Every warning once, without the place in the code; nothing on what packages will change."""
    said: set[str] = set()

    def show(message: Warning | str, *_: object) -> None:
        line = worded(str(message))
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
    console.print(f"amongst: {message}", markup=False, style=style)
