"""A real local Ray with two workers, one of which is killed during the run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from amongst.bench.execute import Options, make_executor
from amongst.bench.execute_local import LocalExecutor
from amongst.bench.plans import Request, make_plan
from amongst.bench.record import Record
from amongst.bench.runner import bind_plan, run_plan
from amongst.bench.store import Store
from amongst.errors import InputError

pytest.importorskip("ray", reason="needs the extra: pip install 'amongst[ray]'")
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")

REQUEST = Request("demo", methods=("cc", "lw-sigmoid"), conditions=("q=0.3",), seeds=4, epochs=15)


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[1])
    except (OSError, ValueError):
        return 0


def busy_workers() -> Iterator[int]:
    """Ray workers of this process's own Ray that run a trial now."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and parent(parent(int(entry.name))) == os.getpid():
            try:
                title = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if title.startswith(b"ray::_work"):
                yield int(entry.name)


def test_a_killed_worker_costs_nothing_but_time(tmp_path: Path) -> None:
    plan = bind_plan(make_plan(REQUEST))
    killed: list[int] = []

    def kill_one(event: str, record: Record | None) -> None:
        if not killed and (pid := next(busy_workers(), None)) is not None:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    executor = make_executor(Options(engine="ray", workers=2, device="cpu"))
    try:
        with Store(tmp_path / "ray.sqlite") as store:
            outcome = run_plan(plan, store, executor, report=kill_one)
            found = {record.key: record for record in store.records()}
    finally:
        executor.close()
    assert killed
    assert outcome.ran == len(plan.trials) == len(found)
    with Store(tmp_path / "local.sqlite") as store:
        run_plan(plan, store, LocalExecutor("cpu", workers=1))
        for record in store.records():
            assert found[record.key].metrics == record.metrics
            assert found[record.key].curves == record.curves


def test_an_error_of_ours_in_a_task_is_one_line(tmp_path: Path) -> None:
    """Not Ray's traceback, squeezed into one."""
    trial = make_plan(REQUEST).trials[0].with_data("0" * 64)
    executor = make_executor(Options(engine="ray", workers=1, device="cpu"))
    try:
        with pytest.raises(InputError, match=r"^the data of 'digits' on this machine differ"):
            list(executor.map([trial]))
    finally:
        executor.close()
