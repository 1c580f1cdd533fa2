"""Trials as Ray tasks, on this machine or on a cluster; records stream back to the one writer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from amongst.bench.execute import Options
from amongst.bench.execute_local import one_thread
from amongst.bench.record import Record, Trial
from amongst.bench.sources import Files
from amongst.bench.trial import run_trial
from amongst.errors import InputError
from amongst.optional import optional_import

__all__ = ["RayExecutor"]

RETRIES = 5
"""How often a task is tried again after its worker or its node died."""


class RayExecutor:
    """Ray tasks: one trial each, retried where a worker dies.

    Only trials and records travel. Each node reads the data from its own files (or downloads
    them), and a task refuses data whose digest is not that of the plan.

    Parameters
    ----------
    options : engine, device, workers (CPUs of a Ray started here), ray_address, gpus.
    """

    name = "ray"

    def __init__(self, options: Options) -> None:
        self.ray = optional_import("ray", extra="ray", purpose="engine='ray'")
        self.options = options
        self._owns = not self.ray.is_initialized()
        if self._owns:
            self._connect()
        self.chunk = max(64, 8 * int(self.ray.cluster_resources().get("CPU", 1)))

    def map(self, trials: Sequence[Trial]) -> Iterator[Record]:
        """Records as they are done."""
        task = self._task()
        waiting = [task.remote(t, self.options.device, self.options.files) for t in trials]
        try:
            while waiting:
                done, waiting = self.ray.wait(waiting, num_returns=1)
                for reference in done:
                    yield self.ray.get(reference)
        finally:
            for reference in waiting:
                self.ray.cancel(reference, force=True)

    def close(self) -> None:
        """Leave the cluster; a Ray that was started here ends."""
        if self._owns:
            self.ray.shutdown()

    def _connect(self) -> None:
        address = self.options.ray_address
        local = {} if address else {"num_cpus": self.options.workers, "include_dashboard": False}
        try:
            self.ray.init(address=address, log_to_driver=False, logging_level="ERROR", **local)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InputError(
                f"ray_address={address!r} cannot be reached ({error}). Start a cluster with "
                "`ray start --head`, or leave it out to run Ray on this machine."
            ) from error

    def _task(self) -> Any:
        on_gpu = self.options.device.startswith("cuda")
        gpus = self.options.gpus if self.options.gpus is not None else float(on_gpu)
        needs = {"num_cpus": 1, "num_gpus": gpus, "max_retries": RETRIES}
        return self.ray.remote(**needs)(_work)


def _work(trial: Trial, device: str, files: Files | None) -> Record:
    with one_thread():
        return run_trial(trial, device=device, files=files)
