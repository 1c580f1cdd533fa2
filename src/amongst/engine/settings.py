"""How to train: everything that changes the numbers, as one frozen value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from amongst.checks import check_choice, check_integer, check_number
from amongst.methods import Optimizer

__all__ = ["SCHEDULES", "Settings", "learning_rate"]

SCHEDULES: MappingProxyType[str, Callable[[int, int], float]] = MappingProxyType(
    {
        "constant": lambda epoch, epochs: 1.0,
        "cosine": lambda epoch, epochs: (1 + math.cos(math.pi * epoch / epochs)) / 2,
        "halving": lambda epoch, epochs: 0.5 ** (epoch // 50),
        "exponential": lambda epoch, epochs: 0.5 ** (epoch / 50),
        "proden": lambda epoch, epochs: 0.9 ** (epoch // 10),
    }
)
"""Factor on the learning rate at each epoch, of so many: constant; falling to 0 as a half cosine;
halved at every 50th epoch (the paper's text); halved per 50 epochs continuously (its code); × 0.9
every 10 epochs (PRODEN's ConvNet)."""


@dataclass(frozen=True)
class Settings:
    """Training settings.

    Attributes
    ----------
    epochs, batch_size : the paper has 250 and 256.
    lr, weight_decay, momentum : of the optimiser; momentum for SGD only.
    optimizer : ``"sgd"`` or ``"adam"``.
    schedule : a name in `SCHEDULES`.
    precision : ``"float32"``, ``"float64"``; on a GPU also ``"tf32"`` and ``"bf16"``.
    seed : of the order of rows and of dropout.

    Examples
    --------
    >>> Settings(epochs=10, lr=0.05).schedule
    'exponential'
    """

    epochs: int = 250
    batch_size: int = 256
    lr: float = 0.05
    weight_decay: float = 1e-3
    momentum: float = 0.9
    optimizer: Optimizer = "sgd"
    schedule: str = "exponential"
    precision: str = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("epochs", self.epochs, low=1)
        check_integer("batch_size", self.batch_size, low=1)
        check_number("lr", self.lr, low=0, open_low=True)
        check_number("weight_decay", self.weight_decay, low=0)
        check_number("momentum", self.momentum, low=0, high=1)
        check_integer("seed", self.seed, low=0)
        check_choice("optimizer", self.optimizer, ("sgd", "adam"))
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("precision", self.precision, ("float32", "float64", "tf32", "bf16"))
        for name, value in vars(self).items():
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value.item())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def learning_rate(settings: Settings, epoch: int) -> float:
    """lr · factor(epoch), epoch counted from 0.

    >>> learning_rate(Settings(lr=0.1, schedule="halving"), 50)
    0.05
    """
    return settings.lr * SCHEDULES[settings.schedule](epoch, settings.epochs)
