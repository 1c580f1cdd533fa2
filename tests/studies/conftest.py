"""A store such as the paper's tables would leave behind, as the tests of the bench have it."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MAKER = Path(__file__).parents[1] / "bench" / "synthetic_records.py"


@pytest.fixture(scope="session")
def synthetic() -> Callable[..., Any]:
    return runpy.run_path(str(MAKER))["synthetic"]  # type: ignore[no-any-return]
