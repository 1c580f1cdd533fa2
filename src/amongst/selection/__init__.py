"""Hyper-parameter search that never sees a true label."""

from amongst.selection.criteria import CRITERIA, Criterion, corrected_error, get_criterion
from amongst.selection.evaluate import ENGINES
from amongst.selection.functions import grid_search, optuna_search
from amongst.selection.lw import LWClassifierCV
from amongst.selection.oracle import oracle_search
from amongst.selection.rates import LabelRates, estimate_label_q
from amongst.selection.result import SearchResult
from amongst.selection.search import PartialLabelSearchCV
from amongst.selection.space import Range, grid_points, paper_grid

__all__ = [
    "CRITERIA",
    "ENGINES",
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
