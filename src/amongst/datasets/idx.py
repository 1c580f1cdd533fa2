"""The idx format of the MNIST family, gzipped, decoded straight into the array it becomes."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.datasets.dataset import Dataset
from amongst.datasets.entries import Entry
from amongst.datasets.places import check_sha256, require
from amongst.errors import FileFormatError

__all__ = ["read_idx", "read_idx_dataset"]

CHUNK = 1 << 18
MOST_CELLS = 1 << 33
Bytes = npt.NDArray[np.uint8]


def read_idx(
    path: Path,
    *,
    out: Bytes | None = None,
    shape: tuple[int, ...] | None = None,
    sha256: str | None = None,
) -> Bytes:
    """Read a gzipped idx file of bytes.

    Header: 0, 0, 8 (unsigned byte), number of axes, then each axis as a big-endian 32-bit number.

    Parameters
    ----------
    path : file.
    out : contiguous array to write into, of the shape that the file declares.
    shape : what the header must say; checked before anything is decoded.
    sha256 : of the gzipped file, computed along the way.

    Examples
    --------
    >>> import gzip, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "labels-idx1-ubyte.gz"
    >>> _ = file.write_bytes(gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9])))
    >>> read_idx(file)
    array([7, 8, 9], dtype=uint8)
    """
    total = hashlib.sha256()
    stream = _Stream(path, _inflated(path, total.update))
    found = _header(path, stream)
    if shape is not None and found != shape:
        raise FileFormatError(
            f"{path} holds an array of shape {found}, expected {shape}: is it another file under "
            "this name (images for labels, training for test)? Nothing was changed."
        )
    array = np.empty(found, dtype=np.uint8) if out is None else out
    stream.fill(array.reshape(-1).data)
    stream.finish()
    check_sha256(path, sha256, total.hexdigest())
    return array


def read_idx_dataset(entry: Entry, check: bool = True) -> Dataset:
    """A dataset of four idx files: training rows first, then test rows, in one array."""
    paths = [require(entry, file) for file in entry.files]
    hashes = [file.sha256 if check else None for file in entry.files]
    features = np.empty((entry.n, *entry.row), dtype=np.uint8)
    labels = np.empty(entry.n, dtype=np.uint8)
    spans = (slice(None, entry.n_train), slice(entry.n_train, None))
    for part, span in enumerate(spans):
        for offset, target in ((0, features[span]), (1, labels[span])):
            place = 2 * part + offset
            read_idx(paths[place], out=target, shape=target.shape, sha256=hashes[place])
    return Dataset.of(entry, features, labels)


class _Stream:
    """Decoded bytes, taken as they come."""

    def __init__(self, path: Path, chunks: Iterator[bytes]) -> None:
        self.path = path
        self.chunks = chunks
        self.rest = memoryview(b"")

    def fill(self, target: memoryview) -> None:
        """Exactly as many bytes as `target` has room for."""
        done = 0
        while done < len(target):
            if not self.rest:
                chunk: bytes = next(self.chunks, b"")
                self.rest = memoryview(chunk)
                if not self.rest:
                    raise FileFormatError(
                        f"{self.path} ends early: {done:,} of {len(target):,} bytes are there. It "
                        "is truncated; delete it, and fetch it again."
                    )
            step = min(len(self.rest), len(target) - done)
            target[done : done + step] = self.rest[:step]
            self.rest = self.rest[step:]
            done += step

    def finish(self) -> None:
        """Nothing may be left."""
        more: bytes = next(self.chunks, b"")
        if self.rest or more:
            raise FileFormatError(f"{self.path} holds more bytes than its header declares.")


def _inflated(path: Path, update: Callable[[bytes], Any]) -> Iterator[bytes]:
    """Decoded chunks; zlib checks the length and CRC at the end."""
    decoder = zlib.decompressobj(wbits=31)
    with path.open("rb") as file:
        while raw := file.read(CHUNK):
            update(raw)
            try:
                decoded = decoder.decompress(raw)
            except zlib.error as error:
                raise FileFormatError(
                    f"{path} is not a sound gzip file: {error}. Delete it, and fetch it again."
                ) from error
            if decoded:
                yield decoded
    if not decoder.eof:
        raise FileFormatError(
            f"{path} ends early: the gzip stream is truncated; delete it, and fetch it again."
        )


def _header(path: Path, stream: _Stream) -> tuple[int, ...]:
    start = bytearray(4)
    stream.fill(memoryview(start))
    if start[:3] != b"\0\0\x08" or not 1 <= start[3] <= 4:
        raise FileFormatError(f"{path} is not an idx file of bytes: it starts with {start.hex()}.")
    sizes = bytearray(4 * start[3])
    stream.fill(memoryview(sizes))
    shape = tuple(int(size) for size in np.frombuffer(bytes(sizes), dtype=">u4"))
    if prod(shape) > MOST_CELLS:
        raise FileFormatError(f"{path} declares the impossible shape {shape}; it is damaged.")
    return shape
