"""Downloads from a dataset's public origin: resumable, checked, and complete or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from amongst.datasets.archives import extract_tar
from amongst.datasets.catalogue import entry as catalogue_entry
from amongst.datasets.cifar import FOLDER, find_cifar
from amongst.datasets.entries import Entry, File
from amongst.datasets.places import (
    cache_folder,
    check_sha256,
    find,
    missing,
    sha256_of,
    writable,
)
from amongst.errors import DataNotFoundError, FileFormatError
from amongst.optional import optional_import

__all__ = ["fetch", "fetch_entry"]

CHUNK = 1 << 18
TIMEOUT_S = 30


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
    if not file.urls:
        raise DataNotFoundError(missing(entry, file))
    folder = cache_folder()
    if folder is None:
        optional_import("platformdirs", extra="data", purpose="finding the user cache")
        raise AssertionError  # the line above raised
    pooch = optional_import("pooch", extra="data", purpose="downloading datasets")
    requests = optional_import("requests", extra="data", purpose="downloading datasets")
    target = writable(folder / entry.home)
    reasons = []
    for url in file.urls:
        downloader = _Resumable(target / f"{file.name}.part", file.sha256, progress)
        try:
            return Path(_retrieve(pooch, url, file, target, downloader))
        except (requests.RequestException, OSError) as error:
            if isinstance(error, FileFormatError):
                raise
            reasons.append(f"{url} ({_short(error)})")
    reason = f"could not be downloaded from {' nor from '.join(reasons)}"
    raise DataNotFoundError(missing(entry, file, reason))


def _retrieve(pooch: Any, url: str, file: File, folder: Path, downloader: Any) -> str:
    """Pooch puts a download under its name only when it is complete and its checksum right."""
    pooch.get_logger().setLevel("WARNING")
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    place: str = pooch.retrieve(url, known, fname=file.name, path=folder, downloader=downloader)
    return place


class _Resumable:
    """A downloader for pooch that keeps what it has in a `.part` file and asks for the rest."""

    def __init__(self, part: Path, sha256: str | None, progress: bool) -> None:
        self.part = part
        self.sha256 = sha256
        self.progress = progress

    def __call__(self, url: str, output_file: str, pooch: Any, check_only: bool = False) -> None:
        self._receive(url)
        found = sha256_of(self.part)
        if self.sha256 is not None and found != self.sha256:
            rejected = self.part.with_suffix(".rejected")
            os.replace(self.part, rejected)
            check_sha256(rejected, self.sha256, found)
        os.replace(self.part, output_file)

    def _receive(self, url: str) -> None:
        requests = optional_import("requests", extra="data", purpose="downloading datasets")
        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as response:
            if have and response.status_code == 416:  # nothing is missing
                return
            response.raise_for_status()
            resumed = have if response.status_code == 206 else 0
            length = int(response.headers.get("content-length", 0))
            total = resumed + length if length else None
            with self.part.open("ab" if resumed else "wb") as out, self._bar(total, resumed) as bar:
                for chunk in response.iter_content(CHUNK):
                    out.write(chunk)
                    bar(len(chunk))
        if total is not None and self.part.stat().st_size != total:
            raise OSError(
                f"the connection broke after {self.part.stat().st_size:,} of {total:,} bytes"
            )

    @contextmanager
    def _bar(self, total: int | None, done: int) -> Iterator[Any]:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
        )
        console = Console(stderr=True)
        with Progress(*columns, console=console, disable=not self.progress) as bar:
            task = bar.add_task(self.part.stem, total=total, completed=done)
            yield lambda size: bar.advance(task, size)


def _short(error: BaseException) -> str:
    """The innermost reason, in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[-160:]}" if text else type(error).__name__
