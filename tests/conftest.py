"""Shared by all tests: one thread a process, and where real data is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)

settings.register_profile("amongst", deadline=None)  # a busy machine is not a failure
settings.load_profile("amongst")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder in AMONGST_DATA; tests that need it are skipped where it is not set."""
    folder = os.environ.get("AMONGST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("AMONGST_DATA is not set: this test needs the real data files")
    return Path(folder)
