"""amongst: partial-label learning. The true label is *amongst* these.

Rooms are imported when they are first asked for, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amongst.candidates import CandidateSets, as_candidates
    from amongst.estimators import (
        AverageClassifier,
        CCClassifier,
        CLPLClassifier,
        IPALClassifier,
        LWClassifier,
        PALOCClassifier,
        PLECOCClassifier,
        PLKNNClassifier,
        PLSVMClassifier,
        PRODENClassifier,
        RCClassifier,
        disambiguate,
        load,
    )
    from amongst.selection import LWClassifierCV

__version__ = "0.1.0"

__all__ = [
    "AverageClassifier",
    "CCClassifier",
    "CLPLClassifier",
    "CandidateSets",
    "IPALClassifier",
    "LWClassifier",
    "LWClassifierCV",
    "PALOCClassifier",
    "PLECOCClassifier",
    "PLKNNClassifier",
    "PLSVMClassifier",
    "PRODENClassifier",
    "RCClassifier",
    "__version__",
    "as_candidates",
    "disambiguate",
    "load",
]

_HOMES = {
    "CandidateSets": "candidates",
    "as_candidates": "candidates",
    "LWClassifierCV": "selection",
}
_ROOMS = (
    "archive",
    "bench",
    "candidates",
    "checks",
    "datasets",
    "engine",
    "errors",
    "estimators",
    "losses",
    "methods",
    "metrics",
    "models",
    "optional",
    "rng",
    "selection",
    "stats",
    "theory",
)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"amongst.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'amongst' has no attribute {name!r}")
    return getattr(import_module(f"amongst.{_HOMES.get(name, 'estimators')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
