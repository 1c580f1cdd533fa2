"""CIFAR-10 in its three forms, made small; its pickles cannot run anything."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import struct
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from amongst.data import Entry, cifar, entry
from amongst.data.cifar import read_batch_pickle, read_cifar
from amongst.data.loading import load_entry
from amongst.data.places import BATCHES, FOLDER, find_cifar
from amongst.errors import DataNotFoundError, FileFormatError

PER_BATCH = 6
Arrays = dict[str, tuple[np.ndarray, np.ndarray]]


def python2_batch(pixels: np.ndarray, labels: np.ndarray) -> bytes:
    """The official batches byte by byte: protocol 2, written by Python 2, strings as str."""

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value

    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n"
        b"cnumpy\nndarray\n" + b"K\x00\x85" + text(b"b") + b"\x87R"
        b"(K\x01" + b"J" + struct.pack("<i", len(pixels)) + b"M\x00\x0c\x86"
        b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R"
        b"(K\x03" + text(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        b"\x89" + b"T" + struct.pack("<i", pixels.nbytes) + pixels.tobytes() + b"tb"
    )
    listed = b"](" + b"".join(b"K" + bytes([label]) for label in labels.tolist()) + b"e"
    pairs = text(b"batch_label") + text(b"a batch") + text(b"labels") + listed
    return b"\x80\x02}(" + pairs + text(b"data") + array + text(b"filenames") + b"]u."


def python3_batch(pixels: np.ndarray, labels: np.ndarray) -> bytes:
    return pickle.dumps({b"data": pixels, b"labels": labels.tolist()}, protocol=2)


@pytest.fixture
def arrays(monkeypatch: pytest.MonkeyPatch) -> Arrays:
    """Six batches of six images, and their checksums in place of the real ones."""
    rng = np.random.default_rng(0)
    made = {
        name: (
            rng.integers(0, 256, (PER_BATCH, 3072)).astype(np.uint8),
            rng.integers(0, 10, PER_BATCH).astype(np.uint8),
        )
        for name in BATCHES
    }
    monkeypatch.setattr(cifar, "PER_BATCH", PER_BATCH)
    for place, attribute in enumerate(("PIXELS_SHA256", "LABELS_SHA256")):
        sums = {name: hashlib.sha256(pair[place]).hexdigest() for name, pair in made.items()}
        monkeypatch.setattr(cifar, attribute, sums)
    return made


@pytest.fixture
def small() -> Entry:
    return replace(entry("cifar10"), n_train=5 * PER_BATCH, n_test=PER_BATCH)


def write_folder(place: Path, arrays: Arrays, write: Callable[..., bytes] = python2_batch) -> Path:
    folder = place / FOLDER
    folder.mkdir(parents=True)
    for name, (pixels, labels) in arrays.items():
        (folder / name).write_bytes(write(pixels, labels))
    return folder


def write_archive(place: Path, arrays: Arrays) -> Path:
    folder = write_folder(place / "unpacked", arrays)
    path = place / "cifar-10-python.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        tar.add(folder, FOLDER)
    return path


def check_equal(found: tuple[np.ndarray, np.ndarray], arrays: Arrays) -> None:
    pixels = np.concatenate([pair[0] for pair in arrays.values()]).reshape(-1, 3, 32, 32)
    np.testing.assert_array_equal(found[0], pixels)
    np.testing.assert_array_equal(found[1], np.concatenate([pair[1] for pair in arrays.values()]))


@pytest.mark.parametrize("write", [python2_batch, python3_batch])
@pytest.mark.parametrize("where", ["", "cifar10"])
def test_extracted_folder(
    home: Path, arrays: Arrays, small: Entry, write: Callable[..., bytes], where: str
) -> None:
    write_folder(home / "data" / where, arrays, write)
    check_equal(read_cifar(small), arrays)
    data = load_entry(small)
    assert (len(data.train), len(data.test)) == (30, 6)
    np.testing.assert_array_equal(data.test.labels, arrays["test_batch"][1])


def test_the_hand_made_batch_is_what_python_reads(arrays: Arrays) -> None:
    pixels, labels = arrays["data_batch_1"]
    read = pickle.loads(python2_batch(pixels, labels), encoding="bytes")
    np.testing.assert_array_equal(read[b"data"], pixels)
    assert read[b"labels"] == labels.tolist()


def test_archive(home: Path, arrays: Arrays, small: Entry) -> None:
    path = write_archive(home / "data" / "cifar10", arrays)
    check_equal(read_cifar(small), arrays)
    for damaged in (path.read_bytes()[: path.stat().st_size // 2], b"no longer an archive"):
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError, match="cannot be read as a tar"):
            read_cifar(small)


def test_wrong_pixels_and_wrong_labels_are_found(home: Path, arrays: Arrays, small: Entry) -> None:
    folder = write_folder(home / "data", arrays)
    pixels, labels = arrays["data_batch_3"]
    swapped = arrays["data_batch_2"][1]
    (folder / "data_batch_3").write_bytes(python2_batch(pixels, swapped))
    with pytest.raises(FileFormatError, match=r"data_batch_3 has the wrong checksum"):
        read_cifar(small)
    (folder / "data_batch_3").write_bytes(python2_batch(pixels ^ 1, labels))
    with pytest.raises(FileFormatError, match=r"data_batch_3 has the wrong checksum"):
        read_cifar(small)


def test_incomplete_folder_is_not_taken(home: Path, arrays: Arrays, small: Entry) -> None:
    folder = write_folder(home / "data", arrays)
    (folder / "test_batch").unlink()
    assert find_cifar(small) is None
    with pytest.raises(DataNotFoundError, match=r"Put it by hand|put it by hand"):
        read_cifar(small)


class Runs:
    """What a malicious batch would hold."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_a_malicious_batch_is_refused_and_runs_nothing(
    home: Path, arrays: Arrays, small: Entry, tmp_path: Path
) -> None:
    folder = write_folder(home / "data", arrays)
    trap = tmp_path / "trap"
    for protocol in range(6):
        bad = {"data": Runs(trap), "labels": [1] * PER_BATCH}
        (folder / "data_batch_1").write_bytes(pickle.dumps(bad, protocol=protocol))
        with pytest.raises(
            FileFormatError, match=r"cannot be read as a batch of CIFAR: it asks for \w+\.mkdir"
        ):
            read_cifar(small)
    assert not trap.exists()


REFUSED = {
    "eval": b"cbuiltins\neval\n(U\x041+1 tR.",
    "getattr": b"cbuiltins\ngetattr\n.",
    "numpy.load": b"cnumpy\nload\n(U\x01xtR.",
    "another array type": b"cnumpy\nmatrix\n.",
    "dotted way out": b"\x80\x04\x8c\x05numpy\x8c\x0endarray.__init__\x93.",
    "persistent": b"Pname\n.",
    "extension": b"\x80\x02\x82\x01.",
    "other encoding": b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x03\x00\x00\x00hextR.",
    "truncated": b"\x80\x02}(U\x04dat",
    "empty": b"",
    "a deep tuple as a key": b"\x80\x02})" + b"\x85" * 200_000 + b"X\x01\x00\x00\x00as.",
    "not a dictionary": pickle.dumps([1, 2], protocol=2),
}


@pytest.mark.parametrize("raw", REFUSED.values(), ids=REFUSED.keys())
def test_what_the_unpickler_refuses(raw: bytes) -> None:
    with pytest.raises(FileFormatError, match="cannot be read as a batch"):
        read_batch_pickle(raw)


def test_an_array_of_objects_is_refused(home: Path, arrays: Arrays, small: Entry) -> None:
    folder = write_folder(home / "data", arrays)
    objects = np.array([None] * PER_BATCH, dtype=object)
    bad = {b"data": objects, b"labels": [0] * PER_BATCH}
    (folder / "data_batch_1").write_bytes(pickle.dumps(bad, protocol=2))
    with pytest.raises(FileFormatError, match="cannot be read as a batch"):
        read_cifar(small)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({b"labels": [0] * PER_BATCH}, "lacks 'data'"),
        ({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0] * PER_BATCH}, "bytes where"),
        (
            {b"data": np.zeros((PER_BATCH, 3072), np.uint8), b"labels": [0]},
            "does not hold 6 labels",
        ),
        ({b"data": np.zeros((PER_BATCH, 3072), np.uint8), b"labels": [11] * 6}, "from 0 to 9"),
    ],
)
def test_incomplete_batches(
    home: Path, arrays: Arrays, small: Entry, batch: dict[bytes, Any], message: str
) -> None:
    folder = write_folder(home / "data", arrays)
    (folder / "data_batch_1").write_bytes(pickle.dumps(batch, protocol=2))
    with pytest.raises(FileFormatError, match=message):
        read_cifar(small)


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = link
    return info


HOSTILE = {
    "parent": member("cifar-10-batches-py/../../escaped"),
    "absolute": member("/escaped"),
    "symlink": member("cifar-10-batches-py/link", tarfile.SYMTYPE, "/etc"),
    "hard link": member("cifar-10-batches-py/link", tarfile.LNKTYPE, "../escaped"),
    "device": member("cifar-10-batches-py/null", tarfile.CHRTYPE),
    "windows": member("..\\escaped"),
    "batch that is a link": member(f"{FOLDER}/test_batch", tarfile.SYMTYPE, "/etc/passwd"),
    "batch that is a folder": member(f"{FOLDER}/test_batch/test_batch"),
}


@pytest.mark.parametrize("info", HOSTILE.values(), ids=HOSTILE.keys())
def test_archives_cannot_write_outside(home: Path, small: Entry, info: tarfile.TarInfo) -> None:
    place = home / "data" / "cifar10"
    place.mkdir()
    path = place / "cifar-10-python.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        good = member(f"{FOLDER}/readme.html")
        good.size = 2
        tar.addfile(good, io.BytesIO(b"hi"))
        tar.addfile(info, io.BytesIO(b""))
    before = sorted(str(found) for found in home.rglob("*"))
    with pytest.raises(FileFormatError, match="0 of the 6"):
        read_cifar(small)
    assert sorted(str(found) for found in home.rglob("*")) == before


def test_one_batch_six_times_is_not_six_batches(home: Path, arrays: Arrays, small: Entry) -> None:
    """The rest of the images was whatever the memory held."""
    folder = write_folder(home, arrays)
    with tarfile.open(home / "data" / "cifar-10-python.tar.gz", "w:gz") as tar:
        for _ in BATCHES:
            tar.add(folder / "test_batch", f"{FOLDER}/test_batch")
    with pytest.raises(FileFormatError, match="1 of the 6"):
        read_cifar(small)


def test_sheets_unfold_in_official_order(tmp_path: Path) -> None:
    """Image i lies in row i // 100, column i % 100 of the sheet; channels come first."""
    images = np.zeros((10_000, 3, 32, 32), dtype=np.uint8)
    images[:, 0] = (np.arange(10_000) % 251)[:, None, None]
    images[:, 1] = np.arange(32)[None, :, None]
    images[:, 2] = np.arange(32)[None, None, :]
    sheet = np.empty((3200, 3200, 3), dtype=np.uint8)
    for place in range(10_000):
        top, left = 32 * (place // 100), 32 * (place % 100)
        sheet[top : top + 32, left : left + 32] = images[place].transpose(1, 2, 0)
    path = tmp_path / "sheet.webp"
    Image.fromarray(sheet).save(path, format="ppm")
    np.testing.assert_array_equal(cifar._unfold(path).reshape(images.shape), images)
    Image.fromarray(sheet[:64, :64]).save(path, format="png")
    with pytest.raises(FileFormatError, match="expected 3200"):
        cifar._unfold(path)
    path.write_bytes(b"RIFF\0\0\0\0WEBP no picture")
    with pytest.raises(FileFormatError, match="cannot be read as a picture"):
        cifar._unfold(path)
