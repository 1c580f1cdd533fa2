"""The law of the candidate sets, by enumeration of every set (K ≤ 16).

Label z ≠ y enters the set of true label y with probability q_z, independently; y is always in, or with
probability 1 − η.
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

from amongst.checks import as_numbers, check_integer, check_number
from amongst.errors import InputError

MAX_CLASSES = 16
"""The most classes for which all sets are enumerated: 2^15 sets of 16 labels."""

Rates = float | Sequence[float] | npt.NDArray[np.float64] | Tensor


def enumerate_sets(K: int, y: int | None = None) -> Tensor:
    """Every candidate set over K labels that contains y, bool of shape (2^{K−1}, K), or every non-empty
    one, (2^K − 1, K), with ``y=None``; the full set is the last row.

    >>> enumerate_sets(3, y=1).int()
    tensor([[0, 1, 0],
            [1, 1, 0],
            [0, 1, 1],
            [1, 1, 1]], dtype=torch.int32)
    """
    if check_integer("K", K, low=1) > MAX_CLASSES:
        problem = f"is too many to enumerate (2^{K - 1} sets); the limit is {MAX_CLASSES}."
        remedy = "Use monte_carlo_risk."
        raise InputError(problem, code="too-many-classes", argument="K", got=K, remedy=remedy)
    codes = torch.arange(1, 2**K)
    sets = (codes[:, None] >> torch.arange(K)) & 1 == 1
    return sets if y is None else sets[sets[:, check_label(y, K)]]


def set_law(
    sets: Tensor, q: Rates, y: int, *, exclude_full: bool = False, eta: float = 0.0
) -> Tensor:
    """P(s | Y = y) = Π_{z∈s, z≠y} q_z Π_{z∉s} (1 − q_z) for each row of `sets`, 0 if y ∉ s.

    With `exclude_full` the full set has probability 0 and the rest is divided by 1 − Π_{z≠y} q_z. With
    η > 0 y itself has q_y = 1 − η, and no set is empty: what is left is divided by its sum. Shape (S,)
    for sets (S, K).

    >>> sets = enumerate_sets(3, y=0)
    >>> set_law(sets, 0.5, y=0)
    tensor([0.2500, 0.2500, 0.2500, 0.2500], dtype=torch.float64)
    >>> set_law(sets, 0.5, y=0, exclude_full=True)
    tensor([0.3333, 0.3333, 0.3333, 0.0000], dtype=torch.float64)
    """
    rates = rates_of(q, y, sets.shape[-1])
    rates[y] = 1 - check_number("eta", eta, low=0, high=1)
    law = torch.where(sets, rates, 1 - rates).prod(-1).masked_fill(~sets.any(-1), 0)
    full = full_probability(rates) if exclude_full else 0.0
    law = law.masked_fill(sets.all(-1), 0) if exclude_full else law
    return law / (1 - full - (1 - rates).prod())


def mixed_law(
    sets: Tensor,
    q: Rates,
    posterior: Sequence[float] | Tensor,
    *,
    exclude_full: bool = False,
    eta: float = 0.0,
) -> Tensor:
    """P(s | x) = Σ_y P(y | x) P(s | y), shape (S,): the law of the sets seen at one x.

    >>> mixed_law(enumerate_sets(2), 0.5, [0.8, 0.2])
    tensor([0.4000, 0.1000, 0.5000], dtype=torch.float64)
    """
    p = as_posterior(posterior, sets.shape[-1])
    if p.ndim != 1:
        raise no_shape("posterior", p, "that of one x, (K,)")
    laws = [set_law(sets, q, y, exclude_full=exclude_full, eta=eta) for y in range(len(p))]
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
        raise no_shape("q", rates, f"a number, ({K},) or ({K}, {K})")
    rates = check_rates(rates).expand(K).clone()
    rates[check_label(y, K)] = 1
    return rates


def check_rates(rates: Tensor) -> Tensor:
    """The rates, if all are probabilities."""
    if not ((rates >= 0) & (rates <= 1)).all():
        problem = "must hold probabilities between 0 and 1."
        raise InputError(problem, code="no-probability", argument="q")
    return rates


def full_probability(rates: Tensor) -> Tensor:
    """M = Π q_z; an error where it is 1, since no other set is then left to draw."""
    full = rates.prod(-1)
    if bool((full >= 1).any()):
        problem = "exclude_full: every q is 1, so only the full set can be drawn. Lower q."
        raise InputError(problem, code="full-only")
    return full


def check_label(y: int, K: int) -> int:
    """Return y if it is a label, 0 to K − 1."""
    if check_integer("y", y, low=0) >= K:
        problem = f"must be a label between 0 and {K - 1}."
        raise InputError(problem, code="no-label", argument="y", got=y)
    return int(y)


def as_row(values: Any, name: str, K: int | None = None) -> Tensor:
    """`values` as a float64 tensor of shape (..., K)."""
    row = as_numbers(values, name)
    if row.ndim == 0 or (K is not None and row.shape[-1] != K):
        raise no_shape(name, row, "(..., K)" if K is None else f"(..., {K})")
    return row


def as_posterior(values: Any, K: int | None = None) -> Tensor:
    """P(y | x) as a float64 tensor of shape (..., K): non-negative, and it sums to 1."""
    p = as_row(values, "posterior", K)
    if not (p >= 0).all():
        problem = "must hold probabilities, but an entry is negative or NaN."
        raise InputError(problem, code="no-probability", argument="posterior")
    total = p.sum(-1).reshape(-1)
    far = (total - 1).abs() > 1e-4
    if far.any():
        row = float(total[far][0])
        problem = f"must hold probabilities that sum to 1, but a row sums to {row:g}. Divide it by its sum."
        raise InputError(problem, code="no-probability", argument="posterior")
    return p


def no_shape(name: str, values: Any, wanted: str) -> InputError:
    """The error for an argument of another shape than it must have."""
    problem = f"has shape {tuple(values.shape)}; it must be {wanted}."
    return InputError(problem, code="shape", argument=name)
