"""Summaries of repeats, paired tests, and several methods over several data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import stats

from amongst.checks import check_choice, check_integer, check_number
from amongst.errors import InputError

Floats = npt.NDArray[np.float64]
Alternative = Literal["two-sided", "greater", "less"]

EXACT = 300
"""Pairs up to which the law of W⁺ is computed; it takes n³ steps."""


@dataclass(frozen=True)
class Summary:
    """Repeats in a few numbers.

    Attributes
    ----------
    n, mean : of the values.
    std : with n − 1; NaN for one value.
    low, high : confidence interval of the mean (Student's t); NaN for one value.

    >>> summarize([1.0, 2.0, 3.0]).std
    1.0
    """

    n: int
    mean: float
    std: float
    low: float
    high: float


def summarize(values: npt.ArrayLike, confidence: float = 0.95) -> Summary:
    """Mean ± t_{n−1} · s/√n of finite values, shape (n,).

    >>> summary = summarize([98.8, 98.9, 98.7, 98.8, 98.8])
    >>> round(summary.mean, 2), round(summary.std, 3), round(summary.low, 2)
    (98.8, 0.071, 98.71)
    """
    check_number("confidence", confidence, low=0, high=1)
    x = _as_numbers("values", values).ravel()
    if not len(x) or not np.isfinite(x).all():
        problem = "must be finite numbers, at least one."
        raise InputError(problem, code="no-numbers", argument="values", got=values)
    mean = float(x.mean())
    if len(x) == 1:
        return Summary(1, mean, np.nan, np.nan, np.nan)
    std = float(x.std(ddof=1))
    half = float(stats.t.ppf((1 + confidence) / 2, len(x) - 1)) * std / np.sqrt(len(x))
    return Summary(len(x), mean, std, float(mean - half), float(mean + half))


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
    law, positive = _sign_law(doubled), int(doubled[difference > 0].sum())
    above, below = float(law[positive:].sum()), float(law[: positive + 1].sum())
    tail = {"greater": above, "less": below, "two-sided": 2 * min(above, below)}
    return min(1.0, tail[alternative])


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
    """p of Student's paired t test of at least two pairs, with n − 1 degrees of freedom.

    >>> round(paired_t([2.0, 3.1, 4.2], [1.0, 2.0, 3.0], alternative="greater"), 4)
    0.0014
    """
    check_choice("alternative", alternative, get_args(Alternative))
    first, second = _paired(a, b)
    if len(first) < 2:
        problem = "a paired t test needs at least two pairs, and there is one."
        raise InputError(problem, code="too-few")
    difference = _differences(first, second)
    if np.ptp(difference) == 0:  # without any spread p is 0 or 1
        all_ = float(difference[0])
        agrees = {"two-sided": True, "greater": all_ > 0, "less": all_ < 0}[alternative]
        return 0.0 if all_ and agrees else 1.0
    return float(stats.ttest_rel(first, second, alternative=alternative).pvalue)


def holm(p: npt.ArrayLike) -> Floats:
    """Holm's step-down correction: p values of m tests, valid for all of them together.

    p̃_(i) = max_{j≤i} min(1, (m − j + 1) p_(j)).

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = _as_numbers("p", p).ravel()
    if not ((values >= 0) & (values <= 1)).all():
        problem = "must be probabilities between 0 and 1."
        raise InputError(problem, code="no-probability", argument="p", got=p)
    order = np.argsort(values, kind="stable")
    factors = len(values) - np.arange(len(values))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return adjusted


@dataclass(frozen=True, eq=False)
class FriedmanNemenyi:
    """Friedman's test, and which pairs differ.

    Attributes
    ----------
    ranks : (k,) mean ranks, 1 is best.
    statistic, p : of Friedman's test: are all methods alike?
    critical : two mean ranks further apart than this differ.
    pairs : (k, k) p of each pair (Nemenyi), corrected for all pairs.

    Examples
    --------
    >>> found = friedman_nemenyi([[0.9, 0.8, 0.7]] * 5)
    >>> found.ranks.tolist(), bool(found.p < 0.05), bool(found.ranks[2] - found.ranks[0] > found.critical)
    ([1.0, 2.0, 3.0], True, True)
    """

    ranks: Floats
    statistic: float
    p: float
    critical: float
    pairs: Floats


def friedman_nemenyi(scores: npt.ArrayLike, alpha: float = 0.05) -> FriedmanNemenyi:
    """Rank methods within each data set, and compare mean ranks (Demšar, JMLR 2006).

    CD = q_α √(k(k+1) / (6N)), with q_α the studentised range over √2.

    Parameters
    ----------
    scores : shape (N, k): data sets × methods, higher is better; k ≥ 3, N ≥ 2.
    alpha : of the critical difference.

    Examples
    --------
    >>> result = friedman_nemenyi([[3, 2, 1], [3, 2, 1], [3, 1, 2], [3, 2, 1]])
    >>> result.ranks, round(result.p, 4), round(result.critical, 2)
    (array([1.  , 2.25, 2.75]), 0.0388, 1.66)
    """
    check_number("alpha", alpha, low=0, high=1, open_low=True)
    table = _as_numbers("scores", scores)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 3 or not np.isfinite(table).all():
        raise InputError(
            f"has shape {table.shape}; it must be finite, with at least 2 rows (data sets) and 3 "
            "columns (methods).",
            code="shape",
            argument="scores",
        )
    blocks, k = table.shape
    ranks = stats.rankdata(-table, axis=1).mean(axis=0)
    statistic, p = 0.0, 1.0
    if not (table == table[:, :1]).all():
        statistic, p = map(float, stats.friedmanchisquare(*table.T))
    error = np.sqrt(k * (k + 1) / (6 * blocks))
    critical = float(stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2) * error)
    distance = np.abs(ranks[:, None] - ranks) / error * np.sqrt(2)
    pairs = np.asarray(stats.studentized_range.sf(distance, k, np.inf))
    return FriedmanNemenyi(ranks, statistic, p, critical, pairs)


def _as_numbers(name: str, values: npt.ArrayLike) -> Floats:
    """The values in double precision."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        problem = f"must be numbers, in rows of one length: {error}."
        raise InputError(problem, code="no-numbers", argument=name) from error


def _paired(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Floats, Floats]:
    first, second = _as_numbers("a", a).ravel(), _as_numbers("b", b).ravel()
    if len(first) != len(second) or not len(first):
        problem = f"has {len(first)} values and b {len(second)}; pairs are needed."
        raise InputError(problem, code="no-pairs", argument="a")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        problem = "a and b must be finite; leave out pairs with a missing value."
        raise InputError(problem, code="no-numbers")
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
