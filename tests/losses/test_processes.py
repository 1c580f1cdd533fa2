"""A loss under several processes: every one of them learns the weights of the rows of all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from amongst import losses
from amongst.errors import InputError

SETS = [{0, 1}, {2}, {0, 1, 2, 3}, {1, 3}, {0, 3}]
ROWS = [[3, 0, 4], [2]]
"""Of two processes, which have different numbers of them."""

SCRIPT = f"""
import sys, torch, torch.distributed as dist
from amongst import losses
from amongst.errors import DivergenceError
dist.init_process_group("gloo")
rank = dist.get_rank()
index = torch.tensor({ROWS}[rank])
scores = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))[index].requires_grad_()
for name in ("LWLoss", "PRODENLoss", "RCLoss", "CCLoss"):
    criterion = getattr(losses, name)({SETS})
    criterion.update(scores, index, group=dist.group.WORLD)
    torch.save(criterion.weights, f"{{name}}-{{rank}}.pt")
criterion = losses.LWLoss({SETS})
some = slice(0, 0 if rank else None)  # a process may have no rows at all
criterion.update(scores[some], index[some], group=dist.group.WORLD)
torch.save(criterion.weights, f"first-{{rank}}.pt")
broken = scores * float("nan") if rank else scores
try:
    criterion.update(broken, index, group=dist.group.WORLD)
except DivergenceError:
    torch.save(criterion.weights, f"refused-{{rank}}.pt")
dist.destroy_process_group()
"""


FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@FORKS
def test_every_process_learns_the_rows_of_all(tmp_path: Path, run_ranks: Any) -> None:
    run_ranks(SCRIPT, 2, tmp_path)
    index = torch.tensor([*ROWS[0], *ROWS[1]])
    scores = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))[index]
    for name in ("LWLoss", "PRODENLoss", "RCLoss", "CCLoss"):
        alone = getattr(losses, name)(SETS)
        alone.update(scores, index)
        for rank in range(2):
            found = torch.load(tmp_path / f"{name}-{rank}.pt")
            torch.testing.assert_close(found, alone.weights, rtol=0, atol=0)
    first = losses.LWLoss(SETS)
    first.update(scores[:3], index[:3])
    for rank in range(2):  # what one of them cannot take is refused by all, and nobody waits
        for name in ("first", "refused"):
            assert torch.equal(torch.load(tmp_path / f"{name}-{rank}.pt"), first.weights)


@pytest.mark.parametrize("group", [True, "world", -100])
def test_what_is_no_group_is_refused(group: Any) -> None:
    with pytest.raises(InputError, match=r"group=.* must be a process group, such as torch"):
        losses.LWLoss(SETS).update(torch.zeros(1, 4), torch.tensor([0]), group=group)
