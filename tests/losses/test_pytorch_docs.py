"""docs/pytorch.md: its blocks run, and two processes train what one does."""

from __future__ import annotations

import doctest
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

PAGE = Path(__file__).parents[2] / "docs" / "pytorch.md"


def test_the_page_runs() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert tried > 20
    assert failed == 0


def trained_by(processes: int, folder: Path) -> dict[str, Any]:
    """What the page's script leaves, run as torchrun would."""
    code = re.search(r"```python\n(# torchrun.*?)```", PAGE.read_text(), re.DOTALL)
    assert code is not None
    folder.mkdir()
    (folder / "train.py").write_text(code[1])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(processes)}
    running = [
        subprocess.Popen(
            [sys.executable, "train.py"],
            cwd=folder,
            env=os.environ | shared | {"RANK": str(rank), "OMP_NUM_THREADS": "1"},
        )
        for rank in range(processes)
    ]
    assert [process.wait(timeout=120) for process in running] == [0] * processes
    return torch.load(folder / "trained.pt")  # type: ignore[no-any-return]


def test_two_processes_train_what_one_does(tmp_path: Path) -> None:
    one, two = trained_by(1, tmp_path / "one"), trained_by(2, tmp_path / "two")
    for part in ("net", "criterion"):
        for name, value in one[part].items():
            torch.testing.assert_close(two[part][name], value, rtol=1e-4, atol=1e-5)
