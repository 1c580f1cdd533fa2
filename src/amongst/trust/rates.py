"""How often each label is a false candidate, and how often each is true: from the sets alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.candidates import as_candidates, estimated_q
from amongst.checks import check_integer, check_number
from amongst.errors import AmongstWarning, InputError, warn

Array = npt.NDArray[np.float64]
TINY = 1e-9

REFUTED, MATERIAL = 2.0, 0.2
"""From which on labels do not come by chance; see `not_by_chance`."""

MOST_LABELS = 1000
"""So many are looked at in pairs."""


@dataclass(frozen=True, eq=False)
class LabelRates:
    """What the sets say about each label.

    Attributes
    ----------
    rates : shape (K,), q_z = P(z ∈ s | Y ≠ z), the rate at which z is a false candidate.
    prior : shape (K,), P(Y = z).
    iterations : of EM.

    >>> LabelRates(np.array([0.1, 0.3]), np.array([0.5, 0.5]), iterations=9).rates
    array([0.1, 0.3])
    """

    rates: Array
    prior: Array
    iterations: int


def estimate_label_q(
    sets: Any,
    *,
    uniform_rows: float | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
) -> LabelRates:
    """q_z = P(z ∈ s | Y ≠ z) and π_z = P(Y = z) by EM, with no classifier and no true label.

    The law: Y ~ π, and each z ≠ Y joins s by itself with rate q_z. Given s, the label y ∈ s is true
    with probability r_y ∝ π_y / q_y. Then π_y = Σ_i r_iy / n and
    q_z = Σ_i ([z ∈ s_i] − r_iz) / Σ_i (1 − r_iz).

    Where sets are large they say little about which labels are frequent, and the likelihood alone
    overfits; so 10 √n rows of the uniform law (π_z = 1/K, and one rate q = (mean |s| − 1)/(K − 1)
    for all labels) are added to those that were seen. Their share vanishes as n grows.

    Parameters
    ----------
    sets : anything `as_candidates` takes.
    uniform_rows : how many rows of the uniform law to add, 0 for maximum likelihood; None for
        10 √n.
    tolerance : EM stops when nothing moves by more.
    max_iterations : EM stops here too, with a warning.

    Examples
    --------
    >>> from amongst.candidates import class_dependent
    >>> q = np.array([0.6, 0.3, 0.1, 0.1])
    >>> Q = np.where(np.eye(4, dtype=bool), 1.0, q)
    >>> sets = class_dependent(np.arange(4).repeat(5000), Q, seed=0)
    >>> estimate_label_q(sets, uniform_rows=0).rates.round(1)
    array([0.6, 0.3, 0.1, 0.1])
    """
    candidates = as_candidates(sets)
    check_number("tolerance", tolerance, low=0, open_low=True)
    check_integer("max_iterations", max_iterations, low=1)
    n, k = candidates.shape
    if n < 1 or k < 2:
        raise InputError(f"sets has {n} rows and {k} classes; one row and two classes are needed.")
    patterns, counts = _distinct(candidates.mask)
    common = float(np.clip(estimated_q(candidates), TINY, 1 - TINY))
    check_number("uniform_rows", uniform_rows or 0, low=0)
    added = 10 * n**0.5 if uniform_rows is None else uniform_rows
    prior, rates = np.full(k, 1 / k), np.full(k, common)
    for iteration in range(1, max_iterations + 1):
        before = np.concatenate((prior, rates))
        prior, rates = _round(patterns, counts, prior, rates, added, common)
        if np.abs(np.concatenate((prior, rates)) - before).max() <= tolerance:
            return LabelRates(rates, prior, iteration)
    fewer = "" if uniform_rows is None else ", or leave uniform_rows at None, which settles sooner"
    warn(
        AmongstWarning(
            f"EM has not settled after max_iterations={max_iterations}: the rates still move by more "
            f"than tolerance={tolerance:g}. Raise max_iterations, or the tolerance{fewer}.",
            code="not-settled",
        )
    )
    return LabelRates(rates, prior, max_iterations)


@dataclass(frozen=True, eq=False)
class Company:
    """Two labels that are candidates together more often than chance has it.

    Attributes
    ----------
    labels : the two.
    rows : in how many rows they are together.
    expected : in how many they were by chance.

    >>> str(Company(("cow", "grass"), 71, 10.4))
    "'cow' and 'grass' are together in 71 rows, by chance in about 10"
    """

    labels: tuple[Any, Any]
    rows: int
    expected: float

    def __str__(self) -> str:
        one, other = self.labels
        rows = f"{self.rows:,} rows, by chance in about {self.expected:,.0f}"
        return f"{one!r} and {other!r} are together in {rows}"


def not_by_chance(sets: Any) -> Company | None:
    """The two labels that come together most beyond chance; None where labels come by chance.

    By the law of `estimate_label_q`, E_jk = n (π_j q_k + π_k q_j + (1 − π_j − π_k) q_j q_k) rows have both
    j and k. C_jk have. Chance is refuted where the mean of (C − E)² / E over all pairs, about 1 by that
    law, is above `REFUTED`, and Σ max(C − E, 0) is more than `MATERIAL` of Σ C. Then what rests on that
    law is too sure, such as estimated errors and confidences. Beyond `MOST_LABELS` labels it is not
    looked at.

    Examples
    --------
    >>> from amongst.candidates import uniform
    >>> labels = np.arange(4).repeat(100)
    >>> print(not_by_chance(uniform(labels, q=0.3, seed=0)))
    None
    >>> print(not_by_chance([{0, 1}, {2, 3}] * 100))
    0 and 1 are together in 100 rows, by chance in about 44
    """
    candidates = as_candidates(sets)
    if candidates.n_classes > MOST_LABELS or len(candidates) < 1 or candidates.n_classes < 3:
        return None
    found, mask = estimate_label_q(candidates), candidates.mask.astype(np.float64)
    first, second = np.triu_indices(candidates.n_classes, 1)
    q, pi = found.rates, found.prior
    one, other = pi[first], pi[second]
    apart = np.maximum(1 - one - other, 0) * q[first] * q[second]
    expected = len(mask) * (one * q[second] + other * q[first] + apart)
    seen = (mask.T @ mask)[first, second]
    gain = (seen - expected) / np.sqrt(np.maximum(expected, 0.5))
    more = np.maximum(seen - expected, 0).sum()
    if (gain**2).mean() <= REFUTED or more <= MATERIAL * seen.sum():
        return None
    at, classes = int(gain.argmax()), candidates.classes.tolist()
    pair = classes[first[at]], classes[second[at]]
    return Company(pair, int(seen[at]), float(expected[at]))


def _round(
    patterns: Array, counts: Array, prior: Array, rates: Array, added: float, common: float
) -> tuple[Array, Array]:
    """One E step and one M step."""
    k, n = len(prior), counts.sum()
    shares = patterns * (prior / rates)
    shares *= (counts / shares.sum(1))[:, None]
    true = shares.sum(0)
    false = counts @ patterns - true
    rates = (false + added * common) / np.maximum(n - true + added, TINY)
    prior = (true + added / k) / (n + added)
    return np.maximum(prior, TINY), np.clip(rates, TINY, 1 - TINY)


def _distinct(mask: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
    """The different sets that occur, shape (m, K), and how often each does, shape (m,)."""
    packed = np.packbits(mask, axis=1)
    _, first, counts = np.unique(packed, axis=0, return_index=True, return_counts=True)
    return mask[first].astype(np.float64), counts.astype(np.float64)
