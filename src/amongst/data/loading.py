"""`load` and `verify`: one door to every dataset of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from amongst.data.catalogue import Entry, File
from amongst.data.catalogue import entry as catalogue_entry
from amongst.data.cifar import read_cifar10n_dataset, read_cifar_dataset
from amongst.data.dataset import Dataset
from amongst.data.download import fetch_entry
from amongst.data.places import check_sha256, find, find_cifar, is_here, missing, sha256_of
from amongst.data.readers import (
    read_arff_dataset,
    read_crowd_dataset,
    read_csv_dataset,
    read_digits_dataset,
    read_h5_dataset,
    read_idx_dataset,
    read_mat_dataset,
)
from amongst.errors import AmongstError, FileFormatError, MissingDependencyError

READERS: dict[str, Callable[[Entry, bool], Dataset]] = {
    "embedded": read_digits_dataset,
    "idx": read_idx_dataset,
    "cifar": read_cifar_dataset,
    "cifar10n": read_cifar10n_dataset,
    "mat": read_mat_dataset,
    "arff": read_arff_dataset,
    "csv": read_csv_dataset,
    "h5": read_h5_dataset,
    "crowd": read_crowd_dataset,
}


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


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes
    ----------
    dataset : its name.
    what : a file, or ``content``.
    state : ``"ok"``, ``"absent"``, ``"unread"`` (a package is missing) or ``"wrong"``.
    detail : what was found, or what is wrong, in one line.

    Examples
    --------
    >>> Check("lost", "lost.mat", "absent", "not here").state
    'absent'
    """

    dataset: str
    what: str
    state: Literal["ok", "absent", "unread", "wrong"]
    detail: str


def verify(name: str) -> list[Check]:
    """Check a dataset's files by their checksum, and what they hold by shape and statistics.

    Nothing is downloaded, changed or deleted.

    Examples
    --------
    >>> [check.state for check in verify("digits")]
    ['ok']
    """
    entry = catalogue_entry(name)
    cifar = find_cifar(entry) if entry.layout == "cifar" else None
    if cifar is not None and cifar.form != "archive":
        checks = [Check(name, cifar.form, "ok", str(cifar.path))]
    else:
        checks = [_check_file(entry, file) for file in entry.files]
    if is_here(entry):
        checks.append(_check_content(entry))
    elif all(check.state != "absent" for check in checks):
        checks.append(Check(name, "images", "absent", "needs cifar10"))
    return checks


def _check_file(entry: Entry, file: File) -> Check:
    path = find(entry, file)
    if path is None:
        return Check(entry.name, file.name, "absent", missing(entry, file))
    if file.sha256 is None:
        return Check(entry.name, path.name, "ok", f"no published checksum  {path}")
    try:
        check_sha256(path, file.sha256, sha256_of(path))
    except (AmongstError, OSError) as error:
        return Check(entry.name, path.name, "wrong", str(error))
    return Check(entry.name, path.name, "ok", f"sha256 {file.sha256[:16]}…  {path}")


def _check_content(entry: Entry) -> Check:
    """Load it; CIFAR's batches have checksums of their own, compared in the files themselves."""
    try:
        dataset = load_entry(entry, check=entry.layout.startswith("cifar"))
    except MissingDependencyError as error:
        return Check(entry.name, "content", "unread", str(error))
    except (AmongstError, OSError) as error:
        return Check(entry.name, "content", "wrong", str(error))
    parts = [f"n = {len(dataset):,}", f"d = {entry.d:,}", f"K = {dataset.n_classes}"]
    if dataset.candidates is not None:
        parts.append(f"mean candidates {dataset.candidates.sizes.mean():.2f}")
        parts.append(f"true label inside {entry.truth_inside:.2%}")
    return Check(entry.name, "content", "ok", ", ".join(parts))
