"""scikit-learn estimators for candidate labels."""

from types import MappingProxyType

from amongst.estimators.base import PartialLabelClassifier
from amongst.estimators.by_method import (
    AverageClassifier,
    CCClassifier,
    CLPLClassifier,
    LWClassifier,
    PRODENClassifier,
    RCClassifier,
)
from amongst.estimators.ipal import IPALClassifier
from amongst.estimators.neural import NeuralClassifier
from amongst.estimators.paloc import PALOCClassifier
from amongst.estimators.persistence import load, save
from amongst.estimators.pipelines import disambiguate
from amongst.estimators.plecoc import PLECOCClassifier
from amongst.estimators.plknn import PLKNNClassifier
from amongst.estimators.plsvm import PLSVMClassifier

__all__ = [
    "ESTIMATORS",
    "AverageClassifier",
    "CCClassifier",
    "CLPLClassifier",
    "IPALClassifier",
    "LWClassifier",
    "NeuralClassifier",
    "PALOCClassifier",
    "PLECOCClassifier",
    "PLKNNClassifier",
    "PLSVMClassifier",
    "PRODENClassifier",
    "PartialLabelClassifier",
    "RCClassifier",
    "disambiguate",
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
            IPALClassifier,
            PALOCClassifier,
            PLECOCClassifier,
            PLKNNClassifier,
            PLSVMClassifier,
        )
    }
)
"""Every estimator by the name of its class."""
