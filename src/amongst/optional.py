"""What is imported late: optional packages, which fail helpfully, and rooms that are slow to load."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from amongst.errors import MissingDependencyError

STUDIES = Path(__file__).parents[2] / "studies"
"""Beside the package's source in a clone; a wheel has none."""

DISTRIBUTIONS = {"PIL": "pillow", "sentence_transformers": "sentence-transformers"}
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


def import_study(module: str, *, purpose: str) -> ModuleType:
    """Import a module of `STUDIES`, or say that it is in the repository."""
    if not STUDIES.is_dir():
        raise MissingDependencyError(
            f"{purpose} needs the repository of amongst, whose folder studies/ is no part of an "
            "installed package. Clone it, and install it from there with: pip install -e .",
            code="no-studies",
        )
    if str(STUDIES) not in sys.path:
        sys.path.append(str(STUDIES))
    return importlib.import_module(module)


def when_asked_for(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose names are imported when they are first used;
    `homes` has the names of each module.

    >>> get, names = when_asked_for("email", {"message": ["Message"]})
    >>> get("Message").__module__, "Message" in names()
    ('email.message', True)
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home_of[name]}"), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return get, names
