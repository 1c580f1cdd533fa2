"""`beta="auto"`: a leverage from the candidate sets, by a rule with few constants; and what can be
counted in the sets themselves, on which it rests.

Two regimes, told apart by whether ψ sees only differences of scores (`is_shift_invariant`).

* Margin losses (sigmoid, …) saturate. While the scores say nothing, every label has a posterior
  near 1/K; if β is far above the early balance all scores sink together, and below the early
  threshold all rise together, and a bounded ψ has no slope left to come back. So β is set such that
  a label rises when its posterior is above `lift` times chance. Up to q = 1/2 the window is wide, and
  one β serves.
* The cross-entropy form cannot sink or rise as a whole, and ranks as Bayes does at every β
  (`bayes_map`). What β decides is whether a wrong belief among the candidates is given up when a
  set speaks against it: `reversal_beta`, which grows like the odds q/(1−q), and faster.

With w = 1/|s| inside and 1/(K−|s|) outside, the true label carries on average a = E[1/|s|], a wrong
label (1−a)/(K−1) as a candidate, and (1−f)/(K−1) as a non-candidate, where f = P(s = [K]). These say
what β does before the scores have spoken. Once the weights follow the scores, a label that leads its
side has weight near 1 there, and the odds q/(1−q) of fixed weights come back (`beta_threshold`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import binom

from amongst.candidates import as_candidates
from amongst.checks import as_numbers, check_integer, check_number
from amongst.errors import InputError, named
from amongst.losses import Psi, is_shift_invariant
from amongst.theory.law import Rates, as_row, rates_of

Array = npt.NDArray[np.float64]


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
        problem = f"has shape {candidates.shape}; {named('beta', 'auto')} needs rows and classes."
        raise InputError(problem, code="empty", argument="sets")
    if rates is None:
        return beta_from_sizes(sizes, psi, rule)
    Q = _checked(rates, candidates.n_classes)
    if is_shift_invariant(psi):
        return _limited(float(reversal_matrix(Q).max()), rule)
    worst = max(float(normalised_threshold(Q, y, len(Q)).max()) for y in range(len(Q)))
    highest = min(balance(sizes).one_vs_all, rule.cap)
    return max(beta_from_sizes(sizes, psi, rule), min(worst, highest))


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
    counts, k = np.asarray(sizes, dtype=np.float64), early.n_classes
    mean_rate = (counts @ np.arange(k + 1) / counts.sum() - 1) / (k - 1)
    share = np.interp(mean_rate, (rule.wide, rule.narrow), (1.0, 0.0))
    low = min(rule.low, early.one_vs_all)
    return float(min(share * low + (1 - share) * lifted, rule.cap))


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
    """The early balance, from `sizes`, shape (K+1,): counts or probabilities of |s| = 0, 1, …, K, that of
    0 being 0.

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
    alone suffice, and grows somewhat faster than the odds q/(1−q). `sizes` are as for `balance`.

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
    return np.insert(_quotient(toward, away), y, 0.0)


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
    found = []
    for y in range(k):
        others = np.delete(rates_of(matrix, y, k).numpy(), y)
        free = (1 - others) * (weight * _without_each(1 - others[:, None] * (1 - t))).sum(1)
        pairs = zip(others.tolist(), free.tolist(), strict=True)
        row = [_reversal(k, q, a, float(others.prod())) for q, a in pairs]
        found.append([*row[:y], 0.0, *row[y:]])
    return np.array(found)


def _limited(reversal: float, rule: AutoRule) -> float:
    return float(np.clip(rule.scale * reversal, rule.floor, rule.cap))


def _checked(rates: npt.ArrayLike, k: int) -> Array:
    """The rates without NaN: a label that no example has takes the mean of the others."""
    Q = as_numbers(rates, "rates").numpy().copy()
    if Q.shape != (k, k):
        problem = f"has shape {Q.shape}; with these sets it must be {(k, k)}."
        raise InputError(problem, code="shape", argument="rates")
    known = Q[~np.isnan(Q) & ~np.eye(k, dtype=bool)]
    Q[np.isnan(Q)] = known.mean() if len(known) else 0.0
    np.fill_diagonal(Q, 1.0)
    return Q


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
    problem = ""
    if counts.ndim != 1 or len(counts) < 3 or not (counts >= 0).all() or counts.sum() <= 0:
        how = "hold how often each size 0, 1, …, K occurs, K ≥ 2, and not be all zero"
        problem = f"has shape {counts.shape}; it must {how}."
    elif not np.isfinite(counts).all():
        problem = "holds infinity; it must hold how often each size occurs."
    elif counts[0] > 0:
        problem = f"counts {counts[0]:g} empty sets; drop these rows first."
    if problem:
        raise InputError(problem, code="sizes", argument="sizes")
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


def _quotient(over: Array, under: Array) -> Array:
    """over / under, entry by entry; 0 where `over` is 0, infinite where `under` alone is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.where(over > 0, over / under, 0.0)
    return found


def _ratio(over: float, under: float) -> float:
    return over / under if under > 0 else float("inf")
