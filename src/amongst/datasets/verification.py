"""Is what is on this machine what the catalogue says? File by file, and the content."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from amongst.datasets.catalogue import entry as catalogue_entry
from amongst.datasets.cifar import find_cifar, read_cifar
from amongst.datasets.dataset import Dataset
from amongst.datasets.entries import Entry, File
from amongst.datasets.loading import is_here, load_entry
from amongst.datasets.places import check_sha256, find, missing, sha256_of
from amongst.errors import AmongstError, MissingDependencyError

__all__ = ["Check", "verify"]

State = Literal["ok", "absent", "unread", "wrong"]


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
    state: State
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
    checks = [_check_cifar(entry)] if entry.layout == "cifar" else []
    if not checks:
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
    return _compared(entry, path, file.sha256)


def _compared(entry: Entry, path: Path, expected: str) -> Check:
    try:
        check_sha256(path, expected, sha256_of(path))
    except (AmongstError, OSError) as error:
        return Check(entry.name, path.name, "wrong", str(error))
    return Check(entry.name, path.name, "ok", f"sha256 {expected[:16]}…  {path}")


def _check_cifar(entry: Entry) -> Check:
    found = find_cifar(entry)
    if found is None:
        return Check(entry.name, entry.files[0].name, "absent", missing(entry, entry.files[0]))
    if found.form == "archive" and entry.files[0].sha256 is not None:
        return _compared(entry, found.path, entry.files[0].sha256)
    return Check(entry.name, found.form, "ok", str(found.path))


def _check_content(entry: Entry) -> Check:
    """Load it; CIFAR's batches have checksums of their own, compared in the files themselves."""
    try:
        if entry.layout == "cifar":
            read_cifar(entry, use_copy=False)
        dataset = load_entry(entry, check=entry.layout.startswith("cifar"))
    except MissingDependencyError as error:
        return Check(entry.name, "content", "unread", str(error))
    except (AmongstError, OSError) as error:
        return Check(entry.name, "content", "wrong", str(error))
    return Check(entry.name, "content", "ok", _summary(entry, dataset))


def _summary(entry: Entry, dataset: Dataset) -> str:
    parts = [f"n = {len(dataset):,}", f"d = {entry.d:,}", f"K = {dataset.n_classes}"]
    if dataset.candidates is not None:
        parts.append(f"mean candidates {dataset.candidates.sizes.mean():.2f}")
        parts.append(f"true label inside {entry.truth_inside:.2%}")
    return ", ".join(parts)
