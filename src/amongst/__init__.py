"""amongst: partial-label learning. The true label is *amongst* these."""

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
    "load",
]
