"""What β does when the weights sum to 1 on either side of the set, as in Algorithm 1.

With w = 1/|s| inside and 1/(K−|s|) outside, the true label carries on average a = E[1/|s|], a wrong
label (1−a)/(K−1) as a candidate, and (1−f)/(K−1) as a non-candidate, where f = P(s = [K]). These
say what β does before the scores have spoken, and can be counted in the sets themselves. Once the
weights follow the scores, a label that leads its side has weight near 1 there, and the odds
q/(1−q) of fixed weights come back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom

from amongst.checks import check_integer, check_number
from amongst.errors import InputError
from amongst.theory.law import Rates, as_numbers, as_row, rates_of

__all__ = [
    "Balance",
    "balance",
    "believed_threshold",
    "normalised_threshold",
    "reversal_beta",
    "reversal_matrix",
    "size_law",
]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Balance:
    """Mean weights before any score is known: w = 1/|s| inside, 1/(K−|s|) outside.

    Attributes
    ----------
    n_classes : K.
    true : a = E[1/|s|], carried by the true label.
    wrong : (1 − a)/(K − 1), by a wrong label as a candidate (mean over wrong labels).
    away : (1 − f)/(K − 1), by a wrong label as a non-candidate; f is the share of full sets.

    Examples
    --------
    >>> early = balance(size_law(10, 0.9))
    >>> [round(value, 2) for value in (early.threshold, early.neutral, early.one_vs_all)]
    [1.45, 1.63, 3.08]
    """

    n_classes: int
    true: float
    wrong: float
    away: float

    @property
    def threshold(self) -> float:
        """Above this β a wrong label is pushed down where the true one is certain."""
        return self.pivot(0.0)

    @property
    def neutral(self) -> float:
        """1/(1−f): at this β a label at chance, P(z | x) = 1/K, is neither lifted nor pushed."""
        return self.pivot(1 / self.n_classes)

    @property
    def one_vs_all(self) -> float:
        """At this β the early risk is one-versus-all: a label rises if P(z | x) > 1/2."""
        return self.pivot(0.5)

    def pivot(self, posterior: float) -> float:
        """The β at which a label rises if and only if P(z | x) is above `posterior`.

        [wrong + true · p/(1−p)] / away.

        >>> round(balance(size_law(10, 0.5)).pivot(0.2), 3)
        1.252
        """
        p = check_number("posterior", posterior, low=0, high=1)
        lifted = self.wrong + self.true * _ratio(p, 1 - p)
        return _ratio(lifted, self.away)


def size_law(K: int, q: float, *, exclude_full: bool = False) -> Array:
    """P(|s| = j), j = 0, …, K, under uniform flipping: 1 + Binomial(K − 1, q). Shape (K+1,).

    >>> size_law(3, 0.5).round(3).tolist()
    [0.0, 0.25, 0.5, 0.25]
    """
    check_integer("K", K, low=2)
    law = np.zeros(K + 1)
    law[1:] = binom.pmf(np.arange(K), K - 1, check_number("q", q, low=0, high=1))
    if exclude_full:
        law[K] = 0
        law /= law.sum()
    return law


def balance(sizes: Any) -> Balance:
    """The early balance, from how often each size occurs.

    Parameters
    ----------
    sizes : shape (K+1,), counts or probabilities of |s| = 0, 1, …, K (that of 0 must be 0).

    Examples
    --------
    >>> balance([0, 1, 1, 0])
    Balance(n_classes=3, true=0.75, wrong=0.125, away=0.5)
    """
    law = _law_of_sizes(sizes)
    k = len(law) - 1
    a = float((law[1:] / np.arange(1, k + 1)).sum())
    return Balance(k, a, (1 - a) / (k - 1), float(1 - law[k]) / (k - 1))


def reversal_beta(sizes: Any) -> float:
    """The β above which one refit of the cross-entropy form leaves a wrong belief behind.

    Suppose the scores firmly believe one wrong label z, so that the weight of its side is all on z
    and that of the other side is shared evenly. Minimise the cross-entropy risk under these
    weights: for β above the answer its minimiser ranks y above z. It is 0 where the candidates
    alone suffice, and grows somewhat faster than the odds q/(1−q).

    Parameters
    ----------
    sizes : as for `balance`.

    Examples
    --------
    >>> [round(reversal_beta(size_law(10, q)), 2) for q in (0.1, 0.3, 0.5, 0.7, 0.9)]
    [0.0, 0.2, 2.78, 5.21, 11.2]
    """
    law = _law_of_sizes(sizes)[1:]
    k = len(law)
    count = np.arange(1, k + 1)
    held, free = law * (count - 1) / (k - 1), law * (k - count) / (k - 1)
    return _reversal(k, float(held.sum()), float((free / count).sum()), float(held[-1]))


def normalised_threshold(q: Rates, y: int, K: int) -> Array:
    """The early threshold of each wrong label, for class-dependent rates too. Shape (K,), 0 at y.

    E[1/|s|; z ∈ s] / E[1/(K−|s|); z ∉ s] given y, where fixed weights have q_z/(1−q_z). Exact for
    any K: E[1/(c+N)] = ∫ t^{c−1} E[t^N] dt is the integral of a polynomial.

    >>> normalised_threshold(0.9, y=0, K=10)[1].round(2)
    np.float64(1.45)
    >>> normalised_threshold([1.0, 0.5, 0.0], y=0, K=3)
    array([0., 1., 0.])
    """
    others = np.delete(rates_of(q, y, K).numpy(), y)
    t, weight = _nodes(K)
    toward = others * (weight * t * _without_each(1 - others[:, None] * (1 - t))).sum(1)
    away = (1 - others) * (weight * _without_each(others[:, None] * (1 - t) + t)).sum(1)
    return np.insert(_odds(toward, away), y, 0.0)


def reversal_matrix(Q: npt.ArrayLike) -> Array:
    """`reversal_beta` of every pair of true y and believed z, for class-dependent rates. (K, K).

    The labels other than y and z are taken as alike. 0 on the diagonal.

    >>> from amongst.candidates import case
    >>> reversal_matrix(case(3, 10))[0, :3].round(2)
    array([0.  , 0.87, 0.  ])
    """
    matrix = as_row(Q, "Q").numpy()
    k = len(matrix)
    t, weight = _nodes(k)
    found = np.zeros((k, k))
    for y in range(k):
        wrong = np.flatnonzero(np.arange(k) != y)
        others = rates_of(matrix, y, k).numpy()[wrong]
        free = (1 - others) * (weight * _without_each(1 - others[:, None] * (1 - t))).sum(1)
        full = float(others.prod())
        found[y, wrong] = [
            _reversal(k, q, a, full) for q, a in zip(others.tolist(), free.tolist(), strict=True)
        ]
    return found


def believed_threshold(K: int, q: float, *, wrong: float = 0.0, true: float = 0.0) -> float:
    """The β that pushes down a wrong label whose score is `wrong`, weights following the scores.

    The true label has score `true`, all others 0, q is uniform. At scores 0 it is the early
    threshold; as `wrong` grows it tends to the odds q/(1−q); as `true` grows it tends to 0.

    >>> [round(believed_threshold(10, 0.9, wrong=h), 2) for h in (0.0, 4.0, 20.0)]
    [1.45, 7.94, 9.0]
    """
    size_law(K, q)
    check_number("wrong", wrong)
    check_number("true", true)
    rest = np.arange(K - 1)
    with np.errstate(divide="ignore"):
        others = np.log(rest)
    inside = (binom.pmf(rest, K - 2, q) * expit(wrong - np.logaddexp(true, others))).sum()
    outside = (binom.pmf(rest, K - 2, 1 - q) * expit(wrong - others)).sum()
    return _ratio(float(q * inside), float((1 - q) * outside))


def _reversal(k: int, q: float, free: float, full: float) -> float:
    """The β at which the refit gives y and z the same probability u.

    q = P(z ∈ s), free = E[1/|s|; z ∉ s], full = P(s = [K]). Setting the derivatives of
    Σ_j [−A_j log u_j − β B_j log(1 − u_j)] equal for y (A = free, B = 0) and z (A = q, B = 1 − q)
    at one u gives β(u); the other K − 2 labels then have v(u), and 2u + (K−2) v = 1 gives u.
    """
    if q <= free:
        return 0.0
    if q >= 1:
        return float("inf")
    rest = max(k - 2, 1)
    inside, outside = (1 - q - free) / rest, (q - full) / rest

    def leverage(u: float) -> float:
        return (q - free) * (1 - u) / (u * (1 - q))

    def excess(u: float) -> float:
        away = leverage(u) * outside
        linear = inside + away + free / u
        v = 2 * inside / (linear + math.sqrt(max(linear**2 - 4 * inside * free / u, 0.0)))
        return 2 * u + (k - 2) * v - 1

    if k == 2 or excess(0.5) <= 0:  # the other labels are never alone with y: u = 1/2, rounded
        return leverage(0.5)
    return leverage(float(brentq(excess, 1e-12, 0.5)))


def _law_of_sizes(sizes: Any) -> Array:
    counts: Array = as_numbers(sizes, "sizes").numpy()
    if counts.ndim != 1 or len(counts) < 3 or not (counts >= 0).all() or counts.sum() <= 0:
        raise InputError(
            f"sizes has shape {counts.shape}; it must hold how often each size 0, 1, …, K occurs, "
            "K ≥ 2, and not be all zero."
        )
    if not np.isfinite(counts).all():
        raise InputError("sizes holds infinity; it must hold how often each size occurs.")
    if counts[0] > 0:
        raise InputError(f"sizes counts {counts[0]:g} empty sets; drop these rows first.")
    law: Array = counts / counts.sum()
    return law


def _nodes(K: int) -> tuple[Array, Array]:
    """Gauss–Legendre on (0, 1), exact for polynomials of degree K."""
    t, weight = np.polynomial.legendre.leggauss(K // 2 + 1)
    return (t + 1) / 2, weight / 2


def _without_each(factors: Array) -> Array:
    """Π_{j≠z} factors_j for each row z; every factor is positive inside (0, 1)."""
    logs = np.log(factors)
    products: Array = np.exp(logs.sum(0) - logs)
    return products


def _odds(over: Array, under: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        odds: Array = np.where(over > 0, over / under, 0.0)
    return odds


def _ratio(over: float, under: float) -> float:
    return over / under if under > 0 else float("inf")
