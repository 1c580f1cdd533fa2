"""Precision of products: what a device can have, and float32's inside a block only."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from amongst.errors import AmongstWarning

__all__ = ["products_in", "warn_of_precision"]


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
    """float32 matrix products as tf32 inside, where that is asked for; and as they were outside.

    >>> with products_in("tf32"):
    ...     torch.get_float32_matmul_precision()
    'high'
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
