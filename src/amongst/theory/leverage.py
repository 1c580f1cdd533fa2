"""What β does with fixed weights: thresholds, and the forms that the risk takes.

For symmetric ψ (ψ(t) + ψ(−t) = 1) the corrected risk is Σ_z c_z ψ(g_z) + constant with c_y = w_y and
c_z = w_z [q_z − β (1 − q_z)] for z ≠ y. A wrong label is pushed down only where c_z < 0. What β does
where the weights sum to 1 on either side, as in Algorithm 1, is in `amongst.theory.auto`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import binom
from torch import Tensor

from amongst.checks import as_numbers, check_factor, check_number
from amongst.errors import InputError
from amongst.theory.auto import _quotient, _ratio, size_law
from amongst.theory.law import Rates, as_row, check_rates, rates_of


def beta_threshold(q: Any) -> Any:
    """The odds q / (1 − q), of the shape of q: a wrong label is pushed down only if β is above them.

    In a square matrix with unit diagonal (class-dependent rates) the diagonal has threshold 0: the true
    label needs none.

    >>> beta_threshold([0.1, 0.5, 0.9]).round(2).tolist()
    [0.11, 1.0, 9.0]
    >>> from amongst.candidates import case
    >>> float(beta_threshold(case(3, 10)).max())
    1.0
    """
    rates = check_rates(as_numbers(q, "q")).numpy()
    odds = _quotient(rates, 1 - rates)
    if rates.ndim == 2 and rates.shape[0] == rates.shape[1] and (np.diag(rates) == 1).all():
        np.fill_diagonal(odds, 0)
    return float(odds) if rates.ndim == 0 else odds


def ova_beta(q: Any) -> Any:
    """(1 + q) / (1 − q): with equal weights and this β the risk is one-versus-all.

    It solves β (1 − q) − q = 1, so that the risk is ψ(g_y) + Σ_{z≠y} ψ(−g_z) + (K−1) q; no weight
    depends on the unknown y. The paper's w_z = 1/q_z does (its w_y is 1), and cannot be set.

    >>> [round(ova_beta(q), 2) for q in (0.0, 0.1, 0.5, 0.9)]
    [1.0, 1.22, 3.0, 19.0]
    """
    rates = check_rates(as_numbers(q, "q")).numpy()
    beta = _quotient(1 + rates, 1 - rates)
    return float(beta) if rates.ndim == 0 else beta


def ova_weights(q: Rates, y: int, beta: float, K: int | None = None) -> Tensor:
    """w_y = 1 and w_z = 1 / [β (1 − q_z) − q_z]: the risk is then one-versus-all, shape (K,).

    ψ(g_y) + Σ_{z≠y} ψ(−g_z) + Σ_{z≠y} w_z q_z. It exists only for β above every threshold; at
    β = 2 q / (1 − q) it is the paper's 1/q. K is needed where q is one number.

    >>> ova_weights(0.5, y=0, beta=2.0, K=3)
    tensor([1., 2., 2.], dtype=torch.float64)
    """
    if K is None and not np.shape(q):
        problem = "is one number, so K is needed too: the number of classes."
        raise InputError(problem, code="class-count", argument="q", got=q)
    rates = rates_of(q, y, np.shape(q)[-1] if K is None else K)
    push = check_factor("beta", beta) * (1 - rates) - rates
    push[y] = 1
    if not (push > 0).all():
        limit = float(beta_threshold(rates.numpy()[np.arange(len(rates)) != y]).max())
        problem = f"must be above the largest threshold q/(1-q) = {limit:g}."
        raise InputError(problem, code="no-such-number", argument="beta", got=beta)
    return 1 / push


def symmetric_form(weights: Any, q: Rates, y: int, beta: float) -> tuple[Tensor, Tensor]:
    """(c, constant) with risk = Σ_z c_z ψ(g_z) + constant for symmetric ψ; c of shape (K,).

    With β at the odds of q only ψ(g_y) is left; with twice the odds a wrong label gets
    w_z q_z ψ(−g_z): the paper's cases 2 and 3, which it prints for β = 1 and 2, where q = 1/2.

    >>> symmetric_form([1.0, 1.0, 1.0], 0.75, y=0, beta=3.0)
    (tensor([1., 0., 0.], dtype=torch.float64), tensor(1.5000, dtype=torch.float64))
    """
    w = as_row(weights, "weights")
    rates = rates_of(q, y, w.shape[-1])
    away = check_factor("beta", beta) * (1 - rates)
    return w * (rates - away), (w * away).sum()


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
