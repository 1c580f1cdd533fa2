"""Readers of the tabular entries: `.mat` with or without candidates, ARFF, CSV, HDF5."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.io.arff

from amongst.candidates import CandidateSets
from amongst.datasets.dataset import Dataset
from amongst.datasets.entries import Entry
from amongst.datasets.labels import check_inside
from amongst.datasets.mat import read_partial_mat
from amongst.datasets.places import check_sha256, require, sha256_of
from amongst.errors import FileFormatError, InputError
from amongst.optional import optional_import

__all__ = ["read_arff_dataset", "read_csv_dataset", "read_h5_dataset", "read_mat_dataset"]

Array = npt.NDArray[Any]


def read_mat_dataset(entry: Entry, check: bool = True) -> Dataset:
    """A `.mat` file with `data`, `partial_target` (where it has candidates) and true labels."""
    path = _checked_file(entry, check)
    candidates = "partial_target" if entry.is_partial else None
    contents = read_partial_mat(path, candidates=candidates, truth=entry.truth_key)
    if contents.labels is None:
        raise FileFormatError(f"{path} has no true labels.")
    if contents.candidates is not None:
        _check_inside(path, contents.candidates, contents.labels)
    return Dataset.of(entry, contents.features, contents.labels, contents.candidates)


def read_arff_dataset(entry: Entry, check: bool = True) -> Dataset:
    """An ARFF file whose last attribute is the class."""
    path = _checked_file(entry, check)
    try:
        rows, meta = scipy.io.arff.loadarff(io.StringIO(path.read_text("utf-8", "replace")))
    except (scipy.io.arff.ArffError, ValueError, StopIteration) as error:
        raise FileFormatError(f"{path} cannot be read as ARFF: {error}.") from error
    names = meta.names()
    features = np.stack([rows[name].astype(np.float64) for name in names[:-1]], axis=1)
    order = {value: code for code, value in enumerate(meta[names[-1]][1])}
    labels = np.array([order[value.decode()] for value in rows[names[-1]]])
    return Dataset.of(entry, features, labels)


def read_csv_dataset(entry: Entry, check: bool = True) -> Dataset:
    """Numbers without a header; the last column is the class."""
    path = _checked_file(entry, check)
    try:
        table = np.loadtxt(path, delimiter=",", dtype=np.float64, ndmin=2)
    except ValueError as error:
        raise FileFormatError(f"{path} cannot be read as a table of numbers: {error}") from error
    return Dataset.of(entry, table[:, :-1], np.unique(table[:, -1], return_inverse=True)[1])


def read_h5_dataset(entry: Entry, check: bool = True) -> Dataset:
    """Groups `train` and `test`, each with `data` and `target`."""
    path = _checked_file(entry, check)
    h5py = optional_import("h5py", extra="data", purpose=f"reading {entry.name}")
    try:
        with h5py.File(path, "r") as file:
            parts = [
                (file[part]["data"][()], file[part]["target"][()]) for part in ("train", "test")
            ]
    except (OSError, KeyError) as error:
        raise FileFormatError(f"{path} cannot be read as HDF5: {error}.") from error
    features, labels = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Dataset.of(entry, features, labels)


def _checked_file(entry: Entry, check: bool) -> Path:
    file = entry.files[0]
    path = require(entry, file)
    if check and file.sha256 is not None:
        check_sha256(path, file.sha256, sha256_of(path))
    return path


def _check_inside(path: Path, sets: CandidateSets, labels: Array) -> None:
    try:
        check_inside(sets, labels, "error", str(path))
    except InputError as error:
        raise FileFormatError(str(error).partition(" Correct the rows")[0]) from error
