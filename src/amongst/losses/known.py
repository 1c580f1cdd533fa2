"""What is known of a row's label beyond its candidate set, before any feature is seen: a prior π over the
candidates, such as votes, with Σ_{z∈s} π_z = 1 and 0 outside s; see docs/theory.md.

A `Method` of which `uses_prior` is True meets it in one of two ways. One with weights gets those that the
scores g_z + log π_z ask for on s: of softmax weights these are ∝ π_z p_z. One without gets π itself as the
weights of its loss.
"""

from __future__ import annotations

import torch
from torch import Tensor

from amongst.candidates import CandidateSets


def prior_of(
    sets: CandidateSets, dtype: torch.dtype, device: torch.device | str | None = None
) -> Tensor | None:
    """π of each row, shape (n, K), or None where candidates weigh alike.

    >>> from amongst import as_candidates
    >>> prior_of(as_candidates([{"a": 3, "b": 1}, {"b": 1}]), torch.float32)
    tensor([[0.7500, 0.2500],
            [0.0000, 1.0000]])
    """
    if sets.weights is None:
        return None
    return torch.tensor(sets.prior, dtype=dtype, device=device)


def with_prior(scores: Tensor, inside: Tensor, prior: Tensor) -> Tensor:
    """g_z + log π_z on the candidates, g_z elsewhere: shape (..., K)."""
    return scores + torch.where(inside, prior, 1).log()


def first_with_prior(weights: Tensor | None, inside: Tensor, prior: Tensor) -> Tensor:
    """The weights before the first step, of those that a method has without a prior: (..., K).

    >>> inside = torch.tensor([True, True, False])
    >>> first_with_prior(torch.tensor([0.5, 0.5, 1.0]), inside, torch.tensor([0.75, 0.25, 0.0]))
    tensor([0.7500, 0.2500, 1.0000])
    """
    if weights is None:
        return prior
    size = inside.sum(-1, keepdim=True)
    return weights * torch.where(inside, prior * size, 1)
