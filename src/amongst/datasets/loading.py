"""`load`: one door to every dataset of the catalogue."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from amongst.datasets.catalogue import entry as catalogue_entry
from amongst.datasets.cifar import find_cifar, read_cifar_dataset
from amongst.datasets.cifar10n import read_cifar10n_dataset
from amongst.datasets.dataset import Dataset
from amongst.datasets.download import fetch_entry
from amongst.datasets.entries import Entry
from amongst.datasets.idx import read_idx_dataset
from amongst.datasets.places import find
from amongst.datasets.tabular import (
    read_arff_dataset,
    read_csv_dataset,
    read_h5_dataset,
    read_mat_dataset,
)
from amongst.errors import FileFormatError

__all__ = ["check_against", "is_here", "load", "load_entry"]


def load(name: str, *, download: bool = True, check: bool = True) -> Dataset:
    """Load a dataset of the catalogue.

    Files are looked for in the folder of AMONGST_DATA, then in the user cache; what is missing is
    downloaded from its public origin into the cache. Shape, classes, mean size of the candidate
    sets and the share of true labels inside them are compared with the catalogue's entry.

    Parameters
    ----------
    name : of the dataset; see `names`.
    download : False to use only what is on this machine.
    check : False to skip checksums (shape and statistics are always compared).

    Returns
    -------
    Dataset

    Examples
    --------
    >>> digits = load("digits")
    >>> digits.features.shape, digits.features.dtype, digits.n_classes
    ((1797, 8, 8), dtype('uint8'), 10)
    """
    found = catalogue_entry(name)
    if download and not is_here(found):
        fetch_entry(found)
    return load_entry(found, check=check)


def load_entry(entry: Entry, *, check: bool = True) -> Dataset:
    """Read the files of an entry that are on this machine, and compare them with what it says."""
    dataset = READERS[entry.layout](entry, check)
    check_against(entry, dataset)
    return dataset


def is_here(entry: Entry) -> bool:
    """Whether everything that the dataset needs is on this machine.

    >>> is_here(catalogue_entry("digits"))
    True
    """
    if entry.layout in ("cifar", "cifar10n") and find_cifar(catalogue_entry("cifar10")) is None:
        return False
    if entry.layout == "cifar":
        return True
    return all(find(entry, file) is not None for file in entry.files)


def check_against(entry: Entry, dataset: Dataset) -> None:
    """An error where a dataset is not what its entry says, naming what differs."""
    _same(entry, "rows", entry.n, len(dataset))
    _same(entry, "features of a row", entry.row, dataset.features.shape[1:])
    _same(entry, "labels", entry.n, len(dataset.labels))
    largest = int(dataset.labels.max(initial=0))
    if largest >= entry.n_classes:
        raise FileFormatError(f"{entry.name}: label {largest} where K = {entry.n_classes}.")
    if entry.mean_size is None or dataset.candidates is None:
        _same(entry, "candidate sets", entry.is_partial, dataset.candidates is not None)
        return
    sets = dataset.candidates
    _same(entry, "classes", entry.n_classes, sets.n_classes)
    _same(entry, "mean candidates", entry.mean_size, round(float(sets.sizes.mean()), 2))
    inside = float(sets.contains(dataset.labels[: len(sets)]).mean())
    _same(entry, "share of true labels inside", entry.truth_inside, round(inside, 5))


def _same(entry: Entry, what: str, expected: object, found: object) -> None:
    if expected != found:
        raise FileFormatError(
            f"{entry.name}: {what}: expected {expected}, found {found}. The files are another "
            "version of the dataset; see `amongst datasets info " + entry.name + "`."
        )


def _read_digits(entry: Entry, check: bool) -> Dataset:
    from sklearn.datasets import load_digits

    stored = load_digits()
    return Dataset.of(entry, stored.images.astype(np.uint8), stored.target)


READERS: dict[str, Callable[[Entry, bool], Dataset]] = {
    "embedded": _read_digits,
    "idx": read_idx_dataset,
    "cifar": read_cifar_dataset,
    "cifar10n": read_cifar10n_dataset,
    "mat": read_mat_dataset,
    "arff": read_arff_dataset,
    "csv": read_csv_dataset,
    "h5": read_h5_dataset,
}
