"""The order of rows, and what else a seed gives: the same on every device and in every engine.

A permutation is the argsort of a hash of (seed, epoch, row). It needs no generator state, so a
resumed run sees the order that the undisturbed one would have, and a population can draw all its
members' orders at once.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

__all__ = ["Roles", "batch_bounds", "dropout_seed", "permutation", "split_seed"]

Roles = tuple[int, int, int]

_GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15 as a signed number
_MIX_1 = -4658895280553007687  # 0xBF58476D1CE4E5B9
_MIX_2 = -7723592293110705685  # 0x94D049BB133111EB


def split_seed(seed: int) -> Roles:
    """Independent seeds for (initial weights, order of rows, dropout).

    >>> len(set(split_seed(0)))
    3
    """
    words = np.random.SeedSequence(seed).generate_state(3, np.uint64) >> np.uint64(1)
    first, second, third = (int(word) for word in words)
    return first, second, third


def dropout_seed(seed: int, epoch: int) -> int:
    """Of the random numbers of an epoch's steps.

    >>> dropout_seed(0, epoch=1) - dropout_seed(0, epoch=0)
    1
    """
    return (split_seed(seed)[2] + epoch) % 2**63


def permutation(
    seeds: int | Tensor, epoch: int, n: int, device: torch.device | str = "cpu"
) -> Tensor:
    """Row orders of one epoch: shape (n,) for one seed, (M, n) for M seeds.

    >>> permutation(0, epoch=0, n=5).sort().values
    tensor([0, 1, 2, 3, 4])
    """
    base = torch.as_tensor(seeds, dtype=torch.int64, device=device)
    stream = _mix(_mix(base) + torch.tensor(epoch, device=device) * _GOLDEN)
    rows = torch.arange(n, dtype=torch.int64, device=device)
    return _mix(stream.unsqueeze(-1) + rows * _GOLDEN).argsort(dim=-1, stable=True)


def batch_bounds(n: int, batch_size: int) -> list[tuple[int, int]]:
    """Start and end of each batch. A last batch of one row, of which batch normalisation cannot
    take a variance, joins the one before it.

    >>> batch_bounds(10, 4)
    [(0, 4), (4, 8), (8, 10)]
    >>> batch_bounds(9, 4)
    [(0, 4), (4, 9)]
    """
    edges = [*range(0, n, batch_size), n]
    if len(edges) > 2 and edges[-1] - edges[-2] == 1:
        del edges[-2]
    return list(pairwise(edges))


def _mix(x: Tensor) -> Tensor:
    """The finaliser of splitmix64, in wrapping 64-bit arithmetic."""
    x = (x ^ _shift(x, 30)) * _MIX_1
    x = (x ^ _shift(x, 27)) * _MIX_2
    return x ^ _shift(x, 31)


def _shift(x: Tensor, bits: int) -> Tensor:
    return (x >> bits) & ((1 << (64 - bits)) - 1)
