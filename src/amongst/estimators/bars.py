"""A progress bar for a number of equal pieces of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["bar"]


@contextmanager
def bar(title: str, total: int, show: bool) -> Iterator[Callable[[], None]]:
    """A function to call after each piece; it moves the bar on standard error.

    >>> with bar("pairs", 3, show=False) as advance:
    ...     advance()
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True, quiet=not show)
    with Progress(*columns, console=console, disable=not show) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)
