"""CIFAR-10 from its official pickles, from the archive of these, or from lossless sheets.

Whichever it is, the pixels and labels of each batch must have their known checksum.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from amongst.atomic import atomic_write
from amongst.datasets.archives import tar_members
from amongst.datasets.arrays import read_npz
from amongst.datasets.dataset import Dataset
from amongst.datasets.entries import Entry
from amongst.datasets.pickles import StoredArray, read_batch_pickle
from amongst.datasets.places import cache_folder, check_sha256, missing, roots
from amongst.errors import DataNotFoundError, FileFormatError
from amongst.optional import optional_import

__all__ = ["BATCHES", "FOLDER", "Found", "find_cifar", "read_cifar", "read_cifar_dataset"]

FOLDER = "cifar-10-batches-py"
ARCHIVE = "cifar-10-python.tar.gz"
BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")  # fmt: skip
PER_BATCH = 10_000
PIXELS_SHA256 = {
    "data_batch_1": "a50e8b48728e1667d682a807155c375279d5ae321fb12242c02e3104a6bc8b21",
    "data_batch_2": "0b825e5592c3b72ea18d6ec2ff5f5b19d33e41a75f5039054a9bb87be3cf69a0",
    "data_batch_3": "c6ee1dd4601a69ec085d8ebf53ee6441775491a6839a0a9ae8fa198e88a3a429",
    "data_batch_4": "1f6b6c799cff375a9f8fae2fac909d51ee09f38a6a60eebb9e8fec6f47ddc48f",
    "data_batch_5": "58e3bbf713e28357476a351d3a05d056372f94c681d04ca9d62a076fdf2a643b",
    "test_batch": "177777c33ba79825320efa646ad04a94bdc3c80e4ebe3bd21724f8cdfd4b9d56",
}
LABELS_SHA256 = {
    "data_batch_1": "d829dbdf32167c9d7b3687cee66d92d80d46c441308b5aca0d11e8b69e27dac9",
    "data_batch_2": "5d18f7371ed35ea9ade77952fe958b0660a45cd6c8b8a8970030f21612cfd7e3",
    "data_batch_3": "32cf77b0ee2e790b1c4384d2d82e42dc1571b87e67f6da8f444b2725b2973f65",
    "data_batch_4": "d2815e3f8f656272864920fc0edde56b04ec9cf81bf397c0dd3069f4aea51aeb",
    "data_batch_5": "2ddf3ab27d5d04409c94ce7b56849c243129c10de1058ae0bfe14c77e934800c",
    "test_batch": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
}
Bytes = npt.NDArray[np.uint8]
Batch = tuple[str, Callable[[Bytes], None], Any]


@dataclass(frozen=True)
class Found:
    """Where CIFAR-10 is, and in which of its three forms."""

    form: Literal["folder", "archive", "sheets"]
    path: Path


def find_cifar(entry: Entry) -> Found | None:
    """The first form of CIFAR-10 that is complete, or None."""
    for root in roots():
        for place in (root / folder for folder in entry.folders):
            if all((place / FOLDER / name).is_file() for name in BATCHES):
                return Found("folder", place / FOLDER)
            if (place / ARCHIVE).is_file():
                return Found("archive", place / ARCHIVE)
            if all((place / f"{name}.webp").is_file() for name in BATCHES):
                return Found("sheets", place)
    return None


def read_cifar_dataset(entry: Entry, check: bool = True) -> Dataset:
    """CIFAR-10 as a dataset: images (60000, 3, 32, 32) of bytes, training rows first."""
    features, labels = read_cifar(entry, check)
    return Dataset.of(entry, features, labels)


def read_cifar(entry: Entry, check: bool = True, use_copy: bool = True) -> tuple[Bytes, Bytes]:
    """Pixels (60000, 3, 32, 32) and labels (60000,); the checksum of every batch is compared.

    The archive and the sheets take seconds to decode: the first time, a decoded copy is put into
    the user cache, where there is one, and read from there afterwards (not with
    ``use_copy=False``, which looks at the files themselves).
    """
    found = find_cifar(entry)
    if found is None:
        raise DataNotFoundError(missing(entry, entry.files[0]))
    if use_copy and found.form != "folder" and (copy := _decoded_copy()) is not None:
        return copy
    features = np.empty((entry.n, *entry.row), dtype=np.uint8)
    labels = np.empty(entry.n, dtype=np.uint8)
    _read_batches(found, features, labels, check)
    if check and use_copy and found.form != "folder":
        _keep_decoded(features, labels)
    return features, labels


def _read_batches(found: Found, features: Bytes, labels: Bytes, check: bool) -> None:
    readers = {"folder": _from_folder, "archive": _from_archive, "sheets": _from_sheets}
    seen = 0
    for name, fill, known in readers[found.form](found.path):
        start = BATCHES.index(name) * PER_BATCH
        span = slice(start, start + PER_BATCH)
        _take(found.path, name, fill, known, features[span], labels[span])
        if check:
            _check_batch(found.path, name, features[span], labels[span])
        seen += 1
    if seen != len(BATCHES):
        raise FileFormatError(f"{found.path} holds {seen} of the {len(BATCHES)} batches.")


def _take(
    path: Path, name: str, fill: Callable[[Bytes], None], known: Any, pixels: Bytes, labels: Bytes
) -> None:
    values = np.asarray(known) if isinstance(known, list | np.ndarray) else np.empty(0)
    if values.shape != labels.shape or values.dtype.kind not in "iu" or values.max() > 9:
        raise FileFormatError(f"{path}: {name} does not hold {len(labels)} labels from 0 to 9.")
    labels[:] = values
    try:
        fill(pixels)
    except pickle.UnpicklingError as error:
        raise FileFormatError(f"{path}: {name} is refused: {error}.") from error


def _check_batch(path: Path, name: str, pixels: Bytes, labels: Bytes) -> None:
    where = path / name
    check_sha256(where, PIXELS_SHA256[name], hashlib.sha256(pixels.data).hexdigest())
    check_sha256(where, LABELS_SHA256[name], hashlib.sha256(labels.data).hexdigest())


def _from_folder(folder: Path) -> Iterator[Batch]:
    for name in BATCHES:
        yield name, *_contents(folder / name, read_batch_pickle(folder / name))


def _from_archive(archive: Path) -> Iterator[Batch]:
    for path, content in tar_members(archive):
        place = PurePosixPath(path)
        if place.parent.name == FOLDER and place.name in BATCHES:
            yield place.name, *_contents(archive / place.name, read_batch_pickle(content))


def _contents(path: Path, batch: dict[str, Any]) -> tuple[Callable[[Bytes], None], Any]:
    data = batch.get("data")
    if not isinstance(data, StoredArray) or "labels" not in batch:
        there = ", ".join(sorted(batch)) or "nothing"
        raise FileFormatError(f"{path} lacks 'data' or 'labels'; it holds: {there}.")
    return data.move_into, batch["labels"]


def _from_sheets(folder: Path) -> Iterator[Batch]:
    image = optional_import("PIL.Image", extra="data", purpose="reading WebP sheets of CIFAR-10")
    labels = read_npz(folder / "labels.npz")
    for name in BATCHES:
        sheet = folder / f"{name}.webp"
        yield name, partial(_unfold, image, sheet), labels.get(name)


def _unfold(image: Any, path: Path, out: Bytes) -> None:
    """A sheet of 100 × 100 images becomes 10,000 images of (3, 32, 32)."""
    try:
        with image.open(path) as opened:
            sheet = np.asarray(opened.convert("RGB"))
    except OSError as error:
        raise FileFormatError(f"{path} cannot be decoded: {error}.") from error
    if sheet.shape != (3200, 3200, 3):
        raise FileFormatError(f"{path} is {sheet.shape}, expected 3200 × 3200 pixels.")
    tiles = sheet.reshape(100, 32, 100, 32, 3).transpose(0, 2, 4, 1, 3)
    out.reshape(100, 100, 3, 32, 32)[...] = tiles


def _copy_paths() -> tuple[Path, Path] | None:
    cache = cache_folder()
    if cache is None:
        return None
    return cache / "cifar10" / "decoded-pixels.npy", cache / "cifar10" / "decoded-labels.npy"


def _decoded_copy() -> tuple[Bytes, Bytes] | None:
    """The copy in the cache, if it is there and every checksum is right."""
    paths = _copy_paths()
    if paths is None or not all(path.is_file() for path in paths):
        return None
    with suppress(Exception):  # a damaged file fails in many ways
        pixels, labels = (np.load(path, allow_pickle=False) for path in paths)
        for place, name in enumerate(BATCHES):
            span = slice(place * PER_BATCH, (place + 1) * PER_BATCH)
            _check_batch(paths[0], name, pixels[span], labels[span])
        if pixels.shape == (len(BATCHES) * PER_BATCH, 3, 32, 32):
            return pixels, labels
    return None


def _keep_decoded(pixels: Bytes, labels: Bytes) -> None:
    """A convenience: where the cache cannot be written, nothing is lost but time."""
    paths = _copy_paths()
    if paths is None:
        return
    with suppress(OSError):
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        for path, array in zip(paths, (pixels, labels), strict=True):
            with atomic_write(path) as file:
                np.save(file, array, allow_pickle=False)
