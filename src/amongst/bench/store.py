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
from types import TracebackType
from typing import Any

from amongst import processes
from amongst.bench.record import Record, Trial, canonical_json, key_version, now
from amongst.bench.rows import COLUMNS, from_row, to_row
from amongst.bench.store_errors import damaged, damaged_record, explain, other_keys, too_new
from amongst.bench.store_opening import connect, file_identity, switch_to_log
from amongst.checks import check_choice
from amongst.errors import FileFormatError, InputError, StoreError

__all__ = ["SCHEMA_VERSION", "Store"]

APPLICATION_ID = 0x414D4F4E  # "AMON"
STALE_SECONDS = 60.0
UNREADABLE = (ValueError, TypeError, AttributeError, zlib.error)
FILTERS = ("dataset", "condition", "method", "model", "seed", "fold", "key", "data_digest")

_MIGRATIONS = (
    """
    CREATE TABLE records (
        key TEXT PRIMARY KEY, dataset TEXT NOT NULL, condition TEXT NOT NULL,
        method TEXT NOT NULL, model TEXT NOT NULL, seed INTEGER NOT NULL, fold INTEGER,
        settings TEXT NOT NULL, data_digest TEXT NOT NULL, metrics TEXT NOT NULL, curves BLOB,
        seconds REAL NOT NULL, device TEXT NOT NULL, engine TEXT NOT NULL,
        versions TEXT NOT NULL, revision TEXT NOT NULL, created TEXT NOT NULL, error TEXT NOT NULL
    ) STRICT;
    CREATE INDEX records_cell ON records (dataset, condition, method, model);
    """,
    """
    CREATE TABLE claims (
        key TEXT PRIMARY KEY, runner TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL,
        alive REAL NOT NULL
    ) STRICT;
    CREATE TABLE plans (request TEXT PRIMARY KEY, created TEXT NOT NULL) STRICT;
    """,
)
"""Step i takes a file from version i to version i + 1; a new file takes all of them."""

SCHEMA_VERSION = len(_MIGRATIONS)
"""Version of the layout that this package writes."""


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
            self._connection = connect(self.path, readonly)
        try:
            with self._errors("open"):
                self._check()
                self._prepare()
            self._identity = file_identity(self.path)
        except BaseException:
            self._connection.close()
            raise

    @property
    def is_here(self) -> bool:
        """Whether the path still leads to the file that was opened."""
        return file_identity(self.path) == self._identity

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        with self._errors("read"):
            count: int = self._connection.execute("SELECT count(*) FROM records").fetchone()[0]
        return count

    def __contains__(self, trial: Trial | str) -> bool:
        key = trial if isinstance(trial, str) else trial.key
        with self._errors("read"):
            found = self._connection.execute("SELECT 1 FROM records WHERE key = ?", (key,))
            return found.fetchone() is not None

    def add(self, record: Record) -> bool:
        """Keep a record; False, and nothing changed, if its trial has one already."""
        return self.add_all([record]) == 1

    def add_all(self, records: Iterable[Record]) -> int:
        """Keep several records in one transaction, and drop their claims; how many were new."""
        rows = [to_row(record) for record in records]
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
                return [json.loads(row[0]) for row in rows]
            except ValueError as error:
                raise FileFormatError(
                    damaged(self.path, f"a request is no JSON: {error}")
                ) from error

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
        from amongst.bench.export import write_records, write_requests

        written = write_records(self.records(curves=curves), path)
        write_requests(self.requests(), written)
        return written

    def close(self) -> None:
        """Close the file; the claims of this runner, if any, are given back."""
        if not self.readonly:
            with suppress(StoreError, sqlite3.Error):
                self.release()
                self._fold_in()
        self._connection.close()

    def _fold_in(self) -> None:
        """The last one out leaves a single file, which can be copied, and read where it lies."""
        self._connection.execute("PRAGMA busy_timeout = 0")
        self._connection.execute("PRAGMA journal_mode = DELETE")

    def _claim_one(self, key: str) -> bool:
        done = self._connection.execute("SELECT 1 FROM records WHERE key = ?", (key,)).fetchone()
        values = (key, self.runner, socket.gethostname(), os.getpid(), time.time())
        insert = "INSERT INTO claims VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"
        return done is None and self._connection.execute(insert, values).rowcount == 1

    def _read(self, row: tuple[Any, ...]) -> Record:
        """A record; SQLite does not notice a damaged byte within a value, its key does."""
        try:
            record = from_row(row)
        except UNREADABLE as error:
            raise FileFormatError(damaged_record(self.path, row[0], str(error))) from error
        if record.key != row[0]:
            finding = "its settings are not those of its key"
            raise FileFormatError(damaged_record(self.path, row[0], finding))
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
                f"{self.path} was removed or replaced while it was in use, so that nothing more "
                "can be kept in it. Run the same command again."
            )

    def _check(self) -> None:
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        identity, version = (  # after the tables, with which another process may just set them
            _pragma(self._connection, p) for p in ("application_id", "user_version")
        )
        if tables and identity != APPLICATION_ID:
            raise FileFormatError(
                f"{self.path} is an SQLite file, but not a result store of amongst. Name another "
                "file, which will be made."
            )
        if version > SCHEMA_VERSION:
            raise FileFormatError(too_new(self._connection, self.path, version, SCHEMA_VERSION))
        if self.readonly and version < SCHEMA_VERSION and not tables:
            raise FileFormatError(f"{self.path} is empty: it holds no results yet.")
        if tables:
            self._check_keys()

    def _check_keys(self) -> None:
        """Under keys of another version every trial would seem missing, and be run again."""
        row = self._connection.execute(
            f"SELECT {', '.join(COLUMNS)} FROM records LIMIT 1"
        ).fetchone()
        try:
            record = from_row(row) if row else None
        except UNREADABLE:  # named by its key when it is read
            return
        if record is None or record.key == row[0]:
            return
        version = key_version(lambda version: record.trial.key_at(version) == row[0])
        if version is not None:
            raise FileFormatError(other_keys(self.path, version, record))

    def _check_pages(self) -> None:
        """Before the first change: a damaged file stays as it is."""
        found = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise FileFormatError(damaged(self.path, found))

    def _prepare(self) -> None:
        """Bring the file to the present version; another process may be doing the same."""
        if self.readonly:
            return
        if self._connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            self._check_pages()
            switch_to_log(self._connection)
        self._connection.execute("PRAGMA synchronous = NORMAL")
        if _pragma(self._connection, "user_version") == SCHEMA_VERSION:
            return
        with self._transaction():
            for step in range(_pragma(self._connection, "user_version"), SCHEMA_VERSION):
                for statement in filter(str.strip, _MIGRATIONS[step].split(";")):
                    self._connection.execute(statement)
            self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

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
            raise explain(error, self.path, verb) from error


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
            raise InputError(f"{name}={wanted!r} must be a value, or a list of values.")
        parts.append(f"{name} IN ({', '.join('?' * len(options))})")
        values += options
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), values
