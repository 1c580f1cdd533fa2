"""The MNIST family: what is written comes back; whatever is wrong is said and nothing deleted."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amongst.data import Entry
from amongst.data.loading import load_entry
from amongst.data.readers import read_idx
from amongst.errors import AmongstError, DataNotFoundError, FileFormatError

Small = tuple[Entry, Path, dict[str, np.ndarray]]


def test_training_rows_come_first_and_parts_are_views(small_mnist: Small) -> None:
    entry, _, arrays = small_mnist
    data = load_entry(entry)
    images, labels, test_images, test_labels = arrays.values()
    np.testing.assert_array_equal(data.train.features, images)
    np.testing.assert_array_equal(data.test.features, test_images)
    np.testing.assert_array_equal(data.train.labels, labels)
    np.testing.assert_array_equal(data.test.labels, test_labels)
    assert data.features.dtype == np.uint8
    assert data.train.features.base is data.test.features.base
    assert data.train.candidates is None


@pytest.mark.parametrize("keep", [0, 1, 9, 20, -9, -1])
def test_truncated_gz(small_mnist: Small, keep: int) -> None:
    entry, folder, _ = small_mnist
    path = folder / entry.files[0].name
    cut = path.read_bytes()[:keep]
    path.write_bytes(cut)
    remedy = "Delete it, and fetch it again"  # fetch leaves a file that is there as it is
    with pytest.raises(FileFormatError, match=remedy) as caught:
        load_entry(entry)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == cut


def test_swapped_label_files_of_the_two_parts(small_mnist: Small) -> None:
    entry, folder, _ = small_mnist
    first, second = (folder / entry.files[place].name for place in (1, 3))
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    with pytest.raises(FileFormatError, match=r"shape \(4,\), expected \(6,\)"):
        load_entry(entry)


def test_labels_of_another_dataset_are_recognised(
    small_mnist: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    from amongst.data import places

    entry, folder, arrays = small_mnist
    other = np.roll(arrays[entry.files[1].name], 1) + 1
    raw = gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 6]) + other.astype(np.uint8).tobytes())
    path = folder / entry.files[1].name
    path.write_bytes(raw)
    monkeypatch.setattr(places, "_known_as", lambda _: "train-labels of kmnist")
    with pytest.raises(FileFormatError, match=r"wrong checksum.*kmnist: were files swapped"):
        load_entry(entry)
    assert path.read_bytes() == raw


def test_known_files_are_known_by_their_checksum() -> None:
    from amongst.data import entry
    from amongst.data.places import _known_as

    file = entry("fashion_mnist").files[1]
    assert file.sha256 is not None
    assert _known_as(file.sha256) == "train-labels-idx1-ubyte.gz of fashion_mnist"


def test_wrong_checksum_names_file_expected_and_found_and_keeps_the_file(
    small_mnist: Small,
) -> None:
    entry, folder, arrays = small_mnist
    path = folder / entry.files[0].name
    raw = gzip.compress(gzip.decompress(path.read_bytes()), compresslevel=1, mtime=7)
    path.write_bytes(raw)
    with pytest.raises(FileFormatError) as caught:
        load_entry(entry)
    for part in (
        str(path),
        "expected sha256 " + str(entry.files[0].sha256),
        "found",
        "Nothing was",
    ):
        assert part in str(caught.value)
    assert path.read_bytes() == raw
    unchecked = load_entry(entry, check=False)
    np.testing.assert_array_equal(unchecked.train.features, arrays[entry.files[0].name])


def test_missing_file_says_where_to_put_it(small_mnist: Small) -> None:
    entry, folder, _ = small_mnist
    (folder / entry.files[2].name).unlink()
    with pytest.raises(DataNotFoundError, match="Put it by hand at") as caught:
        load_entry(entry)
    assert str(folder / entry.files[2].name) in str(caught.value)
    assert "\n" not in str(caught.value)


BAD = {
    "not gzip": (b"hello, this is no gzip file", "cannot be read as gzip"),
    "not idx": (gzip.compress(b"\1\2\3\4\0\0\0\1x"), "not an idx file"),
    "too many bytes": (gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 1, 7, 7])), "where its header"),
    "too few bytes": (gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7])), "where its header"),
    "huge": (gzip.compress(bytes([0, 0, 8, 4]) + b"\xff" * 16), "not an idx|where its header"),
}


@pytest.mark.parametrize(("raw", "message"), BAD.values(), ids=BAD.keys())
def test_bad_files(tmp_path: Path, raw: bytes, message: str) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match=message):
        read_idx(path)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_damage_goes_unnoticed(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any one byte changed, anywhere behind the gzip header: an error, or the same array."""
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    raw = bytearray(
        gzip.compress(
            bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4]) + array.tobytes(), mtime=0
        )
    )
    place = data.draw(st.integers(10, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("idx") / "x.gz"
    path.write_bytes(raw)
    try:
        found = read_idx(path)
    except AmongstError:
        return
    np.testing.assert_array_equal(found, array)
