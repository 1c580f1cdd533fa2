"""Minimum: ψ of the best candidate, the hard form of PRODEN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from amongst.losses import get_psi, minimum
from amongst.methods.base import LossForm, Method
from amongst.methods.proden import PRODEN

__all__ = ["Minimum"]


@dataclass(frozen=True)
class Minimum(Method):
    """min_{z∈s} ψ(g_z): only the best candidate counts.

    Examples
    --------
    >>> import torch
    >>> Minimum().loss(torch.tensor([[9.0, 0.0, 0.0]]), torch.tensor([[True, True, False]]), None)
    tensor([0.0002])
    """

    name: ClassVar[str] = "minimum"
    title: ClassVar[str] = "Minimum"
    reference: ClassVar[str] = "Lv et al., Progressive Identification of True Labels, ICML 2020"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = PRODEN.grid

    psi: str = "cross_entropy"

    def __post_init__(self) -> None:
        get_psi(self.psi, trainable=True)

    @property
    def loss_form(self) -> LossForm:
        """Eq. (3) with all weight on the best candidate and β = 0."""
        return LossForm("best", self.psi)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        """The pure function of that name."""
        return minimum(scores, inside, self.psi)
