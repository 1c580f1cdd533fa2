"""Where training takes place: a device that is there, and that computes."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from amongst.errors import AmongstWarning, InputError

__all__ = ["as_device", "current", "is_out_of_memory"]

UNUSABLE = (RuntimeError, AssertionError, TypeError)
"""What PyTorch raises for a device that is not there, or that cannot do what is asked of it."""


def as_device(device: str | torch.device) -> torch.device:
    """A device that computes: ``"auto"`` means a GPU if there is one.

    >>> as_device("cpu")
    device(type='cpu')
    """
    if device == "auto":
        return _automatic()
    try:
        return _tried(device)
    except UNUSABLE as error:
        raise InputError(
            f"device={device!r} cannot be used here ({_said(error)}). Use device='cpu', or "
            "device='auto'."
        ) from error


def current(device: torch.device) -> AbstractContextManager[Any]:
    """Inside, a GPU is the current one: streams, graphs and Triton's kernels are made for that one,
    wherever their tensors are.

    >>> with current(torch.device("cpu")):
    ...     pass
    """
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def is_out_of_memory(error: BaseException | None) -> bool:
    """Of a GPU, or of the machine: PyTorch says them in two ways, and of a capture that ran out of
    memory it may say last that it failed.

    >>> is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory")), is_out_of_memory(ValueError())
    (True, False)
    """
    if error is None:
        return False
    if "capture" in str(error) and is_out_of_memory(error.__context__):
        return True
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def _automatic() -> torch.device:
    """A GPU that fails, as it does in a process forked from one that has used it, is told of."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    try:
        return _tried("cuda")
    except UNUSABLE as error:
        warnings.warn(
            f"the GPU cannot be used ({_said(error)}); this goes on on the CPU.",
            AmongstWarning,
            stacklevel=3,
        )
        return torch.device("cpu")


def _tried(device: str | torch.device) -> torch.device:
    """One number there and back, in float64, in which the engines count."""
    chosen = torch.device(device)
    torch.ones(1, dtype=torch.float64, device=chosen).cpu()
    return chosen


def _said(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
