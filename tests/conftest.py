"""Shared by all tests: one thread a process, Ctrl-C, and where real data is."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

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


def chromium_driver() -> ModuleType:
    """The helper beside this file; tests are no package, so it is loaded by its path."""
    name = "chromium_driver"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def page() -> Iterator[Any]:
    """A tab of a headless Chromium; tests that need it are skipped where there is none."""
    driver = chromium_driver()
    binary = driver.find_chromium()
    if binary is None:
        pytest.skip("no Chromium on this machine; scripts/chromium.sh installs Debian's")
    with driver.chromium(binary) as found:
        yield found


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which scripts/axe.sh fetches; tests are skipped where it is not."""
    path = Path(os.environ.get("AXE") or Path(sys.prefix) / "share" / "axe.min.js")
    if not path.is_file():
        pytest.skip("no axe-core on this machine; scripts/axe.sh fetches it from npm")
    return path.read_text("utf-8")
