"""What is known of a row's label beyond its candidate set, before any feature is seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from amongst.candidates import CandidateSets

Method = Any
"""An `amongst.algorithms.Method`, which stands above this room."""


@dataclass(frozen=True, eq=False)
class Known:
    """A prior π over the candidates, such as votes; see docs/theory.md.

    A `Method` of which `uses_prior` is True meets it in one of two ways. One with weights gets
    those that the scores g_z + log π_z ask for on s: of softmax weights these are ∝ π_z p_z. One
    without gets π itself as the weights of its loss.

    Attributes
    ----------
    prior : shape (..., K), π with Σ_{z∈s} π_z = 1 and 0 outside s.

    Examples
    --------
    >>> from amongst.algorithms import PRODEN
    >>> known, inside = Known(torch.tensor([0.75, 0.25, 0.0])), torch.tensor([True, True, False])
    >>> known.first(PRODEN(), inside)
    tensor([0.7500, 0.2500, 0.0000])
    >>> known.update(PRODEN(), torch.tensor([0.0, 0.0, 9.0]), inside)
    tensor([0.7500, 0.2500, 0.0000])
    """

    prior: Tensor

    @property
    def parts(self) -> list[Tensor]:
        """What it holds, for a digest of the data."""
        return [self.prior]

    @classmethod
    def of_sets(
        cls, sets: CandidateSets, dtype: torch.dtype, device: torch.device | str | None = None
    ) -> Self | None:
        """What the sets' weights say, or None where candidates weigh alike."""
        if sets.weights is None:
            return None
        return cls(torch.tensor(sets.prior, dtype=dtype, device=device))

    def __getitem__(self, rows: Any) -> Self:
        return replace(self, prior=self.prior[rows])

    def to(self, *place: Any) -> Self:
        """On another device, or in another precision."""
        return replace(self, prior=self.prior.to(*place))

    def first(self, method: Method, inside: Tensor) -> Tensor | None:
        """The weights before the first step, shape (..., K), or None for a method without any."""
        weights: Tensor | None = method.init(inside)
        if not method.uses_prior:
            return weights
        if weights is None:
            return self.prior
        size = inside.sum(-1, keepdim=True)
        return weights * torch.where(inside, self.prior * size, 1)

    def update(self, method: Method, scores: Tensor, inside: Tensor) -> Tensor:
        """The weights that these scores ask for, shape (..., K)."""
        fresh: Tensor = method.update(
            self.weigh(scores, inside) if method.uses_prior else scores, inside
        )
        return fresh

    def weigh(self, scores: Tensor, inside: Tensor) -> Tensor:
        """g_z + log π_z on the candidates, g_z elsewhere: shape (..., K)."""
        return scores + torch.where(inside, self.prior.to(scores.dtype), 1).log()
