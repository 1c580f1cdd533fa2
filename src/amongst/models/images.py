"""Networks for small images: what they share, residual networks, and one that learns in a minute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.checks import check_integer

SGD: Mapping[str, Any] = MappingProxyType(
    {"optimizer": "sgd", "momentum": 0.9, "nesterov": True, "schedule": "cosine"}
)


class ImageNetwork(nn.Module):
    """A network for images (B, C, H, W), or (B, H, W) for grey ones, in any scale: it subtracts the mean
    of each channel and divides by the standard deviation, which `prepare` measures.

    Attributes
    ----------
    smallest : the least height and width that it takes.
    recipe : what it is trained with unless told: settings of training by name, with `lr` for batches
        of `batch_size`, to whose root it is proportional; `augment` and `tta`; and `cpu_widths`.
    ready : whether `prepare` was called.

    Examples
    --------
    >>> network = ResNet18((3, 8, 8), 10, widths=(4, 4, 4, 4))
    >>> network.prepare(torch.full((2, 3, 8, 8), 5.0))
    >>> network.mean.flatten(), network(torch.zeros(2, 3, 8, 8)).shape
    (tensor([5., 5., 5.]), torch.Size([2, 10]))
    """

    smallest: ClassVar[int] = 8
    recipe: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    mean: Tensor
    std: Tensor
    ready: Tensor

    def __init__(self, in_shape: Sequence[int]) -> None:
        super().__init__()
        self.channels = in_shape[0] if len(in_shape) == 3 else 1
        self.register_buffer("mean", torch.zeros(self.channels, 1, 1))
        self.register_buffer("std", torch.ones(self.channels, 1, 1))
        self.register_buffer("ready", torch.tensor(False))

    @torch.no_grad()
    def prepare(self, images: Tensor) -> None:
        """Measure what the network needs to know of images like these; only the first call counts."""
        if not bool(self.ready):
            images = as_images(images)
            std, mean = torch.std_mean(images, (0, 2, 3), correction=0)
            self.mean.copy_(mean.view_as(self.mean))
            self.std.copy_(std.clamp(min=1e-6).view_as(self.std))
            self.measure((images - self.mean) / self.std)
            self.ready.fill_(True)

    def measure(self, images: Tensor) -> None:
        """What else a subclass needs of normalised images."""

    def forward(self, x: Tensor) -> Tensor:
        """Images to scores (B, K)."""
        x = (as_images(x) - self.mean) / self.std
        return self.scores(x.contiguous(memory_format=torch.channels_last))

    def scores(self, x: Tensor) -> Tensor:
        """Normalised images to scores (B, K)."""
        raise NotImplementedError


def as_images(x: Tensor) -> Tensor:
    """With a channel, where grey images have none."""
    return x.unsqueeze(1) if x.ndim == 3 else x


def channels_last(network: ImageNetwork) -> None:
    """Convolutions' weights in the order in which they are fast."""
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def checked_widths(widths: Sequence[int], n: int) -> tuple[int, ...]:
    """So many whole numbers of at least 1."""
    check_integer("len(widths)", len(widths), low=n)
    return tuple(check_integer(f"widths[{i}]", width, low=1) for i, width in enumerate(widths[:n]))


def _conv(fan_in: int, fan_out: int, size: int = 3, stride: int = 1) -> nn.Conv2d:
    layer = nn.Conv2d(fan_in, fan_out, size, stride, padding=size // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer


class _Block(nn.Module):
    """ReLU(conv – norm – ReLU – conv – norm + x); x through a 1×1 convolution where shapes differ."""

    def __init__(self, fan_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            _conv(fan_in, width, stride=stride),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            _conv(width, width),
            nn.BatchNorm2d(width),
        )
        alike = fan_in == width and stride == 1
        across = nn.Sequential(_conv(fan_in, width, 1, stride), nn.BatchNorm2d(width))
        self.across = nn.Identity() if alike else across

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.across(x))


class _PreBlock(nn.Module):
    """conv(ReLU(norm(conv(a)))) + x with a = ReLU(norm(x)); a 1×1 convolution of a for x where shapes
    differ."""

    def __init__(self, fan_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.BatchNorm2d(fan_in), nn.ReLU())
        self.body = nn.Sequential(
            _conv(fan_in, width, stride=stride),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            _conv(width, width),
        )
        self.across = _conv(fan_in, width, 1, stride) if fan_in != width or stride > 1 else None

    def forward(self, x: Tensor) -> Tensor:
        seen = self.first(x)
        added: Tensor = self.body(seen) + (x if self.across is None else self.across(seen))
        return added


class _Residual(ImageNetwork):
    """A convolution, groups of blocks that halve the image from the second on, mean, linear K."""

    def _build(
        self, stem: int, widths: Sequence[int], blocks: int, block: type[nn.Module], n_classes: int
    ) -> None:
        layers: list[nn.Module] = [_conv(self.channels, stem)]
        if block is _Block:
            layers += [nn.BatchNorm2d(stem), nn.ReLU()]
        fan_in = stem
        for group, width in enumerate(widths):
            for at in range(blocks):
                layers.append(block(fan_in, width, 2 if group and not at else 1))
                fan_in = width
        if block is _PreBlock:
            layers += [nn.BatchNorm2d(fan_in), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(fan_in, n_classes)
        channels_last(self)

    def scores(self, x: Tensor) -> Tensor:
        """Normalised images to scores (B, K)."""
        found: Tensor = self.head(self.body(x).mean((-2, -1)))
        return found


class ResNet18(_Residual):
    """ResNet-18 with the stem for small images: a 3×3 convolution, no pooling.

    He et al., Deep Residual Learning for Image Recognition, CVPR 2016.

    >>> ResNet18((3, 32, 32), 10, widths=(8, 8, 8, 8))(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    recipe = MappingProxyType(
        {
            **SGD,
            "batch_size": 256,
            "lr": 0.1,
            "weight_decay": 5e-4,
            "augment": "standard",
            "tta": "mirror",
            "cpu_widths": (16, 32, 64, 128),
        }
    )

    def __init__(
        self,
        in_shape: Sequence[int],
        n_classes: int,
        widths: Sequence[int] = (64, 128, 256, 512),
    ) -> None:
        super().__init__(in_shape)
        sizes = checked_widths(widths, 4)
        self._build(sizes[0], sizes, 2, _Block, n_classes)


class WRN28(_Residual):
    """WRN-28-10; with widths of 32, 64, 128 it is WRN-28-2.

    Zagoruyko and Komodakis, Wide Residual Networks, BMVC 2016.

    >>> WRN28((3, 32, 32), 10, widths=(4, 4, 4))(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    recipe = MappingProxyType(dict(ResNet18.recipe) | {"cpu_widths": (32, 64, 128)})

    def __init__(
        self, in_shape: Sequence[int], n_classes: int, widths: Sequence[int] = (160, 320, 640)
    ) -> None:
        super().__init__(in_shape)
        self._build(16, checked_widths(widths, 3), 4, _PreBlock, n_classes)


PATCH = 2
"""Pixels a side of what the first layer sees."""


class FastNet(ImageNetwork):
    """A frozen 2×2 convolution that whitens patches, then three groups: conv3 – pool 2 – norm – GELU –
    [x₀] – conv3 – norm – GELU – conv3 – norm – + x₀ – GELU; the largest value of each channel, linear
    without bias, and scores are a ninth of that. Convolutions start as the identity; the norms'
    scales stay 1.

    Parameters
    ----------
    widths : channels of the three groups.

    Examples
    --------
    >>> network = FastNet((3, 32, 32), 10, widths=(8, 8, 8))
    >>> network.prepare(torch.rand(64, 3, 32, 32))
    >>> network(torch.rand(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    recipe = MappingProxyType(
        {
            "optimizer": "sgd",
            "batch_size": 1024,
            "lr": 9 / (1 + 1 / 0.15),
            "momentum": 0.85,
            "weight_decay": 0.012 / 9,
            "nesterov": True,
            "bias_lr": 64.0,
            "schedule": "triangle",
            "lookahead": True,
            "augment": "standard",
            "tta": "shifts",
            "cpu_widths": (32, 64, 128),
        }
    )

    def __init__(
        self, in_shape: Sequence[int], n_classes: int, widths: Sequence[int] = (128, 384, 512)
    ) -> None:
        super().__init__(in_shape)
        side, fan_in = min(in_shape[-2:]) - PATCH + 1, 2 * self.channels * PATCH**2
        self.whiten = nn.Conv2d(self.channels, fan_in, PATCH)
        self.whiten.weight.requires_grad_(False)
        nn.init.zeros_(cast("Tensor", self.whiten.bias))
        groups: list[nn.Module] = []
        for width in checked_widths(widths, 3):
            groups.append(_Group(fan_in, width, pooled=side >= 2))
            fan_in, side = width, max(side // 2, 1)
        self.groups = nn.Sequential(*groups)
        self.head = nn.Linear(fan_in, n_classes, bias=False)
        channels_last(self)

    def measure(self, images: Tensor) -> None:
        """The first layer's weights: ± the whitening filters of these images' patches."""
        filters = whitening(images)
        self.whiten.weight.copy_(torch.cat((filters, -filters)))

    def scores(self, x: Tensor) -> Tensor:
        """Normalised images to scores (B, K)."""
        x = self.groups(F.gelu(self.whiten(x)))
        scores: Tensor = self.head(F.max_pool2d(x, x.shape[-2:]).flatten(1)) / 9
        return scores


def whitening(images: Tensor, least: float = 5e-4) -> Tensor:
    """Filters of 2×2 patches whose answers on these images are uncorrelated, each of variance 1:
    eigenvectors of the patches' second moments over √(λ + `least`), shape (4C, C, 2, 2), the largest λ
    first.

    >>> answers = F.conv2d(x := torch.rand(64, 1, 8, 8) - 0.5, whitening(x)).transpose(0, 1).flatten(1)
    >>> bool((answers @ answers.T / answers.shape[1]).allclose(torch.eye(4), atol=0.05))
    True
    """
    channels = images.shape[1]
    size = channels * PATCH**2
    moments = torch.zeros(size, size, dtype=torch.float64, device=images.device)
    count = 0
    for part in torch.split(images, 500):
        patches = F.unfold(part, PATCH).transpose(0, 1).flatten(1)
        moments += (patches @ patches.T).double()
        count += patches.shape[1]
    values, vectors = torch.linalg.eigh((moments / count).cpu())
    scaled = vectors.flip(1) / (values.flip(0).clamp(min=0) + least).sqrt()
    filters: Tensor = scaled.T.reshape(size, channels, PATCH, PATCH).to(images)
    return filters


class _Norm(nn.BatchNorm2d):
    """Batch normalisation whose scale stays 1."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.weight.requires_grad_(False)


class _Identity(nn.Conv2d):
    """A 3×3 convolution whose first filters give their channel as it is."""

    def __init__(self, fan_in: int, width: int) -> None:
        super().__init__(fan_in, width, 3, padding=1, bias=False)
        with torch.no_grad():
            nn.init.dirac_(self.weight[:fan_in])


class _Group(nn.Module):
    def __init__(self, fan_in: int, width: int, pooled: bool) -> None:
        super().__init__()
        pool = [nn.MaxPool2d(2)] if pooled else []
        self.first = nn.Sequential(_Identity(fan_in, width), *pool, _Norm(width), nn.GELU())
        self.body = nn.Sequential(
            _Identity(width, width),
            _Norm(width),
            nn.GELU(),
            _Identity(width, width),
            _Norm(width),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        return F.gelu(self.body(x) + x)
