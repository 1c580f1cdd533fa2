"""What people decided, in one SQLite file: a log that only grows, with a version for each row."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import pandas as pd

from amongst.errors import AmongstWarning, FileFormatError, InputError, StoreError, named, warn

Action = Literal["label", "skip", "undo"]

SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS review (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY, row TEXT NOT NULL, version INTEGER NOT NULL, action TEXT NOT NULL,
    label TEXT, who TEXT NOT NULL, at TEXT NOT NULL, UNIQUE (row, version)
);
"""
BUSY_SECONDS = 30.0
"""How long to wait for another process that writes."""

EXPORTED = ("row", "label", "who", "at")


@dataclass(frozen=True)
class Decision:
    """One line of the log.

    Attributes
    ----------
    id : its place in the log.
    row : the name of the row, or its number.
    version : 1 for the first decision on a row, 2 for the second, …
    action : ``"label"``; ``"skip"``; or ``"undo"``, after which the one before counts again.
    label : what was chosen, as text; None but for ``"label"``.
    who, at : a person, and a time in UTC.

    Examples
    --------
    >>> Decision(1, "7", 1, "label", "owl", "ann", "2026-01-01T12:00:00+00:00").label
    'owl'
    """

    id: int
    row: str
    version: int
    action: Action
    label: str | None
    who: str
    at: str


NAMES = [field.name for field in fields(Decision)]
SELECT = f"SELECT {', '.join(NAMES)} FROM decisions"
INSERT = f"""
INSERT INTO decisions ({", ".join(NAMES[1:])}) SELECT ?, ?, ?, ?, ?, ?
WHERE (SELECT count(*) FROM decisions WHERE row = ?) = ? RETURNING {", ".join(NAMES)}
"""
"""Only where as many decisions are there as its writer has seen."""


class Decisions:
    """The decisions on the rows of one file. Each is on the disk when `add` returns.

    Parameters
    ----------
    path : the SQLite file. It is made where there is none, unless `digest` is None.
    digest : of the file that is reviewed (`file_digest`); None reads what is there.
    by_name : whether rows go by the names of an index column; else by their numbers.

    Examples
    --------
    >>> import tempfile
    >>> kept = Decisions(Path(tempfile.mkdtemp()) / "birds.sqlite", digest="3f…")
    >>> _ = kept.add("7", 0, "label", "owl", who="ann")
    >>> kept.standing()["7"].label, len(kept.history("7"))
    ('owl', 1)
    >>> _ = kept.add("7", 1, "undo", None, who="ann")
    >>> "7" in kept.standing(), len(kept.history("7"))
    (False, 2)
    """

    def __init__(self, path: Path, digest: str | None = None, by_name: bool = False) -> None:
        if digest is None and not path.is_file():
            problem = f"there are no decisions at {path}; amongst review makes that file."
            raise StoreError(problem, code="no-store")
        self.path, self._lock = path, Lock()
        try:
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.executescript(SCHEMA)
        except sqlite3.Error as error:
            raise _explained(error, path) from error
        self._check_file(digest, by_name)
        self.standing()  # a damaged file is named at once

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def add(self, row: str, seen: int, action: Action, label: str | None, who: str) -> Decision:
        """Write the decision of somebody who saw `seen` decisions on this row.

        An error of the code ``"conflict"`` says that there are more by now.
        """
        at = datetime.now(UTC).isoformat(timespec="seconds")
        written = self._run(INSERT, row, seen + 1, action, label, who, at, row, seen)
        if not written:
            problem = f"row {row} was decided in another window in the meantime."
            raise StoreError(problem, code="conflict", argument="seen")
        return Decision(*written[0])

    def history(self, row: str) -> list[Decision]:
        """All that was decided on a row, whether it counts or not."""
        return [Decision(*line) for line in self._run(f"{SELECT} WHERE row = ? ORDER BY id", row)]

    def standing(self) -> dict[str, Decision]:
        """For each row that has one, the decision that counts: an undo takes the newest away that still
        counts."""
        kept: dict[str, list[Decision]] = {}
        for line in self._run(f"{SELECT} ORDER BY id"):
            decision = Decision(*line)
            of_row = kept.setdefault(decision.row, [])
            if decision.action != "undo":
                of_row.append(decision)
            elif of_row:
                of_row.pop()
        return {row: of_row[-1] for row, of_row in kept.items() if of_row}

    def export(self) -> pd.DataFrame:
        """A line for each row that has a label: which, by whom, when, and the digest of the file."""
        labelled = [asdict(d) for d in self.standing().values() if d.action == "label"]
        frame = pd.DataFrame(labelled, columns=NAMES, dtype=object)[list(EXPORTED)]
        told = dict(self._run("SELECT name, value FROM review"))
        return frame.assign(row_is=told["row_is"], file_sha256=told["file_sha256"])

    def _check_file(self, digest: str | None, by_name: bool) -> None:
        """A log is of one file; what it calls rows does not change."""
        if digest is None:
            return
        given = {"row_is": "name" if by_name else "number", "file_sha256": digest}
        for name, value in given.items():
            self._run("INSERT OR IGNORE INTO review VALUES (?, ?)", name, value)
        told = dict(self._run("SELECT name, value FROM review"))
        if told["row_is"] != given["row_is"]:
            raise InputError(
                f"{self.path} knows its rows by their {told['row_is']}s, not by their "
                f"{given['row_is']}s.",
                code="other-rows",
                remedy=(f"give {named('index')} as before", f"name another {named('db')}"),
            )
        if digest != told["file_sha256"]:
            check_same_file(self.path, by_name)
            self._run("UPDATE review SET value = ? WHERE name = 'file_sha256'", digest)

    def _run(self, sql: str, *values: str | int | None) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise _explained(error, self.path) from error


def check_same_file(decisions: Path, by_name: bool) -> None:
    """What a changed file means for decisions on its rows: a warning where rows have names, else an
    error, as a number may mean another row now."""
    problem = f"the file has changed since the decisions in {decisions} were made"
    if by_name:
        problem += "; its rows are known by their names."
        warn(AmongstWarning(problem, code="changed-file"))
        return
    raise InputError(
        f"{problem}, and the numbers of its rows may mean other rows now.",
        code="changed-file",
        remedy=("bring the old file back", "review the new one from the start"),
    )


def file_digest(path: Path) -> str:
    """The SHA-256 of a file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "birds.csv"
    >>> _ = file.write_text("wing")
    >>> file_digest(file)[:8]
    'c047caef'
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _explained(error: sqlite3.Error, path: Path) -> FileFormatError | StoreError:
    if (getattr(error, "sqlite_errorname", "") or "").startswith(
        ("SQLITE_NOTADB", "SQLITE_CORRUPT")
    ):
        problem = f"{path} is damaged, or no file of decisions ({error}). Nothing was changed."
        return FileFormatError(problem, code="damaged", remedy=f"Name another {named('db')}.")
    problem = f"{path} cannot be read or written: {error}."
    return StoreError(problem, code="not-written", remedy=f"Name another {named('db')}.")
