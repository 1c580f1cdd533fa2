"""A progress bar for training: epoch, loss, covering rate, time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import TextColumn

from amongst.bars import Bar, counting
from amongst.engine.single import Training

__all__ = ["training_bar"]


@contextmanager
def training_bar(
    title: str, epochs: int, show: bool = True
) -> Iterator[Callable[[Training], None]]:
    """A function to call after every epoch; it moves the bar.

    >>> with training_bar("LW", epochs=3, show=False) as on_epoch:
    ...     callable(on_epoch)
    True
    """
    with Bar(*counting(TextColumn("{task.fields[measured]}")), show=show) as progress:
        task = progress.add_task(title, total=epochs, measured="")

        def on_epoch(state: Training) -> None:
            last = state.records[-1]
            measured = f"loss {last['loss']:.4f}  covering {last['covering']:.1%}"
            progress.update(task, completed=state.epoch, measured=measured)

        yield on_epoch
