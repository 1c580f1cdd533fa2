"""What SQLite says, as a sentence with a remedy."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import amongst
from amongst.bench.record import KEY_VERSION, Record
from amongst.errors import FileFormatError, StoreError

__all__ = ["damaged", "damaged_record", "explain", "other_keys", "too_new"]


def explain(error: sqlite3.DatabaseError, path: Path, verb: str) -> Exception:
    """A sentence with a remedy for what SQLite says."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_FULL"):
        return StoreError(
            f"cannot {verb} {path}: the disk is full. The records in it are intact; free some "
            "space and run the same command again."
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StoreError(
            f"cannot {verb} {path}: the file or its folder cannot be written. Name another file "
            "with --store, or change the permissions."
        )
    if name.startswith("SQLITE_BUSY"):
        return StoreError(
            f"cannot {verb} {path}: another process has kept it locked for a minute. Wait for it, "
            "and run the same command again."
        )
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return FileFormatError(damaged(path, str(error)))
    return StoreError(f"cannot {verb} {path}: {error}.")


def damaged(path: Path, finding: str) -> str:
    """A file that SQLite cannot make sense of."""
    return (
        f"{path} is damaged, or not a result store ({' '.join(finding.split())}). Nothing was "
        "changed. Rename it and run again with a new store, or restore it from an export."
    )


def damaged_record(path: Path, key: str, finding: str) -> str:
    """A row that holds no record, and how to do without it."""
    return (
        f"{path} is damaged: the record {key[:12]} cannot be read ({finding}). Nothing was changed. To "
        f"run its trial again, forget it: amongst.bench.Store({str(path)!r}).remove([{key!r}])"
    )


def too_new(connection: sqlite3.Connection, path: Path, version: int, known: int) -> str:
    """A store of a newer release, and the release to install."""
    try:
        row = connection.execute(
            "SELECT versions FROM records ORDER BY created DESC LIMIT 1"
        ).fetchone()
        made_by = json.loads(row[0]).get("amongst", "") if row else ""
    except (sqlite3.DatabaseError, ValueError):
        made_by = ""
    made_by = "" if made_by == amongst.__version__ else made_by  # it was opened, not added to
    install = f"'amongst>={made_by}'" if made_by else "--upgrade amongst"
    return (
        f"{path} has store version {version}; this amongst reads up to {known}. It was "
        f"written by a newer release{f', {made_by}' if made_by else ''}: pip install {install}"
    )


def other_keys(path: Path, version: int, record: Record) -> str:
    """Results whose keys have another version, one of them, and the release that reads them."""
    made_by = record.versions.get("amongst", amongst.__version__)
    if made_by != amongst.__version__:
        install = f": pip install 'amongst=={made_by}'"
    else:
        install = ": pip install --upgrade amongst" if version > KEY_VERSION else ""
    return (
        f"{path} holds results of key version {version}, and this amongst makes version "
        f"{KEY_VERSION}: the same settings give other numbers. Nothing was changed. Name another file "
        f"with --store to run the trials again, or go on with the release that made these{install}"
    )
