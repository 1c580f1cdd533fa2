"""The command line's own process: how its threads wait, and what it keeps of freed memory."""

from __future__ import annotations

import ctypes
import os
import sys

__all__ = ["prepare"]

WAITING = ("GOMP_SPINCOUNT", "1000")
"""How long PyTorch's threads spin for each other, read when it is loaded. By default they hold the
cores that others have work for, and each other, when a machine is busy."""

TRIM, MMAP = -1, -3
KEPT = ((TRIM, 1 << 30), (MMAP, 32 << 20))
"""What glibc keeps: by default every training step gives large pieces back to the system, and asks
for them anew."""


def prepare() -> None:
    """Settle both before PyTorch is loaded; what the environment says of threads stays."""
    os.environ.setdefault(*WAITING)
    _keep_memory()


def _keep_memory() -> None:
    """Nothing changes where there is no glibc."""
    if sys.platform != "linux":
        return
    try:
        keep = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for name, size in KEPT:
        keep(name, size)
