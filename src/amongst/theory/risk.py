"""The conditional risk of a partial loss: by enumeration, in closed form, as printed, by chance.

For fixed weights w the Leveraged Weighted loss has, given the true label y, the risk

    w_y ψ(g_y) + Σ_{z≠y} w_z [ q_z ψ(g_z) + β (1 − q_z) ψ(−g_z) ]          (corrected)

where Theorem 1 of the paper prints q_z in place of (1 − q_z). The two agree at q_z = 1/2 only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.stats import norm
from torch import Tensor

from amongst.candidates import class_dependent
from amongst.checks import Seed, check_factor, check_integer, check_share
from amongst.losses import Psi, get_psi, leveraged_weighted, leveraged_weights
from amongst.theory.law import (
    Rates,
    as_row,
    enumerate_sets,
    full_probability,
    mixed_law,
    no_shape,
    rates_of,
    set_law,
)

PartialLoss = Callable[[Tensor, Tensor], Tensor]
"""(scores (..., K), inside (..., K)) → (...): any loss of `amongst.losses`, with its rest bound."""


@dataclass(frozen=True)
class Estimate:
    """A number that was estimated.

    Attributes
    ----------
    value, standard_error : the estimate and its standard error.
    low, high : the confidence interval.
    draws : how many observations it rests on.

    >>> 0.2 in Estimate(0.21, 0.01, 0.19, 0.23, draws=1000)
    True
    """

    value: float
    standard_error: float
    low: float
    high: float
    draws: int

    def __contains__(self, truth: float) -> bool:
        return self.low <= truth <= self.high


def fixed_weights(weights: Any, psi: str | Psi = "sigmoid", beta: float = 1.0) -> PartialLoss:
    """LW with weights (K,) that depend on neither the set nor the scores, as in Theorem 1.

    >>> loss = fixed_weights([1.0, 1.0], "sigmoid", beta=3.0)
    >>> loss(torch.zeros(2), torch.tensor([True, False]))
    tensor(2., dtype=torch.float64)
    """
    w = as_row(weights, "weights")
    psi, beta = get_psi(psi), check_factor("beta", beta)

    def loss(scores: Tensor, inside: Tensor) -> Tensor:
        own = as_row(w, "weights", scores.shape[-1])
        return leveraged_weighted(scores, inside, own, psi, beta)

    return loss


def following_weights(psi: str | Psi = "sigmoid", beta: float = 1.0) -> PartialLoss:
    """LW with the weights of Eqs. (11) and (12): softmax of the scores on either side of s.

    >>> loss = following_weights("sigmoid", beta=3.0)
    >>> loss(torch.zeros(3), torch.tensor([True, False, False]))
    tensor(2.)
    """
    psi, beta = get_psi(psi), check_factor("beta", beta)

    def loss(scores: Tensor, inside: Tensor) -> Tensor:
        weights = leveraged_weights(scores, inside)
        return leveraged_weighted(scores, inside, weights, psi, beta)

    return loss


def exact_risk(
    loss: PartialLoss, g: Any, q: Rates, y: int, *, exclude_full: bool = False
) -> Tensor:
    """E[L(s, g) | Y = y] = Σ_{s∋y} P(s | y) L(s, g), summed over all 2^{K−1} sets.

    This is the supervised loss with which any partial loss is risk-consistent (appendix theorem). Of
    scores g of shape (..., K), K ≤ 16, it has shape (...).

    >>> loss = fixed_weights([1.0, 1.0, 1.0], "sigmoid", beta=2.0)
    >>> exact_risk(loss, [0.0, 0.0, 0.0], q=0.1, y=0)
    tensor(2.4000, dtype=torch.float64)
    """
    scores = as_row(g, "g")
    sets = enumerate_sets(scores.shape[-1], y)
    return loss(scores.unsqueeze(-2), sets) @ set_law(sets, q, y, exclude_full=exclude_full)


def marginal_risk(
    loss: PartialLoss,
    g: Any,
    q: Rates,
    posterior: Sequence[float] | Tensor,
    *,
    exclude_full: bool = False,
) -> Tensor:
    """E[L(s, g) | x] = Σ_s P(s | x) L(s, g) over the sets that are seen, whatever their label.

    The appendix theorem says that it equals Σ_y P(y | x) `exact_risk`(y), for any partial loss.

    >>> loss = fixed_weights([1.0, 1.0, 1.0], "sigmoid", beta=2.0)
    >>> marginal_risk(loss, [0.0, 0.0, 0.0], 0.1, [0.5, 0.3, 0.2])
    tensor(2.4000, dtype=torch.float64)
    """
    scores = as_row(g, "g")
    sets = enumerate_sets(scores.shape[-1])
    law = mixed_law(sets, q, posterior, exclude_full=exclude_full)
    return loss(scores.unsqueeze(-2), sets) @ law


def corrected_risk(
    g: Any,
    weights: Any,
    q: Rates,
    y: int,
    beta: float,
    psi: str | Psi = "sigmoid",
    *,
    exclude_full: bool = False,
) -> Tensor:
    """w_y ψ(g_y) + Σ_{z≠y} w_z [q_z ψ(g_z) + β (1 − q_z) ψ(−g_z)], in closed form. Shape (...).

    Without the full set the same holds with q_z replaced by (q_z − M) / (1 − M), M = Π_{z≠y} q_z.

    >>> corrected_risk([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], 0.1, y=0, beta=2.0)
    tensor(2.4000, dtype=torch.float64)
    """
    scores, rates = _scores_and_rates(g, q, y)
    if exclude_full:
        full = full_probability(rates)
        rates = (rates - full) / (1 - full)
    return _weighted_sum(scores, weights, rates, check_factor("beta", beta) * (1 - rates), psi)


def printed_risk(
    g: Any, weights: Any, q: Rates, y: int, beta: float, psi: str | Psi = "sigmoid"
) -> Tensor:
    """Theorem 1 as printed: w_y ψ(g_y) + Σ_{z≠y} w_z q_z [ψ(g_z) + β ψ(−g_z)]. Shape (...).

    >>> printed_risk([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], 0.1, y=0, beta=2.0)
    tensor(0.8000, dtype=torch.float64)
    """
    scores, rates = _scores_and_rates(g, q, y)
    away = check_factor("beta", beta) * rates.index_fill(0, torch.tensor(y), 0)
    return _weighted_sum(scores, weights, rates, away, psi)


def printed_gap(
    g: Any, weights: Any, q: Rates, y: int, beta: float, psi: str | Psi = "sigmoid"
) -> Tensor:
    """What the printed form has too much: β Σ_{z≠y} w_z (2 q_z − 1) ψ(−g_z). Shape (...).

    >>> printed_gap([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], 0.1, y=0, beta=2.0)
    tensor(-1.6000, dtype=torch.float64)
    """
    scores, rates = _scores_and_rates(g, q, y)
    excess = check_factor("beta", beta) * (2 * rates - 1).index_fill(0, torch.tensor(y), 0)
    return _weighted_sum(scores, weights, torch.zeros_like(rates), excess, psi)


def monte_carlo_risk(
    loss: PartialLoss,
    g: Any,
    q: Rates,
    y: int,
    *,
    draws: int = 100_000,
    confidence: float = 0.95,
    exclude_full: bool = False,
    seed: Seed = None,
) -> Estimate:
    """`exact_risk` of one row of scores, (K,), by drawing sets, with a normal confidence interval; for
    any K.

    >>> loss = fixed_weights([1.0, 1.0, 1.0], "sigmoid", beta=2.0)
    >>> 2.4 in monte_carlo_risk(loss, [0.0, 0.0, 0.0], q=0.1, y=0, seed=0)
    True
    """
    check_integer("draws", draws, low=2)
    check_share("confidence", confidence)
    scores, rates = _scores_and_rates(g, q, y)
    if scores.ndim != 1:
        raise no_shape("g", scores, "one row of scores, (K,)")
    Q = np.eye(len(rates))
    Q[y] = rates.numpy()
    labels = np.full(draws, y)
    sets = class_dependent(labels, Q, classes=range(len(Q)), exclude_full=exclude_full, seed=seed)
    values = loss(scores, torch.from_numpy(sets.to_mask())).detach().numpy()
    mean, error = float(values.mean()), float(values.std(ddof=1) / draws**0.5)
    half = float(norm.ppf(0.5 + confidence / 2)) * error
    return Estimate(mean, error, mean - half, mean + half, draws)


def _scores_and_rates(g: Any, q: Rates, y: int) -> tuple[Tensor, Tensor]:
    scores = as_row(g, "g")
    return scores, rates_of(q, y, scores.shape[-1])


def _weighted_sum(
    scores: Tensor, weights: Any, toward: Tensor, away: Tensor, psi: str | Psi
) -> Tensor:
    """Σ_z w_z [toward_z ψ(g_z) + away_z ψ(−g_z)]."""
    psi = get_psi(psi)
    w = as_row(weights, "weights", scores.shape[-1])
    return (w * (toward * psi.toward(scores) + away * psi.away(scores))).sum(-1)
