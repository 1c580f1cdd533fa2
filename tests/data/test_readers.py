"""ARFF, CSV and HDF5 of the catalogue: what was written is read, and what is damaged is one line."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from amongst.data import Entry
from amongst.data.loading import load_entry
from amongst.errors import FileFormatError

ARFF = b"@relation x\n@attribute a numeric\n@attribute class {p,q}\n@data\n1,p\n2.5,q\n"
CSV = b"1,7\n2.5,8\n"


def hdf5(parts: bool = True) -> bytes:
    h5py = pytest.importorskip("h5py")
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for at, part in enumerate(("train", "test")):
            if parts:
                file[f"{part}/data"], file[f"{part}/target"] = [[(1.0, 2.5)[at]]], [at]
            else:
                file[part] = [1.0]
    return buffer.getvalue()


Read = Callable[[str, bytes], Entry]


@pytest.fixture
def written(home: Path, small_table_entry: Callable[..., Entry]) -> Read:
    """An entry of two rows with one feature, and its file."""

    def write(name: str, content: bytes) -> Entry:
        held = {"n_train": 1, "n_test": 1} if name == "usps" else {"n_train": 2}
        made = small_table_entry(name, row=(1,), n_classes=2, **held)
        (home / "data" / made.files[0].name).write_bytes(content)
        return made

    return write


def test_what_was_written_is_read(written: Read) -> None:
    for name, content in (("pendigits", ARFF), ("dermatology", CSV), ("usps", hdf5())):
        found = load_entry(written(name, content))
        np.testing.assert_array_equal(found.features, [[1], [2.5]])
        np.testing.assert_array_equal(found.labels, [0, 1])


@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("pendigits", ARFF.replace(b"{p,q}", b"numeric")),
        ("pendigits", ARFF.replace(b"@attribute a numeric\n", b"")),
        ("pendigits", ARFF[:30]),
        ("dermatology", CSV.replace(b"8", b"?")),
        ("dermatology", b"\xff\xfe"),
        ("usps", hdf5()[:100]),
        ("usps", hdf5(parts=False)),
    ],
)
def test_what_is_damaged_is_refused(written: Read, name: str, damaged: bytes) -> None:
    with pytest.raises(FileFormatError) as told:
        load_entry(written(name, damaged))
    assert told.value.code == "unreadable"
