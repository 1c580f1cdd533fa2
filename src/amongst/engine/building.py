"""What kernels are built with on the machine where they run."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sysconfig
from pathlib import Path

__all__ = ["why_not_built"]


def why_not_built() -> str | None:
    """Why Triton, and with it torch.compile on a GPU, can build no kernels here, or None.

    It links each kernel to Python with the machine's C compiler, which many have not got.
    """
    if importlib.util.find_spec("triton") is None:
        return "the package triton is not installed"
    if os.name == "nt":  # where it brings a compiler along
        return None
    compilers = [os.environ["CC"]] if os.environ.get("CC") else ["gcc", "clang"]
    if not any(map(shutil.which, compilers)):
        return f"triton needs a C compiler, and there is no {' or '.join(compilers)}"
    headers = Path(sysconfig.get_paths("posix_prefix")["include"], "Python.h")
    return None if headers.exists() else "triton needs Python's headers (python3-dev)"
