"""Optional packages fail late and helpfully: where they are used, naming the extra."""

from __future__ import annotations

import importlib
from types import ModuleType

from amongst.errors import MissingDependencyError

__all__ = ["optional_import"]

DISTRIBUTIONS = {"PIL": "pillow"}
"""Packages that are installed by another name than they are imported by."""


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
        package = module.partition(".")[0]
        name = DISTRIBUTIONS.get(package, package)
        how = f"is not installed. Install it with: pip install 'amongst[{extra}]'"
        if (error.name or "").partition(".")[0] != package:  # it is there, something in it is not
            how = f"fails ({error}). Install it again with: pip install --force-reinstall {name}"
        raise MissingDependencyError(
            f"{purpose} needs the package {name!r}, which {how}"
        ) from error
