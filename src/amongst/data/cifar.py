"""CIFAR-10 from its official pickles, from the archive of these, or from lossless sheets; CIFAR-10N.

Whichever it is, the pixels and labels of each batch must have their known checksum.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import pickletools
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.data.arrays import open_npz
from amongst.data.catalogue import CONTENT_SHA256, Entry
from amongst.data.catalogue import entry as catalogue_entry
from amongst.data.dataset import Dataset
from amongst.data.places import BATCHES, FOLDER, check_sha256, find_cifar, missing, require
from amongst.data.readers import sets_of_answers
from amongst.errors import DataNotFoundError, FileFormatError, reading
from amongst.optional import optional_import

PER_BATCH = 10_000
PIXELS_SHA256, LABELS_SHA256 = CONTENT_SHA256["pixels"], CONTENT_SHA256["labels"]
HUMAN_SHA256 = CONTENT_SHA256["human"]["labels"]
VOTES = ("random_label1", "random_label2", "random_label3")
KEYS = ("clean_label", *VOTES)
MOST_TUPLES = 1000
"""In a batch: Python crashes where it hashes a very deep one."""
LARGEST = 1 << 28
"""Bytes that a member of the archive may have."""
Bytes = npt.NDArray[np.uint8]
Batch = tuple[str, Any, Any]
"""Its name, its pixels in any shape, its labels."""


def read_cifar_dataset(entry: Entry, check: bool = True) -> Dataset:
    """CIFAR-10 as a dataset: images (60000, 3, 32, 32) of bytes, training rows first."""
    return Dataset.of(entry, *read_cifar(entry, check))


def read_cifar10n_dataset(entry: Entry, check: bool = True) -> Dataset:
    """CIFAR-10 with, for each training image, the votes of three people."""
    path = require(entry, entry.files[0])
    human = read_human_labels(path, entry.n_train)
    if check:
        _check_human(path, human)
    images = Dataset.of(entry, *read_cifar(catalogue_entry("cifar10"), check))
    if not np.array_equal(human["clean_label"], images.labels[: entry.n_train]):
        raise FileFormatError(
            f"{path}: clean_label is not the label of CIFAR-10's training images; its rows are in "
            "another order. Use CIFAR-10_human.pt, not the ordered variant."
        )
    answers = np.stack([human[vote] for vote in VOTES], axis=1).astype(np.int64)
    return replace(images, candidates=sets_of_answers(answers, entry.n_classes))


def read_cifar(entry: Entry, check: bool = True) -> tuple[Bytes, Bytes]:
    """Pixels (60000, 3, 32, 32) and labels (60000,); the checksum of every batch is compared."""
    found = find_cifar(entry)
    if found is None:
        raise DataNotFoundError(missing(entry, entry.files[0]))
    features = np.empty((entry.n, *entry.row), dtype=np.uint8)
    labels = np.empty(entry.n, dtype=np.uint8)
    readers = {"folder": _from_folder, "archive": _from_archive, "sheets": _from_sheets}
    seen = set()
    for name, pixels, known in readers[found.form](found.path):
        start = BATCHES.index(name) * PER_BATCH
        span = slice(start, start + PER_BATCH)
        where = found.path / name
        labels[span] = _labels(f"{where} does not hold", known, PER_BATCH)
        if pixels.size != features[span].size:
            problem = f"{where} has {pixels.size} bytes where {features[span].size} belong."
            raise FileFormatError(problem, code="unreadable")
        features[span] = pixels.reshape(features[span].shape)
        if check:
            sums = (PIXELS_SHA256, features[span]), (LABELS_SHA256, labels[span])
            for expected, array in sums:
                check_sha256(where, expected[name], hashlib.sha256(array.data).hexdigest())
        seen.add(name)
    if len(seen) < len(BATCHES):
        raise FileFormatError(f"{found.path} holds {len(seen)} of the {len(BATCHES)} batches.")
    return features, labels


def batches_of(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of each batch in CIFAR's archive; nothing else in it is looked at."""
    remedy = "It may be truncated: delete it, and fetch it again."
    with reading(archive, "a tar archive", remedy), tarfile.open(archive, "r|*") as tar:
        for member in tar:
            place = PurePosixPath(member.name)
            ours = place.parent.name == FOLDER and place.name in BATCHES
            if ours and member.isreg() and member.size < LARGEST:
                yield place.name, tar.extractfile(member).read()  # type: ignore[union-attr]


def read_batch_pickle(raw: bytes, name: str = "the batch") -> dict[str, Any]:
    """The dictionary that a CIFAR batch holds; of what a pickle may ask for, nothing runs."""
    with reading(name, "a batch of CIFAR"):  # "bytes" keeps Python 2's strings as they are
        tuples = sum(code.name.startswith("TUPLE") for code, *_ in pickletools.genops(raw))
        if tuples > MOST_TUPLES:
            raise pickle.UnpicklingError(f"more than {MOST_TUPLES:,} tuples")
        found = _Unpickler(io.BytesIO(raw), encoding="bytes").load()
        return {k.decode("latin1") if isinstance(k, bytes) else str(k): found[k] for k in found}


class _Stored:
    """A byte array as the pickle has it."""

    raw: Any = b""

    def __setstate__(self, state: Any) -> None:
        _version, _shape, dtype, fortran, raw = state
        if not isinstance(dtype, _Type) or dtype.code not in ("u1", b"u1") or fortran:
            raise pickle.UnpicklingError("an array that is not of bytes by rows")
        self.raw = bytes(raw)


class _Type:
    """Stands for numpy.dtype."""

    def __init__(self, code: str | bytes, *_: Any) -> None:
        self.code = code

    def __setstate__(self, state: Any) -> None:
        """Byte order and alignment: of no concern for bytes."""


def _encode(text: str, encoding: str) -> bytes:
    """Python 3 writes bytes into old pickles as Latin-1 text."""
    if encoding not in ("latin1", b"latin1"):
        raise pickle.UnpicklingError(f"the encoding {encoding!r}")
    return text.encode("latin1")


ADMITTED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): lambda *_: _Stored(),
    ("numpy._core.multiarray", "_reconstruct"): lambda *_: _Stored(),
    ("numpy", "ndarray"): _Stored,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _encode,
}
"""The names that a batch contains, and what stands for them: no function of NumPy is called."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """One of the admitted names, or a refusal that says which name was asked for."""
        if (module, name) not in ADMITTED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no batch needs")
        return ADMITTED[module, name]


def _from_folder(folder: Path) -> Iterator[Batch]:
    return (_batch(folder / name, (folder / name).read_bytes()) for name in BATCHES)


def _from_archive(archive: Path) -> Iterator[Batch]:
    return (_batch(archive / name, content) for name, content in batches_of(archive))


def _batch(path: Path, content: bytes) -> Batch:
    batch = read_batch_pickle(content, str(path))
    data = batch.get("data")
    if not isinstance(data, _Stored) or "labels" not in batch:
        there = ", ".join(sorted(batch)) or "nothing"
        raise FileFormatError(f"{path} lacks 'data' or 'labels'; it holds: {there}.")
    return path.name, np.frombuffer(data.raw, np.uint8), batch["labels"]


def _from_sheets(folder: Path) -> Iterator[Batch]:
    labels = open_npz(folder / "labels.npz").arrays
    return ((name, _unfold(folder / f"{name}.webp"), labels.get(name)) for name in BATCHES)


def _unfold(path: Path) -> Bytes:
    """A sheet of 100 × 100 images becomes 10,000 images of (3, 32, 32)."""
    image = optional_import("PIL.Image", extra="data", purpose="reading WebP sheets of CIFAR-10")
    with reading(path, "a picture"), image.open(path) as opened:
        sheet = np.asarray(opened.convert("RGB"))
    if sheet.shape != (3200, 3200, 3):
        raise FileFormatError(f"{path} is {sheet.shape}, expected 3200 × 3200 pixels.")
    return sheet.reshape(100, 32, 100, 32, 3).transpose(0, 2, 4, 1, 3)


def read_human_labels(path: Path, n: int) -> dict[str, Bytes]:
    """`clean_label` and `random_label1` to `3`, each (n,), from ``.pt`` (official) or ``.npz``."""
    stored = open_npz(path).arrays if path.suffix == ".npz" else _read_pt(path)
    for key in KEYS:
        if key not in stored:
            raise FileFormatError(f"{path} has no key {key!r}; it holds: {', '.join(stored)}.")
    return {key: _labels(f"{path}: {key!r} does not hold", stored[key], n) for key in KEYS}


def _labels(problem: str, known: Any, n: int) -> Bytes:
    values = np.asarray(known) if known is not None else np.empty(0)
    if values.shape != (n,) or values.dtype.kind not in "iu" or values.max() > 9:
        raise FileFormatError(f"{problem} {n} labels from 0 to 9.")
    return np.ascontiguousarray(values, dtype=np.uint8)


def _read_pt(path: Path) -> dict[str, Any]:
    """A dictionary of arrays saved with torch, read without admitting anything but arrays."""
    import torch

    reconstruct = np.empty(0).__reduce__()[0]
    admitted: list[Any] = [
        (reconstruct, "numpy.core.multiarray._reconstruct"),
        (reconstruct, "numpy._core.multiarray._reconstruct"),
        np.ndarray,
        np.dtype,
        *(type(np.dtype(code)) for code in ("u1", "i4", "i8")),
    ]
    with reading(path, "a torch file"), torch.serialization.safe_globals(admitted):
        stored = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(stored, dict):
        raise FileFormatError(f"{path} holds no dictionary of labels.")
    return {str(key): value for key, value in stored.items()}


def _check_human(path: Path, human: dict[str, Bytes]) -> None:
    content = hashlib.sha256(b"".join(human[key].tobytes() for key in KEYS))
    check_sha256(path, HUMAN_SHA256, content.hexdigest())
