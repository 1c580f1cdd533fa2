"""Downloads from a dataset's public origin: resumable, checked, and complete or not there."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

from amongst.bars import Bar
from amongst.data.catalogue import Entry, File
from amongst.data.catalogue import entry as catalogue_entry
from amongst.data.places import (
    cache_folder,
    check_sha256,
    find,
    find_cifar,
    missing,
    sha256_of,
    writable,
)
from amongst.errors import DataNotFoundError, FileFormatError, InputError
from amongst.optional import optional_import

CHUNK = 1 << 18
TIMEOUT_S = 30


class BrokenDownloadError(OSError):
    """A download that did not arrive in full; its message says why, in a few words."""


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
    images = []
    if entry.layout in ("cifar", "cifar10n"):
        cifar = catalogue_entry("cifar10")
        found = find_cifar(cifar)
        images = [found.path if found else _download(cifar, cifar.files[0], progress)]
    files = () if entry.layout == "cifar" else entry.files
    return images + [find(entry, file) or _download(entry, file, progress) for file in files]


def _download(entry: Entry, file: File, progress: bool) -> Path:
    """From the first origin that sends the right bytes."""
    if not file.urls:
        raise DataNotFoundError(missing(entry, file))
    cache = cache_folder()
    if cache is None:
        raise InputError(
            "there is no cache to download to: set AMONGST_CACHE to a folder, or install "
            "platformdirs (pip install 'amongst[data]')."
        )
    target = writable(cache / entry.home) / file.name
    reasons, wrong = [], None
    with _one_at_a_time(target.parent):
        for url in file.urls:
            try:
                return target if target.is_file() else _retrieve(url, file, target, progress)
            except BrokenDownloadError as error:
                reasons.append(f"{url} ({error})")
            except FileFormatError as error:
                wrong = error
    if wrong is not None:
        raise wrong
    reason = f"could not be downloaded from {' nor from '.join(reasons)}"
    raise DataNotFoundError(missing(entry, file, reason))


def _retrieve(url: str, file: File, target: Path, progress: bool) -> Path:
    """What has arrived is kept as `.part`; a whole file with a wrong checksum as `.rejected`."""
    part = target.with_name(f"{target.name}.part")
    _receive(url, part, progress)
    found = sha256_of(part)
    if file.sha256 not in (None, found):
        rejected = part.with_suffix(".rejected")
        os.replace(part, rejected)
        check_sha256(rejected, file.sha256, found)
    os.replace(part, target)
    return target


def _receive(url: str, part: Path, progress: bool) -> None:
    """Ask for what is missing, and say in a few words why it did not come."""
    requests = optional_import("requests", extra="data", purpose="downloading datasets")
    urllib3 = optional_import("urllib3", extra="data", purpose="downloading datasets")
    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as response:
            if have and response.status_code == 416:  # nothing is missing
                return
            response.raise_for_status()
            resumed = have if response.status_code == 206 else 0
            length = response.headers.get("content-length")
            total = None if length is None else resumed + int(length)
            with (
                part.open("ab" if resumed else "wb") as out,
                _bar(part, total, resumed, progress) as bar,
            ):
                for chunk in response.raw.stream(CHUNK, decode_content=False):
                    out.write(chunk)
                    bar(len(chunk))
    except requests.Timeout as error:
        raise BrokenDownloadError(f"no answer in {TIMEOUT_S} s") from error
    except requests.HTTPError as error:
        raise BrokenDownloadError(f"the server says {error.response.status_code}") from error
    except requests.ConnectionError as error:
        raise BrokenDownloadError("no connection") from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise BrokenDownloadError(f"the connection broke: {type(error).__name__}") from error
    arrived = part.stat().st_size
    if total is not None and arrived != total:
        raise BrokenDownloadError(f"broke off after {arrived:,} of {total:,} bytes")


@contextmanager
def _bar(part: Path, total: int | None, done: int, show: bool) -> Iterator[Callable[[int], None]]:
    title, speed = TextColumn("{task.description}"), TransferSpeedColumn()
    with Bar(title, BarColumn(), DownloadColumn(), speed, show=show) as bar:
        task = bar.add_task(part.stem, total=total, completed=done)
        yield lambda size: bar.advance(task, size)


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
