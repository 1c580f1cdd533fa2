"""The theory of the Leveraged Weighted loss, in numbers that can be checked.

In a clone `verify`, `Check`, `COUNTEREXAMPLE` and `Counterexample` are here, too: they lie in
``studies/lw2021``.
"""

from typing import Any

from amongst.losses import is_shift_invariant
from amongst.optional import import_study
from amongst.theory.auto import (
    AUTO,
    AutoRule,
    Balance,
    auto_beta,
    balance,
    beta_from_sizes,
    normalised_threshold,
    reversal_beta,
    reversal_matrix,
    size_law,
)
from amongst.theory.bayes import BayesMap, bayes_map, minimiser, peaked
from amongst.theory.estimate import ClassRates, estimate_class_q, estimate_uniform_q
from amongst.theory.law import MAX_CLASSES, enumerate_sets, mixed_law, rates_of, set_law
from amongst.theory.leverage import (
    believed_threshold,
    beta_threshold,
    ova_beta,
    ova_weights,
    symmetric_form,
)
from amongst.theory.risk import (
    Estimate,
    PartialLoss,
    corrected_risk,
    exact_risk,
    fixed_weights,
    following_weights,
    marginal_risk,
    monte_carlo_risk,
    printed_gap,
    printed_risk,
)

__all__ = [
    "AUTO",
    "MAX_CLASSES",
    "AutoRule",
    "Balance",
    "BayesMap",
    "ClassRates",
    "Estimate",
    "PartialLoss",
    "auto_beta",
    "balance",
    "bayes_map",
    "believed_threshold",
    "beta_from_sizes",
    "beta_threshold",
    "corrected_risk",
    "enumerate_sets",
    "estimate_class_q",
    "estimate_uniform_q",
    "exact_risk",
    "fixed_weights",
    "following_weights",
    "is_shift_invariant",
    "marginal_risk",
    "minimiser",
    "mixed_law",
    "monte_carlo_risk",
    "normalised_threshold",
    "ova_beta",
    "ova_weights",
    "peaked",
    "printed_gap",
    "printed_risk",
    "rates_of",
    "reversal_beta",
    "reversal_matrix",
    "set_law",
    "size_law",
    "symmetric_form",
]

_STUDIED = ("COUNTEREXAMPLE", "Check", "Counterexample", "verify")


def __getattr__(name: str) -> Any:
    """What the study of the paper has."""
    if name not in _STUDIED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_study("lw2021.theory", purpose=f"amongst.theory.{name}"), name)
