"""A downloader for pooch that goes on where it stopped, and keeps what it was sent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

from amongst.bars import Bar
from amongst.datasets.places import check_sha256, sha256_of
from amongst.optional import optional_import

__all__ = ["BrokenDownloadError", "Resumable"]

CHUNK = 1 << 18
TIMEOUT_S = 30
PURPOSE = "downloading datasets"


class BrokenDownloadError(OSError):
    """A download that did not arrive in full; its message says why, in a few words."""


class Resumable:
    """Keeps what has arrived in a `.part` file and asks the server for the rest.

    A complete file whose checksum is wrong is set aside as `.rejected`; nothing is deleted.

    Parameters
    ----------
    part : where to collect the bytes.
    sha256 : of the complete file, or None.
    progress : show a bar on the terminal.
    """

    def __init__(self, part: Path, sha256: str | None, progress: bool = False) -> None:
        self.part = part
        self.sha256 = sha256
        self.progress = progress

    def __call__(self, url: str, output_file: str, pooch: Any, check_only: bool = False) -> None:
        """Put the complete file at `output_file`, as pooch asks of a downloader."""
        self._receive(url)
        found = sha256_of(self.part)
        if self.sha256 is not None and found != self.sha256:
            rejected = self.part.with_suffix(".rejected")
            os.replace(self.part, rejected)
            check_sha256(rejected, self.sha256, found)
        os.replace(self.part, output_file)

    def _receive(self, url: str) -> None:
        requests = optional_import("requests", extra="data", purpose=PURPOSE)
        urllib3 = optional_import("urllib3", extra="data", purpose=PURPOSE)
        try:
            self._stream(requests, url)
        except requests.Timeout as error:
            raise BrokenDownloadError(f"no answer in {TIMEOUT_S} s") from error
        except requests.HTTPError as error:
            raise BrokenDownloadError(f"the server says {error.response.status_code}") from error
        except requests.ConnectionError as error:
            raise BrokenDownloadError("no connection") from error
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise BrokenDownloadError(f"the connection broke: {type(error).__name__}") from error

    def _stream(self, requests: Any, url: str) -> None:
        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as response:
            if have and response.status_code == 416:  # nothing is missing
                return
            response.raise_for_status()
            resumed = have if response.status_code == 206 else 0
            length = response.headers.get("content-length")
            total = None if length is None else resumed + int(length)
            with self.part.open("ab" if resumed else "wb") as out, self._bar(total, resumed) as bar:
                for chunk in response.raw.stream(CHUNK, decode_content=False):
                    out.write(chunk)
                    bar(len(chunk))
        arrived = self.part.stat().st_size
        if total is not None and arrived != total:
            raise BrokenDownloadError(f"broke off after {arrived:,} of {total:,} bytes")

    @contextmanager
    def _bar(self, total: int | None, done: int) -> Iterator[Callable[[int], None]]:
        title, speed = TextColumn("{task.description}"), TransferSpeedColumn()
        with Bar(title, BarColumn(), DownloadColumn(), speed, show=self.progress) as bar:
            task = bar.add_task(self.part.stem, total=total, completed=done)
            yield lambda size: bar.advance(task, size)
