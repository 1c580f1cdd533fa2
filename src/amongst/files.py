"""Files that appear under their name when they are complete; and archives of arrays and facts.

A file is written beside its place, under a hidden name that says who writes, and then renamed. A writer
that is killed (kill −9) cannot take that away; the next writer of the same file does. An archive is
safetensors with JSON beside them: no pickle, nothing executed. A digest over all of it is kept in the
header, so a tampered or truncated one is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt
from safetensors import safe_open
from safetensors.numpy import save

from amongst import processes
from amongst.errors import DataNotFoundError, FileFormatError, InputError, StoreError

STALE_SECONDS = 24 * 3600
"""What was last written to so long ago has no writer, on whatever machine."""

Arrays = Mapping[str, npt.NDArray[Any]]
Kept = TypeVar("Kept")
FORMAT = "amongst-1"
PICKLES = (".pkl", ".pickle", ".joblib")


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
            target = Path(os.path.realpath(given))
            if not target.parent.is_dir():
                raise InputError(
                    f"the folder {str(target.parent)!r} does not exist; make it first."
                )
            with atomic_write(target) as file:
                file.write(content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"{str(given)!r} cannot be written: {reason}.") from error


def temporary_prefix(path: Path) -> str:
    """How the hidden name of a temporary for `path` begins: whose it is, by machine and process."""
    return f".{path.name}.{_machine()}-{os.getpid()}-"


def clear_abandoned(path: Path) -> None:
    """Take away temporaries for `path` whose writer is dead, or that nobody wrote to for a day."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.([0-9a-f]{{8}})-(\d+)-[^.-]+")
    with suppress(OSError):  # another may be clearing, too, or the folder cannot be listed
        for found in sorted(path.parent.iterdir()):
            if not (owner := pattern.fullmatch(found.name)):
                continue
            is_old = time.time() - found.stat().st_mtime > STALE_SECONDS
            if is_old or (owner[1] == _machine() and not processes.exists(int(owner[2]))):
                found.unlink(missing_ok=True)


def write_archive(path: str | os.PathLike[str], arrays: Arrays, facts: Mapping[str, Any]) -> None:
    """Write arrays and JSON-ready facts to `path`, atomically.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> write_archive(f"{folder}/a", {"w": np.eye(2)}, {"kind": "example"})
    >>> arrays, facts = read_archive(f"{folder}/a")
    >>> facts["kind"], arrays["w"].shape
    ('example', (2, 2))
    """
    try:
        text = json.dumps(facts)
    except TypeError as error:
        raise InputError(f"this cannot be saved without pickle: {error}.") from error
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = {"format": FORMAT, "facts": text, "digest": _digest(whole, text)}
    write_atomically(path, save(whole, header))


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, npt.NDArray[Any]], Any]:
    """Read what `write_archive` wrote; a damaged or foreign file is refused."""
    if Path(path).is_dir():
        raise InputError(f"{os.fspath(path)!r} is a folder; name a file.")
    if not Path(path).is_file():
        raise DataNotFoundError(f"there is no file {os.fspath(path)!r}.")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        facts = json.loads(header.get("facts", "null"))
    except Exception as error:  # safetensors, NumPy and JSON have many kinds
        raise FileFormatError(_foreign(Path(path), error)) from error
    if header.get("format") != FORMAT:
        raise FileFormatError(f"{os.fspath(path)!r} was not written by amongst ({FORMAT}).")
    if header.get("digest") != _digest(arrays, header.get("facts", "")):
        raise FileFormatError(
            f"{os.fspath(path)!r} does not match its own checksum: it was damaged or changed. "
            "Save it again from its source."
        )
    return arrays, facts


def under(arrays: Mapping[str, Kept], start: str) -> dict[str, Kept]:
    """Those whose names begin so, without that beginning.

    >>> under({"model/w": 1, "shift": 2}, "model/")
    {'w': 1}
    """
    return {n.removeprefix(start): array for n, array in arrays.items() if n.startswith(start)}


def _foreign(path: Path, error: Exception) -> str:
    """What a file is that cannot be read here; nothing of it is executed to find out."""
    if isinstance(error, OSError) or not _is_pickle(path):
        return f"{str(path)!r} is not a file of amongst, or it is truncated ({error})."
    return (
        f"{str(path)!r} is a pickle, which can run any code when it is opened, so it is not opened "
        "here. Use a file that the estimator's own save wrote; a pipeline, which has none, is opened "
        "in Python with joblib.load, if you trust where it comes from."
    )


def _is_pickle(path: Path) -> bool:
    """By its name, or its first bytes: protocol 2 to 5, and no length of a header as ours."""
    with path.open("rb") as file:
        start = file.read(3)
    marked = len(start) == 3 and start[0] == 0x80 and 2 <= start[1] <= 5 and start[2] != 0
    return marked or path.suffix.lower() in PICKLES


def _digest(arrays: Arrays, text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def _machine() -> str:
    """The name of this machine in eight characters: a cache may be shared by several."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _for_the_owner(name: str, flags: int) -> int:
    """What takes the place of a private file is private from the start."""
    return os.open(name, flags, 0o600)
