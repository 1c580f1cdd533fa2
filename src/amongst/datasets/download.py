"""Downloads from a dataset's public origin: resumable, checked, and complete or not there."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from amongst.datasets.archives import extract_tar
from amongst.datasets.catalogue import entry as catalogue_entry
from amongst.datasets.cifar import FOLDER, find_cifar
from amongst.datasets.entries import Entry, File
from amongst.datasets.places import cache_folder, find, missing, writable
from amongst.datasets.resumable import BrokenDownloadError, Resumable
from amongst.errors import DataNotFoundError, FileFormatError, InputError
from amongst.optional import optional_import

__all__ = ["fetch", "fetch_entry"]


def fetch(name: str, *, progress: bool = True) -> list[Path]:
    """Make sure that a dataset's files are on this machine, and say where.

    Files in the folder of AMONGST_DATA or in the user cache are left as they are; others are
    downloaded into the cache. An interrupted download goes on where it stopped.

    Parameters
    ----------
    name : of the dataset.
    progress : show a bar on the terminal.

    Examples
    --------
    >>> fetch("digits")  # comes with scikit-learn
    []
    """
    return fetch_entry(catalogue_entry(name), progress=progress)


def fetch_entry(entry: Entry, *, progress: bool = True) -> list[Path]:
    """`fetch`, for an entry."""
    if entry.layout in ("cifar", "cifar10n"):
        found = _fetch_cifar(progress)
        return found if entry.layout == "cifar" else [*found, *_files(entry, progress)]
    return _files(entry, progress)


def _files(entry: Entry, progress: bool) -> list[Path]:
    return [find(entry, file) or _download(entry, file, progress) for file in entry.files]


def _fetch_cifar(progress: bool) -> list[Path]:
    """The archive is unpacked beside itself, so that later loads need not decode it."""
    entry = catalogue_entry("cifar10")
    found = find_cifar(entry)
    if found is not None:
        return [found.path]
    archive = _download(entry, entry.files[0], progress)
    return [archive, extract_tar(archive, FOLDER, archive.parent)]


def _download(entry: Entry, file: File, progress: bool) -> Path:
    """From the first origin that sends the right bytes."""
    if not file.urls:
        raise DataNotFoundError(missing(entry, file))
    folder = writable(_cache() / entry.home)
    reasons, wrong = [], None
    for url in file.urls:
        try:
            return _retrieve(url, file, folder, progress)
        except BrokenDownloadError as error:
            reasons.append(f"{url} ({error})")
        except FileFormatError as error:
            wrong = error
    if wrong is not None:
        raise wrong
    reason = f"could not be downloaded from {' nor from '.join(reasons)}"
    raise DataNotFoundError(missing(entry, file, reason))


def _retrieve(url: str, file: File, folder: Path, progress: bool) -> Path:
    """Pooch puts a download under its name only when it is complete and its checksum right."""
    pooch = optional_import("pooch", extra="data", purpose="downloading datasets")
    pooch.get_logger().setLevel("WARNING")
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    downloader = Resumable(folder / f"{file.name}.part", file.sha256, progress)
    with _one_at_a_time(folder):
        return Path(pooch.retrieve(url, known, fname=file.name, path=folder, downloader=downloader))


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Processes that want the same file wait for the first, and find it there. A killed one leaves
    no lock behind; a system without such locks goes on without."""
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network drives
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _cache() -> Path:
    folder = cache_folder()
    if folder is None:
        raise InputError(
            "there is no cache to download to: set AMONGST_CACHE to a folder, or install "
            "platformdirs (pip install 'amongst[data]')."
        )
    return folder
