"""Files at the command line's door: pipes to read from, targets that are safe to write to."""

from __future__ import annotations

import atexit
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO

import typer

from amongst.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "READABLE",
    "STANDARD",
    "as_file",
    "as_given",
    "check_folder_target",
    "check_table_target",
    "check_target",
    "write_table",
]

STANDARD = Path("-")
"""Standard input where a file is read, standard output where one is written."""
READABLE = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".pq", ".npz", ".mat")
PIPES: dict[str, str] = {}
"""Of files that hold what was read from a pipe, the pipe."""


def as_file(path: Path) -> Path:
    """The path; of a pipe, or of standard input ("-"), a file that has all of it and is gone when
    the command ends."""
    if path == STANDARD:
        return _kept(_piped(), path, "stdin.csv")
    if path.is_file() or path.is_dir() or not path.exists():
        return path
    name = path.name if path.suffix.lower() in READABLE else f"{path.name}.csv"
    with path.open("rb") as source:
        return _kept(source, path, name)


def _piped() -> BinaryIO:
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- is standard input, and nothing is piped into it; name a file.")
    return sys.stdin.buffer


def _kept(source: BinaryIO, path: Path, name: str) -> Path:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    kept = Path(folder.name) / name
    PIPES[str(kept)] = str(path)
    with kept.open("wb") as target:
        shutil.copyfileobj(source, target)
    return kept


def as_given(text: str) -> str:
    """A message that names pipes as the person did."""
    for kept, given in PIPES.items():
        text = text.replace(kept, given)
    return text


def check_target(option: str, path: Path, inputs: tuple[Path | None, ...] = ()) -> None:
    """Mistakes in where to write are said before anything is computed."""
    if path == STANDARD:
        raise InputError(f"{option} - would mix with what is printed; name a file.")
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; name a file.")
    for source in inputs:
        if source is not None and _same(path, source):
            raise InputError(f"{option} {path} is also read from; name another file.")
    _check_folder(option, path)


def check_folder_target(option: str, path: Path) -> None:
    """As `check_target`, of a folder that may still have to be made."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{option} {path} is a file; name a folder.")


def check_table_target(option: str, path: Path, inputs: tuple[Path | None, ...] = ()) -> None:
    """As `check_target`, and the ending is one that a table can be written as."""
    if path == STANDARD:
        return
    check_target(option, path, inputs)
    if _writer(path) is _to_parquet:
        _import_pyarrow()
    if _writer(path) is None:
        raise InputError(
            f"{option} {path} has an unknown ending; it must be .csv, .tsv, .txt or .parquet, or - "
            "for standard output."
        )


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write as the ending says; ``-`` is standard output."""
    from amongst.atomic import write_atomically

    if path == STANDARD:
        typer.echo(_to_csv(frame), nl=False)  # bytes, whatever the terminal's encoding is
        return
    writer = _writer(path)
    assert writer is not None
    write_atomically(path, writer(frame))


def _same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


def _check_folder(option: str, path: Path) -> None:
    if path.exists() and not path.is_file():
        return  # a pipe
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        shown = path.parent if not path.parent.is_dir() else folder
        raise InputError(f"{option} {path}: the folder {shown} does not exist; make it first.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"{option} {path}: the folder {folder} cannot be written to ({reason})."
        ) from error


def _writer(path: Path) -> Callable[[pd.DataFrame], bytes] | None:
    if path.exists() and not path.is_file():
        return _to_csv
    writers = {
        ".csv": _to_csv,
        ".txt": _to_csv,
        ".tsv": _to_tsv,
        ".parquet": _to_parquet,
        ".pq": _to_parquet,
    }
    return writers.get(path.suffix.lower())


def _to_csv(frame: pd.DataFrame) -> bytes:
    return str(frame.to_csv(index=False)).encode()


def _to_tsv(frame: pd.DataFrame) -> bytes:
    return str(frame.to_csv(index=False, sep="\t")).encode()


def _to_parquet(frame: pd.DataFrame) -> bytes:
    pyarrow = _import_pyarrow()
    target = io.BytesIO()
    try:
        frame.to_parquet(target, index=False)
    except (pyarrow.ArrowException, OverflowError) as error:
        raise InputError(f"these labels do not fit into Parquet ({error}); use .csv.") from error
    return target.getvalue()


def _import_pyarrow() -> ModuleType:
    from amongst.optional import optional_import

    return optional_import("pyarrow", extra="data", purpose="writing Parquet files")
