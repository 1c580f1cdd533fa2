"""Average: the mean of ψ over the candidates (Jin & Ghahramani, 2002)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from amongst.algorithms._base import LossForm, Method
from amongst.algorithms.proden import PRODEN
from amongst.losses import average, get_psi


@dataclass(frozen=True)
class Average(Method):
    """The mean of ψ(g_z) over z ∈ s, by the weights of the candidates where they have some.

    Examples
    --------
    >>> import torch
    >>> Average().loss(torch.zeros(1, 3), torch.tensor([[True, True, False]]), None)
    tensor([1.0986])
    """

    name, title = "average", "Average"
    reference = "Jin & Ghahramani, Learning with Multiple Labels, 2002"
    grid, uses_prior = PRODEN.grid, True

    psi: str = "cross_entropy"

    def __post_init__(self) -> None:
        get_psi(self.psi, trainable=True)

    @property
    def loss_form(self) -> LossForm:
        """Eq. (3) with weights 1/|s| and β = 0."""
        return LossForm("uniform", self.psi)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        return average(scores, inside, self.psi, weights)
