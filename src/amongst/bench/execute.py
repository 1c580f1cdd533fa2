"""Executors: trials in, records out, in whatever order they come. They never touch the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from amongst.bench.record import Record, Trial
from amongst.bench.sources import Files
from amongst.checks import check_choice, check_integer
from amongst.engine import as_device
from amongst.errors import InputError

__all__ = ["ENGINES", "Executor", "Notice", "Options", "make_executor"]

ENGINES = ("auto", "local", "population", "ray")


Notice = Callable[[str], None] | None
"""Takes a few words for the progress bar."""


class Executor(Protocol):
    """Something that runs trials.

    Attributes
    ----------
    name : a name in `ENGINES`.
    chunk : how many trials a runner should claim for it at a time.
    notice : called with a few words on what goes on between two records, if anything is known.
    """

    name: str
    chunk: int
    notice: Notice

    def map(self, trials: Sequence[Trial]) -> Iterator[Record]:
        """Records of these trials as they are done; close the iterator to stop."""

    def close(self) -> None:
        """Let go of processes and connections."""


@dataclass(frozen=True)
class Options:
    """Where and how to run; nothing here changes an answer.

    Attributes
    ----------
    engine : ``"local"`` (one model a trial, in processes), ``"population"`` (stacked), ``"ray"``;
        ``"auto"`` is a population on a GPU and local elsewhere.
    device : ``"auto"``, ``"cpu"``, ``"cuda"``, ….
    workers : processes; None for one for each core (on a GPU: one).
    files : data of one's own.
    ray_address : of a cluster; None starts Ray on this machine.
    scratch : folder for what trials and populations under way keep; None for nothing.
    """

    engine: str = "auto"
    device: str = "auto"
    workers: int | None = None
    files: Files | None = None
    ray_address: str | None = None
    scratch: Path | None = None

    def __post_init__(self) -> None:
        check_choice("engine", self.engine, ENGINES)
        if self.workers is not None:
            check_integer("workers", self.workers, low=1)
        if self.ray_address is not None and self.engine != "ray":
            raise InputError(
                f"ray_address is for engine='ray', and engine={self.engine!r}. Leave one out."
            )


def make_executor(options: Options) -> Executor:
    """The executor that these options ask for.

    >>> make_executor(Options(workers=1, device="cpu")).name
    'local'
    """
    if options.engine == "ray":
        from amongst.bench.execute_ray import RayExecutor

        return RayExecutor(options)
    device = str(as_device(options.device))
    if options.engine == "population" or (options.engine == "auto" and "cuda" in device):
        from amongst.bench.execute_population import PopulationExecutor

        return PopulationExecutor(device, options.workers, options.files, options.scratch)
    from amongst.bench.execute_local import LocalExecutor

    return LocalExecutor(device, options.workers, options.files, options.scratch)
