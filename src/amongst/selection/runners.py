"""Who runs a trial: a runner that is killed leaves trials that the next one asks for again.

Every process that works on a study signs on and off in it, and marks the trials it asks for. One
that signs on marks the trials of dead processes of its machine failed, and puts their settings back
in the queue. What runs on other machines is left alone.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from amongst import processes
from amongst.selection.storage import import_optuna

__all__ = ["RETRIES", "RUNNER", "at_work", "give_up", "mark", "requeue_stale", "salt"]

RUNNER = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
"""This process, as its trials name it."""

RETRIES = 3
"""A trial whose runner died this often is not asked for again: it may be what kills it."""

UNMARKED = timedelta(minutes=1)
"""So long after its start a trial without a mark belongs to a runner that died before it could
make one."""

SIGN = "runner "


@contextmanager
def at_work(study: Any) -> Iterator[None]:
    """Signed on inside, signed off outside."""
    study.set_user_attr(SIGN + RUNNER, "at work")
    try:
        yield
    finally:
        study.set_user_attr(SIGN + RUNNER, "done")


def mark(trial: Any) -> None:
    """Write who runs a trial."""
    trial.set_user_attr("runner", RUNNER)


def requeue_stale(study: Any) -> int:
    """Put back the trials of runners of this machine that are dead; returns how many."""
    running = import_optuna().trial.TrialState.RUNNING
    alone = not _others_at_work(study)
    found = study.get_trials(deepcopy=False, states=(running,))
    stale = [trial for trial in found if _is_stale(trial, alone)]
    for trial in stale:
        give_up(study, trial)
    return len(stale)


def give_up(study: Any, trial: Any) -> None:
    """Mark a trial failed, and put its settings back in the queue."""
    failed = import_optuna().trial.TrialState.FAIL
    study.tell(trial.number, state=failed, skip_if_finished=True)
    times = int(trial.user_attrs.get("retry", 0)) + 1
    if trial.params and times <= RETRIES:
        attributes = {"retry": times, "retry_of": trial.number}
        study.enqueue_trial(dict(trial.params), user_attrs=attributes)


def salt(study: Any) -> int:
    """0 for a runner that is alone, which keeps a search reproducible; else a number of its own,
    so that two runners do not draw the same settings."""
    return int(RUNNER.rsplit(":", 1)[1], 16) if _others_at_work(study) else 0


def _others_at_work(study: Any) -> bool:
    signed = [
        name.removeprefix(SIGN)
        for name, state in study.user_attrs.items()
        if name.startswith(SIGN) and state == "at work"
    ]
    return any(runner != RUNNER and not _is_dead(runner) for runner in signed)


def _is_stale(trial: Any, alone: bool) -> bool:
    runner = trial.user_attrs.get("runner")
    if runner is not None:
        return _is_dead(runner)
    started = trial.datetime_start
    return alone or (started is not None and datetime.now() - started > UNMARKED)


def _is_dead(runner: str) -> bool:
    """Whether this is a process of this machine that is no more."""
    host, pid, _ = runner.rsplit(":", 2)
    if runner == RUNNER or host != socket.gethostname():
        return False
    return int(pid) == os.getpid() or not processes.exists(int(pid))
