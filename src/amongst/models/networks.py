"""The paper's three networks (supplement B.3), and how a name, a factory or a module becomes a fresh one
of those or of another kind."""

from __future__ import annotations

import copy
import inspect
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.checks import check_integer
from amongst.devices import made_on_cpu
from amongst.errors import InputError, named
from amongst.models.images import WRN28, FastNet, ResNet18
from amongst.models.pretrained import TIMM, Timm
from amongst.registry import Registry

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

    smallest = 28

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


CALM = (Linear, MLP, nn.Sequential, nn.Flatten, nn.Linear, nn.BatchNorm1d, nn.ReLU)
"""What draws nothing; of a class that derives from these nobody knows."""


def may_draw(network: nn.Module) -> bool:
    """Whether a forward pass may draw from PyTorch's generator, as dropout does.

    >>> may_draw(MLP((4,), 3)), may_draw(nn.Dropout())
    (False, True)
    """
    return any(type(part) not in CALM for part in network.modules())


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


ModelSpec = str | nn.Module | Callable[[tuple[int, ...], int], nn.Module]

PAPER = (Linear, MLP, ConvNet)
"""The networks of the paper."""

OURS: Mapping[str, type[nn.Module]] = MappingProxyType(
    {
        "linear": Linear,
        "mlp": MLP,
        "convnet": ConvNet,
        "fastnet": FastNet,
        "resnet18": ResNet18,
        "wrn28": WRN28,
    }
)

MODELS = Registry("model", "amongst.models", own=OURS)
"""Networks by name, ours and those of installed packages; besides, ``"timm:NAME"`` is one of timm."""

DENSE = ("linear", "mlp")
"""Those of `MODELS` that see an example as one row of values, whatever its shape; they can be stacked
layer by layer."""


IMAGES = "images of shape (channels, height, width), at least 28 pixels a side"
"""What the ConvNet takes."""


def are_images(in_shape: Sequence[int], smallest: int = 28) -> bool:
    """Whether examples of this shape are what the ConvNet takes: `IMAGES`; or, of a network for smaller
    ones, so many pixels a side.

    >>> are_images((3, 32, 32)), are_images((784,)), are_images((1, 8, 8), smallest=8)
    (True, False, True)
    """
    return len(in_shape) == 3 and min(in_shape[1:]) >= smallest


def recipe_of(spec: ModelSpec) -> Mapping[str, Any]:
    """What a network is trained with unless told, see `ImageNetwork`; empty for one without a say.

    >>> recipe_of("fastnet")["batch_size"], dict(recipe_of("mlp"))
    (1024, {})
    """
    kind: Any = spec
    if isinstance(spec, str):
        kind = Timm if spec.startswith(TIMM) else OURS.get(spec) or MODELS.get(spec)
    found: Mapping[str, Any] = getattr(kind, "recipe", MappingProxyType({}))
    return found


DRAWING = threading.RLock()
"""Held while PyTorch's generators are seeded: a process has one of each, for all its threads."""


def _new_lock() -> None:
    """In a forked process, which has none of the threads that may have held it."""
    global DRAWING
    DRAWING = threading.RLock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_new_lock)


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Torch's generators seeded inside, and as they were outside; one thread at a time.

    >>> with seeded(0): a = torch.rand(1)
    >>> with seeded(0): b = torch.rand(1)
    >>> bool(a == b)
    True
    """
    cuda = [torch.device(device)] if torch.device(device).type == "cuda" else []
    with DRAWING, torch.random.fork_rng(devices=cuda):
        torch.default_generator.manual_seed(seed)
        for gpu in cuda:
            with torch.cuda.device(gpu):
                torch.cuda.manual_seed(seed)
        yield


@made_on_cpu()
def build_model(
    spec: ModelSpec, in_shape: Sequence[int], n_classes: int, seed: int, **options: Any
) -> nn.Module:
    """A new network that maps a batch of shape (B, *in_shape) to scores (B, K).

    Parameters
    ----------
    spec : a name of `MODELS`, or ``"timm:NAME"``; a callable ``(in_shape, n_classes) -> Module``; or a
        module, which is copied with the weights it has.
    in_shape : shape of one example.
    n_classes : K.
    seed : of the initial weights.
    options : for a network by its name only, e.g. ``widths=(64, 64)`` for the MLP.

    Examples
    --------
    >>> model = build_model("mlp", (4,), 3, seed=0, widths=(8,))
    >>> model(torch.zeros(2, 4)).shape
    torch.Size([2, 3])
    """
    shape = check_sizes("in_shape", in_shape)
    check_integer("n_classes", n_classes, low=1)
    if options and not isinstance(spec, str):
        raise InputError(
            f"{', '.join(options)} would be ignored: options are for a network by its name, such as "
            "'mlp'. Build the module with them, or pass a function (in_shape, n_classes) -> module "
            "that does."
        )
    if isinstance(spec, nn.Module):
        return copy.deepcopy(spec)
    if callable(spec):
        with seeded(seed):
            made = spec(shape, n_classes)
        if not isinstance(made, nn.Module):
            raise InputError(
                f"model is a function that gives {type(made).__name__}; (in_shape, n_classes) must "
                "give an nn.Module."
            )
        return made
    timm = partial(Timm, spec) if spec.startswith(TIMM) else None
    kind: Any = timm or OURS.get(spec) or MODELS.choose(spec)
    if smallest := getattr(Timm if timm else kind, "smallest", 0):
        _check_images(spec, shape, smallest)
    _check_options(spec, kind, options)
    with seeded(seed):
        model: nn.Module = kind(shape, n_classes, **options)
        return model


def numbers_in(spec: str, in_shape: Sequence[int], n_classes: int, **options: Any) -> int:
    """How many numbers one of our networks holds, found without memory for them.

    >>> numbers_in("linear", (2,), 3), numbers_in("mlp", (2,), 3, widths=(10**9,)) > 10**9
    (9, True)
    """
    with torch.device("meta"):
        made = OURS[spec](tuple(in_shape), n_classes, **options)
    return sum(value.numel() for value in made.state_dict().values())


def _check_images(name: str, shape: tuple[int, ...], smallest: int) -> None:
    grey = (1, *shape) if len(shape) == 2 and name != "convnet" else shape
    if not are_images(grey, smallest):
        last = len(shape) == 3 and shape[-1] in (1, 3)
        turn = f"bring channels first: {named('X')}.transpose(0, 3, 1, 2)"
        raise InputError(
            f"needs images of shape (channels, height, width), at least {smallest} pixels a side, but "
            f"one example has shape {shape}.",
            code="no-images",
            argument="model",
            got=name,
            remedy=(f"use {named('model', 'mlp')}", turn if last else f"reshape {named('X')}"),
        )


def _check_options(name: str, kind: Any, options: Iterable[str]) -> None:
    """An error that names an option which this network has not got."""
    known = list(inspect.signature(kind).parameters)[2:]
    for option in options:
        if option not in known:
            has = f"it has: {', '.join(known)}" if known else "it has none"
            raise InputError(
                f"has no option {option!r}; {has}.", code="no-option", argument="model", got=name
            )
