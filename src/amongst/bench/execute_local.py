"""Trials one by one, in this process or in several; one thread each, so that sums come out alike."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import TypeVar

from joblib import Parallel, cpu_count, delayed

from amongst.bench.execute import Notice
from amongst.bench.record import Record, Trial
from amongst.bench.sources import Files
from amongst.bench.trial import run_trial
from amongst.bench.underway import remove_if_empty, told
from amongst.errors import AmongstError
from amongst.threads import one_thread

__all__ = ["LocalExecutor", "default_workers", "spread"]

PARENT_CHECK_SECONDS = 1.0

Job = TypeVar("Job")
Result = TypeVar("Result")


class LocalExecutor:
    """Processes on this machine (joblib's loky), or this process for one worker.

    On a CPU every trial computes with one thread: the order of a sum, and so the last digit of a
    result, must not depend on how many workers there are.

    Parameters
    ----------
    device : of the trials.
    workers : None for one for each core, or one on a GPU.
    files : data of one's own.
    scratch : folder for what trials under way keep; None for nothing.

    Examples
    --------
    >>> executor = LocalExecutor("cpu", workers=1)
    >>> trial = Trial("digits", "q=0.1", "cc", "linear", seed=0, settings={"epochs": 1})
    >>> [record.trial == trial for record in executor.map([trial])]
    [True]
    """

    name = "local"
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
        self.chunk = max(8, 4 * self.workers)

    def map(self, trials: Sequence[Trial]) -> Iterator[Record]:
        """Records as they are done."""
        with told(self.scratch, trials, self.notice):
            yield from self._records(trials)

    def _records(self, trials: Sequence[Trial]) -> Iterator[Record]:
        work = partial(run_trial, device=self.device, files=self.files, scratch=self.scratch)
        if self.workers == 1 or len(trials) == 1:
            for trial in trials:
                with one_thread():
                    record = work(trial)
                yield record
            return
        yield from spread(work, trials, self.workers)

    def close(self) -> None:
        """The processes end by themselves when they have been idle; an empty folder goes."""
        remove_if_empty(self.scratch)


def default_workers(device: str) -> int:
    """One for each core; on a GPU one.

    >>> default_workers("cuda:0")
    1
    """
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
