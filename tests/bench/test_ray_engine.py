"""A real local Ray with two workers, one of which is killed during the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from amongst.bench.execute import Executor, LocalExecutor, Options
from amongst.bench.plans import Request, make_plan
from amongst.bench.record import Record
from amongst.bench.runner import bind_plan, make_executor, run_plan
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


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    started = make_executor(Options(engine="ray", workers=2, device="cpu"))
    yield started
    started.close()


def test_a_killed_worker_costs_nothing_but_time(tmp_path: Path, executor: Executor) -> None:
    plan = bind_plan(make_plan(REQUEST))
    killed: list[int] = []

    def kill_one(event: str, record: Record | None) -> None:
        if not killed and (pid := next(busy_workers(), None)) is not None:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    with Store(tmp_path / "ray.sqlite") as store:
        outcome = run_plan(plan, store, executor, report=kill_one)
        found = {record.key: record for record in store.records()}
    assert killed
    assert outcome.ran == len(plan.trials) == len(found)
    with Store(tmp_path / "local.sqlite") as store:
        run_plan(plan, store, LocalExecutor("cpu", workers=1))
        for record in store.records():
            assert found[record.key].metrics == record.metrics
            assert found[record.key].curves == record.curves


def listening() -> set[str]:
    """Addresses at which this process and those below it wait for others."""
    own, sockets = {os.getpid()}, set()
    entries = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    for _ in range(4):  # Ray's workers are three below
        own |= {pid for pid in entries if parent(pid) in own}
    for pid in own:
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                sockets.add(os.readlink(file).removeprefix("socket:[").rstrip("]"))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in sockets:
                found.add(words[1].partition(":")[0][-8:])
    return found


def test_ray_on_this_machine_alone_listens_to_this_machine_alone(executor: Executor) -> None:
    """It bound 0.0.0.0; 0100007F is 127.0.0.1, its bytes as the kernel has them. And to a token alone."""
    assert len(list(executor.map(make_plan(REQUEST).trials[:1]))) == 1
    assert listening() == {"0100007F"}
    assert os.environ["RAY_AUTH_MODE"] == "token"


def test_an_error_of_ours_in_a_task_is_one_line(executor: Executor) -> None:
    """Not Ray's traceback, squeezed into one."""
    trial = make_plan(REQUEST).trials[0].with_data("0" * 64)
    with pytest.raises(InputError, match=r"^the data of 'digits' on this machine differ"):
        list(executor.map([trial]))


DRIVER = """
import time
from amongst.bench.execute import Options
from amongst.bench.runner import make_executor
make_executor(Options(engine="ray", workers=1, device="cpu"))
print("up", flush=True)
time.sleep(600)
"""


def command(pid: int) -> bytes:
    """Of a process; empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def begun_by(pid: int) -> set[int]:
    """What a process started, and what that started."""
    own = {pid}
    entries = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    for _ in range(3):
        own |= {entry for entry in entries if parent(entry) in own}
    return own - {pid}


def test_a_killed_driver_leaves_no_process_of_its_ray() -> None:
    """But for two agents, which wait a minute for Ray's server, and end then."""
    words = [sys.executable, "-c", DRIVER]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "up\n"
        begun = [pid for pid in begun_by(driver.pid) if b"agent" not in command(pid).lower()]
        assert len(begun) > 2
        driver.kill()
    end = time.monotonic() + 60
    while left := [pid for pid in begun if command(pid)]:
        assert time.monotonic() < end, f"{left} outlived their driver by a minute"
        time.sleep(0.2)
