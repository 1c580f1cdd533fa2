"""Arrays and facts in one file: safetensors with JSON beside them; no pickle, nothing executed.

A digest over all of it is kept in the header, so a tampered or truncated file is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from amongst.atomic import write_atomically
from amongst.errors import DataNotFoundError, FileFormatError, InputError

__all__ = ["Arrays", "read_archive", "write_archive"]

Arrays = Mapping[str, npt.NDArray[Any]]
FORMAT = "amongst-1"
PICKLES = (".pkl", ".pickle", ".joblib")


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
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise FileFormatError(_foreign(Path(path), error)) from error
    if header.get("format") != FORMAT:
        raise FileFormatError(f"{os.fspath(path)!r} was not written by amongst ({FORMAT}).")
    if header.get("digest") != _digest(arrays, header.get("facts", "")):
        raise FileFormatError(
            f"{os.fspath(path)!r} does not match its own checksum: it was damaged or changed. "
            "Save it again from its source."
        )
    return arrays, json.loads(header["facts"])


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
