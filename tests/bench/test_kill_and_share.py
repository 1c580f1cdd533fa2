"""Real processes on one store: killed at random moments, two at once, interrupted.

A helper process imports everything once and forks a child for each line that asks for one, so that a
child is at work within milliseconds and a kill can hit any part of it.
"""

from __future__ import annotations

import json
import os
import pty
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from amongst.bench.execute import LocalExecutor
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.record import Record
from amongst.bench.runner import Outcome, bind_plan, run_plan
from amongst.bench.store import Store

KILLS = 20
REQUEST = Request(
    "table1", quick=True, seeds=3, epochs=1, search="grid", methods=("cc", "lw-sigmoid")
)

HELPER = """
import dataclasses, json, os, sys, time
import amongst.bench.store
import torch
from amongst.bench.execute import LocalExecutor, _outlive_nobody
from amongst.bench.plans import Request, make_plan
from amongst.bench.runner import bind_plan, run_plan
from amongst.bench.store import Store
from amongst.bench.trial import run_trial

def run(path, stale):
    amongst.bench.store.STALE_SECONDS = stale
    try:
        with Store(path) as store:
            outcome = run_plan(plan, store, LocalExecutor("cpu", workers=1))
        return json.dumps(dataclasses.asdict(outcome))
    except KeyboardInterrupt:
        return "interrupted"

def have_worker(late):
    "A worker that watches its parent, from the start or only when it is gone."
    parent = os.getpid()
    if os.fork() == 0:
        while late and os.getppid() == parent:
            time.sleep(0.01)
        _outlive_nobody(parent)
    time.sleep(600)

torch.set_num_threads(1)
LocalExecutor.chunk = 2
plan = bind_plan(make_plan(Request(**json.loads(sys.argv[1]))))
run_trial(plan.trials[0])
print("ready", flush=True)
answers = {}
for line in sys.stdin:
    way, *given = json.loads(line)
    if way == "answer":
        os.waitpid(given[0], 0)
        print(os.read(answers.pop(given[0]), 10000).decode(), flush=True)
        continue
    source, target = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(target, {"run": run, "have_worker": have_worker}[way](*given).encode())
        os._exit(0)
    os.close(target)
    answers[pid] = source
    print(pid, flush=True)
"""


class Helper:
    """A process that forks runners."""

    def __init__(self, request: Request) -> None:
        command = [sys.executable, "-c", HELPER, json.dumps(request.to_dict())]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdin
        assert self.process.stdout
        self.input: IO[str] = self.process.stdin
        self.output: IO[str] = self.process.stdout
        assert self.output.readline() == "ready\n"

    def begin(self, store: Path, stale: float = 60.0) -> int:
        return int(self.ask("run", str(store), stale))

    def answer(self, child: int) -> str:
        return self.ask("answer", child)

    def ask(self, *words: object) -> str:
        self.input.write(json.dumps(words) + "\n")
        self.input.flush()
        return self.output.readline().strip()

    def close(self) -> None:
        self.input.close()
        self.process.wait(timeout=60)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return bind_plan(make_plan(REQUEST))


@pytest.fixture(scope="module")
def undisturbed(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    with Store(tmp_path_factory.mktemp("whole") / "s.sqlite") as store:
        run_plan(plan, store, LocalExecutor("cpu", workers=1))
        return {record.key: record for record in store.records()}


@pytest.fixture(scope="module")
def helper() -> Iterator[Helper]:
    started = Helper(REQUEST)
    yield started
    started.close()


def numbers(records: dict[str, Record]) -> dict[str, object]:
    return {key: (record.metrics, record.curves) for key, record in records.items()}


def test_killed_twenty_times_it_ends_as_if_undisturbed(
    plan: Plan, undisturbed: dict[str, Record], helper: Helper, tmp_path: Path
) -> None:
    rng = random.Random(0)
    pause = undisturbed[plan.trials[-1].key].seconds
    sizes = [0]
    with Store(tmp_path / "s.sqlite") as store:
        for _ in range(KILLS):
            child = helper.begin(tmp_path / "s.sqlite")
            target = min(sizes[-1] + rng.choice((0, 0, 1, 2)), len(plan.trials))
            while len(store) < target:
                assert _running(child) or len(store) >= target, "the runner ended by itself"
                time.sleep(0.001)
            time.sleep(rng.uniform(0, pause))
            os.kill(child, signal.SIGKILL)
            helper.answer(child)
            sizes.append(len(store))
            assert store.keys() <= set(undisturbed)
    assert sizes == sorted(sizes), "a kill lost a record"
    assert len({size for size in sizes if 0 < size < len(undisturbed)}) >= 3, "kills hit nothing"
    with Store(tmp_path / "s.sqlite") as store:
        missing = {trial.key for trial in plan.trials} - store.keys()
        outcome = run_plan(plan, store, LocalExecutor("cpu", workers=1))
        found = {record.key: record for record in store.records()}
        assert outcome.ran == len(missing)
        assert len(store) == len(found) == len(plan.trials)
    assert numbers(found) == numbers(undisturbed)


def test_two_runners_share_the_work_and_do_none_of_it_twice(
    undisturbed: dict[str, Record], helper: Helper, tmp_path: Path
) -> None:
    runners = [helper.begin(tmp_path / "s.sqlite") for _ in range(2)]
    outcomes = [Outcome(**json.loads(helper.answer(runner))) for runner in runners]
    assert sum(outcome.ran for outcome in outcomes) == len(undisturbed)
    assert all(outcome.ran > 0 for outcome in outcomes)
    with Store(tmp_path / "s.sqlite") as store:
        found = {record.key: record for record in store.records()}
    assert numbers(found) == numbers(undisturbed)


def test_an_interrupt_leaves_a_state_to_go_on_from(
    plan: Plan, undisturbed: dict[str, Record], helper: Helper, tmp_path: Path
) -> None:
    child = helper.begin(tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite") as store:
        while len(store) < 3:
            assert _running(child), "the runner ended by itself"
            time.sleep(0.01)
        os.kill(child, signal.SIGINT)
        assert helper.answer(child) == "interrupted"
        assert 3 <= len(store) < len(plan.trials)
        assert store.others() == []
        run_plan(plan, store, LocalExecutor("cpu", workers=1))
        found = {record.key: record for record in store.records()}
    assert numbers(found) == numbers(undisturbed)


def test_a_stopped_runner_is_replaced_and_does_no_harm_when_it_goes_on(
    plan: Plan, undisturbed: dict[str, Record], helper: Helper, tmp_path: Path
) -> None:
    """SIGSTOP for longer than a runner may be silent: a minute, which is shorter for this test."""
    child = helper.begin(tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite") as store:
        while len(store) < 3:
            assert _running(child), "the runner ended by itself"
            time.sleep(0.01)
    os.kill(child, signal.SIGSTOP)
    try:
        second = helper.begin(tmp_path / "s.sqlite", stale=1.0)
        assert Outcome(**json.loads(helper.answer(second))).ran > 0
        with Store(tmp_path / "s.sqlite", readonly=True) as store:
            assert len(store) == len(plan.trials)
    finally:
        os.kill(child, signal.SIGCONT)
    helper.answer(child)
    with Store(tmp_path / "s.sqlite") as store:
        found = {record.key: record for record in store.records()}
        assert len(store) == len(found)
    assert numbers(found) == numbers(undisturbed)


def test_a_closed_terminal_leaves_no_process_and_a_store_to_go_on_with(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    words = ["reproduce", "table1", "--quick", "--epochs", "200", "--store", str(store)]
    words += ["--engine", "local", "--workers", "2", "--device", "cpu"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-m", "amongst", *words])
    while not store.exists() or not _below(pid):
        os.read(terminal, 1000)
        assert _running(pid), "the runner ended by itself"
    workers = _below(pid)
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 130
    end = time.monotonic() + 60
    while left := [worker for worker in workers if _running(worker)]:
        assert time.monotonic() < end, f"{left} outlived their terminal by a minute"
        time.sleep(0.1)
    with Store(store) as kept:
        assert kept.others() == []


def _below(pid: int) -> list[int]:
    """The processes that this one started."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
        return list(map(int, listed.split()))
    except FileNotFoundError:
        return []


@pytest.mark.parametrize("late", [False, True])
def test_a_worker_ends_when_its_parent_is_gone(helper: Helper, late: bool) -> None:
    """A parent forks a worker that watches it; the parent is killed, the worker must go too.

    A worker that was still starting when its parent was killed found another one, and watched that.
    """
    parent = int(helper.ask("have_worker", late))
    while not (workers := _below(parent)):
        assert _running(parent)
    os.kill(parent, signal.SIGKILL)
    end = time.monotonic() + 60
    while _running(workers[0]):
        assert time.monotonic() < end, "the worker outlived its parent by a minute"
        time.sleep(0.05)


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
