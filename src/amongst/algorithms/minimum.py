"""Minimum: ψ of the best candidate, the hard form of PRODEN."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from amongst.algorithms._base import LossForm
from amongst.algorithms.average import Average
from amongst.losses import minimum


@dataclass(frozen=True)
class Minimum(Average):
    """min_{z∈s} ψ(g_z): only the best candidate counts, the one of the largest g_z + log π_z where
    candidates have weights π.

    Examples
    --------
    >>> import torch
    >>> Minimum().loss(torch.tensor([[9.0, 0.0, 0.0]]), torch.tensor([[True, True, False]]), None)
    tensor([0.0002])
    """

    name, title = "minimum", "Minimum"
    reference = "Lv et al., Progressive Identification of True Labels, ICML 2020"

    @property
    def loss_form(self) -> LossForm:
        """Eq. (3) with all weight on the best candidate and β = 0."""
        return LossForm("best", self.psi)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        return minimum(scores, inside, self.psi, weights)
