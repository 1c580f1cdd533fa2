"""Mean, standard deviation and confidence interval of repeats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from amongst.checks import check_number
from amongst.errors import InputError
from amongst.stats.door import as_numbers

__all__ = ["Summary", "summarize"]


@dataclass(frozen=True)
class Summary:
    """Repeats in a few numbers.

    Attributes
    ----------
    n, mean : of the values.
    std : with n − 1; NaN for one value.
    low, high : confidence interval of the mean (Student's t); NaN for one value.

    Examples
    --------
    >>> summarize([1.0, 2.0, 3.0]).std
    1.0
    """

    n: int
    mean: float
    std: float
    low: float
    high: float


def summarize(values: npt.ArrayLike, confidence: float = 0.95) -> Summary:
    """Mean ± t_{n−1} · s/√n.

    Parameters
    ----------
    values : shape (n,), finite.
    confidence : of the interval.

    Examples
    --------
    >>> summary = summarize([98.8, 98.9, 98.7, 98.8, 98.8])
    >>> round(summary.mean, 2), round(summary.std, 3), round(summary.low, 2)
    (98.8, 0.071, 98.71)
    """
    check_number("confidence", confidence, low=0, high=1)
    x = as_numbers("values", values).ravel()
    if not len(x) or not np.isfinite(x).all():
        raise InputError(f"values={values!r} must be finite numbers, at least one.")
    mean = float(x.mean())
    if len(x) == 1:
        return Summary(1, mean, np.nan, np.nan, np.nan)
    std = float(x.std(ddof=1))
    half = float(stats.t.ppf((1 + confidence) / 2, len(x) - 1)) * std / np.sqrt(len(x))
    return Summary(len(x), mean, std, float(mean - half), float(mean + half))
