"""CIFAR's batches are pickles. This reads them without running what a pickle may ask for.

Nothing but the names that such a batch contains is admitted, and even these stand for inert
placeholders: no function of NumPy or of Python is called on behalf of the file.
"""

from __future__ import annotations

import mmap
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.errors import FileFormatError

__all__ = ["StoredArray", "read_batch_pickle"]

CHUNK = 1 << 20


class StoredArray:
    """A byte array as the pickle has it: its shape, and its raw bytes (or Latin-1 text)."""

    shape: tuple[int, ...] = ()
    raw: bytes | str = b""

    def __setstate__(self, state: Any) -> None:
        _version, shape, dtype, fortran, raw = state
        if not isinstance(dtype, _Type) or dtype.code not in ("u1", b"u1") or fortran:
            raise pickle.UnpicklingError("an array that is not of bytes by rows")
        if not isinstance(raw, bytes | str):
            raise pickle.UnpicklingError("an array without raw bytes")
        self.shape = tuple(int(size) for size in shape)
        self.raw = raw

    def move_into(self, out: npt.NDArray[np.uint8]) -> None:
        """Write the bytes to `out`, a piece at a time, and let go of them: no second copy stays."""
        raw, self.raw = self.raw, b""
        if len(raw) != out.size:
            raise pickle.UnpicklingError(f"{len(raw)} bytes where {out.size} belong")
        flat = out.reshape(-1)
        for start in range(0, len(flat), CHUNK):
            piece = raw[start : start + CHUNK]
            held = piece.encode("latin1") if isinstance(piece, str) else piece
            flat[start : start + CHUNK] = np.frombuffer(held, dtype=np.uint8)


class _Type:
    """Stands for numpy.dtype."""

    def __init__(self, code: str | bytes, *_: Any) -> None:
        self.code = code

    def __setstate__(self, state: Any) -> None:
        """Byte order and alignment: of no concern for bytes."""


def _reconstruct(*_: Any) -> StoredArray:
    return StoredArray()


def _encode(text: str, encoding: str) -> str:
    """Python 3 writes bytes into old pickles as Latin-1 text; it is encoded when it is copied."""
    if encoding not in ("latin1", b"latin1"):
        raise pickle.UnpicklingError(f"the encoding {encoding!r}")
    return text


ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): StoredArray,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _encode,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """One of the admitted names, or a refusal that says which name was asked for."""
        if (module, name) not in ADMITTED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no batch needs")
        return ADMITTED[module, name]

    def persistent_load(self, pid: Any) -> Any:
        """Refused: a batch refers to nothing outside."""
        raise pickle.UnpicklingError("it refers to an object outside the file")


class _Mapped:
    """The little of a file that an unpickler needs, over memory that need not be copied."""

    def __init__(self, memory: Any) -> None:
        self.view = memoryview(memory)
        self.place = 0

    def read(self, size: int) -> memoryview:
        """The next `size` bytes, as a view."""
        part = self.view[self.place : self.place + size]
        self.place += len(part)
        return part

    def readline(self) -> bytes:
        """Up to the next line end."""
        end = self.place
        while end < len(self.view) and self.view[end] != 10:
            end += 1
        part = bytes(self.view[self.place : end + 1])
        self.place = end + 1
        return part


def read_batch_pickle(source: Path | bytes) -> dict[str, Any]:
    """The dictionary that a CIFAR batch holds, with arrays as `StoredArray`.

    Parameters
    ----------
    source : a file, which is mapped rather than read; or its bytes.

    Examples
    --------
    >>> read_batch_pickle(pickle.dumps({b"labels": [3, 1]}, protocol=2))
    {'labels': [3, 1]}
    >>> read_batch_pickle(pickle.dumps(print, protocol=2))
    Traceback (most recent call last):
    amongst.errors.FileFormatError: the batch is refused: it asks for __builtin__.print, which no batch needs.
    """
    if isinstance(source, bytes):
        return _loaded("the batch", source)
    if source.stat().st_size == 0:
        raise FileFormatError(f"{source} is empty (0 bytes); fetch it again.")
    with source.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        return _loaded(str(source), memory)
    finally:
        if hasattr(memory, "madvise"):  # its pages need not stay in memory
            memory.madvise(mmap.MADV_DONTNEED)


def _loaded(name: str, memory: Any) -> dict[str, Any]:
    try:
        # encoding="bytes" keeps Python 2's strings as they are
        found = _Unpickler(_Mapped(memory), encoding="bytes").load()  # type: ignore[arg-type]
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError) as error:
        raise FileFormatError(f"{name} is refused: {error or type(error).__name__}.") from error
    except (ValueError, TypeError, IndexError, KeyError, OverflowError, MemoryError) as error:
        raise FileFormatError(f"{name} is refused: it is no sound pickle ({error}).") from error
    if not isinstance(found, dict):
        raise FileFormatError(f"{name} is refused: it holds no dictionary.")
    return {_text(key): value for key, value in found.items()}


def _text(key: Any) -> str:
    return key.decode("latin1") if isinstance(key, bytes) else str(key)
