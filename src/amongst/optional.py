"""Optional packages fail late and helpfully: where they are used, naming the extra."""

from __future__ import annotations

import importlib
from types import ModuleType

from amongst.errors import MissingDependencyError

__all__ = ["optional_import"]


def optional_import(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or say what it is for and how to install it.

    >>> optional_import("json", extra="plot", purpose="drawing").__name__
    'json'
    >>> optional_import("no_such_package", extra="plot", purpose="drawing")
    Traceback (most recent call last):
    amongst.errors.MissingDependencyError: drawing needs the package 'no_such_package', which is not installed. Install it with: pip install 'amongst[plot]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"{purpose} needs the package {module.partition('.')[0]!r}, which is not installed. "
            f"Install it with: pip install 'amongst[{extra}]'"
        ) from error
