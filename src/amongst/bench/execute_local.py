"""Trials one by one, in this process or in several; one thread each, so that sums come out alike."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from joblib import Parallel, cpu_count, delayed

from amongst.bench.record import Record, Trial
from amongst.bench.sources import Files
from amongst.bench.trial import run_trial

__all__ = ["LocalExecutor"]

PARENT_CHECK_SECONDS = 1.0


class LocalExecutor:
    """Processes on this machine (joblib's loky), or this process for one worker.

    On a CPU every trial computes with one thread: the order of a sum, and so the last digit of a
    result, must not depend on how many workers there are.

    Parameters
    ----------
    device : of the trials.
    workers : None for one for each core, or one on a GPU.
    files : data of one's own.

    Examples
    --------
    >>> executor = LocalExecutor("cpu", workers=1)
    >>> trial = Trial("digits", "q=0.1", "cc", "linear", seed=0, settings={"epochs": 1})
    >>> [record.trial == trial for record in executor.map([trial])]
    [True]
    """

    name = "local"

    def __init__(
        self, device: str = "cpu", workers: int | None = None, files: Files | None = None
    ) -> None:
        own = 1 if device.startswith("cuda") else cpu_count()
        self.device, self.workers, self.files = device, workers or own, files
        self.chunk = max(8, 4 * self.workers)

    def map(self, trials: Sequence[Trial]) -> Iterator[Record]:
        """Records as they are done."""
        if self.workers == 1 or len(trials) == 1:
            yield from self._here(trials)
            return
        jobs = (delayed(_work)(trial, self.device, self.files, os.getpid()) for trial in trials)
        parallel = Parallel(
            n_jobs=min(self.workers, len(trials)),
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch="2*n_jobs",
        )
        yield from parallel(jobs)

    def close(self) -> None:
        """The processes end by themselves when they have been idle."""

    def _here(self, trials: Sequence[Trial]) -> Iterator[Record]:
        for trial in trials:
            with one_thread():
                record = run_trial(trial, device=self.device, files=self.files)
            yield record


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch computes with one thread inside.

    >>> with one_thread(): torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _work(trial: Trial, device: str, files: Files | None, parent: int) -> Record:
    _outlive_nobody(parent)
    with one_thread():
        return run_trial(trial, device=device, files=files)


_watching = threading.Lock()


def _outlive_nobody(parent: int) -> None:
    """In a worker: leave Ctrl-C to the parent, and end when the parent is gone."""
    if os.getpid() == parent or not _watching.acquire(blocking=False):
        return
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os._exit(1)
