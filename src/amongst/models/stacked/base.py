"""What a stacked network is: M networks of one shape, with parameters of shape (M, ...)."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Self

import torch
from torch import Tensor, nn

__all__ = ["EVERYONE", "StackedNetwork", "Tape"]

EVERYONE = slice(None)
"""The slice of all members."""

Tape = Any
"""What `forward` leaves for `backward` and `track`."""


class StackedNetwork(ABC):
    """M networks of one shape.

    Attributes
    ----------
    parameters, buffers : tensors of shape (M, ...).
    template : one network of that shape; its values mean nothing.
    compute : precision of matrix products.
    """

    parameters: list[Tensor]
    buffers: list[Tensor]
    template: nn.Module
    compute: torch.dtype

    def __len__(self) -> int:
        return len(self.parameters[0])

    def to(self, device: torch.device | str) -> Self:
        """A copy on another device; on a CPU it computes in the precision of its parameters."""
        moved = copy.copy(self)
        moved.parameters = [p.to(device) for p in self.parameters]
        moved.buffers = [b.to(device) for b in self.buffers]
        if torch.device(device).type == "cpu":
            moved.compute = self.parameters[0].dtype
        return moved

    @abstractmethod
    def prepare(self, x: Tensor, leading: int = 2) -> Tensor:
        """Batches as `forward` wants them; the first `leading` axes count members and rows."""

    @abstractmethod
    def forward(self, x: Tensor, part: slice = EVERYONE) -> tuple[Tensor, Tape]:
        """Scores (m, B, K) of prepared batches (m, B, ...) in training mode, and a tape."""

    @abstractmethod
    def backward(self, tape: Tape, slopes: Tensor) -> list[Tensor]:
        """Gradients of the parameters from those of the scores, shape (m, B, K)."""

    @abstractmethod
    def track(self, tape: Tape, alive: Tensor, part: slice = EVERYONE) -> None:
        """Let the running statistics of the members that are alive follow the batch's."""

    @abstractmethod
    def evaluate(self, x: Tensor, part: slice = EVERYONE, *, shared: bool = True) -> Tensor:
        """Scores (m, B, K) in evaluation mode, of rows (B, ...) if shared, else (m, B, ...)."""

    @abstractmethod
    def member(self, i: int) -> nn.Module:
        """A copy of member i as a plain module, in evaluation mode, on the CPU."""
