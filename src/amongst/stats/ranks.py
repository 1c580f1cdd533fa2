"""Several methods over several data sets: Friedman's test and Nemenyi's critical difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from amongst.checks import check_number
from amongst.errors import InputError
from amongst.stats.door import Floats, as_numbers

__all__ = ["FriedmanNemenyi", "friedman_nemenyi"]


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
    table = as_numbers("scores", scores)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 3 or not np.isfinite(table).all():
        raise InputError(
            f"scores has shape {table.shape}; it must be finite, with at least 2 rows (data sets) "
            "and 3 columns (methods)."
        )
    blocks, k = table.shape
    ranks = stats.rankdata(-table, axis=1).mean(axis=0)
    statistic, p = _friedman(table)
    error = np.sqrt(k * (k + 1) / (6 * blocks))
    critical = float(stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2) * error)
    distance = np.abs(ranks[:, None] - ranks) / error * np.sqrt(2)
    pairs = np.asarray(stats.studentized_range.sf(distance, k, np.inf))
    return FriedmanNemenyi(ranks, statistic, p, critical, pairs)


def _friedman(table: Floats) -> tuple[float, float]:
    if (table == table[:, :1]).all():
        return 0.0, 1.0
    result = stats.friedmanchisquare(*table.T)
    return float(result.statistic), float(result.pvalue)
