"""Threads of the command line wait without holding the cores; that is settled before torch is loaded."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
from amongst.cli import app
assert "torch" not in sys.modules, "too late: torch has read its environment"
app.app = lambda arguments: print(os.environ["GOMP_SPINCOUNT"])
app.main([])
"""


@pytest.mark.parametrize(("given", "found"), [(None, "1000"), ("7", "7")])
def test_threads_spin_briefly_unless_told_otherwise(given: str | None, found: str) -> None:
    own = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    own |= {"GOMP_SPINCOUNT": given} if given else {}
    command = [sys.executable, "-c", SCRIPT]
    ended = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert (ended.stdout.strip(), ended.stderr) == (found, "")
