"""amongst: partial-label learning. The true label is *amongst* these."""

from amongst.candidates import CandidateSets, as_candidates
from amongst.estimators import (
    AverageClassifier,
    CCClassifier,
    CLPLClassifier,
    LWClassifier,
    PRODENClassifier,
    RCClassifier,
    load,
)

__version__ = "0.1.0"

__all__ = [
    "AverageClassifier",
    "CCClassifier",
    "CLPLClassifier",
    "CandidateSets",
    "LWClassifier",
    "PRODENClassifier",
    "RCClassifier",
    "__version__",
    "as_candidates",
    "load",
]
