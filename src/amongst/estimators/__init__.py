"""scikit-learn estimators for candidate labels; one for each algorithm of the registry."""

import sys
from collections.abc import Mapping
from typing import Any

from amongst.algorithms import trains_a_network
from amongst.estimators.base import PartialLabelClassifier
from amongst.estimators.by_algorithm import Estimators, estimator_for
from amongst.estimators.crowd import CrowdClassifier
from amongst.estimators.neural import NeuralClassifier
from amongst.estimators.persistence import load, save
from amongst.estimators.pipelines import disambiguate
from amongst.registry import ALGORITHMS, View

__all__ = [  # noqa: F822
    "CLASSICAL",
    "ESTIMATORS",
    "AverageClassifier",
    "CCClassifier",
    "CLPLClassifier",
    "CrowdClassifier",
    "IPALClassifier",
    "LWClassifier",
    "NeuralClassifier",
    "PALOCClassifier",
    "PLECOCClassifier",
    "PLKNNClassifier",
    "PLRidgeClassifier",
    "PLSVMClassifier",
    "PRODENClassifier",
    "PartialLabel",
    "PartialLabelClassifier",
    "RCClassifier",
    "disambiguate",
    "estimator_for",
    "load",
    "save",
]

ESTIMATORS = Estimators()
"""Every estimator by the name of its class."""

CLASSICAL: Mapping[str, Any] = View(
    ALGORITHMS, "amongst.estimators.classical", lambda thing: not trains_a_network(thing)
)
"""Estimators without a network, by the names of the registry."""


def __getattr__(name: str) -> Any:
    if name == "PartialLabel":  # brings scikit-learn's ensembles along
        from amongst.estimators.partial_label import PartialLabel

        return PartialLabel
    if name[:1].isupper() and name in ESTIMATORS:
        setattr(sys.modules[__name__], name, ESTIMATORS[name])  # made once
        return ESTIMATORS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
