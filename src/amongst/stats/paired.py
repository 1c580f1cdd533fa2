"""Paired tests: Wilcoxon's signed ranks, Student's t, and Holm's correction."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from amongst.checks import check_choice, check_integer
from amongst.errors import InputError
from amongst.stats.door import Floats, as_numbers

__all__ = ["Alternative", "holm", "least_p", "paired_t", "wilcoxon_signed_rank"]

Alternative = Literal["two-sided", "greater", "less"]

EXACT = 300
"""Pairs up to which the law of W⁺ is computed; it takes n³ steps."""


def wilcoxon_signed_rank(
    a: npt.ArrayLike, b: npt.ArrayLike, *, alternative: Alternative = "two-sided"
) -> float:
    """p of Wilcoxon's signed-rank test, exact up to 300 pairs, also where differences are tied.

    Under the null hypothesis each of the 2^n signs of the differences a − b is a coin toss; W⁺ is
    the sum of the ranks of the positive ones. Zero differences are left out (Wilcoxon's way), tied
    ones share their mean rank, for which the usual tables, and SciPy's, are not exact. Differences
    that rounding alone sets apart, such as 0.3 − 0.2 and 0.4 − 0.3, are tied. More than 300 pairs
    take the normal law with a correction for ties and continuity.

    Parameters
    ----------
    a, b : shape (n,), paired: the same seed or fold in the same place.
    alternative : ``"greater"``: a is better (one-sided); ``"less"``; or ``"two-sided"``.

    Examples
    --------
    >>> wilcoxon_signed_rank([5, 6, 7, 8, 9], [1, 1, 1, 1, 1], alternative="greater")
    0.03125
    >>> wilcoxon_signed_rank([5, 6, 7, 8, 9], [1, 1, 1, 1, 1])
    0.0625
    """
    check_choice("alternative", alternative, get_args(Alternative))
    first, second = _paired(a, b)
    difference = _differences(first, second)
    difference = difference[difference != 0]
    if not len(difference):
        return 1.0
    if len(difference) > EXACT:
        found = stats.wilcoxon(difference, alternative=alternative, correction=True)
        return float(found.pvalue)  # the normal law has one name before SciPy 1.15, another since
    doubled = np.rint(2 * stats.rankdata(np.abs(difference))).astype(np.int64)
    law = _sign_law(doubled)
    positive = int(doubled[difference > 0].sum())
    return _tail(law, positive, alternative)


def least_p(n: int, alternative: Alternative = "greater") -> float:
    """The smallest p that Wilcoxon's test can reach with n pairs: 2^−n, or 2^(1−n) two-sided.

    With five seeds a two-sided test cannot go below 0.0625.

    >>> least_p(5), least_p(5, "two-sided")
    (0.03125, 0.0625)
    """
    check_integer("n", n, low=1)
    check_choice("alternative", alternative, get_args(Alternative))
    return min(1.0, 2.0 ** (1 - n if alternative == "two-sided" else -n))


def paired_t(
    a: npt.ArrayLike, b: npt.ArrayLike, *, alternative: Alternative = "two-sided"
) -> float:
    """p of Student's paired t test, with n − 1 degrees of freedom.

    Parameters
    ----------
    a, b, alternative : as for `wilcoxon_signed_rank`; at least two pairs.

    Examples
    --------
    >>> round(paired_t([2.0, 3.1, 4.2], [1.0, 2.0, 3.0], alternative="greater"), 4)
    0.0014
    """
    check_choice("alternative", alternative, get_args(Alternative))
    first, second = _paired(a, b)
    if len(first) < 2:
        raise InputError("a paired t test needs at least two pairs, and there is one.")
    difference = _differences(first, second)
    if np.ptp(difference) == 0:
        return _certain(float(difference[0]), alternative)
    return float(stats.ttest_rel(first, second, alternative=alternative).pvalue)


def holm(p: npt.ArrayLike) -> Floats:
    """Holm's step-down correction: p values of m tests, valid for all of them together.

    p̃_(i) = max_{j≤i} min(1, (m − j + 1) p_(j)).

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = as_numbers("p", p).ravel()
    if not ((values >= 0) & (values <= 1)).all():
        raise InputError(f"p={p!r} must be probabilities between 0 and 1.")
    order = np.argsort(values, kind="stable")
    factors = len(values) - np.arange(len(values))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return adjusted


def _paired(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Floats, Floats]:
    first, second = as_numbers("a", a).ravel(), as_numbers("b", b).ravel()
    if len(first) != len(second) or not len(first):
        raise InputError(f"a has {len(first)} values and b {len(second)}; pairs are needed.")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("a and b must be finite; leave out pairs with a missing value.")
    return first, second


def _differences(first: Floats, second: Floats) -> Floats:
    """a − b in steps of the largest value's 2⁻⁴⁰: equal differences are equal, and zero is zero."""
    largest = max(np.abs(first).max(), np.abs(second).max())
    step = np.ldexp(1.0, int(np.frexp(largest)[1]) - 40)
    rounded: Floats = np.rint((first - second) / step) * step
    return rounded


def _sign_law(doubled: npt.NDArray[np.int64]) -> Floats:
    """P(2 W⁺ = k) for k = 0 … Σ 2 ranks, each rank in or out by a coin toss."""
    law = np.ones(1)
    for rank in doubled:
        wider = np.zeros(len(law) + rank)
        wider[: len(law)] += law / 2
        wider[rank:] += law / 2
        law = wider
    return law


def _tail(law: Floats, observed: int, alternative: Alternative) -> float:
    above, below = float(law[observed:].sum()), float(law[: observed + 1].sum())
    if alternative == "greater":
        return min(1.0, above)
    return min(1.0, below) if alternative == "less" else min(1.0, 2 * min(above, below))


def _certain(difference: float, alternative: Alternative) -> float:
    """Differences without any spread: p is 0 or 1."""
    if difference == 0:
        return 1.0
    agrees = {"two-sided": True, "greater": difference > 0, "less": difference < 0}[alternative]
    return 0.0 if agrees else 1.0
