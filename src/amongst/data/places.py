"""Where files are: the folder in AMONGST_DATA, then the user cache. Checksums."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal

from amongst.data.catalogue import CATALOGUE, Entry, File
from amongst.data.catalogue import entry as catalogue_entry
from amongst.errors import DataNotFoundError, FileFormatError, InputError
from amongst.optional import optional_import

FOLDER = "cifar-10-batches-py"
ARCHIVE = "cifar-10-python.tar.gz"
BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")  # fmt: skip


def data_folder() -> Path | None:
    """The folder in AMONGST_DATA, or None where it is not set."""
    value = os.environ.get("AMONGST_DATA")
    if not value:
        return None
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise InputError(f"AMONGST_DATA={value!r} is not a folder; correct it, or unset it.")
    return folder


def cache_folder() -> Path | None:
    """The folder in AMONGST_CACHE, else the user's cache; None where it cannot be told."""
    value = os.environ.get("AMONGST_CACHE")
    if value:
        return Path(value).expanduser()
    with suppress(ImportError):
        dirs = optional_import("platformdirs", extra="data", purpose="finding the user cache")
        return Path(dirs.user_cache_dir("amongst")) / "datasets"
    return None


def roots() -> list[Path]:
    """The folders to look in, in this order."""
    return [folder for folder in (data_folder(), cache_folder()) if folder is not None]


def find(entry: Entry, file: File) -> Path | None:
    """Where a dataset's file is, or None."""
    places = product(roots(), entry.folders, file.names)
    paths = (root / folder / name for root, folder, name in places)
    return next((path for path in paths if path.is_file()), None)


@dataclass(frozen=True)
class Found:
    """Where CIFAR-10 is, and in which of its three forms."""

    form: Literal["folder", "archive", "sheets"]
    path: Path


def find_cifar(entry: Entry) -> Found | None:
    """The first form of CIFAR-10 that is complete, or None."""
    for root in roots():
        for place in (root / folder for folder in entry.folders):
            if all((place / FOLDER / name).is_file() for name in BATCHES):
                return Found("folder", place / FOLDER)
            if (place / ARCHIVE).is_file():
                return Found("archive", place / ARCHIVE)
            if all((place / f"{name}.webp").is_file() for name in BATCHES):
                return Found("sheets", place)
    return None


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


def require(entry: Entry, file: File) -> Path:
    """Where a dataset's file is, or one line that says where to put it."""
    path = find(entry, file)
    if path is not None:
        return path
    raise DataNotFoundError(missing(entry, file))


def missing(entry: Entry, file: File, reason: str = "") -> str:
    """One line: what is missing, why it could not be fetched, and where to put it by hand."""
    looked = " and ".join(str(root) for root in roots()) or "any folder (AMONGST_DATA is not set)"
    target = (roots() or [Path("<folder>")])[0] / entry.home / file.name
    origin = (file.urls or (entry.source,))[0]
    how = f" It {reason}." if reason else ""
    fetch = (
        f"Run `amongst datasets fetch {entry.name}`, or put" if file.urls and not reason else "Put"
    )
    return (
        f"{entry.name}: {file.name} is not in {looked}.{how} {fetch} it by hand at {target} (from "
        f"{origin})."
    )


def sha256_of(path: Path) -> str:
    """sha256 of a file, read a chunk at a time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(path: Path, expected: str | None, found: str) -> None:
    """An error that names file, expected and found; nothing is deleted."""
    if expected is None or expected == found:
        return
    twin = _known_as(found)
    hint = f" This is {twin}: were files swapped?" if twin else " It is damaged or another version."
    raise FileFormatError(
        f"{path} has the wrong checksum: expected sha256 {expected}, found {found}.{hint} Nothing "
        "was deleted; replace the file by hand."
    )


def _known_as(sha256: str) -> str | None:
    files = ((entry, file) for entry in CATALOGUE for file in entry.files)
    known = (f"{file.name} of {entry.name}" for entry, file in files if file.sha256 == sha256)
    return next(known, None)


def writable(folder: Path) -> Path:
    """The folder, made if need be; one clear line where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise InputError(
            f"the cache folder {folder} cannot be written ({error.strerror or error}). Set "
            "AMONGST_CACHE to a folder that can, or put the files in a folder and set AMONGST_DATA."
        ) from error
