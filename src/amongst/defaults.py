"""Where PyTorch makes tensors that are not told where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["made_on_cpu"]


@contextmanager
def made_on_cpu() -> Iterator[None]:
    """On the CPU inside, and for a function that it decorates: the code below moves to a GPU what
    belongs there, and after ``torch.set_default_device("cuda")`` the rest would be there, too.

    >>> with made_on_cpu(): torch.zeros(1).device
    device(type='cpu')
    """
    if torch.get_default_device().type == "cpu":
        yield
        return
    with torch.device("cpu"):
        yield
