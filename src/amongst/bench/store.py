"""Where records are kept: one SQLite file, one writer at a time, nothing half written.

A record is one transaction in write-ahead mode: a process killed at any moment leaves the records
that were there. Work is shared between runners by claims, which die with their runner.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import amongst
from amongst import processes
from amongst.bench.record import (
    Record,
    Trial,
    canonical_json,
    flat,
    json_text,
    now,
    unflat,
    write_export,
)  # fmt: skip
from amongst.checks import check_choice
from amongst.errors import AmongstError, FileFormatError, InputError, StoreError

APPLICATION_ID = 0x414D4F4E  # "AMON"
BUSY_SECONDS = 60.0
"""How long to wait for another process that has locked the file."""

STALE_SECONDS = 60.0
FILTERS = ("dataset", "condition", "method", "model", "seed", "fold", "key", "data_digest")

COLUMNS = (
    "key", "dataset", "condition", "method", "model", "seed", "fold", "settings", "data_digest",
    "metrics", "curves", "seconds", "device", "engine", "versions", "revision", "created", "error",
)  # fmt: skip
"""Of the table of records, in order."""

CAUSES = (
    (("SQLITE_FULL",), "full", "the disk is full. The records in it are intact; free some space and run the "
     "same command again."),
    (("SQLITE_BUSY",), "locked", "another process has kept it locked for a minute. Wait for it, and run the "
     "same command again."),
    (("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"), "not-written", "the file or its folder cannot be "
     "written. Name another file with --store, or change the permissions."),
)  # fmt: skip
"""Errors of SQLite that have a remedy: how their names begin, our code, and what to do."""

SCHEMA_VERSION = 2
"""Version of the layout that this package writes; a file of version 1 lacks tables, which are made."""

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS records (
        key TEXT PRIMARY KEY, dataset TEXT NOT NULL, condition TEXT NOT NULL,
        method TEXT NOT NULL, model TEXT NOT NULL, seed INTEGER NOT NULL, fold INTEGER,
        settings TEXT NOT NULL, data_digest TEXT NOT NULL, metrics TEXT NOT NULL, curves BLOB,
        seconds REAL NOT NULL, device TEXT NOT NULL, engine TEXT NOT NULL,
        versions TEXT NOT NULL, revision TEXT NOT NULL, created TEXT NOT NULL, error TEXT NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS records_cell ON records (dataset, condition, method, model);
    CREATE TABLE IF NOT EXISTS claims (
        key TEXT PRIMARY KEY, runner TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,
        alive REAL NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS plans (request TEXT PRIMARY KEY, created TEXT NOT NULL) STRICT;
    PRAGMA user_version = 2;
    PRAGMA application_id = 1095585614
"""
"""What a new file gets; the identity is "AMON"."""


class Store:
    """Records in one SQLite file.

    Parameters
    ----------
    path : the file; made, with its folder, if it is not there.
    readonly : for reports: the file must exist, and is not touched.

    Examples
    --------
    >>> import tempfile
    >>> from amongst.bench import Record, Trial
    >>> folder = tempfile.TemporaryDirectory()
    >>> record = Record(Trial("digits", "q=0.1", "rc", "mlp", seed=0), {"accuracy_final": 0.9})
    >>> with Store(Path(folder.name) / "runs.sqlite") as store:
    ...     store.add(record), store.add(record), len(store), store.records(method="rc") == [record]
    (True, False, 1, True)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path, *, readonly: bool = False) -> None:
        self.path = Path(path)
        self.readonly = readonly
        self.runner = f"{socket.gethostname()}:{os.getpid()}:{time.time_ns()}"
        with self._errors("open"):
            self._connection = _connect(self.path, readonly)
        try:
            with self._errors("open"):
                self._check()
                self._prepare()
            self._identity = _identity(self.path)
        except BaseException:
            self._connection.close()
            raise

    @property
    def is_here(self) -> bool:
        """Whether the path still leads to the file that was opened."""
        return _identity(self.path) == self._identity

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, trial: Trial | str) -> bool:
        return (trial if isinstance(trial, str) else trial.key) in self.keys()

    def add(self, record: Record) -> bool:
        """Keep a record; False, and nothing changed, if its trial has one already."""
        return self.add_all([record]) == 1

    def add_all(self, records: Iterable[Record]) -> int:
        """Keep several records in one transaction, and drop their claims; how many were new."""
        rows = [_to_row(record) for record in records]
        marks = ", ".join("?" * len(COLUMNS))
        insert = f"INSERT INTO records VALUES ({marks}) ON CONFLICT (key) DO NOTHING"
        new = 0
        with self._transaction():
            for row in rows:
                new += self._connection.execute(insert, row).rowcount
                self._connection.execute("DELETE FROM claims WHERE key = ?", (row[0],))
        return new

    def keys(self) -> set[str]:
        """The keys of all trials that have a record."""
        with self._errors("read"):
            return {row[0] for row in self._connection.execute("SELECT key FROM records")}

    def records(self, *, curves: bool = True, **filters: Any) -> list[Record]:
        """Records in the order of their cells, seeds and folds.

        Parameters
        ----------
        curves : False leaves them out, which is faster.
        filters : dataset, condition, method, model, seed, fold, key, data_digest: a value, or a
            list of values.
        """
        where, values = _where(filters)
        names = [name if curves or name != "curves" else "NULL" for name in COLUMNS]
        order = "dataset, condition, method, model, settings, seed, fold"
        query = f"SELECT {', '.join(names)} FROM records{where} ORDER BY {order}"
        with self._errors("read"):
            return [self._read(row) for row in self._connection.execute(query, values)]

    def remove(self, keys: Iterable[str]) -> int:
        """Forget the records of these trials; how many there were."""
        with self._transaction():
            return sum(
                self._connection.execute("DELETE FROM records WHERE key = ?", (key,)).rowcount
                for key in keys
            )

    def add_request(self, request: Mapping[str, Any]) -> None:
        """Remember what a person asked for, so that a report can lay out the same tables."""
        with self._transaction():
            self._connection.execute(
                "INSERT INTO plans VALUES (?, ?) ON CONFLICT (request) DO NOTHING",
                (canonical_json(request), now()),
            )

    def requests(self) -> list[dict[str, Any]]:
        """What was asked for, oldest first."""
        if _pragma(self._connection, "user_version") < 2:
            return []
        with self._errors("read"):
            rows = self._connection.execute("SELECT request FROM plans ORDER BY created, rowid")
            try:
                return [dict(json.loads(row[0])) for row in rows]
            except (ValueError, TypeError, RecursionError) as error:
                raise _damaged(self.path, f"a request is no JSON: {error}") from error

    def claim(self, keys: Iterable[str], limit: int | None = None) -> list[str]:
        """Take trials that are neither done nor in another living runner's hands."""
        mine: list[str] = []
        with self._transaction():
            self._drop_dead_claims()
            for key in keys:
                if limit is not None and len(mine) >= limit:
                    break
                if self._claim_one(key):
                    mine.append(key)
        return mine

    def beat(self, runner: str | None = None) -> None:
        """Say that a runner, this one unless told, is alive; its claims stand another minute."""
        with self._transaction():
            self._connection.execute(
                "UPDATE claims SET alive = ? WHERE runner = ?",
                (time.time(), runner or self.runner),
            )

    def release(self) -> None:
        """Give back this runner's claims."""
        with self._transaction():
            self._connection.execute("DELETE FROM claims WHERE runner = ?", (self.runner,))

    def others(self) -> list[str]:
        """The other living runners, as host:pid."""
        with self._transaction():
            self._drop_dead_claims()
            rows = self._connection.execute(
                "SELECT DISTINCT host, pid FROM claims WHERE runner != ?", (self.runner,)
            ).fetchall()
        return sorted(f"{host}:{pid}" for host, pid in rows)

    def export(self, path: str | Path, *, curves: bool = False) -> Path:
        """Write all records to a ``.parquet`` or ``.csv`` file, and beside it what was asked for."""
        return write_export(self.records(curves=curves), self.requests(), path)

    def close(self) -> None:
        """Close the file; the claims of this runner, if any, are given back."""
        if not self.readonly:
            with suppress(StoreError, sqlite3.Error):
                self.release()
                # The last one out leaves a single file, which can be copied, and read where it lies.
                self._connection.execute("PRAGMA busy_timeout = 0")
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    def _claim_one(self, key: str) -> bool:
        done = self._connection.execute("SELECT 1 FROM records WHERE key = ?", (key,)).fetchone()
        values = (key, self.runner, socket.gethostname(), os.getpid(), time.time())
        insert = "INSERT INTO claims VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"
        return done is None and self._connection.execute(insert, values).rowcount == 1

    def _read(self, row: tuple[Any, ...]) -> Record:
        """A record; SQLite does not notice a damaged byte within a value, its key does."""
        try:
            record = _from_row(row)
        except Exception as error:  # JSON, zlib and NumPy have many kinds
            raise _damaged_record(self.path, row[0], str(error)) from error
        if record.key != row[0]:
            raise _damaged_record(self.path, row[0], "its settings are not those of its key")
        return record

    def _drop_dead_claims(self) -> None:
        rows = self._connection.execute(
            "SELECT runner, host, pid, max(alive) FROM claims GROUP BY runner"
        ).fetchall()
        for runner, host, pid, alive in rows:
            if runner != self.runner and not _is_alive(host, pid, alive):
                self._connection.execute("DELETE FROM claims WHERE runner = ?", (runner,))

    def _check_place(self) -> None:
        """A record written to a file that nobody can find would be lost without a word."""
        if hasattr(self, "_identity") and not self.is_here:
            raise StoreError(
                f"{self.path} was removed or replaced while it was in use, so that nothing more can "
                "be kept in it.",
                code="removed",
                remedy="Run the same command again.",
            )

    def _check(self) -> None:
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        identity, version = (  # after the tables, with which another process may just set them
            _pragma(self._connection, p) for p in ("application_id", "user_version")
        )
        if tables and identity != APPLICATION_ID:
            raise FileFormatError(
                f"{self.path} is an SQLite file, but not a result store of amongst.",
                code="no-store",
                remedy="Name another file, which will be made.",
            )
        if version > SCHEMA_VERSION:
            raise self._too_new(version)
        if self.readonly and version < SCHEMA_VERSION and not tables:
            raise FileFormatError(f"{self.path} is empty: it holds no results yet.", code="empty")
        if tables:
            self._check_keys()

    def _too_new(self, version: int) -> FileFormatError:
        """A store of a newer release, and the release to install."""
        latest = "SELECT versions FROM records ORDER BY created DESC LIMIT 1"
        try:
            row = self._connection.execute(latest).fetchone()
            made_by = json.loads(row[0]).get("amongst", "") if row else ""
        except (sqlite3.DatabaseError, ValueError):
            made_by = ""
        made_by = "" if made_by == amongst.__version__ else made_by  # it was opened, not added to
        install = f"'amongst>={made_by}'" if made_by else "--upgrade amongst"
        return FileFormatError(
            f"{self.path} has store version {version}; this amongst reads up to {SCHEMA_VERSION}. It "
            f"was written by a newer release{f', {made_by}' if made_by else ''}: pip install {install}",
            code="newer",
        )

    def _check_keys(self) -> None:
        """Under other keys every trial would seem missing, and be run again."""
        query = f"SELECT {', '.join(COLUMNS)} FROM records LIMIT 1"
        row = self._connection.execute(query).fetchone()
        try:
            record = _from_row(row) if row else None
        except Exception:  # named by its key when it is read
            return
        made_by = record.versions.get("amongst", "") if record else ""
        if record and record.key != row[0] and made_by not in ("", amongst.__version__):
            raise FileFormatError(
                f"{self.path} holds results of amongst {made_by} under other keys than this release "
                "gives: the same settings give other numbers. Nothing was changed.",
                code="other-keys",
                remedy="Name another file with --store to run the trials again, or go on with the "
                f"release that made these: pip install 'amongst=={made_by}'",
            )

    def _prepare(self) -> None:
        """Bring the file to the present version; another process may be doing the same.

        A damaged file stays as it is: all of its pages are checked before the first change.
        """
        if self.readonly:
            return
        if self._connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            found = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise _damaged(self.path, found)
            _switch_to_log(self._connection)
        self._connection.execute("PRAGMA synchronous = NORMAL")
        if _pragma(self._connection, "user_version") < SCHEMA_VERSION:
            with self._transaction():
                for statement in _SCHEMA.split(";"):
                    self._connection.execute(statement)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors("write"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._check_place()
                yield
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _errors(self, verb: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise _explained(error, self.path, verb) from error
        except UnicodeDecodeError as error:  # of the schema, too
            raise _damaged(self.path, str(error)) from error


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _is_alive(host: str, pid: int, alive: float) -> bool:
    if time.time() - alive > STALE_SECONDS:
        return False
    return host != socket.gethostname() or processes.exists(pid)


def _where(filters: Mapping[str, Any]) -> tuple[str, list[Any]]:
    parts, values = [], []
    for name, wanted in filters.items():
        check_choice("filter", name, FILTERS)
        if wanted is None:
            continue
        options = [wanted] if isinstance(wanted, str | int) else list(wanted)
        if not all(isinstance(option, str | int) for option in options):
            problem = "must be a value, or a list of values."
            raise InputError(problem, code="filter", argument=name, got=wanted)
        parts.append(f"{name} IN ({', '.join('?' * len(options))})")
        values += options
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), values


def _connect(path: Path, readonly: bool) -> sqlite3.Connection:
    """A connection that commits each statement; to write, the file and its folder are made."""
    if readonly:
        if not path.is_file():
            problem = f"there is no result store at {path}; a run with --store makes one."
            raise StoreError(problem, code="no-store")
        return _connect_readonly(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"the folder of {path} cannot be made: {error.strerror}."
        raise StoreError(problem, code="not-written") from error
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)


def _switch_to_log(connection: sqlite3.Connection) -> None:
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


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file a path leads to; None for none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _explained(error: sqlite3.DatabaseError, path: Path, verb: str) -> AmongstError:
    """What SQLite says, as an error with a remedy."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return _damaged(path, str(error))
    for starts, code, problem in CAUSES:
        if name.startswith(starts):
            return StoreError(f"cannot {verb} {path}: {problem}", code=code)
    return StoreError(f"cannot {verb} {path}: {error}.", code="sqlite")


def _damaged(path: Path, finding: str) -> FileFormatError:
    """A file that SQLite cannot make sense of."""
    return FileFormatError(
        f"{path} is damaged, or not a result store ({' '.join(finding.split())}). Nothing was "
        "changed.",
        code="damaged",
        remedy="Rename it and run again with a new store, or restore it from an export.",
    )


def _damaged_record(path: Path, key: str, finding: str) -> FileFormatError:
    """A row that holds no record, and how to do without it."""
    forget = f"amongst.bench.Store({str(path)!r}).remove([{key!r}])"
    return FileFormatError(
        f"{path} is damaged: the record {key[:12]} cannot be read ({finding}). Nothing was changed.",
        code="damaged-record",
        remedy=f"To run its trial again, forget it: {forget}",
    )


def _to_row(record: Record) -> tuple[Any, ...]:
    """The values of `COLUMNS`."""
    found = flat(record)
    found |= {"metrics": json_text(record.metrics), "curves": _pack(record.curves)}
    return tuple(found[name] for name in COLUMNS)


def _from_row(row: tuple[Any, ...]) -> Record:
    found = dict(zip(COLUMNS, row, strict=True))
    return unflat(found, json.loads(found["metrics"]), _unpack(found["curves"]))


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
            "both, SQLite must write in their folder.",
            code="not-whole",
            remedy="Copy both to a folder of your own.",
        )


def _pack(curves: Mapping[str, tuple[float, ...]]) -> bytes | None:
    """Names and lengths as one line of JSON, then single-precision values, compressed."""
    if not curves:
        return None
    head = json.dumps({name: len(values) for name, values in curves.items()}).encode()
    body = np.concatenate([np.asarray(values, dtype="<f4") for values in curves.values()])
    return zlib.compress(head + b"\n" + body.tobytes(), 6)


def _unpack(blob: bytes | None) -> dict[str, tuple[float, ...]]:
    if blob is None:
        return {}
    head, _, body = zlib.decompress(blob).partition(b"\n")
    lengths = json.loads(head)
    parts = np.split(np.frombuffer(body, dtype="<f4"), np.cumsum(list(lengths.values()))[:-1])
    return {name: tuple(part.tolist()) for name, part in zip(lengths, parts, strict=True)}
