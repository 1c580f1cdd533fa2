"""Folders of its own for every test, and the real data where AMONGST_DATA points at it."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from amongst.data import Entry, File, entry

REAL = os.environ.get("AMONGST_DATA")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder and an empty cache; nothing of this machine shows through."""
    for variable, name in (("AMONGST_DATA", "data"), ("AMONGST_CACHE", "cache")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    return tmp_path


@pytest.fixture
def real_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if not REAL or not Path(REAL).is_dir():
        pytest.skip("AMONGST_DATA does not point at a folder of real data")
    monkeypatch.setenv("AMONGST_DATA", REAL)
    monkeypatch.setenv("AMONGST_CACHE", str(tmp_path / "cache"))
    return Path(REAL)


def idx_bytes(array: np.ndarray) -> bytes:
    sizes = np.array(array.shape, dtype=">u4").tobytes()
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes(), mtime=0)


@pytest.fixture
def small_mnist(home: Path) -> tuple[Entry, Path, dict[str, np.ndarray]]:
    """An entry like MNIST's, of 6 + 4 images of 5 × 4, with its four files in the data folder."""
    rng = np.random.default_rng(0)
    official = entry("mnist")
    folder = home / "data" / "mnist"
    folder.mkdir()
    shapes = ((6, 5, 4), (6,), (4, 5, 4), (4,))
    arrays, files = {}, []
    for file, shape in zip(official.files, shapes, strict=True):
        array = rng.integers(0, 10, shape).astype(np.uint8)
        raw = idx_bytes(array)
        (folder / file.name).write_bytes(raw)
        arrays[file.name] = array
        files.append(File(file.name, hashlib.sha256(raw).hexdigest()))
    small = replace(official, n_train=6, n_test=4, row=(5, 4), files=tuple(files))
    return small, folder, arrays


@pytest.fixture
def small_table_entry() -> Callable[..., Entry]:
    """An entry like that of a tabular set, with other numbers and without a checksum."""

    def make(name: str, **changes: object) -> Entry:
        official = entry(name)
        files = tuple(replace(file, sha256=None) for file in official.files)
        return replace(official, files=files, **changes)  # type: ignore[arg-type]

    return make
