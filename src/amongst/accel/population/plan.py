"""How much memory a population needs, and the waves in which it fits."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from amongst.accel.population.cohort import ORDER_CHUNK, code_bytes
from amongst.accel.population.member import Member
from amongst.accel.stacked import copied
from amongst.algorithms._base import scored
from amongst.data.features import Features
from amongst.errors import InputError
from amongst.models import MLP, Linear, ModelSpec, build_model

GIB = 2**30
SAFE_SHARE = 0.85
"""Of the memory that is free, how much a plan uses."""


@dataclass(frozen=True)
class MemoryPlan:
    """What members in lockstep need, in bytes.

    Attributes
    ----------
    members : M.
    shared : features, distinct masks, and what evaluation works in, once.
    each : parameters, optimiser state, weights, order and activations of one member.
    limit : what may be used.

    Examples
    --------
    >>> print(MemoryPlan(members=1000, shared=2**30, each=2**24, limit=2**33))
    1,000 members need 16.6 GiB (1.0 shared, 16.0 MiB each); 8.0 GiB may be used: 3 waves
    """

    members: int
    shared: int
    each: int
    limit: int

    @property
    def total(self) -> int:
        """Bytes for all members at once."""
        return self.shared + self.members * self.each

    @property
    def waves(self) -> int:
        """How many parts the population must be trained in."""
        room = max(self.limit - self.shared, self.each)
        return math.ceil(self.members / (room // self.each))

    def __str__(self) -> str:
        parts = f"{self.waves} wave{'s' if self.waves > 1 else ''}"
        return (
            f"{self.members:,} members need {self.total / GIB:.1f} GiB ({self.shared / GIB:.1f} "
            f"shared, {self.each / 2**20:.1f} MiB each); {self.limit / GIB:.1f} GiB may be used: "
            f"{parts}"
        )


def plan_memory(
    members: Sequence[Member],
    features: Features,
    model: ModelSpec,
    options: dict[str, object] | None = None,
    *,
    device: torch.device | str = "cpu",
    memory_limit: int | None = None,
) -> MemoryPlan:
    """The memory that members in lockstep will need, before anything is allocated.

    Parameters
    ----------
    members, features, model, options : as for `train_population`.
    memory_limit : bytes; by default most of what is free on the device.

    Examples
    --------
    >>> from amongst.train import Features, Settings
    >>> from amongst.algorithms import LW
    >>> mnist = Features(torch.zeros(60_000, 784, dtype=torch.uint8))
    >>> inside = torch.ones(60_000, 10, dtype=torch.bool)
    >>> print(plan_memory([Member(LW(), inside)] * 50, mnist, "mlp", memory_limit=2**32))
    50 members need 1.2 GiB (0.2 shared, 20.8 MiB each); 4.0 GiB may be used: 1 wave
    """
    first = members[0]
    network = build_model(model, features.shape, first.n_classes, 0, **(options or {}))
    item = 8 if first.settings.precision == "float64" else 4
    network.to(torch.float64 if item == 8 else features.dtype)
    half = first.settings.precision == "bf16" and torch.device(device).type == "cuda"
    fused = half and isinstance(network, Linear | MLP)
    layers = _layer_sizes(network, features, first.n_classes, device)
    shared = features.values.numel() * features.values.element_size()
    shared += len({id(m.inside) for m in members}) * len(features) * code_bytes(first.n_classes)
    shared += _scratch_bytes(members, features, device, max(layers) * (2 if half else item))
    each = _row_bytes(members, item) + _parameter_bytes(network, members, item, fused)
    entries = (math.prod(features.shape) + sum(layers)) * min(
        first.settings.batch_size, first.n_rows
    )
    each += entries * (2 if fused else 2 * item)
    limit = available_memory(device) if memory_limit is None else memory_limit
    return MemoryPlan(len(members), shared, each, limit)


def scored_at_a_time(device: torch.device | str) -> int:
    """Rows × members in one forward pass of an evaluation: enough to keep the device busy."""
    return 2**20 if torch.device(device).type == "cuda" else 2**16


def available_memory(device: torch.device | str = "cpu") -> int:
    """Bytes that a plan may use on a device."""
    device = torch.device(device)
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
        idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(SAFE_SHARE * (free + idle))
    if "SC_AVPHYS_PAGES" not in getattr(os, "sysconf_names", ()):  # macOS; Windows has none at all
        return 4 * GIB
    return int(SAFE_SHARE * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def split_waves(indices: Sequence[int], waves: int) -> list[list[int]]:
    """Indices in parts whose sizes differ by one at most.

    >>> split_waves(range(7), 3)
    [[0, 1, 2], [3, 4], [5, 6]]
    """
    return [part.tolist() for part in np.array_split(indices, waves)]


def _parameter_bytes(network: nn.Module, members: Sequence[Member], item: int, fused: bool) -> int:
    """Parameters, traces, second moments where there is Adam, and 16-bit copies; gradients and as
    much again in passing, unless fused."""
    entries = sum(p.numel() for p in network.parameters())
    kept = 2 + any(m.settings.optimizer == "adam" for m in members)
    return entries * (item * (kept + 2 * (not fused)) + 4)


def _scratch_bytes(
    members: Sequence[Member], features: Features, device: torch.device | str, widest: int
) -> int:
    """What an evaluation or the drawing of orders works in, whichever is more."""
    scored = min(len(members) * len(features), scored_at_a_time(device))
    drawn = min(len(members) * members[0].n_rows, ORDER_CHUNK)
    return max(2 * widest * scored, 40 * drawn)


def _row_bytes(members: Sequence[Member], item: int) -> int:
    first = members[0]
    probe = torch.ones(1, first.n_classes, dtype=torch.bool)
    weighted = any(m.loss.init(probe) is not None for m in members)
    chosen = any(m.rows is not None for m in members)
    return first.n_rows * (4 + 8 * chosen + item * first.n_classes * weighted)


def _layer_sizes(
    network: nn.Module, features: Features, n_classes: int, device: torch.device | str
) -> list[int]:
    """Entries of each layer's output for one row, found by a pass that computes nothing, or, for a
    module with tensors that are no buffers, by a real one."""
    dtype = next((p.dtype for p in network.parameters()), features.dtype)
    x = torch.empty(2, *features.shape, dtype=dtype, device="meta")
    with suppress(RuntimeError, InputError):
        return _seen_sizes(copied(network).to("meta"), x, n_classes)
    return _seen_sizes(network.to(device), torch.zeros_like(x, device=device), n_classes)


@torch.no_grad()
def _seen_sizes(network: nn.Module, x: Tensor, n_classes: int) -> list[int]:
    sizes = []

    def note(module: nn.Module, _inputs: object, output: object) -> None:
        if isinstance(output, Tensor) and not isinstance(module, nn.Flatten):
            sizes.append(output.numel() // 2)

    for layer in network.modules():
        if not list(layer.children()):
            layer.register_forward_hook(note)
    scores = scored(network.eval(), x, n_classes)
    return sizes or [scores.numel() // 2]
