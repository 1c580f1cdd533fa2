"""Where a study is kept, SQLite or PostgreSQL, so that optuna-dashboard opens it; and who runs a trial.

Every process that works on a study signs on and off in it, and marks the trials it asks for. One
that signs on marks the trials of dead processes of its machine failed, and puts their settings back
in the queue. What runs on other machines is left alone.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

from amongst import processes
from amongst.errors import InputError, MissingDependencyError, StoreError
from amongst.optional import optional_import

DATABASES = "Use sqlite:///file.db or postgresql://user@host/database."


def import_optuna() -> ModuleType:
    """Optuna, or the extra to install."""
    return optional_import("optuna", extra="search", purpose="searching with TPE")


@contextmanager
def quiet() -> Iterator[None]:
    """Optuna without its notes inside, and as it was outside."""
    logging = import_optuna().logging
    before = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(before)


def open_study(url: str | os.PathLike[str] | None, name: str, direction: str, pruner: Any) -> Any:
    """The study of that name, made if it is not there; with no URL or file in memory only."""
    optuna = import_optuna()
    storage = None if url is None else _storage(full_url(url))
    with _clear_errors(url):
        return optuna.create_study(
            storage=storage,
            study_name=name,
            load_if_exists=True,
            direction=direction,
            pruner=pruner,
        )


def full_url(url: str | os.PathLike[str]) -> str:
    """A URL for SQLAlchemy, with a PostgreSQL driver that is installed.

    >>> full_url("study.db")
    'sqlite:///study.db'
    """
    text = os.fspath(url)
    if "://" not in text:
        return f"sqlite:///{text}"
    scheme, rest = text.split("://", 1)
    if "@" in rest.partition("?")[0].rpartition("@")[0] or any(map(str.isspace, rest)):
        problem = "is no database URL: a password is written with %40 for @ and %20 for a blank."
        raise InputError(problem, code="no-database", argument="study", remedy=DATABASES)
    if scheme not in ("postgresql", "postgres"):
        return text
    for driver in ("psycopg", "psycopg2"):
        if importlib.util.find_spec(driver) is not None:
            return f"postgresql+{driver}://{rest}"
    raise MissingDependencyError(
        "a study in PostgreSQL needs the package 'psycopg', which is not installed. Install it "
        "with: pip install 'psycopg[binary]'"
    )


def _storage(url: str) -> Any:
    storages = import_optuna().storages
    options: dict[str, Any] = {"pool_pre_ping": True}
    if url.startswith("sqlite"):
        options = {"connect_args": {"timeout": 60}}
        file = Path(url.partition(":///")[2])
        if not file.parent.is_dir():
            problem = f"cannot be made: the folder {file.parent} does not exist; make it."
            raise StoreError(problem, code="no-folder", argument="study", got=url)
    with _clear_errors(url):
        return storages.RDBStorage(url, engine_kwargs=options)


@contextmanager
def _clear_errors(url: object) -> Iterator[None]:
    """What databases and drivers raise, as one sentence."""
    from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

    try:
        yield
    except (ArgumentError, NoSuchModuleError, ValueError) as error:  # ValueError: of a port
        raise _no_database(url, f"is no database URL ({error}).", "no-database") from error
    except ImportError as error:
        problem = "needs a database driver that is not installed."
        raise _no_database(url, problem, "no-driver") from error
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0]
        problem = f"cannot be opened: {reason}."
        raise StoreError(problem, code="unreadable", argument="study", got=url) from error


def _no_database(url: object, problem: str, code: str) -> InputError:
    return InputError(problem, code=code, argument="study", got=url, remedy=DATABASES)


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


def requeue_stale(study: Any) -> int:
    """Put back the trials of runners of this machine that are dead; returns how many."""
    running, alone = import_optuna().trial.TrialState.RUNNING, not _others_at_work(study)
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
