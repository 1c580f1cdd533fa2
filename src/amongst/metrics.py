"""How good scores are: against true labels, or against candidate sets alone.

Pure functions on tensors: scores of shape (..., n, K), labels (n,) or inside (n, K); the result has
shape (...), so that one function serves one model and a population. Labels and masks may be on
another device than the scores. A NaN score makes it NaN: the network diverged, and predicts nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from amongst.errors import InputError

__all__ = ["accuracy", "approximated_accuracy", "covering_rate"]


def accuracy(scores: Tensor, labels: Tensor) -> Tensor:
    """Share of rows whose highest score is the true label's: mean of [argmax g = y].

    >>> accuracy(torch.eye(3), torch.tensor([0, 1, 1]))
    tensor(0.6667)
    """
    if labels.shape[-1:] != scores.shape[-2:-1]:
        raise InputError(
            f"has shape {tuple(labels.shape)} for scores of shape {tuple(scores.shape)}; it must "
            f"have one label a row, shape {tuple(scores.shape[-2:-1])}: flatten a column of them.",
            code="shape",
            argument="labels",
        )
    predicted, is_nan = _predicted(scores)
    return (predicted == labels.to(scores.device)).float().masked_fill(is_nan, torch.nan).mean(-1)


def covering_rate(scores: Tensor, inside: Tensor) -> Tensor:
    """Share of rows whose prediction is one of their candidates: mean of [argmax g ∈ s].

    >>> covering_rate(torch.eye(2), torch.tensor([[True, True], [True, False]]))
    tensor(0.5000)
    """
    _check_masks(scores, inside)
    predicted, is_nan = _predicted(scores)
    here = inside.to(scores.device).expand_as(scores)
    covered = here.gather(-1, predicted.unsqueeze(-1)).squeeze(-1)
    return covered.float().masked_fill(is_nan, torch.nan).mean(-1)


def approximated_accuracy(scores: Tensor, inside: Tensor) -> Tensor:
    """Mean of p_ŷ / Σ_{z∈s} p_z for the predicted ŷ, 0 where ŷ ∉ s: a guess at the accuracy.

    >>> approximated_accuracy(torch.zeros(1, 4), torch.tensor([[True, True, False, False]]))
    tensor(0.5000)
    """
    _check_masks(scores, inside)
    whole = scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32))
    p = whole * inside.to(scores.device)
    predicted = scores.argmax(-1, keepdim=True)
    share = p.gather(-1, predicted).squeeze(-1) / p.sum(-1).clamp(min=1e-30)
    return share.float().mean(-1)


def _predicted(scores: Tensor) -> tuple[Tensor, Tensor]:
    """argmax g, and whether a score of the row is NaN, which then is the largest; (..., n) each."""
    best = scores.max(-1)
    return best.indices, best.values.isnan()


def _check_masks(scores: Tensor, inside: Tensor) -> None:
    if inside.shape[-2:] != scores.shape[-2:]:
        raise InputError(
            f"has shape {tuple(inside.shape)} for scores of shape {tuple(scores.shape)}; it must "
            f"have one entry for each row and class, shape {tuple(scores.shape[-2:])}.",
            code="shape",
            argument="inside",
        )
