"""Precision of products: what a device can have, and float32's inside a block only."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from amongst.errors import AmongstWarning

__all__ = ["products_in", "warn_of_precision"]

Switch = tuple[Callable[[], Any], Callable[[Any], None], Any, Any]
"""How to read and to write something of PyTorch's, and its values for full and for fast products."""


def warn_of_precision(precision: str, device: torch.device) -> None:
    """Say so where training will be in float32, though less was asked for.

    >>> warn_of_precision("float64", torch.device("cpu"))
    """
    if precision in ("bf16", "tf32") and device.type == "cpu":
        warnings.warn(
            f"precision={precision!r} is for a GPU; on a CPU training is in float32.",
            AmongstWarning,
            stacklevel=3,
        )


@contextmanager
def products_in(precision: str) -> Iterator[None]:
    """float32 products of matrices, and convolutions, as tf32 inside where that is asked for, else
    in full; and as they were outside. By itself PyTorch takes tf32 for convolutions on a GPU.

    >>> with products_in("tf32"):
    ...     torch.get_float32_matmul_precision()
    'high'
    """
    fast = precision in ("tf32", "bf16")
    with _switched(_of_matrices(), precision == "tf32"), _switched(_of_convolutions(), fast):
        yield


def _of_matrices() -> Iterator[Switch]:
    """PyTorch has two ways to say it. Where a person has used the newer one, the older one cannot be
    read; but compilers read it, so that it goes first."""
    get, put = torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
    yield get, put, "highest", "high"
    yield _attribute(torch.backends.cuda.matmul, "fp32_precision", "ieee", "tf32")


def _of_convolutions() -> Iterator[Switch]:
    yield _attribute(torch.backends.cudnn, "allow_tf32", False, True)
    conv = torch.backends.cudnn.conv  # type: ignore[attr-defined]
    yield _attribute(conv, "fp32_precision", "ieee", "tf32")


def _attribute(owner: Any, name: str, full: Any, fast: Any) -> Switch:
    return partial(getattr, owner, name), partial(setattr, owner, name), full, fast


@contextmanager
def _switched(ways: Iterable[Switch], fast: bool) -> Iterator[None]:
    """The first of the ways that can be read, set inside."""
    for get, put, slow_value, fast_value in ways:
        try:
            before = get()
        except RuntimeError:
            continue
        put(fast_value if fast else slow_value)
        try:
            yield
        finally:
            put(before)
        return
