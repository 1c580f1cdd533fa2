"""Precision of float32 products, inside a block only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["products_in"]


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
