"""CC: the classifier-consistent method (Feng et al., NeurIPS 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from amongst.losses import classifier_consistent
from amongst.methods.base import LossForm, Method, Optimizer
from amongst.methods.rc import ADAM_GRID

__all__ = ["CC"]


@dataclass(frozen=True)
class CC(Method):
    """−log Σ_{z∈s} p_z; no weights.

    Examples
    --------
    >>> import torch
    >>> CC().loss(torch.zeros(1, 4), torch.tensor([[True, True, False, False]]), None)
    tensor([0.6931])
    """

    name: ClassVar[str] = "cc"
    title: ClassVar[str] = "CC"
    reference: ClassVar[str] = "Feng et al., Provably Consistent Partial-Label Learning, 2020"
    optimizer: ClassVar[Optimizer] = "adam"
    lr: ClassVar[float] = 1e-3
    weight_decay: ClassVar[float] = 1e-5
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = ADAM_GRID

    @property
    def loss_form(self) -> LossForm:
        """−log Σ_{z∈s} p_z."""
        return LossForm("consistent")

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        """−log Σ_{z∈s} p_z."""
        return classifier_consistent(scores, inside)
