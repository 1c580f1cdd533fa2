"""The theory of the Leveraged Weighted loss, in numbers that can be checked."""

from amongst.theory.auto import AUTO, AutoRule, auto_beta, beta_from_sizes
from amongst.theory.bayes import BayesMap, bayes_map, is_shift_invariant, minimiser, peaked
from amongst.theory.counterexample import COUNTEREXAMPLE, Counterexample
from amongst.theory.estimate import ClassRates, estimate_class_q, estimate_uniform_q
from amongst.theory.law import MAX_CLASSES, enumerate_sets, mixed_law, rates_of, set_law
from amongst.theory.leverage import beta_threshold, ova_beta, ova_weights, symmetric_form
from amongst.theory.normalised import (
    Balance,
    balance,
    believed_threshold,
    normalised_threshold,
    reversal_beta,
    reversal_matrix,
    size_law,
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
from amongst.theory.verification import Check, verify

__all__ = [
    "AUTO",
    "COUNTEREXAMPLE",
    "MAX_CLASSES",
    "AutoRule",
    "Balance",
    "BayesMap",
    "Check",
    "ClassRates",
    "Counterexample",
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
    "verify",
]
