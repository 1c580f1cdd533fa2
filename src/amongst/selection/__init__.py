"""Hyper-parameter search that never sees a true label."""

from typing import TYPE_CHECKING

from amongst.optional import when_asked_for
from amongst.selection.criteria import CRITERIA, Criterion, corrected_error, get_criterion
from amongst.selection.evaluate import ENGINES
from amongst.selection.result import SearchResult
from amongst.selection.search import (
    LWClassifierCV,
    PartialLabelSearchCV,
    grid_search,
    optuna_search,
    oracle_search,
)
from amongst.selection.space import Range, grid_points, paper_grid
from amongst.trust.rates import LabelRates, estimate_label_q

if TYPE_CHECKING:
    from amongst.selection.auto import AutoClassifier

__all__ = [
    "CRITERIA",
    "ENGINES",
    "AutoClassifier",
    "Criterion",
    "LWClassifierCV",
    "LabelRates",
    "PartialLabelSearchCV",
    "Range",
    "SearchResult",
    "corrected_error",
    "estimate_label_q",
    "get_criterion",
    "grid_points",
    "grid_search",
    "optuna_search",
    "oracle_search",
    "paper_grid",
]

__getattr__, __dir__ = when_asked_for(__name__, {"auto": ["AutoClassifier"]})
"""It brings scikit-learn's ensembles along."""
