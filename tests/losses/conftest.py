"""Processes that train together."""

from __future__ import annotations

import multiprocessing
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

RunRanks = Callable[[str, int, Path], None]


def _rank(code: str, folder: Path, environment: dict[str, str]) -> None:
    os.environ |= environment
    os.chdir(folder)
    torch.set_num_threads(1)
    exec(compile(code, "<rank>", "exec"), {"__name__": "__main__"})


@pytest.fixture
def run_ranks() -> RunRanks:
    """Run a script in so many processes that know each other, as torchrun would."""

    def run(code: str, count: int, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
        fork = multiprocessing.get_context("fork")  # torch is imported already
        ranks = [
            fork.Process(target=_rank, args=(code, folder, shared | {"RANK": str(rank)}))
            for rank in range(count)
        ]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join(timeout=120)
        assert [process.exitcode for process in ranks] == [0] * count

    return run
