"""PRODEN: progressive identification (Lv et al., ICML 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from torch import Tensor

from amongst.algorithms._base import LossForm, Method, Refresh, needed
from amongst.losses import candidate_weights, initial_weights, weighted_cross_entropy


@dataclass(frozen=True)
class PRODEN(Method):
    """−Σ_{z∈s} c_z log p_z, with c the softmax over s of the scores that gave the row's last loss.

    Examples
    --------
    >>> import torch
    >>> method, inside = PRODEN(), torch.tensor([[True, True, False]])
    >>> method.loss(torch.zeros(1, 3), inside, method.init(inside))
    tensor([1.0986])
    """

    name, title = "proden", "PRODEN"
    reference = "Lv et al., Progressive Identification of True Labels, ICML 2020"
    grid = MappingProxyType(
        {
            "lr": (1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
            "weight_decay": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
        }
    )
    uses_prior = True
    loss_form = LossForm("stored")

    @property
    def when(self) -> Refresh:
        return "same"

    def init(self, inside: Tensor) -> Tensor:
        return initial_weights(inside) * inside

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        return weighted_cross_entropy(scores, inside, needed(self, weights))

    def update(self, scores: Tensor, inside: Tensor) -> Tensor:
        return candidate_weights(scores, inside)
