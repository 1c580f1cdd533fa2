"""Trials as Ray tasks, on this machine or on a cluster; records stream back to the one writer."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from amongst.bench.execute import Executor, Options
from amongst.bench.execute_population import MEMBERS, group_trials, run_together
from amongst.bench.record import Record, Trial
from amongst.bench.sources import Files
from amongst.bench.trial import run_trial
from amongst.devices import one_thread
from amongst.errors import AmongstError, AmongstWarning, InputError, Shown, named
from amongst.optional import optional_import

CONNECT_SECONDS = 10.0
ALONE = "leave it out to run Ray on this machine"
CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""What Ray asks whether other machines may join; without them it listens at 127.0.0.1 alone."""
RETRIES = 5
"""How often a task is tried again after its worker or its node died."""


class RayExecutor(Executor):
    """Ray tasks, retried where a worker dies: one trial each on CPUs, one population each on GPUs.

    Only trials and records travel. Each node reads the data from its own files (or downloads
    them), and a task refuses data whose digest is not that of the plan.

    Parameters
    ----------
    options : engine, device, workers (CPUs of a Ray started here), ray_address.
    """

    name = "ray"
    chunk = 64

    def __init__(self, options: Options) -> None:
        self.ray = optional_import("ray", extra="ray", purpose="engine='ray'")
        self.options = options
        self._owns = not self.ray.is_initialized()
        if self._owns:
            self._connect()
        slots = int(self.ray.cluster_resources().get("GPU" if self._on_gpu else "CPU", 0))
        if self._on_gpu and not slots:
            self._refuse_or_wait()
        self.chunk = max(64, 8 * slots) * (MEMBERS["cuda"] if self._on_gpu else 1)

    def map(self, trials: Sequence[Trial]) -> Iterator[Record]:
        """Records as they are done."""
        task, options = self._task(), self.options
        groups = group_trials(trials) if self._on_gpu else [[trial] for trial in trials]
        waiting = [task.remote(group, options.device, options.files) for group in groups]
        try:
            while waiting:
                done, waiting = self.ray.wait(waiting, num_returns=1)
                for reference in done:
                    yield from self._records(reference)
        finally:
            for reference in waiting:
                self.ray.cancel(reference, force=True)

    def close(self) -> None:
        """Leave the cluster; a Ray that was started here ends."""
        if self._owns:
            self.ray.shutdown()

    def _records(self, reference: Any) -> list[Record]:
        """Of a task; an error of ours is raised as it was there, without Ray's traceback in it."""
        try:
            found: list[Record] = self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, AmongstError):
                raise error.cause from error
            raise
        except self.ray.exceptions.RayError as error:
            raise AmongstError(
                f"Ray lost a task {RETRIES + 1} times ({type(error).__name__}), for want of memory "
                "perhaps. What was kept is intact; the same command goes on."
            ) from error
        return found

    @property
    def _on_gpu(self) -> bool:
        return self.options.device.startswith("cuda")

    def _connect(self) -> None:
        address = self.options.ray_address
        _check_address(address)
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        alone = {"num_cpus": self.options.workers, "include_dashboard": False}
        try:
            if address:
                self.ray.init(address=address, **quiet)
            else:
                with _at_home(self.ray):
                    self.ray.init(**alone, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise _unreachable(address, error, "") from error

    def _refuse_or_wait(self) -> None:
        """Without a GPU, which a cluster may get later, Ray waits, and says nothing."""
        if self.options.ray_address is None:
            self.close()
            raise InputError(
                "needs a GPU, and Ray finds none on this machine.",
                code="no-gpu",
                argument="device",
                got=self.options.device,
                remedy=(
                    f"use {named('device', 'cpu')}",
                    f"{named('ray_address', Shown('…'))} of a cluster that has one",
                ),
            )
        place = f"the cluster at {self.options.ray_address}"
        problem = f"{place} has no GPU by now; trials wait for one."
        warnings.warn(problem, AmongstWarning, stacklevel=3)

    def _task(self) -> Any:
        needs = {"num_cpus": 1, "num_gpus": float(self._on_gpu), "max_retries": RETRIES}
        return self.ray.remote(**needs)(_work)


@contextmanager
def _at_home(ray: Any) -> Iterator[None]:
    """Ray started inside listens on loopback only: it reads the environment in each of its processes,
    and here what it read when it was imported."""
    constants, before = ray._private.ray_constants, os.environ.get(CLUSTERS)
    joined, constants.ENABLE_RAY_CLUSTER = constants.ENABLE_RAY_CLUSTER, False
    os.environ[CLUSTERS] = "0"
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = joined
        os.environ.pop(CLUSTERS)
        os.environ.update({} if before is None else {CLUSTERS: before})


def _check_address(address: str | None) -> None:
    """Refuse a host and port that nobody listens at: Ray itself would go on trying without end."""
    host, colon, port = (address or "").rpartition(":")
    if not colon or not port.isdigit() or "/" in host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise _unreachable(address, error, " there") from error


def _unreachable(address: str | None, error: Exception, where: str) -> InputError:
    return InputError(
        f"cannot be reached ({error}).",
        code="unreachable",
        argument="ray_address",
        got=address,
        remedy=(f"start a cluster with `ray start --head`{where}", ALONE),
    )


def _work(group: Sequence[Trial], device: str, files: Files | None) -> list[Record]:
    """On the one GPU that Ray shows to the task, whatever its number here; or else on a CPU."""
    with one_thread():
        if device.startswith("cuda"):
            return run_together(group, "cuda", files)
        return [run_trial(trial, device="cpu", files=files) for trial in group]
