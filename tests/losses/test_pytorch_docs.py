"""docs/pytorch.md: its blocks run, and two processes train what one does."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch

PAGE = Path(__file__).parents[2] / "docs" / "pytorch.md"


def test_the_page_runs() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert tried > 20
    assert failed == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_two_processes_train_what_one_does(tmp_path: Path, run_ranks: Any) -> None:
    code = re.search(r"```python\n(# torchrun.*?)```", PAGE.read_text(), re.DOTALL)
    assert code is not None
    trained = []
    for count in (1, 2):
        folder = tmp_path / str(count)
        folder.mkdir()
        run_ranks(code[1], count, folder)
        trained.append(torch.load(folder / "trained.pt"))
    one, two = trained
    for part in ("net", "criterion"):
        for name, value in one[part].items():
            torch.testing.assert_close(two[part][name], value, rtol=1e-4, atol=1e-5)
