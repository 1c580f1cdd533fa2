"""`beta="auto"`: a leverage from the candidate sets, by a rule with few constants.

Two regimes, told apart by whether ψ sees only differences of scores (`is_shift_invariant`).

* Margin losses (sigmoid, …) saturate. While the scores say nothing, every label has a posterior
  near 1/K; if β is far above the early balance all scores sink together, and below the early
  threshold all rise together, and a bounded ψ has no slope left to come back. So β is set such that
  a label rises when its posterior is above `lift` times chance. Up to q = 1/2 the window is wide, and
  one β serves.
* The cross-entropy form cannot sink or rise as a whole, and ranks as Bayes does at every β
  (`bayes_map`). What β decides is whether a wrong belief among the candidates is given up when a
  set speaks against it: `reversal_beta`, which grows like the odds q/(1−q), and faster.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.candidates import as_candidates
from amongst.checks import check_number
from amongst.errors import InputError
from amongst.losses import Psi
from amongst.theory.bayes import is_shift_invariant
from amongst.theory.law import as_numbers
from amongst.theory.normalised import (
    balance,
    normalised_threshold,
    reversal_beta,
    reversal_matrix,
)

__all__ = ["AUTO", "AutoRule", "auto_beta", "beta_from_sizes"]


@dataclass(frozen=True)
class AutoRule:
    """The constants of `auto_beta`; everything else is counted in the sets.

    Attributes
    ----------
    lift : margin ψ: a label rises where P(z | x) > lift/K (at most 1/2).
    scale : cross-entropy form: β = scale · `reversal_beta`.
    floor, cap : cross-entropy form: β stays between them. Below the floor the sets are nearly
        unambiguous and β hardly matters; above the cap β times the learning rate is too long a step.
    low : margin ψ: β where the mean rate of false candidates is at most `wide`.
    wide, narrow : margin ψ: from the rate `narrow` up the lift alone counts; in between β goes from
        `low` to the lift's in a straight line.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> auto_beta(as_candidates(["a|b", "b", "c"]), "cross_entropy", rule=AutoRule(floor=3.0))
    3.0
    """

    lift: float = 2.5
    scale: float = 1.0
    floor: float = 2.0
    cap: float = 64.0
    low: float = 1.75
    wide: float = 0.5
    narrow: float = 0.7

    def __post_init__(self) -> None:
        for field in fields(self):
            check_number(field.name, getattr(self, field.name), low=0)


AUTO = AutoRule()
"""The constants in use."""


def auto_beta(
    sets: Any,
    psi: str | Psi = "cross_entropy",
    *,
    rates: npt.ArrayLike | None = None,
    rule: AutoRule = AUTO,
) -> float:
    """A β for these candidate sets and this ψ, for weights that sum to 1 on either side.

    Margin ψ: [ (1−a) + (K−1) a p/(1−p) ] / (1−f) with p = min(lift/K, 1/2), a = mean 1/|s|, and f
    the share of full sets; or `low`, where the mean rate of false candidates (mean |s| − 1)/(K − 1)
    is small. Cross-entropy form: scale · `reversal_beta`, kept between floor and cap.

    Parameters
    ----------
    sets : anything `as_candidates` takes.
    psi : name of a binary loss, or a `Psi`.
    rates : shape (K, K), class-dependent rates (`estimate_class_q`), where some label is a far
        likelier false candidate than the mean: the worst pair then counts.
    rule : the constants.

    Examples
    --------
    >>> from amongst.candidates import uniform
    >>> sets = uniform(np.arange(10).repeat(1000), q=0.7, seed=0)
    >>> [round(auto_beta(sets, psi), 1) for psi in ("sigmoid", "cross_entropy")]
    [1.3, 5.2]
    """
    candidates = as_candidates(sets)
    sizes = np.bincount(candidates.sizes, minlength=candidates.n_classes + 1)
    if candidates.n_classes < 2 or not len(candidates):
        raise InputError(f"sets has shape {candidates.shape}; beta='auto' needs rows and classes.")
    if rates is None:
        return beta_from_sizes(sizes, psi, rule)
    return _beta_from_rates(sizes, _checked(rates, candidates.n_classes), psi, rule)


def beta_from_sizes(sizes: Any, psi: str | Psi = "cross_entropy", rule: AutoRule = AUTO) -> float:
    """`auto_beta` from how often each size |s| = 0, 1, …, K occurs, counts or probabilities.

    >>> from amongst.theory import size_law
    >>> [round(beta_from_sizes(size_law(10, q), "sigmoid"), 2) for q in (0.1, 0.5, 0.9)]
    [1.75, 1.75, 2.0]
    >>> [round(beta_from_sizes(size_law(10, q), "sigmoid"), 2) for q in (0.6, 0.7, 0.8)]
    [1.55, 1.34, 1.44]
    >>> [round(beta_from_sizes(size_law(10, q)), 2) for q in (0.1, 0.5, 0.9)]
    [2.0, 2.78, 11.2]
    """
    if is_shift_invariant(psi):
        return _limited(reversal_beta(sizes), rule)
    early = balance(sizes)
    lifted = early.pivot(min(rule.lift / early.n_classes, 0.5))
    share = np.interp(_mean_rate(sizes), (rule.wide, rule.narrow), (1.0, 0.0))
    low = min(rule.low, early.one_vs_all)
    return float(min(share * low + (1 - share) * lifted, rule.cap))


def _mean_rate(sizes: Any) -> float:
    """(mean |s| − 1)/(K − 1), of which q is the expectation where it is uniform."""
    counts = np.asarray(sizes, dtype=np.float64)
    k = len(counts) - 1
    return float((counts @ np.arange(k + 1) / counts.sum() - 1) / (k - 1))


def _beta_from_rates(
    sizes: npt.NDArray[np.int64], Q: npt.NDArray[np.float64], psi: str | Psi, rule: AutoRule
) -> float:
    if is_shift_invariant(psi):
        return _limited(float(reversal_matrix(Q).max()), rule)
    worst = max(float(normalised_threshold(Q, y, len(Q)).max()) for y in range(len(Q)))
    highest = min(balance(sizes).one_vs_all, rule.cap)
    return max(beta_from_sizes(sizes, psi, rule), min(worst, highest))


def _limited(reversal: float, rule: AutoRule) -> float:
    return float(np.clip(rule.scale * reversal, rule.floor, rule.cap))


def _checked(rates: npt.ArrayLike, k: int) -> npt.NDArray[np.float64]:
    """The rates without NaN: a label that no example has takes the mean of the others."""
    Q = as_numbers(rates, "rates").numpy().copy()
    if Q.shape != (k, k):
        raise InputError(f"rates has shape {Q.shape}; with these sets it must be {(k, k)}.")
    known = Q[~np.isnan(Q) & ~np.eye(k, dtype=bool)]
    Q[np.isnan(Q)] = known.mean() if len(known) else 0.0
    np.fill_diagonal(Q, 1.0)
    return Q
