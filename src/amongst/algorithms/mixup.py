"""Mixup: PRODEN on convex combinations of rows and of what is believed of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from amongst.algorithms._base import Batch
from amongst.algorithms._parts import Believing, full, mixing_share
from amongst.losses import candidate_weights


@dataclass(eq=False)
class Mixup(Believing):
    """−Σ_z (λ c_z + (1 − λ) c'_z) log p_z of λ x + (1 − λ) x', with x' another row of the batch and λ from
    Beta(`mix`, `mix`). A row's beliefs c are the softmax over s of its own scores, a moving average
    with memory `keep`.

    >>> algorithm = Mixup().begin(torch.nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> algorithm.beliefs[0]
    tensor([0.3333, 0.3333, 0.3333])
    """

    name, title = "mixup", "PRODEN with mixup"
    reference = "Zhang et al., mixup: Beyond Empirical Risk Minimization, ICLR 2018"

    mix: float = 1.0
    keep: float = 0.9

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        x, beliefs = batch.x, self.beliefs[batch.index]
        scores = full(self.network(x))
        others = torch.randperm(len(x), device=x.device)
        share = mixing_share(self.mix, x)
        mixed = full(self.network(x.lerp(x[others], 1 - share)))
        target = beliefs.lerp(beliefs[others], 1 - share)
        return -(target * mixed.log_softmax(-1)).sum(-1), scores

    def after_step(self, batch: Batch, scores: Tensor) -> None:
        believed = candidate_weights(scores, batch.inside)
        self.beliefs[batch.index] = believed.lerp(self.beliefs[batch.index], self.keep)
