"""Readers of the catalogue's files: idx, `.mat`, ARFF, CSV, HDF5, and the answers of raters."""

from __future__ import annotations

import gzip
import hashlib
import io
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.io.arff

from amongst.candidates import CandidateSets
from amongst.candidates.raters import Answers
from amongst.data.arrays import PARTIAL_TARGET
from amongst.data.catalogue import Entry
from amongst.data.dataset import Dataset
from amongst.data.places import check_sha256, require, sha256_of
from amongst.data.tables import as_file_error, load_mat
from amongst.errors import FileFormatError, InputError, reading
from amongst.optional import optional_import


def read_digits_dataset(entry: Entry, check: bool = True) -> Dataset:
    """The digits that come with scikit-learn."""
    from sklearn.datasets import load_digits

    stored = load_digits()
    return Dataset.of(entry, stored.images.astype(np.uint8), stored.target)


def read_idx_dataset(entry: Entry, check: bool = True) -> Dataset:
    """Four idx files: training rows first, then test rows, in one array."""
    paths = [require(entry, file) for file in entry.files]
    hashes = [file.sha256 if check else None for file in entry.files]
    shapes = [(n, *row) for n in (entry.n_train, entry.n_test) for row in (entry.row, ())]
    parts = [read_idx(*given) for given in zip(paths, shapes, hashes, strict=True)]
    return Dataset.of(entry, np.concatenate(parts[::2]), np.concatenate(parts[1::2]))


def read_idx(
    path: Path, shape: tuple[int, ...] | None = None, sha256: str | None = None
) -> npt.NDArray[np.uint8]:
    """The array in a gzipped idx file of bytes.

    Header: 0, 0, 8 (unsigned byte), number of axes, then each axis as a big-endian 32-bit number.

    Parameters
    ----------
    shape : what the header must say.
    sha256 : of the gzipped file.
    """
    raw = path.read_bytes()
    again = "Delete it, and fetch it again."
    with reading(path, "gzip", again):
        content = gzip.decompress(raw)
    if content[:3] != b"\0\0\x08" or not 4 <= 4 * content[3] < len(content) <= 1 << 33:
        problem = f"{path} is not an idx file of bytes: it starts with {content[:4].hex()}."
        raise FileFormatError(problem, remedy=again)
    first = 4 + 4 * content[3]
    found = tuple(np.frombuffer(content[4:first], dtype=">u4").tolist())
    if shape is not None and found != shape:
        raise FileFormatError(
            f"{path} holds an array of shape {found}, expected {shape}: is it another file under "
            "this name (images for labels, training for test)? Nothing was changed."
        )
    if prod(found) != len(content) - first:
        held = f"holds {len(content) - first:,} bytes where its header declares {prod(found):,}"
        raise FileFormatError(f"{path} {held}.", remedy=again)
    check_sha256(path, sha256, hashlib.sha256(raw).hexdigest())
    return np.frombuffer(content, np.uint8, offset=first).reshape(found)


def read_mat_dataset(entry: Entry, check: bool = True) -> Dataset:
    """A `.mat` file with `data`, `partial_target` (where it has candidates) and true labels."""
    candidates = PARTIAL_TARGET if entry.is_partial else None
    (path,) = _checked(entry, check)
    try:
        table = load_mat(path, candidates=candidates, truth=entry.truth_key)
    except InputError as error:
        raise as_file_error(error) from error
    assert table.truth is not None
    return Dataset.of(entry, table.features, table.truth, table.candidates)


def read_arff_dataset(entry: Entry, check: bool = True) -> Dataset:
    """An ARFF file whose last attribute is the class."""
    (path,) = _checked(entry, check)
    with reading(path, "ARFF"):
        rows, meta = scipy.io.arff.loadarff(io.StringIO(path.read_text("utf-8", "replace")))
        names = meta.names()
        features = np.stack([rows[name].astype(np.float64) for name in names[:-1]], axis=1)
        order = {value: code for code, value in enumerate(meta[names[-1]][1])}
        labels = np.array([order[value.decode()] for value in rows[names[-1]]])
    return Dataset.of(entry, features, labels)


def read_csv_dataset(entry: Entry, check: bool = True) -> Dataset:
    """Numbers without a header; the last column is the class."""
    (path,) = _checked(entry, check)
    with reading(path, "a table of numbers"):
        table = np.loadtxt(path, delimiter=",", dtype=np.float64, ndmin=2)
    return Dataset.of(entry, table[:, :-1], np.unique(table[:, -1], return_inverse=True)[1])


def read_h5_dataset(entry: Entry, check: bool = True) -> Dataset:
    """Groups `train` and `test`, each with `data` and `target`."""
    (path,) = _checked(entry, check)
    h5py = optional_import("h5py", extra="data", purpose=f"reading {entry.name}")
    with reading(path, "HDF5"), h5py.File(path, "r") as file:
        parts = [(file[part]["data"][()], file[part]["target"][()]) for part in ("train", "test")]
        features, labels = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Dataset.of(entry, features, labels)


def read_crowd_dataset(entry: Entry, check: bool = True) -> Dataset:
    """Features and true labels of the training and the test part, and the answers of the raters."""
    paths = _checked(entry, check)
    with reading(f"a file of {entry.name}", "numbers or lines"):
        features = np.concatenate([_features(path) for path in paths[:2]])
        labels = [np.loadtxt(path, dtype=np.int64, ndmin=1) for path in paths[2:4]]
        answers = np.loadtxt(paths[4], dtype=np.int64, ndmin=2)
    sets = sets_of_answers(answers, entry.n_classes)
    return Dataset.of(entry, features, np.concatenate(labels), sets)


def sets_of_answers(answers: npt.NDArray[np.int64], n_classes: int) -> CandidateSets:
    """What each rater said, as candidate sets with a vote for each answer.

    Parameters
    ----------
    answers : shape (n, R), classes 0 … K−1, and −1 where a rater gave none.
    n_classes : K.

    Examples
    --------
    >>> sets_of_answers(np.array([[0, 0, 1], [2, -1, -1]]), 3).prior.round(2)
    array([[0.67, 0.33, 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    told = Answers(answers, tuple(range(answers.shape[1])))
    counts = told.counts(n_classes)
    return CandidateSets(counts > 0, np.arange(n_classes), counts.astype(np.float64), told)


def _features(path: Path) -> npt.NDArray[Any]:
    """Numbers of an ``.npy`` file, or the lines of a text."""
    if path.suffix == ".npy":
        return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
    return np.array(path.read_text("utf-8").strip("\n").split("\n"))


def _checked(entry: Entry, check: bool) -> list[Path]:
    paths = [require(entry, file) for file in entry.files]
    for path, file in zip(paths, entry.files, strict=True):
        if check and file.sha256 is not None:
            check_sha256(path, file.sha256, sha256_of(path))
    return paths
