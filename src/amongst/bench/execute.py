"""Executors: trials in, records out, in whatever order they come. They never touch the store.

On a CPU each trial computes with one thread: the order of a sum, and so the last digit of a result, does
not depend on how many workers there are.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from joblib import Parallel, cpu_count, delayed

from amongst.bench.record import Record, Trial
from amongst.bench.sources import Files
from amongst.bench.trial import run_trial
from amongst.bench.underway import Notice, remove_if_empty, told
from amongst.checks import check_choice, check_integer
from amongst.devices import one_thread
from amongst.errors import AmongstError, InputError, named

ENGINES = ("auto", "local", "population", "ray")
PARENT_CHECK_SECONDS = 1.0

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Options:
    """Where and how to run; nothing here changes an answer."""

    # "local" (one model a trial, in processes), "population" (stacked), "ray"; "auto" is a
    # population on a GPU and local elsewhere
    engine: str = "auto"
    device: str = "auto"  # "auto", "cpu", "cuda", …
    workers: int | None = None  # processes; None for one for each core (on a GPU: one)
    files: Files | None = None  # data of one's own
    ray_address: str | None = None  # of a cluster; None starts Ray on this machine
    # folder for what trials and populations under way keep; None for nothing
    scratch: Path | None = None

    def __post_init__(self) -> None:
        check_choice("engine", self.engine, ENGINES)
        if self.workers is not None:
            check_integer("workers", self.workers, low=1)
        if self.ray_address is not None and self.engine != "ray":
            raise InputError(
                f"is for {named('engine', 'ray')}, and the engine is {self.engine}. Leave one out.",
                code="no-ray",
                argument="ray_address",
            )


class Executor:
    """Something that runs trials, on this machine unless a subclass says otherwise.

    Attributes
    ----------
    name : a name in `ENGINES`.
    notice : called with a few words on what goes on between two records.
    """

    name: str
    notice: Notice = None

    def __init__(
        self,
        device: str = "cpu",
        workers: int | None = None,
        files: Files | None = None,
        scratch: Path | None = None,
    ) -> None:
        self.device, self.files, self.scratch = device, files, scratch
        self.workers = workers or default_workers(device)

    @property
    def chunk(self) -> int:
        """How many trials a runner should claim at a time: so many that no worker waits."""
        return max(8, 4 * self.workers)

    def map(self, trials: Sequence[Trial]) -> Iterator[Record]:
        """Records of these trials as they are done; close the iterator to stop."""
        raise NotImplementedError

    def close(self) -> None:
        """Idle processes end by themselves; an empty folder goes."""
        remove_if_empty(self.scratch)


class LocalExecutor(Executor):
    """Processes on this machine (joblib's loky), or this process for one worker.

    >>> executor = LocalExecutor("cpu", workers=1)
    >>> trial = Trial("digits", "q=0.1", "cc", "linear", seed=0, settings={"epochs": 1})
    >>> [record.trial == trial for record in executor.map([trial])]
    [True]
    """

    name = "local"

    def map(self, trials: Sequence[Trial]) -> Iterator[Record]:
        """Records as they are done."""
        work = partial(run_trial, device=self.device, files=self.files, scratch=self.scratch)
        with told(self.scratch, trials, self.notice):
            if self.workers > 1 and len(trials) > 1:
                yield from spread(work, trials, self.workers)
                return
            for trial in trials:
                with one_thread():
                    record = work(trial)
                yield record


def default_workers(device: str) -> int:
    """One for each core; on a GPU one."""
    return 1 if device.startswith("cuda") else int(cpu_count())


def spread(work: Callable[[Job], Result], jobs: Sequence[Job], workers: int) -> Iterator[Result]:
    """Results of the jobs as they are done, from processes with one thread each."""
    parallel = Parallel(
        n_jobs=min(workers, len(jobs)),
        return_as="generator_unordered",
        batch_size=1,
        pre_dispatch="2*n_jobs",
    )
    try:
        yield from parallel(delayed(_work)(work, job, os.getpid()) for job in jobs)
    except BrokenProcessPool as error:
        raise AmongstError(
            "a worker process was killed, by hand or for want of memory. What was kept is intact: run "
            "the same command again, with fewer workers if it happens again."
        ) from error


def _work(work: Callable[[Job], Result], job: Job, parent: int) -> Result:
    _outlive_nobody(parent)
    with one_thread():
        return work(job)


_watching = threading.Lock()


def _outlive_nobody(parent: int) -> None:
    """In a worker: leave Ctrl-C to the parent, and end when the parent is gone."""
    if os.getpid() == parent or not _watching.acquire(blocking=False):
        return
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os._exit(1)
