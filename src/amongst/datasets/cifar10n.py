"""CIFAR-10N: CIFAR-10's training images with the labels of three people each."""

from __future__ import annotations

import hashlib
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.candidates import CandidateSets
from amongst.datasets.arrays import read_npz
from amongst.datasets.catalogue import entry as catalogue_entry
from amongst.datasets.cifar import read_cifar
from amongst.datasets.dataset import Dataset
from amongst.datasets.entries import Entry
from amongst.datasets.places import check_sha256, require
from amongst.errors import FileFormatError

__all__ = ["read_cifar10n_dataset", "read_human_labels"]

VOTES = ("random_label1", "random_label2", "random_label3")
KEYS = ("clean_label", *VOTES)
CONTENT_SHA256 = "b8f9c6638e70878e7535dc6c2636f3ac1c06026072a7dd9302abe8879c29e9bc"
Bytes = npt.NDArray[np.uint8]


def read_cifar10n_dataset(entry: Entry, check: bool = True) -> Dataset:
    """CIFAR-10 with, for each training image, the set of its three human labels."""
    path = require(entry, entry.files[0])
    human = read_human_labels(path, entry.n_train)
    if check:
        _check_content(path, human)
    images = Dataset.of(entry, *read_cifar(catalogue_entry("cifar10"), check))
    if not np.array_equal(human["clean_label"], images.labels[: entry.n_train]):
        raise FileFormatError(
            f"{path}: clean_label is not the label of CIFAR-10's training images; its rows are in "
            "another order. Use CIFAR-10_human.pt, not the ordered variant."
        )
    mask = np.zeros((entry.n_train, entry.n_classes), dtype=bool)
    for vote in VOTES:
        mask[np.arange(entry.n_train), human[vote]] = True
    return replace(images, candidates=CandidateSets(mask, np.arange(entry.n_classes)))


def read_human_labels(path: Path, n: int) -> dict[str, Bytes]:
    """`clean_label` and `random_label1` to `3`, each (n,), from ``.pt`` (official) or ``.npz``."""
    stored = read_npz(path) if path.suffix == ".npz" else _read_pt(path)
    found: dict[str, Bytes] = {}
    for key in KEYS:
        if key not in stored:
            raise FileFormatError(f"{path} has no key {key!r}; it holds: {', '.join(stored)}.")
        values = np.asarray(stored[key])
        if values.shape != (n,) or values.dtype.kind not in "iu" or values.max() > 9:
            raise FileFormatError(f"{path}: {key!r} does not hold {n} labels from 0 to 9.")
        found[key] = np.ascontiguousarray(values, dtype=np.uint8)
    return found


def _read_pt(path: Path) -> dict[str, Any]:
    """A dictionary of arrays saved with torch, read without admitting anything but arrays."""
    import torch

    try:
        with torch.serialization.safe_globals(_admitted()):
            stored = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, zipfile.BadZipFile, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise FileFormatError(f"{path} cannot be read as a torch file: {reason}") from error
    if not isinstance(stored, dict):
        raise FileFormatError(f"{path} holds no dictionary of labels.")
    return {str(key): value for key, value in stored.items()}


def _admitted() -> list[Any]:
    """What an array of whole numbers needs, under the names of old and new NumPy."""
    reconstruct = np.empty(0).__reduce__()[0]
    return [
        (reconstruct, "numpy.core.multiarray._reconstruct"),
        (reconstruct, "numpy._core.multiarray._reconstruct"),
        np.ndarray,
        np.dtype,
        *(type(np.dtype(code)) for code in ("u1", "i4", "i8")),
    ]


def _check_content(path: Path, human: dict[str, Bytes]) -> None:
    content = hashlib.sha256(b"".join(human[key].tobytes() for key in KEYS))
    check_sha256(path, CONTENT_SHA256, content.hexdigest())
