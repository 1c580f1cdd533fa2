"""The optimiser of one model, by its settings; a population's are in `engine.population`."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from amongst.engine.settings import Settings

__all__ = ["make_optimizer"]


def make_optimizer(model: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """The optimiser of these settings, over the model's parameters.

    >>> type(make_optimizer(nn.Linear(2, 2), Settings(optimizer="adam"))).__name__
    'Adam'
    """
    shared: dict[str, Any] = {"lr": settings.lr, "weight_decay": settings.weight_decay}
    if settings.optimizer == "adam":
        return torch.optim.Adam(model.parameters(), **shared)
    return torch.optim.SGD(model.parameters(), momentum=settings.momentum, **shared)
