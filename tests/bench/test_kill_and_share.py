"""Real processes on one store: killed at random moments, two at once, interrupted.

A helper process imports everything once and forks a child for each line it reads, so that a child
is at work within milliseconds and a kill can hit any part of it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from amongst.bench.execute_local import LocalExecutor
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.record import Record
from amongst.bench.runner import Outcome, bind_plan, missing_trials, run_plan
from amongst.bench.store import Store

KILLS = 20
REQUEST = Request(
    "table1", quick=True, seeds=3, epochs=1, search="grid", methods=("cc", "lw-sigmoid")
)

HELPER = """
import dataclasses, json, os, sys
import torch
from amongst.bench.execute_local import LocalExecutor
from amongst.bench.plans import Request, make_plan
from amongst.bench.runner import bind_plan, run_plan
from amongst.bench.store import Store
from amongst.bench.trial import run_trial

torch.set_num_threads(1)
plan = bind_plan(make_plan(Request(**json.loads(sys.argv[1]))))
run_trial(plan.trials[0])
print("ready", flush=True)
for line in sys.stdin:
    source, target = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            executor = LocalExecutor("cpu", workers=1)
            executor.chunk = 2
            with Store(line.strip()) as store:
                outcome = run_plan(plan, store, executor)
            answer = json.dumps(dataclasses.asdict(outcome))
        except KeyboardInterrupt:
            answer = "interrupted"
        os.write(target, answer.encode())
        os._exit(0)
    os.close(target)
    print(pid, flush=True)
    os.waitpid(pid, 0)
    print(os.read(source, 10000).decode(), flush=True)
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

    def begin(self, store: Path) -> int:
        self.input.write(f"{store}\n")
        self.input.flush()
        return int(self.output.readline())

    def answer(self) -> str:
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
            helper.answer()
            sizes.append(len(store))
            assert store.keys() <= set(undisturbed)
    assert sizes == sorted(sizes), "a kill lost a record"
    assert len({size for size in sizes if 0 < size < len(undisturbed)}) >= 3, "kills hit nothing"
    with Store(tmp_path / "s.sqlite") as store:
        missing = missing_trials(plan, store)
        outcome = run_plan(plan, store, LocalExecutor("cpu", workers=1))
        found = {record.key: record for record in store.records()}
        assert outcome.ran == len(missing)
        assert len(store) == len(found) == len(plan.trials)
    assert numbers(found) == numbers(undisturbed)


def test_two_runners_share_the_work_and_do_none_of_it_twice(
    undisturbed: dict[str, Record], helper: Helper, tmp_path: Path
) -> None:
    second = Helper(REQUEST)
    helper.begin(tmp_path / "s.sqlite")
    second.begin(tmp_path / "s.sqlite")
    outcomes = [Outcome(**json.loads(runner.answer())) for runner in (helper, second)]
    second.close()
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
        assert helper.answer() == "interrupted"
        assert 3 <= len(store) < len(plan.trials)
        assert store.others() == []
        run_plan(plan, store, LocalExecutor("cpu", workers=1))
        found = {record.key: record for record in store.records()}
    assert numbers(found) == numbers(undisturbed)


@pytest.mark.parametrize("late", [False, True])
def test_a_worker_ends_when_its_parent_is_gone(late: bool) -> None:
    """A parent forks a worker that watches it; the parent is killed, the worker must go too.

    A worker that was still starting when its parent was killed found another one, and watched that.
    """
    script = f"""
import os, time
from amongst.bench.execute_local import _outlive_nobody
parent = os.getpid()
if os.fork() == 0:
    print(os.getpid(), flush=True)
    while {late} and os.getppid() == parent:
        time.sleep(0.01)
    _outlive_nobody(parent)
    time.sleep(600)
time.sleep(600)
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        worker = int(parent.stdout.readline())
        parent.kill()
    for _ in range(600):
        if not _running(worker):
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker outlived its parent by a minute")


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
