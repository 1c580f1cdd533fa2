"""Where a study can be kept: SQLite, and a PostgreSQL server of the test's own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PASSWORD = "open-sesame"


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a fresh PostgreSQL server on a free port, gone after the tests."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs, user = _programs(), _user()
    if programs is None or (os.geteuid() == 0 and user is None):
        pytest.skip("no PostgreSQL server here: initdb and pg_ctl were not found")
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    if user is not None:
        shutil.chown(folder, user)
    data, log, password = folder / "data", folder / "log", folder / "password"
    password.write_text(PASSWORD)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    where = f"-c listen_addresses=127.0.0.1 -p {port}"
    options = f"{where} -c unix_socket_directories={folder} -c fsync=off"
    asks = ["-A", "scram-sha-256", f"--pwfile={password}"]
    _call([programs / "initdb", "-D", data, "-U", "me", *asks, "-E", "UTF8"], user)
    _call([programs / "pg_ctl", "-D", data, "-l", log, "-w", "-o", options, "start"], user)
    try:
        yield f"postgresql://me:{PASSWORD}@127.0.0.1:{port}/postgres"
    finally:
        _call([programs / "pg_ctl", "-D", data, "-m", "immediate", "stop"], user)
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    path = shutil.which("initdb")
    found += [Path(path).resolve()] if path else []
    return found[-1].parent if found else None


def _user() -> str | None:
    """PostgreSQL refuses to run as root: someone else, if this is root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


def _call(command: list[object], user: str | None) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(
        words, user=user, cwd="/tmp", capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode:
        pytest.skip(f"PostgreSQL could not be started: {(done.stderr or done.stdout)[-300:]}")
