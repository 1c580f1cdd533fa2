"""amongst: partial-label learning. The true label is *amongst* these.

Rooms are imported when they are first asked for, so that the command line starts at once.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amongst.candidates import CandidateSets, as_candidates
    from amongst.estimators import (
        AverageClassifier,
        CCClassifier,
        CLPLClassifier,
        CrowdClassifier,
        IPALClassifier,
        LWClassifier,
        PALOCClassifier,
        PartialLabel,
        PLECOCClassifier,
        PLKNNClassifier,
        PLRidgeClassifier,
        PLSVMClassifier,
        PRODENClassifier,
        RCClassifier,
        disambiguate,
        load,
    )
    from amongst.selection import AutoClassifier, LWClassifierCV

__version__ = "0.1.0"

__all__ = [
    "AutoClassifier",
    "AverageClassifier",
    "CCClassifier",
    "CLPLClassifier",
    "CandidateSets",
    "CrowdClassifier",
    "IPALClassifier",
    "LWClassifier",
    "LWClassifierCV",
    "PALOCClassifier",
    "PLECOCClassifier",
    "PLKNNClassifier",
    "PLRidgeClassifier",
    "PLSVMClassifier",
    "PRODENClassifier",
    "PartialLabel",
    "RCClassifier",
    "__version__",
    "as_candidates",
    "disambiguate",
    "load",
]

_HOMES = {
    "AutoClassifier": "selection",
    "CandidateSets": "candidates",
    "as_candidates": "candidates",
    "LWClassifierCV": "selection",
}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"amongst.{_HOMES.get(name, 'estimators')}"), name)
    if find_spec(f"amongst.{name}") is None:
        raise AttributeError(f"module 'amongst' has no attribute {name!r}")
    return import_module(f"amongst.{name}")


def __dir__() -> list[str]:
    from pkgutil import iter_modules

    return sorted({*globals(), *__all__, *(room.name for room in iter_modules(__path__))})
