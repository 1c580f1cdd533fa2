"""Tensors of PyTorch where NumPy reads; PyTorch itself is not imported."""

from __future__ import annotations

from typing import Any

__all__ = ["on_host"]


UNKNOWN_TO_NUMPY = ("torch.bfloat16", "torch.float8")


def on_host(value: Any) -> Any:
    """A tensor of PyTorch as NumPy can read it: off the GPU, without its history, and in float32 where
    NumPy has no such type; anything else as it is.

    >>> on_host([1, 2])
    [1, 2]
    """
    if not (hasattr(value, "detach") and hasattr(value, "cpu")):
        return value
    host = value.detach().cpu()
    return host.float() if str(host.dtype).startswith(UNKNOWN_TO_NUMPY) else host
