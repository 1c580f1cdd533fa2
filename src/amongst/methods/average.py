"""Average: the mean of ψ over the candidates (Jin & Ghahramani, 2002)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from amongst.losses import average, get_psi
from amongst.methods.base import LossForm, Method
from amongst.methods.proden import PRODEN

__all__ = ["Average"]


@dataclass(frozen=True)
class Average(Method):
    """The mean of ψ(g_z) over z ∈ s: every candidate counts alike.

    Examples
    --------
    >>> import torch
    >>> Average().loss(torch.zeros(1, 3), torch.tensor([[True, True, False]]), None)
    tensor([1.0986])
    """

    name: ClassVar[str] = "average"
    title: ClassVar[str] = "Average"
    reference: ClassVar[str] = "Jin & Ghahramani, Learning with Multiple Labels, 2002"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = PRODEN.grid

    psi: str = "cross_entropy"

    def __post_init__(self) -> None:
        get_psi(self.psi, trainable=True)

    @property
    def loss_form(self) -> LossForm:
        """Eq. (3) with weights 1/|s| and β = 0."""
        return LossForm("uniform", self.psi)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        """The pure function of that name."""
        return average(scores, inside, self.psi)
