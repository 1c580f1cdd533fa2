"""scikit-learn estimators for candidate labels."""

from types import MappingProxyType

from amongst.estimators.base import PartialLabelClassifier
from amongst.estimators.neural import (
    AverageClassifier,
    CCClassifier,
    CLPLClassifier,
    LWClassifier,
    NeuralClassifier,
    PRODENClassifier,
    RCClassifier,
)
from amongst.estimators.persistence import load, save

__all__ = [
    "ESTIMATORS",
    "AverageClassifier",
    "CCClassifier",
    "CLPLClassifier",
    "LWClassifier",
    "NeuralClassifier",
    "PRODENClassifier",
    "PartialLabelClassifier",
    "RCClassifier",
    "load",
    "save",
]

ESTIMATORS = MappingProxyType(
    {
        estimator.__name__: estimator
        for estimator in (
            LWClassifier,
            RCClassifier,
            CCClassifier,
            PRODENClassifier,
            AverageClassifier,
            CLPLClassifier,
        )
    }
)
"""Every estimator by the name of its class."""
