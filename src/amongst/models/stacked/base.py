"""What a stacked network is: M networks of one shape, with parameters of shape (M, ...)."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

__all__ = ["EVERYONE", "ScoredNetwork", "StackedNetwork", "Tape", "copied"]

EVERYONE = slice(None)
"""The slice of all members."""

Tape = Any
"""What `forward` leaves for `backward` and `track`."""


class ScoredNetwork(ABC):
    """M networks that score rows: all that is asked of them once they are trained.

    >>> from amongst.models.stacked import SoloNetwork
    >>> len(SoloNetwork(nn.Linear(2, 3)))
    1
    """

    @abstractmethod
    def __len__(self) -> int:
        """M."""

    @property
    @abstractmethod
    def dtype(self) -> torch.dtype:
        """Of the parameters."""

    @abstractmethod
    def evaluate(self, x: Tensor, part: slice = EVERYONE, *, shared: bool = True) -> Tensor:
        """Scores (m, B, K) in evaluation mode, of rows (B, ...) if shared, else (m, B, ...)."""

    @abstractmethod
    def member(self, i: int) -> nn.Module:
        """A copy of member i as a plain module, in evaluation mode, on the CPU."""


class StackedNetwork(ScoredNetwork):
    """M networks of one shape, to be trained together.

    Attributes
    ----------
    parameters, buffers : tensors of shape (M, ...); the parameters are those that are trained.
    template : one network of that shape; its values mean nothing.
    compute : precision of matrix products.

    Examples
    --------
    >>> from amongst.models.stacked import stack_models
    >>> pair = stack_models([nn.Linear(2, 3), nn.Linear(2, 3)])
    >>> [tuple(parameter.shape) for parameter in pair.parameters], len(pair.member(1).bias)
    ([(2, 3, 2), (2, 3)], 3)
    """

    parameters: list[Tensor]
    buffers: list[Tensor]
    template: nn.Module
    compute: torch.dtype

    def __len__(self) -> int:
        return len(self.parameters[0])

    @property
    def dtype(self) -> torch.dtype:
        """Of the parameters."""
        return self.parameters[0].dtype

    def to(self, device: torch.device | str) -> Self:
        """A copy on another device; on a CPU it computes in the precision of its parameters."""
        moved = copy.copy(self)
        moved.parameters = [p.to(device) for p in self.parameters]
        moved.buffers = [b.to(device) for b in self.buffers]
        if torch.device(device).type == "cpu":
            moved.compute = self.dtype
        return moved

    @abstractmethod
    def prepare(self, x: Tensor, leading: int = 2) -> Tensor:
        """Batches as `forward` wants them; the first `leading` axes count members and rows."""

    @abstractmethod
    def forward(self, x: Tensor, part: slice = EVERYONE) -> tuple[Tensor, Tape]:
        """Scores (m, B, K) of prepared batches (m, B, ...) in training mode, and a tape."""

    @abstractmethod
    def backward(self, tape: Tape, slopes: Tensor) -> Sequence[Tensor | None]:
        """Gradients of the parameters from those of the scores, shape (m, B, K); None for a
        parameter on which the scores do not depend."""

    @abstractmethod
    def track(self, tape: Tape, alive: Tensor, part: slice = EVERYONE) -> None:
        """Let the running statistics of the members that are alive follow the batch's."""


def copied(model: nn.Module) -> nn.Module:
    """A deep copy, also of a module that keeps a result of its last pass, as old-style spectral
    norm does: torch refuses to copy a tensor with a history, so that its values are taken.

    >>> layer = nn.utils.spectral_norm(nn.Linear(2, 2))
    >>> scores = layer(torch.ones(1, 2))
    >>> copied(layer).weight.requires_grad
    False
    """
    kept = (value for module in model.modules() for value in vars(module).values())
    results = [value for value in kept if isinstance(value, Tensor) and not value.is_leaf]
    return copy.deepcopy(model, {id(value): value.detach().clone() for value in results})
