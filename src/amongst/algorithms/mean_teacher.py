"""Mean teacher: PRODEN's loss with what a slow average of the network believes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from amongst.algorithms._base import Algorithm, Batch
from amongst.algorithms._parts import follow, full, slow_copy
from amongst.losses import candidate_weights, weighted_cross_entropy


@dataclass(eq=False)
class MeanTeacher(Algorithm):
    """−Σ_{z∈s} c_z log p_z with c the softmax over s of a teacher's scores on the second view; after each
    step the teacher moves by 1 − `ema` to the network, early on by 1/t, the mean of all t steps. It is
    the teacher that predicts.

    >>> algorithm = MeanTeacher().begin(nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> algorithm(torch.zeros(1, 2)).shape
    torch.Size([1, 3])
    """

    name, title, views = "mean-teacher", "Mean teacher", 2
    reference = "Tarvainen & Valpola, Mean teachers are better role models, NeurIPS 2017"

    ema: float = 0.99

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        self.network, self.teachers = network, slow_copy(network)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.teachers[0](x)
        return scores

    def predictor(self) -> nn.Module:
        return self.teachers[0]

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        scores = full(self.network(batch.views[0]))
        with torch.no_grad():
            believed = candidate_weights(full(self.teachers[0](batch.views[1])), batch.inside)
        return weighted_cross_entropy(scores, batch.inside, believed), scores

    def after_step(self, batch: Batch, scores: Tensor) -> None:
        self.steps.add_(1)
        follow(self.teachers[0], self.network, (1 / self.steps).clamp(min=1 - self.ema))
