"""CC: the classifier-consistent method (Feng et al., NeurIPS 2020)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from amongst.algorithms._base import LossForm, Method
from amongst.algorithms.rc import ADAM_GRID
from amongst.losses import classifier_consistent


@dataclass(frozen=True)
class CC(Method):
    """−log Σ_{z∈s} p_z; with weights π of the candidates −log Σ π_z p_z.

    Examples
    --------
    >>> import torch
    >>> CC().loss(torch.zeros(1, 4), torch.tensor([[True, True, False, False]]), None)
    tensor([0.6931])
    """

    name, title = "cc", "CC"
    reference = "Feng et al., Provably Consistent Partial-Label Learning, 2020"
    optimizer, lr, weight_decay, grid = "adam", 1e-3, 1e-5, ADAM_GRID
    uses_prior = True
    loss_form = LossForm("consistent")

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        return classifier_consistent(scores, inside, weights)
