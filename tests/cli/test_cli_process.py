"""The command line's process: threads wait without holding the cores, and freed memory is kept."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from amongst.cli.saying import prepare

SCRIPT = """
import os, sys
from amongst.cli.app import app
from amongst.cli.saying import run
assert "torch" not in sys.modules, "too late: torch has read its environment"
run(lambda arguments: print(os.environ["GOMP_SPINCOUNT"]), [])
"""


@pytest.mark.parametrize(("given", "found"), [(None, "1000"), ("7", "7")])
def test_threads_spin_briefly_unless_told_otherwise(given: str | None, found: str) -> None:
    own = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    own |= {"GOMP_SPINCOUNT": given} if given else {}
    command = [sys.executable, "-c", SCRIPT]
    ended = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert (ended.stdout.strip(), ended.stderr) == (found, "")


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is glibc's")
def test_freed_memory_is_kept_and_its_absence_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Libc:
        def __init__(self) -> None:
            self.asked: list[tuple[int, int]] = []

        def mallopt(self, name: int, size: int) -> int:
            self.asked.append((name, size))
            return 1

    libc = Libc()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: libc)
    prepare()
    assert libc.asked == [(-1, 1 << 30), (-3, 32 << 20)]
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    prepare()
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "CDLL", None)
    prepare()


SLOW = {"torch", "numpy", "pandas", "scipy", "sklearn", "pyarrow", "matplotlib", "optuna", "ray"}


@pytest.mark.parametrize("line", ["--help", "--version", "datasets list", "fit --help"])
def test_what_is_asked_most_loads_nothing_slow(line: str) -> None:
    """Help took 2 s where it takes 0.2 s: pandas and scikit-learn were loaded to print it."""
    code = f"""
import subprocess
import sys
from amongst.cli import main
try:
    main({line.split()!r})
except SystemExit as ended:
    assert ended.code in (0, None), ended.code
print(sorted({SLOW!r} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stderr == "[]\n"
