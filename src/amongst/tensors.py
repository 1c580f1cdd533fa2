"""Tensors of PyTorch where NumPy reads; PyTorch itself is not imported."""

from __future__ import annotations

from typing import Any

__all__ = ["on_host"]


def on_host(value: Any) -> Any:
    """A tensor of PyTorch as NumPy can read it, off the GPU and without its history; anything else
    as it is.

    >>> on_host([1, 2])
    [1, 2]
    """
    is_tensor = hasattr(value, "detach") and hasattr(value, "cpu")
    return value.detach().cpu() if is_tensor else value
