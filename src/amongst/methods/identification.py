"""What RC and PRODEN share: the cross-entropy, weighted by what the scores say of the candidates."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from torch import Tensor

from amongst.losses import candidate_weights, initial_weights, weighted_cross_entropy
from amongst.methods.base import LossForm, Method, Refresh, needed

__all__ = ["Identification"]


@dataclass(frozen=True)
class Identification(Method):
    """−Σ_{z∈s} c_z log p_z with c from softmax(g); a subclass says from which pass."""

    @property
    @abstractmethod
    def when(self) -> Refresh:
        """From which pass the weights come."""

    @property
    def loss_form(self) -> LossForm:
        """Eq. (3) with the cross-entropy and β = 0."""
        return LossForm("stored")

    def init(self, inside: Tensor) -> Tensor:
        """1/|s| on candidates."""
        return initial_weights(inside) * inside

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        """−Σ_{z∈s} c_z log p_z."""
        return weighted_cross_entropy(scores, inside, needed(self, weights))

    def update(self, scores: Tensor, inside: Tensor) -> Tensor:
        """softmax(g) renormalised on s."""
        return candidate_weights(scores, inside)
