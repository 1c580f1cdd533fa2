"""The partial-label losses, as pure functions on the last axis.

Notation: scores g of shape (..., K); inside, the bool mask [z ∈ s], of the same shape; weights of
the same shape. What lies on the other side of s is multiplied by 0 rather than masked away, so that
a NaN score anywhere makes the loss NaN. Everything returns one value a row, shape (...), and reduces
nothing else, so that one function serves one model and a population. `beta` and `alpha` broadcast
over (...). A mask of numbers is refused where its complement counts, since ~1 is −2.
"""

from __future__ import annotations

import torch
from torch import Tensor

from amongst.checks import check_choice
from amongst.errors import InputError
from amongst.losses.door import check_factor
from amongst.losses.psi import Psi, get_psi

__all__ = [
    "average",
    "best_candidate",
    "candidate_weights",
    "classifier_consistent",
    "clpl",
    "clpl_mean",
    "initial_weights",
    "leveraged_weighted",
    "leveraged_weights",
    "minimum",
    "weighted_cross_entropy",
]

Number = float | Tensor

INITIAL = ("paper", "official")
"""Rules for weights before any score is known."""


def leveraged_weighted(
    scores: Tensor,
    inside: Tensor,
    weights: Tensor,
    psi: str | Psi = "sigmoid",
    beta: Number = 1.0,
    alpha: Number = 1.0,
) -> Tensor:
    """The Leveraged Weighted loss, Eq. (3) of the paper, with the ablation's α.

    α Σ_{z∈s} w_z ψ(g_z) + β Σ_{z∉s} w_z ψ(−g_z); a full set has no second term.

    Parameters
    ----------
    scores, inside, weights : shape (..., K).
    psi : name of a binary loss, or a `Psi`; ``"sigmoid"`` by default, where `LWLoss` and
        `LWClassifier` have ``"cross_entropy"``.
    beta, alpha : numbers of at least 0, or tensors that broadcast over (...).

    Returns
    -------
    Tensor, shape (...).

    Examples
    --------
    >>> scores = torch.tensor([[2.0, 0.0, -2.0]])
    >>> inside = torch.tensor([[True, True, False]])
    >>> leveraged_weighted(scores, inside, initial_weights(inside), "sigmoid", beta=2.0)
    tensor([0.5480])
    """
    psi = get_psi(psi)
    beta, alpha = _factor("beta", beta), _factor("alpha", alpha)
    toward = (weights * psi.toward(scores) * inside).sum(-1)
    away = (weights * psi.away(scores) * _outside(inside)).sum(-1)
    return alpha * toward + beta * away


def initial_weights(
    inside: Tensor, rule: str = "paper", dtype: torch.dtype | None = None
) -> Tensor:
    """Weights before any score is known, shape (..., K).

    ``"paper"``: 1/|s| inside, 1/(K−|s|) outside. ``"official"``: 1/K everywhere.

    >>> initial_weights(torch.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 1.0000])
    """
    check_choice("rule", rule, INITIAL)
    dtype = dtype or torch.get_default_dtype()
    outside, k = _outside(inside), inside.shape[-1]
    if rule == "official":
        return torch.full(inside.shape, 1 / k, dtype=dtype, device=inside.device)
    size = inside.sum(-1, keepdim=True, dtype=dtype)
    return torch.where(outside, 1 / (k - size).clamp(min=1), 1 / size)


def leveraged_weights(scores: Tensor, inside: Tensor) -> Tensor:
    """w_z of Eqs. (11) and (12): softmax over s for z ∈ s, and over the complement for z ∉ s.

    Each side sums to 1; where s is full the outside is empty. Shape (..., K).

    >>> inside = torch.tensor([True, True, False])
    >>> leveraged_weights(torch.tensor([1.0, 1.0, 5.0]), inside)
    tensor([0.5000, 0.5000, 1.0000])
    """
    return candidate_weights(scores, inside) + candidate_weights(scores, _outside(inside))


def candidate_weights(scores: Tensor, inside: Tensor) -> Tensor:
    """softmax(g) renormalised on s, 0 outside (and everywhere, if s is empty): (..., K).

    >>> candidate_weights(torch.zeros(3), torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    floor = torch.finfo(scores.dtype).min
    return scores.masked_fill(_outside(inside), floor).softmax(-1) * inside


def classifier_consistent(scores: Tensor, inside: Tensor) -> Tensor:
    """CC: −log Σ_{z∈s} p_z, as logsumexp over all minus logsumexp over s. Shape (...).

    >>> classifier_consistent(torch.zeros(4), torch.tensor([True, True, False, False]))
    tensor(0.6931)
    """
    return scores.logsumexp(-1) - scores.masked_fill(_outside(inside), float("-inf")).logsumexp(-1)


def weighted_cross_entropy(scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
    """RC and PRODEN: −Σ_{z∈s} c_z log p_z. Shape (...).

    >>> inside = torch.tensor([True, True, False])
    >>> weighted_cross_entropy(torch.zeros(3), inside, initial_weights(inside))
    tensor(1.0986)
    """
    return (weights * -scores.log_softmax(-1) * inside).sum(-1)


def average(scores: Tensor, inside: Tensor, psi: str | Psi = "cross_entropy") -> Tensor:
    """The mean of ψ(g_z) over the candidates (Jin & Ghahramani): LW with β = 0, w = 1/|s|.

    >>> average(torch.zeros(3), torch.tensor([True, True, False]), "sigmoid")
    tensor(0.5000)
    """
    return (get_psi(psi).toward(scores) * inside).sum(-1) / inside.sum(-1)


def minimum(scores: Tensor, inside: Tensor, psi: str | Psi = "cross_entropy") -> Tensor:
    """ψ(max_{z∈s} g_z) = min_{z∈s} ψ(g_z): LW with β = 0 and all weight on the best candidate.

    >>> minimum(torch.tensor([3.0, 0.0, 9.0]), torch.tensor([True, True, False]), "hinge")
    tensor(0.)
    """
    return (get_psi(psi).toward(scores) * best_candidate(scores, inside)).sum(-1)


def clpl(scores: Tensor, inside: Tensor, psi: str | Psi = "squared_hinge") -> Tensor:
    """CLPL as the LW paper writes it: ψ(max_{z∈s} g_z) + Σ_{z∉s} ψ(−g_z). Shape (...).

    >>> clpl(torch.tensor([3.0, 0.0, -3.0]), torch.tensor([True, True, False]))
    tensor(0.)
    """
    psi = get_psi(psi)
    return minimum(scores, inside, psi) + (psi.away(scores) * _outside(inside)).sum(-1)


def clpl_mean(scores: Tensor, inside: Tensor, psi: str | Psi = "squared_hinge") -> Tensor:
    """CLPL in Cour's own convex form: ψ(mean_{z∈s} g_z) + Σ_{z∉s} ψ(−g_z). Shape (...).

    ψ is applied to the mean score by itself, so a ψ that needs the whole row (cross entropy) is
    applied to the row in which every candidate has that mean score.

    >>> clpl_mean(torch.tensor([3.0, 1.0, -3.0]), torch.tensor([True, True, False]))
    tensor(0.)
    """
    psi, outside = get_psi(psi), _outside(inside)
    mean = (scores * inside).sum(-1, keepdim=True) / inside.sum(-1, keepdim=True)
    levelled = torch.where(outside, scores, mean)
    return average(levelled, inside, psi) + (psi.away(scores) * outside).sum(-1)


def best_candidate(scores: Tensor, inside: Tensor) -> Tensor:
    """One-hot argmax_{z∈s} g_z: 1 at the candidate with the highest score, shape (..., K).

    >>> best_candidate(torch.tensor([3.0, 0.0, 9.0]), torch.tensor([True, True, False]))
    tensor([1., 0., 0.])
    """
    held = scores.masked_fill(_outside(inside), float("-inf"))
    return torch.zeros_like(held).scatter(-1, held.argmax(-1, keepdim=True), 1.0)


def _factor(name: str, value: Number) -> Number:
    """β or α, looked at where it has a value: while it compiles, one that changes has none."""
    given = isinstance(value, Tensor) or torch.compiler.is_compiling()
    return value if given else check_factor(name, value)


def _outside(inside: Tensor) -> Tensor:
    """The mask [z ∉ s]."""
    if not isinstance(inside, Tensor):
        raise InputError(
            f"inside is of type {type(inside).__name__}; it must be a bool tensor. Use "
            "torch.as_tensor(inside)."
        )
    if inside.dtype != torch.bool:
        raise InputError(
            f"inside has dtype {inside.dtype}; it must be a bool mask. Use inside.bool()."
        )
    return ~inside
