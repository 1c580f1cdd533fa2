"""What the last layer of a network sees, for algorithms that learn from it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from amongst.errors import InputError


def head_of(network: nn.Module) -> nn.Linear:
    """The last linear layer, which makes scores of features.

    >>> from amongst.models import build_model
    >>> head_of(build_model("mlp", (4,), 3, seed=0, widths=(8,))).in_features
    8
    """
    layers = [module for module in network.modules() if isinstance(module, nn.Linear)]
    if not layers:
        raise InputError(
            f"{type(network).__name__} has no linear layer at its end, whose input an algorithm could "
            "learn from. Use a named network, or one that ends in nn.Linear.",
            code="no-head",
            argument="model",
        )
    return layers[-1]


def features_and_scores(network: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """What the last linear layer sees of a batch, shape (B, d), and its scores (B, K).

    >>> import torch
    >>> from amongst.models import build_model
    >>> network = build_model("mlp", (4,), 3, seed=0, widths=(8,))
    >>> [tuple(part.shape) for part in features_and_scores(network, torch.zeros(2, 4))]
    [(2, 8), (2, 3)]
    """
    seen: list[Tensor] = []

    def note(_: nn.Module, inputs: tuple[Any, ...]) -> None:
        seen.append(inputs[0])

    with head_of(network).register_forward_pre_hook(note):
        scores = network(x)
    return seen[-1], scores


class Seen(nn.Module):
    """A network that gives what its last linear layer sees, and its scores, side by side: (B, d + K).

    >>> Seen(nn.Linear(2, 3))(torch.zeros(4, 2)).shape
    torch.Size([4, 5])
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        """Features, then scores."""
        features, scores = features_and_scores(self.network, x)
        return torch.cat((features.to(scores.dtype), scores), 1)


class Shifted(nn.Module):
    """A network whose scores are shifted by a constant for each class.

    >>> Shifted(nn.Identity(), torch.tensor([1.0, 0.0]))(torch.zeros(1, 2))
    tensor([[1., 0.]])
    """

    shift: Tensor

    def __init__(self, network: nn.Module, shift: Tensor) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("shift", shift)

    def forward(self, x: Tensor) -> Tensor:
        """The network's scores, and the shift."""
        scores: Tensor = self.network(x) + self.shift
        return scores
