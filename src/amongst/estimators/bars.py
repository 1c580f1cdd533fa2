"""A progress bar for a number of equal pieces of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from amongst.bars import Bar, counting

__all__ = ["bar"]


@contextmanager
def bar(title: str, total: int, show: bool) -> Iterator[Callable[[], None]]:
    """A function to call after each piece; it moves the bar on standard error.

    >>> with bar("pairs", 3, show=False) as advance:
    ...     advance()
    """
    with Bar(*counting(), show=show) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)
