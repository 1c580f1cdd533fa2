"""A store such as the paper's tables would leave behind, made up in a second."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def load(name: str) -> ModuleType:
    """A helper beside this file; tests are no package, so it is loaded by its path."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def synthetic() -> Callable[..., Any]:
    return load("synthetic_records").synthetic  # type: ignore[no-any-return]
