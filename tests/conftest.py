"""Shared by all tests: one thread a process, Ctrl-C, and where real data is."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)

# A shell's job in the background, such as CI's, ignores Ctrl-C, and so would every process that a
# test starts to interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("amongst", deadline=None)  # a busy machine is not a failure
settings.load_profile("amongst")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder in AMONGST_DATA; tests that need it are skipped where it is not set."""
    folder = os.environ.get("AMONGST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("AMONGST_DATA is not set: this test needs the real data files")
    return Path(folder)
