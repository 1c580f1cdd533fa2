"""What β does under the corrected risk when the weights are fixed: thresholds, cases, OVA.

For symmetric ψ (ψ(t) + ψ(−t) = 1) the corrected risk is Σ_z c_z ψ(g_z) + constant with c_y = w_y
and c_z = w_z [q_z − β (1 − q_z)] for z ≠ y. A wrong label is pushed down only where c_z < 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from amongst.checks import check_integer
from amongst.errors import InputError
from amongst.losses.door import check_factor
from amongst.theory.law import Rates, as_numbers, as_row, rates_of

__all__ = ["beta_threshold", "ova_beta", "ova_weights", "symmetric_form"]

Array = npt.NDArray[np.float64]


def beta_threshold(q: Any) -> Any:
    """The odds q / (1 − q): a wrong label is pushed down only if β is above them.

    Parameters
    ----------
    q : number or array of rates. In a square matrix with unit diagonal (class-dependent rates) the
        diagonal has threshold 0: the true label needs none.

    Returns
    -------
    Of the shape of q; infinite where q = 1.

    Examples
    --------
    >>> beta_threshold([0.1, 0.5, 0.9]).round(2).tolist()
    [0.11, 1.0, 9.0]
    >>> from amongst.candidates import case
    >>> float(beta_threshold(case(3, 10)).max())
    1.0
    """
    rates = _rates(q)
    with np.errstate(divide="ignore"):
        odds = rates / (1 - rates)
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
    rates = _rates(q)
    with np.errstate(divide="ignore"):
        beta = (1 + rates) / (1 - rates)
    return float(beta) if rates.ndim == 0 else beta


def ova_weights(q: Rates, y: int, beta: float, K: int | None = None) -> Tensor:
    """w_y = 1 and w_z = 1 / [β (1 − q_z) − q_z]: the risk is then one-versus-all, shape (K,).

    ψ(g_y) + Σ_{z≠y} ψ(−g_z) + Σ_{z≠y} w_z q_z. It exists only for β above every threshold; at
    β = 2 q / (1 − q) it is the paper's 1/q.

    Parameters
    ----------
    q : rates, see `amongst.theory.law`.
    y : the true label.
    beta : above max_z q_z / (1 − q_z).
    K : needed where q is one number.

    Examples
    --------
    >>> ova_weights(0.5, y=0, beta=2.0, K=3)
    tensor([1., 2., 2.], dtype=torch.float64)
    """
    rates = rates_of(q, y, _class_count(q) if K is None else check_integer("K", K, low=1))
    push = check_factor("beta", beta) * (1 - rates) - rates
    push[y] = 1
    if not (push > 0).all():
        limit = float(beta_threshold(rates.numpy()[np.arange(len(rates)) != y]).max())
        raise InputError(f"beta={beta!r} must be above the largest threshold q/(1-q) = {limit:g}.")
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


def _class_count(q: Rates) -> int:
    shape = np.shape(q)
    if not shape:
        raise InputError(f"q={q!r} is one number, so K is needed too: the number of classes.")
    return int(shape[-1])


def _rates(q: Any) -> Array:
    rates = as_numbers(q, "q").numpy()
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InputError("q must hold probabilities between 0 and 1.")
    return rates
