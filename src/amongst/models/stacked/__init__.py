"""Many networks of one shape as one: parameters with a leading axis of M members.

`StackedDense` writes out the layers of `Linear` and `MLP`, forward and backward; `StackedModule`
takes any `nn.Module` through vmap and functional_call. Both train in the caller's loop:
`forward` → slopes of the loss → `backward` → the caller's update → `track`. `SoloNetwork` holds one
module that was trained elsewhere, to be scored beside the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from amongst.errors import InputError
from amongst.models.networks import MLP, Linear
from amongst.models.stacked.base import EVERYONE, ScoredNetwork, StackedNetwork, copied
from amongst.models.stacked.dense import StackedDense
from amongst.models.stacked.module import StackedModule
from amongst.models.stacked.solo import SoloNetwork

__all__ = [
    "EVERYONE",
    "ScoredNetwork",
    "SoloNetwork",
    "StackedDense",
    "StackedModule",
    "StackedNetwork",
    "copied",
    "stack_models",
]


def stack_models(
    models: Sequence[nn.Module],
    *,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    compute: torch.dtype | None = None,
    pad: bool = False,
) -> StackedNetwork:
    """Stack networks of one shape.

    Parameters
    ----------
    models : M modules.
    device, dtype : of the stacked parameters.
    compute : precision of matrix products, e.g. bfloat16; None for `dtype`.
    pad : widths up to multiples of 8 and K to one of 16, which matrix units want; the padding
        stays exactly zero. Dense networks only.

    Examples
    --------
    >>> from amongst.models import build_model
    >>> pair = stack_models([build_model("mlp", (4,), 3, seed, widths=(5,)) for seed in (0, 1)])
    >>> pair.evaluate(torch.zeros(6, 4)).shape
    torch.Size([2, 6, 3])
    """
    if len({type(model) for model in models}) != 1:
        raise InputError("the models of a population must be of one kind, one shape.")
    if _is_written_out(models[0]):
        return StackedDense(models, device, dtype, compute or dtype, pad)
    return StackedModule(models, device, dtype, compute or dtype)


def _is_written_out(model: nn.Module) -> bool:
    """Whether `StackedDense` has this network: all of it trained, its batch norms of one kind."""
    norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm1d)]
    kinds = {(layer.momentum, layer.eps) for layer in norms}
    usual = len(kinds) <= 1 and all(layer.momentum is not None for layer in norms)
    trained = all(parameter.requires_grad for parameter in model.parameters())
    return type(model) in (MLP, Linear) and usual and trained
