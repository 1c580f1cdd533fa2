"""Tar archives, taken apart by hand: plain files below one folder, and nothing else."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from amongst.atomic import clear_abandoned, temporary_prefix
from amongst.errors import FileFormatError

__all__ = ["extract_tar", "tar_members"]

MOST_BYTES = 1 << 30
BUFFER = 1 << 20


def tar_members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """(path inside, content) of every plain file, in one pass over the archive.

    Refused, with the member's name: absolute paths, paths through ``..``, links, devices, and
    more than 1 GiB in all. Directories are skipped.
    """
    total = 0
    try:
        with tarfile.open(archive, "r|*", bufsize=BUFFER) as tar:
            for member in tar:
                if member.isdir():
                    continue
                _check_member(archive, member)
                total += member.size
                if total > MOST_BYTES:
                    raise FileFormatError(f"{archive} unpacks to more than 1 GiB; refused.")
                file = tar.extractfile(member)
                if file is not None:
                    yield member.name, file.read()
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise FileFormatError(
            f"{archive} is not a sound archive ({error}); it may be truncated: delete it, and fetch "
            "it again."
        ) from error


def extract_tar(archive: Path, folder: str, target: Path) -> Path:
    """Unpack the members below `folder` to ``target/folder``, which appears when complete.

    A folder of that name, which another process may just have put there, stays as it is.

    Parameters
    ----------
    archive : a tar file, gzipped or not.
    folder : the one top folder of the archive.
    target : where that folder is to be.
    """
    clear_abandoned(target / folder)
    made = Path(tempfile.mkdtemp(dir=target, prefix=temporary_prefix(target / folder)))
    try:
        for name, content in tar_members(archive):
            place = made / PurePosixPath(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        if not (made / folder).is_dir():
            raise FileFormatError(f"{archive} has no folder {folder!r}; it is another archive.")
        _put(made / folder, target / folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return target / folder


def _put(made: Path, place: Path) -> None:
    try:
        os.replace(made, place)
    except OSError:
        if not place.is_dir():
            raise


def _check_member(archive: Path, member: tarfile.TarInfo) -> None:
    path = PurePosixPath(member.name)
    outside = path.is_absolute() or ".." in path.parts or "\\" in member.name or ":" in member.name
    if outside:
        raise FileFormatError(
            f"{archive} holds {member.name!r}, a path outside its folder; refused."
        )
    if not member.isreg():
        raise FileFormatError(f"{archive} holds {member.name!r}, which is no plain file; refused.")
