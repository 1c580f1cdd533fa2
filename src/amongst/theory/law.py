"""The law of the candidate sets, by enumeration of every set (K ≤ 16).

Label z ≠ y enters the set of true label y with probability q_z, independently; y is always in.
Rates `q` come as one number, as a vector (K,), or as a matrix (K, K) of which row y is meant; the
entry of y itself is never read. Everything is in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from amongst.checks import check_integer
from amongst.errors import InputError

__all__ = ["MAX_CLASSES", "enumerate_sets", "mixed_law", "rates_of", "set_law"]

MAX_CLASSES = 16
"""The most classes for which all sets are enumerated: 2^15 sets of 16 labels."""

Rates = float | Sequence[float] | npt.NDArray[np.float64] | Tensor


def enumerate_sets(K: int, y: int | None = None) -> Tensor:
    """Every candidate set over K labels that contains y, or every non-empty one.

    Returns
    -------
    bool Tensor, shape (2^{K−1}, K), or (2^K − 1, K) with ``y=None``; the full set is the last row.

    Examples
    --------
    >>> enumerate_sets(3, y=1).int()
    tensor([[0, 1, 0],
            [1, 1, 0],
            [0, 1, 1],
            [1, 1, 1]], dtype=torch.int32)
    """
    if check_integer("K", K, low=1) > MAX_CLASSES:
        raise InputError(
            f"K={K} is too many to enumerate (2^{K - 1} sets); the limit is {MAX_CLASSES}. "
            "Use monte_carlo_risk."
        )
    codes = torch.arange(1, 2**K)
    sets = (codes[:, None] >> torch.arange(K)) & 1 == 1
    return sets if y is None else sets[sets[:, check_label(y, K)]]


def set_law(sets: Tensor, q: Rates, y: int, *, exclude_full: bool = False) -> Tensor:
    """P(s | Y = y) = Π_{z∈s, z≠y} q_z Π_{z∉s} (1 − q_z) for each row of `sets`, 0 if y ∉ s.

    With `exclude_full` the full set has probability 0 and the rest is divided by 1 − Π_{z≠y} q_z.

    Parameters
    ----------
    sets : bool, shape (S, K).
    q : rates, see `amongst.theory.law`.
    y : the true label, 0 to K − 1.

    Returns
    -------
    float64 Tensor, shape (S,); over all sets it sums to 1.

    Examples
    --------
    >>> sets = enumerate_sets(3, y=0)
    >>> set_law(sets, 0.5, y=0)
    tensor([0.2500, 0.2500, 0.2500, 0.2500], dtype=torch.float64)
    >>> set_law(sets, 0.5, y=0, exclude_full=True)
    tensor([0.3333, 0.3333, 0.3333, 0.0000], dtype=torch.float64)
    """
    rates = rates_of(q, y, sets.shape[-1])
    law = torch.where(sets, rates, 1 - rates).prod(-1)
    if not exclude_full:
        return law
    full = full_probability(rates)
    return law.masked_fill(sets.all(-1), 0) / (1 - full)


def mixed_law(
    sets: Tensor, q: Rates, posterior: Sequence[float] | Tensor, *, exclude_full: bool = False
) -> Tensor:
    """P(s | x) = Σ_y P(y | x) P(s | y), shape (S,): the law of the sets seen at one x.

    Examples
    --------
    >>> mixed_law(enumerate_sets(2), 0.5, [0.8, 0.2])
    tensor([0.4000, 0.1000, 0.5000], dtype=torch.float64)
    """
    p = as_posterior(posterior, sets.shape[-1])
    if p.ndim != 1:
        raise InputError(f"posterior has shape {tuple(p.shape)}; it must be that of one x, (K,).")
    laws = [set_law(sets, q, y, exclude_full=exclude_full) for y in range(len(p))]
    return p @ torch.stack(laws)


def rates_of(q: Rates, y: int, K: int) -> Tensor:
    """Row y of the rates, with q_y = 1: float64, shape (K,).

    >>> rates_of(0.3, y=1, K=3)
    tensor([0.3000, 1.0000, 0.3000], dtype=torch.float64)
    """
    check_integer("K", K, low=1)
    rates = as_numbers(q, "q")
    if rates.ndim == 2 and rates.shape[0] == K:
        rates = rates[check_label(y, K)]
    if rates.ndim > 1 or (rates.ndim == 1 and len(rates) != K):
        raise InputError(
            f"q has shape {tuple(rates.shape)}; it must be a number, ({K},) or ({K}, {K})."
        )
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InputError("q must hold probabilities between 0 and 1.")
    rates = rates.expand(K).clone()
    rates[check_label(y, K)] = 1
    return rates


def full_probability(rates: Tensor) -> Tensor:
    """M = Π q_z; an error where it is 1, since no other set is then left to draw."""
    full = rates.prod(-1)
    if bool((full >= 1).any()):
        raise InputError("exclude_full: every q is 1, so only the full set can be drawn. Lower q.")
    return full


def check_label(y: int, K: int) -> int:
    """Return y if it is a label, 0 to K − 1."""
    if check_integer("y", y, low=0) >= K:
        raise InputError(f"y={y} must be a label between 0 and {K - 1}.")
    return int(y)


def as_numbers(values: Any, name: str) -> Tensor:
    """`values` as a float64 tensor; words, truth values and complex numbers are no numbers.

    >>> as_numbers("high", "q")
    Traceback (most recent call last):
    amongst.errors.InputError: q='high' must be numbers, in rows of one length.
    """
    try:
        return _real(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}={values!r} must be numbers, in rows of one length.") from error


def _real(values: Any) -> Tensor:
    if isinstance(values, Tensor):
        if values.dtype == torch.bool or values.is_complex():
            raise TypeError(values.dtype)
        return values.to(torch.float64)
    array = np.array(values)
    if array.dtype.kind not in "iufO":  # whole, floating, or objects such as fractions
        raise TypeError(array.dtype)
    return torch.from_numpy(array.astype(np.float64))


def as_row(values: Any, name: str, K: int | None = None) -> Tensor:
    """`values` as a float64 tensor of shape (..., K)."""
    row = as_numbers(values, name)
    if row.ndim == 0 or (K is not None and row.shape[-1] != K):
        wanted = "(..., K)" if K is None else f"(..., {K})"
        raise InputError(f"{name} has shape {tuple(row.shape)}; it must be {wanted}.")
    return row


def as_posterior(values: Any, K: int | None = None) -> Tensor:
    """P(y | x) as a float64 tensor of shape (..., K): non-negative, and it sums to 1.

    >>> as_posterior([3.0, 1.0])
    Traceback (most recent call last):
    amongst.errors.InputError: posterior must hold probabilities that sum to 1, but a row sums to 4. Divide it by its sum.
    """
    p = as_row(values, "posterior", K)
    if not (p >= 0).all():
        raise InputError("posterior must hold probabilities, but an entry is negative or NaN.")
    total = p.sum(-1).reshape(-1)
    far = (total - 1).abs() > 1e-4
    if far.any():
        raise InputError(
            f"posterior must hold probabilities that sum to 1, but a row sums to "
            f"{float(total[far][0]):g}. Divide it by its sum."
        )
    return p
