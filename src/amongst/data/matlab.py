"""MATLAB files, read in a process of their own: SciPy and HDF5 crash on some damaged ones.

This file is also the program of that process, which imports nothing of amongst: for each path on its
standard input it writes a message and the arrays to its standard output. It serves
one file after another, and ends with its parent, or when nobody asks for a while.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
SECONDS, BYTES_A_SECOND = 60, 2_000_000
"""Of computing: a constant, and what a slow machine reads of a large file."""
BESIDE = 1 << 30
"""Bytes of address space that libraries take, beside half of the machine's memory."""
IDLE = 60
"""Seconds until a reader that has nothing to do ends."""


class _Reader:
    """The other process."""

    def __init__(self) -> None:
        limits = _memory() // 2 + BESIDE, SECONDS
        places = os.pathsep.join(place or os.getcwd() for place in sys.path)
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__, *map(str, limits)],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": places, "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is its parent's
        )

    def ask(self, path: Path) -> tuple[str, dict[str, Any]] | None:
        """Its answer; None where it ended without one."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(pickle.dumps(os.fspath(path.absolute())))
            self.process.stdin.flush()
            answer: tuple[str, dict[str, Any]] = pickle.load(self.process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        return answer

    def end(self) -> int:
        """Its exit code."""
        self.process.kill()
        self.process.communicate()
        return self.process.returncode


_READERS: list[_Reader] = []
"""Those that wait, one for each thread that read at the same time."""
if hasattr(os, "register_at_fork"):  # not on Windows; the pipes are the parent's
    os.register_at_fork(after_in_child=lambda: _READERS.clear())


def read_matlab(path: Path) -> dict[str, Any]:
    """Every array of a file by its name; CSC matrices, sound ones, where sparse."""
    problem, arrays = _answer(path)
    if problem:
        raise ValueError(problem)
    return arrays


def _answer(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        reader, waited = _READERS.pop(), True
    except IndexError:
        reader, waited = _Reader(), False
    try:
        answer = reader.ask(path)
    except BaseException:
        reader.end()
        raise
    if answer is not None:
        _READERS.append(reader)
        return answer
    code = reader.process.wait()
    return _answer(path) if waited else (_how_it_ended(code), {})  # one that waited may have ended


def is_hdf5(path: Path) -> bool:
    """HDF5 begins at 0 (plain) or at 512 (MATLAB's 7.3, behind its own header)."""
    with path.open("rb") as file:
        start = file.read(520)
    return start[:8] == HDF5_SIGNATURE or start[512:520] == HDF5_SIGNATURE


def _how_it_ended(code: int) -> str:
    if -code == getattr(signal, "SIGXCPU", None):
        return "reading it takes too long"
    return (
        "it is damaged; the process that read it crashed"
        if code < 0
        else "it needs too much memory"
    )


def _memory() -> int:
    """Bytes of this machine; where it does not say, what no file needs."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 40


def _read(path: Path) -> dict[str, Any]:
    import scipy.io
    import scipy.sparse as sp

    found = _read_hdf5(path) if is_hdf5(path) else scipy.io.loadmat(path)
    kept = {name: value for name, value in found.items() if not name.startswith("__")}
    for value in kept.values():
        if sp.issparse(value):
            value.check_format(full_check=True)
    return kept


def _read_hdf5(path: Path) -> dict[str, Any]:
    import h5py

    with h5py.File(path, "r") as file:
        found = {name: _from_hdf5(h5py, item) for name, item in file.items() if name[0] != "#"}
    return {name: value for name, value in found.items() if value is not None}


def _from_hdf5(h5py: Any, item: Any) -> Any:
    """MATLAB keeps matrices by columns, so HDF5 shows them transposed."""
    if isinstance(item, h5py.Group):
        return _sparse_from_hdf5(item) if "MATLAB_sparse" in item.attrs else None
    if item.dtype.kind not in "biuf":
        return None
    values = item[()]
    return values.T if "MATLAB_class" in item.attrs else values


def _sparse_from_hdf5(group: Any) -> Any:
    """A group of `data`, `ir` (rows) and `jc` (column bounds); its attribute counts the rows."""
    import numpy as np
    import scipy.sparse as sp

    bounds = group["jc"][()]
    shape = (int(group.attrs["MATLAB_sparse"]), len(bounds) - 1)
    if "data" not in group:
        return sp.csc_array(shape, dtype=np.float64)
    return sp.csc_array((group["data"][()], group["ir"][()], bounds), shape=shape)


def _limit(memory: int, seconds: int) -> None:
    """From now on, where the system knows such limits; a core file of a crash helps nobody."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    kinds = (resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, until), (resource.RLIMIT_CORE, 0)
    for kind, most in kinds:
        with suppress(OSError, ValueError):  # a smaller one may hold already
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _serve(memory: int, seconds: int) -> None:
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    alarm = getattr(signal, "alarm", lambda _: 0)  # Windows has none
    with suppress(EOFError):
        while True:
            alarm(IDLE)
            path = Path(pickle.load(asked))
            alarm(0)
            with suppress(ImportError):  # Windows
                _limit(memory, seconds + path.stat().st_size // BYTES_A_SECOND)
            pickle.dump(_tried(path), answers, protocol=5)
            answers.flush()


def _tried(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        return "", _read(path)
    except Exception as error:  # SciPy and h5py raise many kinds on a damaged file
        return " ".join(str(error).split()) or type(error).__name__, {}


if __name__ == "__main__":
    _serve(*map(int, sys.argv[1:]))
