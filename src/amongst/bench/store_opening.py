"""Opening the file of a store, to write or only to read."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from amongst.errors import StoreError

__all__ = ["connect", "file_identity", "switch_to_log"]

BUSY_SECONDS = 60.0
"""How long to wait for another process that has locked the file."""


def connect(path: Path, readonly: bool) -> sqlite3.Connection:
    """A connection that commits each statement; to write, the file and its folder are made."""
    if readonly:
        if not path.is_file():
            raise StoreError(f"there is no result store at {path}; a run with --store makes one.")
        return _connect_readonly(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the folder of {path} cannot be made: {error.strerror}.") from error
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)


def switch_to_log(connection: sqlite3.Connection) -> None:
    """Keep a write-ahead log. For this alone SQLite does not wait where the file is locked, as it is
    for a moment where several make one store."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > end:
                raise
        time.sleep(0.01)


def file_identity(path: Path) -> tuple[int, int] | None:
    """Which file a path leads to; None for none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _connect_readonly(path: Path) -> sqlite3.Connection:
    """Open without writing; a folder that cannot be written needs SQLite's immutable mode."""
    uri = path.resolve().as_uri()
    connection = sqlite3.connect(
        f"{uri}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorname.startswith("SQLITE_BUSY"):
            raise
        _check_whole(path)
        return sqlite3.connect(f"{uri}?immutable=1", uri=True, isolation_level=None)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_whole(path: Path) -> None:
    """The immutable mode reads this file alone: an error where records lie in another beside it."""
    log = path.with_name(path.name + "-wal")
    if log.is_file() and log.stat().st_size:
        raise StoreError(
            f"cannot read all of {path}: its last records are in {log.name} beside it, and to read "
            "both, SQLite must write in their folder. Copy both to a folder of your own."
        )
