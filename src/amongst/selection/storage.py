"""Where a study is kept: SQLite or PostgreSQL, so that optuna-dashboard opens it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from amongst.errors import InputError, MissingDependencyError, StoreError
from amongst.optional import optional_import

__all__ = ["full_url", "import_optuna", "open_study", "quiet"]


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
            f"study={_without_password(url)!r} is no database URL ({error}). Use sqlite:///file.db "
            "or postgresql://user@host/database."
        ) from error
    except ImportError as error:
        raise InputError(
            f"study={_without_password(url)!r} needs a database driver that is not installed. Use "
            "sqlite:///file.db or postgresql://user@host/database."
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
