"""The paper's three networks (supplement B.3): linear, MLP and a 12-layer ConvNet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.checks import check_integer
from amongst.errors import InputError

__all__ = ["MLP", "PAPER_WIDTHS", "ConvNet", "Linear"]

PAPER_WIDTHS = (300, 300, 300, 300)


class Linear(nn.Sequential):
    """d–K: one affine map of the flattened input.

    >>> Linear((4,), 3)(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    """

    def __init__(self, in_shape: Sequence[int], n_classes: int) -> None:
        n_features = math.prod(check_sizes("in_shape", in_shape))
        super().__init__(nn.Flatten(), nn.Linear(n_features, n_classes))
        _xavier(self)


class MLP(nn.Sequential):
    """d–300–300–300–300–K, each hidden layer without bias, then batch norm and ReLU.

    >>> MLP((28, 28), 10, widths=(32, 16))(torch.zeros(2, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(
        self, in_shape: Sequence[int], n_classes: int, widths: Sequence[int] = PAPER_WIDTHS
    ) -> None:
        n_features = math.prod(check_sizes("in_shape", in_shape))
        sizes = [n_features, *check_sizes("widths", widths)]
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
        shape = check_sizes("in_shape", in_shape)
        if len(shape) != 3:
            raise InputError(f"in_shape={shape} must be (channels, height, width).")
        channels = shape[0]
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


def check_sizes(name: str, value: Any) -> tuple[int, ...]:
    """A shape, or the widths of layers: whole numbers of at least 1.

    >>> check_sizes("in_shape", 4)
    Traceback (most recent call last):
    amongst.errors.InputError: in_shape=4 must be several whole numbers; give one as (4,).
    """
    if not isinstance(value, Iterable):
        raise InputError(
            f"{name}={value!r} must be several whole numbers; give one as ({value!r},)."
        )
    return tuple(check_integer(f"{name}[{at}]", size, low=1) for at, size in enumerate(value))


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
