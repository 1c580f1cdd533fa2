"""Progress bars on standard error; in a file or a pipe, a line from time to time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

EVERY = 30.0
"""Seconds between two lines."""


def counting(*more: ProgressColumn) -> tuple[ProgressColumn, ...]:
    """What most bars show: a title, the bar, how many are done, something more, and what is left."""
    title = TextColumn("{task.description}")
    return (title, BarColumn(), MofNCompleteColumn(), *more, TimeRemainingColumn())


class Bar(Progress):
    """Rich's bar, which also says how it goes where nothing can be drawn: in a job's log.

    A line has all columns but the bar itself. The console is standard error unless told.

    >>> with Bar(*counting(), show=False) as progress:
    ...     progress.advance(progress.add_task("rows", total=3))
    """

    def __init__(
        self, *columns: ProgressColumn, show: bool = True, console: Console | None = None
    ) -> None:
        where = console or Console(stderr=True, quiet=not show)
        super().__init__(*columns, console=where, disable=not show)
        self._said = time.monotonic()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """As of Rich; then a line, if one is due."""
        super().update(task_id, **changes)
        self._say(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """As of Rich; then a line, if one is due."""
        super().advance(task_id, advance)
        self._say(task_id)

    def _say(self, task_id: TaskID) -> None:
        drawn = self.console.is_interactive or self.console.is_jupyter
        if drawn or self.disable or time.monotonic() - self._said < EVERY:
            return
        self._said = time.monotonic()
        line = self._line(next(task for task in self.tasks if task.id == task_id))
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _line(self, task: Task) -> str:
        shown = [column for column in self.columns if not isinstance(column, BarColumn | str)]
        said = [(str(column(task)), isinstance(column, TimeRemainingColumn)) for column in shown]
        return ", ".join(words + " left" * left for words, left in said if words.strip("-: "))


@contextmanager
def bar(title: str, total: int, show: bool) -> Iterator[Callable[[], None]]:
    """A bar for a number of equal pieces of work: a function to call after each of them."""
    with Bar(*counting(), show=show) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)
