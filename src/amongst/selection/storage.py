"""Where a study is kept: SQLite or PostgreSQL, so that optuna-dashboard opens it.

A trial that was asked for carries the name of its runner. A runner that finds trials of a dead one
marks them failed and puts their settings back in the queue, so that they are asked for again.
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

from amongst.errors import InputError, MissingDependencyError, StoreError
from amongst.optional import optional_import

__all__ = [
    "RETRIES",
    "RUNNER",
    "give_up",
    "import_optuna",
    "mark",
    "open_study",
    "quiet",
    "requeue_stale",
]

RUNNER = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
"""This process, as its trials name it."""

RETRIES = 3
"""A trial whose runner died this often is not asked for again: it may be what kills it."""

UNMARKED = timedelta(minutes=1)
"""A trial without a runner's name for so long belongs to one that died before it could write it."""


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
    """The study of that name, made if it is not there.

    Parameters
    ----------
    url : ``sqlite:///file``, ``postgresql://user@host/database``, a file for SQLite, or None for
        memory only.
    name : several studies may share a database.
    direction : ``"maximize"`` or ``"minimize"``.
    pruner : of Optuna.
    """
    optuna = import_optuna()
    storage = None if url is None else _storage(_full_url(url))
    with _clear_errors(url):
        return optuna.create_study(
            storage=storage,
            study_name=name,
            load_if_exists=True,
            direction=direction,
            pruner=pruner,
        )


def mark(trial: Any) -> None:
    """Write who runs a trial."""
    trial.set_user_attr("runner", RUNNER)


def requeue_stale(study: Any) -> int:
    """Put back the trials of runners of this machine that are dead; returns how many."""
    running = import_optuna().trial.TrialState.RUNNING
    stale = [t for t in study.get_trials(deepcopy=False, states=(running,)) if _is_stale(t)]
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


def _is_stale(trial: Any) -> bool:
    runner = trial.user_attrs.get("runner")
    if runner is None:
        started = trial.datetime_start
        return started is not None and datetime.now() - started > UNMARKED
    host, pid, _ = runner.rsplit(":", 2)
    if runner == RUNNER or host != socket.gethostname():
        return False
    return int(pid) == os.getpid() or not _is_alive(int(pid))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _full_url(url: str | os.PathLike[str]) -> str:
    """A URL for SQLAlchemy, with a PostgreSQL driver that is installed.

    >>> _full_url("study.db")
    'sqlite:///study.db'
    """
    text = os.fspath(url)
    if "://" not in text:
        return f"sqlite:///{text}"
    scheme, rest = text.split("://", 1)
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
            raise StoreError(f"study={url!r}: the folder {file.parent} does not exist; make it.")
    with _clear_errors(url):
        return storages.RDBStorage(url, engine_kwargs=options)


@contextmanager
def _clear_errors(url: object) -> Iterator[None]:
    """What databases and drivers raise, as one sentence."""
    from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

    try:
        yield
    except (ArgumentError, NoSuchModuleError) as error:
        raise InputError(
            f"study={url!r} is no database URL ({error}). Use sqlite:///file.db or "
            "postgresql://user@host/database."
        ) from error
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0]
        raise StoreError(f"study={_without_password(url)!r} cannot be opened: {reason}.") from error


def _without_password(url: object) -> str:
    """The URL as it may be printed.

    >>> _without_password("postgresql://me:secret@host/data")
    'postgresql://me:***@host/data'
    """
    text = str(url)
    scheme, slashes, rest = text.partition("://")
    user, at, place = rest.rpartition("@")
    if not at or ":" not in user:
        return text
    return f"{scheme}{slashes}{user.partition(':')[0]}:***@{place}"
