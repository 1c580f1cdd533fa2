"""The paper's three networks (supplement B.3): linear, MLP and a 12-layer ConvNet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["MLP", "PAPER_WIDTHS", "ConvNet", "Linear"]

PAPER_WIDTHS = (300, 300, 300, 300)


class Linear(nn.Sequential):
    """d–K: one affine map of the flattened input.

    >>> Linear((4,), 3)(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    """

    def __init__(self, in_shape: Sequence[int], n_classes: int) -> None:
        super().__init__(nn.Flatten(), nn.Linear(math.prod(in_shape), n_classes))
        _xavier(self)


class MLP(nn.Sequential):
    """d–300–300–300–300–K, each hidden layer without bias, then batch norm and ReLU.

    >>> MLP((28, 28), 10, widths=(32, 16))(torch.zeros(2, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(
        self, in_shape: Sequence[int], n_classes: int, widths: Sequence[int] = PAPER_WIDTHS
    ) -> None:
        sizes = [math.prod(in_shape), *widths]
        layers: list[nn.Module] = [nn.Flatten()]
        for fan_in, fan_out in pairwise(sizes):
            layers += [nn.Linear(fan_in, fan_out, bias=False), nn.BatchNorm1d(fan_out), nn.ReLU()]
        super().__init__(*layers, nn.Linear(sizes[-1], n_classes))
        _xavier(self)


class ConvNet(nn.Module):
    """[3×3 conv 128]×3, pool, dropout, [256]×3, pool, dropout, 512 / 256 / 128, mean, linear K.

    The last three convolutions are unpadded; each convolution is followed by batch norm and
    LeakyReLU(0.01). `dropout_at_evaluation` keeps dropout on when the model is evaluated, as the
    paper's official code does.

    >>> ConvNet((3, 32, 32), 10)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    def __init__(
        self, in_shape: Sequence[int], n_classes: int, dropout_at_evaluation: bool = False
    ) -> None:
        super().__init__()
        channels = in_shape[0]
        self.body = nn.Sequential(
            *_block(channels, (128, 128, 128), padding=1),
            nn.MaxPool2d(2),
            _Dropout(0.25, dropout_at_evaluation),
            *_block(128, (256, 256, 256), padding=1),
            nn.MaxPool2d(2),
            _Dropout(0.25, dropout_at_evaluation),
            *_block(256, (512, 256, 128), padding=0),
        )
        self.head = nn.Linear(128, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Images (B, C, H, W) to scores (B, K)."""
        scores: Tensor = self.head(self.body(x).mean((-2, -1)))
        return scores


class _Dropout(nn.Module):
    """Dropout of whole channels, optionally also at evaluation."""

    def __init__(self, p: float, at_evaluation: bool) -> None:
        super().__init__()
        self.p = p
        self.at_evaluation = at_evaluation

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout2d(x, self.p, self.training or self.at_evaluation)


def _block(channels: int, widths: Sequence[int], padding: int) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for width in widths:
        conv = nn.Conv2d(channels, width, 3, padding=padding, bias=False)
        layers += [conv, nn.BatchNorm2d(width), nn.LeakyReLU(0.01)]
        channels = width
    return layers


@torch.no_grad()
def _xavier(model: nn.Module) -> None:
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                layer.bias.zero_()
