"""Files that appear under their name when they are complete, and not before.

They are written beside their place, under a hidden name that says who writes, and then renamed. A
writer that is killed (kill −9) cannot take that away; the next writer of the same file does.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from amongst import processes
from amongst.errors import InputError, StoreError

__all__ = ["atomic_write", "clear_abandoned", "temporary_prefix", "write_atomically"]

STALE_SECONDS = 24 * 3600
"""What was last written to so long ago has no writer, on whatever machine."""


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when it is complete; the mode of one that was there
    is kept.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "numbers"
    >>> with atomic_write(target) as file:
    ...     _ = file.write(b"123")
    ...     print(target.exists())
    False
    >>> target.read_bytes()
    b'123'
    """
    clear_abandoned(path)
    mode = path.stat().st_mode & 0o7777 if path.exists() else None
    temporary = path.parent / f"{temporary_prefix(path)}{secrets.token_hex(8)}"
    made = open(temporary, "xb", opener=None if mode is None else _for_the_owner)  # noqa: SIM115
    try:
        with made as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write beside `path`, then rename: other readers see the old file or the whole new one.

    A link is followed, the mode of a file that was there is kept, and a pipe is written into.
    """
    given = Path(path)
    if given.is_dir():
        raise InputError(f"{str(given)!r} is a folder; name a file.")
    try:
        if given.exists() and not given.is_file():
            given.write_bytes(content)
        else:
            _replace(Path(os.path.realpath(given)), content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"{str(given)!r} cannot be written: {reason}.") from error


def temporary_prefix(path: Path) -> str:
    """How the hidden name of a temporary for `path` begins: whose it is, by machine and process.

    >>> temporary_prefix(Path("numbers.npy")).endswith(f"-{os.getpid()}-")
    True
    """
    return f".{path.name}.{_machine()}-{os.getpid()}-"


def clear_abandoned(path: Path) -> None:
    """Take away temporaries for `path` whose writer is dead, or that nobody wrote to for a day."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.([0-9a-f]{{8}})-(\d+)-[^.-]+")
    with suppress(OSError):  # another may be clearing, too, or the folder cannot be listed
        for found in sorted(path.parent.iterdir()):
            owner = pattern.fullmatch(found.name)
            if owner and _is_abandoned(found, owner[1], int(owner[2])):
                _remove(found)


def _is_abandoned(found: Path, machine: str, pid: int) -> bool:
    if time.time() - found.stat().st_mtime > STALE_SECONDS:
        return True
    return machine == _machine() and not processes.exists(pid)


def _remove(found: Path) -> None:
    if found.is_dir():
        shutil.rmtree(found, ignore_errors=True)
    else:
        found.unlink(missing_ok=True)


def _machine() -> str:
    """The name of this machine in eight characters: a cache may be shared by several."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _replace(target: Path, content: bytes) -> None:
    if not target.parent.is_dir():
        raise InputError(f"the folder {str(target.parent)!r} does not exist; make it first.")
    with atomic_write(target) as file:
        file.write(content)


def _for_the_owner(name: str, flags: int) -> int:
    """What takes the place of a private file is private from the start."""
    return os.open(name, flags, 0o600)
