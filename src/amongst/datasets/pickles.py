"""CIFAR's batches are pickles. This reads them without running what a pickle may ask for.

Nothing but the names that such a batch contains is admitted, and even these stand for inert
placeholders: no function of NumPy or of Python is called on behalf of the file. Long strings, the
pixels, are skipped while unpickling and streamed into their array afterwards.
"""

from __future__ import annotations

import codecs
import io
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from amongst.errors import FileFormatError

__all__ = ["StoredArray", "read_batch_pickle"]

CHUNK = 1 << 20
LONG = 4096
TEXT = b"X"
STRINGS = (TEXT, b"T", b"B")  # opcodes of strings whose length has four bytes


@dataclass(frozen=True)
class _Skipped:
    """A long string that is still in the file: Latin-1 text in UTF-8, or bytes."""

    source: Path | bytes
    start: int
    size: int
    is_text: bool

    def pieces(self) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder("utf-8")()
        with _opened(self.source) as file:
            file.seek(self.start)
            for done in range(0, self.size, CHUNK):
                piece = file.read(min(CHUNK, self.size - done))
                yield decoder.decode(piece).encode("latin1") if self.is_text else piece


class StoredArray:
    """A byte array as the pickle has it; `move_into` writes its bytes to where they belong."""

    raw: bytes | str = b""
    skipped: _Skipped | None = None

    def __setstate__(self, state: Any) -> None:
        _version, _shape, dtype, fortran, raw = state
        if not isinstance(dtype, _Type) or dtype.code not in ("u1", b"u1") or fortran:
            raise pickle.UnpicklingError("an array that is not of bytes by rows")
        if not isinstance(raw, bytes | str):
            raise pickle.UnpicklingError("an array without raw bytes")
        self.raw = raw

    def move_into(self, out: npt.NDArray[np.uint8]) -> None:
        """Write the bytes to `out`, a piece at a time, so that there is no second copy of them."""
        flat, done = out.reshape(-1), 0
        try:
            for piece in self._pieces():
                if done + len(piece) > len(flat):
                    raise pickle.UnpicklingError(f"more than the {len(flat)} bytes that belong")
                flat[done : done + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
                done += len(piece)
        except UnicodeError as error:
            raise pickle.UnpicklingError("text where bytes belong") from error
        if done != len(flat):
            raise pickle.UnpicklingError(f"{done} bytes where {len(flat)} belong")

    def _pieces(self) -> Iterator[bytes]:
        if self.skipped is not None:
            yield from self.skipped.pieces()
        elif self.raw:
            yield self.raw.encode("latin1") if isinstance(self.raw, str) else self.raw


class _Type:
    """Stands for numpy.dtype."""

    def __init__(self, code: str | bytes, *_: Any) -> None:
        self.code = code

    def __setstate__(self, state: Any) -> None:
        """Byte order and alignment: of no concern for bytes."""


def _reconstruct(*_: Any) -> StoredArray:
    return StoredArray()


def _encode(text: str, encoding: str) -> str:
    """Python 3 writes bytes into old pickles as Latin-1 text; it is encoded when it is moved."""
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


class _Skipping:
    """The file as the unpickler sees it: in place of a long string stands a short token.

    The unpickler reads an opcode (one byte), then the string's length (four bytes), then the
    string. Where it reads in other portions, nothing is skipped, and nothing goes wrong.
    """

    def __init__(self, source: Path | bytes, file: BinaryIO) -> None:
        self.source = source
        self.file = file
        self.opcode = b""
        self.token = b""
        self.skipped: dict[str, _Skipped] = {}

    def read(self, size: int) -> bytes:
        """The next `size` bytes, or what stands for them."""
        if self.token:
            token, self.token = self.token, b""
            return token
        part, opcode = self.file.read(size), self.opcode
        self.opcode = part if size == 1 else b""
        return self._length(part, opcode) if size == 4 and opcode in STRINGS else part

    def readline(self) -> bytes:
        """Up to the next line end."""
        return self.file.readline()

    def _length(self, part: bytes, opcode: bytes) -> bytes:
        size = int.from_bytes(part, "little", signed=True)
        if size < LONG:
            return part
        name = f"skipped string {len(self.skipped)}"
        self.skipped[name] = _Skipped(self.source, self.file.tell(), size, opcode == TEXT)
        self.file.seek(size, io.SEEK_CUR)
        self.token = name.encode()
        return len(self.token).to_bytes(4, "little")


def read_batch_pickle(source: Path | bytes) -> dict[str, Any]:
    """The dictionary that a CIFAR batch holds, with arrays as `StoredArray`.

    Parameters
    ----------
    source : a file, or its bytes.

    Examples
    --------
    >>> read_batch_pickle(pickle.dumps({b"labels": [3, 1]}, protocol=2))
    {'labels': [3, 1]}
    >>> read_batch_pickle(pickle.dumps(print, protocol=2))
    Traceback (most recent call last):
    amongst.errors.FileFormatError: the batch is refused: it asks for __builtin__.print, which no batch needs.
    """
    name = "the batch" if isinstance(source, bytes) else str(source)
    with _opened(source) as file:
        found, skipped = _loaded(name, _Skipping(source, file))
    for value in found.values():
        if isinstance(value, StoredArray):
            value.skipped = skipped.get(_text(value.raw))
    return found


def _loaded(name: str, file: _Skipping) -> tuple[dict[str, Any], dict[str, _Skipped]]:
    try:
        # encoding="bytes" keeps Python 2's strings as they are
        found = _Unpickler(file, encoding="bytes").load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError) as error:
        raise FileFormatError(f"{name} is refused: {error or type(error).__name__}.") from error
    except (ValueError, TypeError, IndexError, KeyError, OverflowError, MemoryError) as error:
        raise FileFormatError(f"{name} is refused: it is no sound pickle ({error}).") from error
    if not isinstance(found, dict):
        raise FileFormatError(f"{name} is refused: it holds no dictionary.")
    return {_text(key): value for key, value in found.items()}, file.skipped


def _opened(source: Path | bytes) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _text(key: Any) -> str:
    return key.decode("latin1") if isinstance(key, bytes) else str(key)
