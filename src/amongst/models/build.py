"""From a name, a factory or a module to a fresh network with seeded initial weights."""

from __future__ import annotations

import copy
import inspect
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import torch
from torch import nn

from amongst.checks import check_choice, check_integer
from amongst.defaults import made_on_cpu
from amongst.errors import InputError
from amongst.models.networks import MLP, ConvNet, Linear, check_sizes

__all__ = ["DENSE", "IMAGES", "MODELS", "ModelSpec", "are_images", "build_model", "seeded"]

ModelSpec = str | nn.Module | Callable[[tuple[int, ...], int], nn.Module]

MODELS = MappingProxyType({"linear": Linear, "mlp": MLP, "convnet": ConvNet})
"""The networks of the paper by name."""

DENSE = ("linear", "mlp")
"""Those of `MODELS` that see an example as one row of values, whatever its shape; they can be stacked
layer by layer."""


IMAGES = "images of shape (channels, height, width), at least 28 pixels a side"
"""What the ConvNet takes."""


def are_images(in_shape: Sequence[int]) -> bool:
    """Whether examples of this shape are what the ConvNet takes: `IMAGES`.

    >>> are_images((3, 32, 32)), are_images((784,))
    (True, False)
    """
    return len(in_shape) == 3 and min(in_shape[1:]) >= 28


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
    spec : ``"linear"``, ``"mlp"``, ``"convnet"``; a callable ``(in_shape, n_classes) -> Module``;
        or a module, which is copied with the weights it has.
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
    name = check_choice("model", spec, MODELS)
    if name == "convnet" and not are_images(shape):
        raise InputError(
            f"model='convnet' needs {IMAGES}, but one example has shape {shape}. Use model='mlp', or "
            "reshape X."
        )
    _check_options(name, options)
    with seeded(seed):
        model: nn.Module = MODELS[name](shape, n_classes, **options)
        return model


def _check_options(name: str, options: Iterable[str]) -> None:
    """An error that names an option which this network has not got."""
    known = list(inspect.signature(MODELS[name]).parameters)[2:]
    for option in options:
        if option not in known:
            has = f"it has: {', '.join(known)}" if known else "it has none"
            raise InputError(f"model={name!r} has no option {option!r}; {has}.")
