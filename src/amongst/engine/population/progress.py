"""Early answers: how a population is doing, and how long it will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from torch import Tensor

from amongst.bars import Bar
from amongst.checks import check_choice
from amongst.engine.population.member import Member
from amongst.engine.population.plan import MemoryPlan

__all__ = ["Progress", "population_bar"]


@dataclass(eq=False)
class Progress:
    """Where training stands. Values stay on the device until someone looks.

    Attributes
    ----------
    total, done : member-epochs to train, and trained.
    earlier : of those done, the ones that a checkpoint brought along.
    epoch, members : of the wave that trains now.
    indices : the wave's members by their place in the population, in the order of `values`.
    columns, values : what was measured last; shape (members, columns), on the device.
    plans : the memory plan of each group of members in lockstep.

    Examples
    --------
    >>> seen = Progress(total=4, done=2, columns=("loss",), values=torch.tensor([[3.0], [1.0], [2.0]]))
    >>> seen.summary("loss"), seen.best()
    ((1.0, 2.0, 3.0), 1.0)
    """

    total: int
    callback: Callable[[Progress], None] | None = None
    done: int = 0
    epoch: int = 0
    members: int = 0
    indices: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    values: Tensor = field(default_factory=lambda: torch.empty(0, 0))
    began: float = field(default_factory=time.perf_counter)
    plans: list[MemoryPlan] = field(default_factory=list)
    earlier: int = 0

    @classmethod
    def of(cls, members: Sequence[Member], callback: Callable[[Progress], None] | None) -> Progress:
        """At the start of a population."""
        return cls(sum(member.settings.epochs for member in members), callback)

    def advance(
        self, indices: Sequence[int], epoch: int, columns: tuple[str, ...], values: Tensor
    ) -> None:
        """One more epoch of a wave is done."""
        self.indices, self.members = tuple(indices), len(indices)
        self.done += self.members
        self.epoch, self.columns, self.values = epoch, columns, values
        if self.callback is not None:
            self.callback(self)

    def go_on(self, members: int, epochs: int) -> None:
        """So many epochs of a wave were done before, and came from a checkpoint."""
        self.done += members * epochs
        self.earlier += members * epochs

    @property
    def seconds_left(self) -> float:
        """If the rest goes as fast as what is done here."""
        elapsed = time.perf_counter() - self.began
        return elapsed * (self.total - self.done) / max(self.done - self.earlier, 1)

    def best(self, column: str | None = None) -> float:
        """The best member's value of a column: the smallest loss, the largest of anything else."""
        low, _, high = self.summary(column)
        return low if (column or self.columns[-1]) == "loss" else high

    def summary(self, column: str | None = None) -> tuple[float, float, float]:
        """Smallest, median and largest value of a column (the last one by default)."""
        name = check_choice("column", column, self.columns) if column else self.columns[-1]
        place = self.columns.index(name)
        values = self.values[:, place]
        alive = values[~values.isnan()].cpu()
        if not len(alive):
            return (float("nan"),) * 3
        return float(alive.min()), float(alive.median()), float(alive.max())


@contextmanager
def population_bar(
    title: str, column: str | None = None, show: bool = True
) -> Iterator[Callable[[Progress], None]]:
    """An `on_epoch` that moves a bar: best and median member, time left.

    Parameters
    ----------
    column : what to show of the members, by default what was measured last.

    Examples
    --------
    >>> with population_bar("LW", show=False) as on_epoch:
    ...     callable(on_epoch)
    True
    """
    parts = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[text]}"),
        TimeRemainingColumn(),
    )
    with Bar(*parts, show=show) as bar:
        task = bar.add_task(title, total=None, text="")

        def on_epoch(progress: Progress) -> None:
            if not bar.tasks[0].completed:
                for plan in progress.plans:
                    bar.console.print(str(plan))
            name = column or progress.columns[-1]
            median = progress.summary(column)[1]
            text = f"{name} best {progress.best(column):.4f} median {median:.4f}"
            bar.update(task, total=progress.total, completed=progress.done, text=text)

        yield on_epoch
