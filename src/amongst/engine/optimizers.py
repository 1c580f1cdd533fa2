"""The optimiser of one model, by its settings; a population's are in `engine.population`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from amongst.engine.settings import Settings
from amongst.models import MLP, ConvNet, Linear

__all__ = ["make_optimizer"]


def make_optimizer(model: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """The optimiser of these settings, over the model's parameters.

    On a CPU PyTorch's fused one, which reads and writes each parameter once a step; of a person's own
    network nobody knows whether it can take that (sparse gradients cannot).

    >>> type(make_optimizer(nn.Linear(2, 2), Settings(optimizer="adam"))).__name__
    'Adam'
    """
    shared: dict[str, Any] = {"lr": settings.lr, "weight_decay": settings.weight_decay}
    if isinstance(model, Linear | MLP | ConvNet) and next(model.parameters()).device.type == "cpu":
        shared["fused"] = True
    if settings.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), **shared)
    return torch.optim.SGD(model.parameters(), momentum=settings.momentum, **shared)
