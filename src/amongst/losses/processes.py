"""Rows of several processes, for a loss whose weights every process must know."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from amongst.errors import InputError

__all__ = ["gathered"]


def gathered(group: Any, *values: Tensor) -> list[Tensor]:
    """The rows that all processes of a group hold, in the order of their ranks.

    Each of the tensors goes from shape (b, ...) to (B, ...), B = Σ b over the processes, which may have
    different numbers of rows b. All of them must call it.

    Parameters
    ----------
    group : of `torch.distributed`, such as ``torch.distributed.group.WORLD``.
    values : with one number of rows, on a device that the group can send from.

    Examples
    --------
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> gathered(dist.group.WORLD, torch.tensor([[1.0, 2.0]]), torch.tensor([7]))
    [tensor([[1., 2.]]), tensor([7])]
    >>> dist.destroy_process_group()
    """
    _check_group(group)
    count = torch.tensor([len(values[0])], device=values[0].device)
    counts = [int(found) for found in _all(count, group)]
    return [_rows(value, counts, group) for value in values]


def _rows(value: Tensor, counts: list[int], group: Any) -> Tensor:
    """Collectives want equal shapes: short parts travel with rows that are cut off again."""
    padded = value.new_zeros(max(counts), *value.shape[1:])
    padded[: len(value)] = value
    parts = zip(_all(padded, group), counts, strict=True)
    return torch.cat([part[:count] for part, count in parts])


def _all(value: Tensor, group: Any) -> list[Tensor]:
    parts = [torch.empty_like(value) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, value, group=group)
    return parts


def _check_group(group: Any) -> None:
    if not dist.is_available() or not isinstance(group, dist.ProcessGroup):
        raise InputError(
            f"group={group!r:.80} must be a process group, such as torch.distributed.group.WORLD; "
            "leave it out for one process."
        )
