"""RECORDS: dynamic rebalancing of beliefs for long-tailed classes (Hong et al., ICLR 2023)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.algorithms._base import Batch
from amongst.algorithms._parts import Balance, Believing, agreed, mixing_share, scores_of_views
from amongst.losses import candidate_weights, get_psi
from amongst.models.features import Shifted


@dataclass(eq=False)
class RECORDS(Believing):
    """Σ_views [−Σ_{z∉s} log(1 − p_z) + KL(c ‖ p)], c over s from the geometric mean of all views at the
    row's last visit, after what the network says on average is taken off (see `Balance`): CORR of the
    paper, with RECORDS. Predictions are without it too. From the second epoch on, `mixup` times the
    same loss of views mixed with those of another row, by λ = max(λ, 1 − λ) of Beta(`mix`, `mix`).

    >>> algorithm = RECORDS().begin(nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> algorithm.balance.mean
    tensor([0., 0., 0.])
    """

    name, title = "records", "RECORDS"
    reference = "Hong et al., Long-Tailed PLL via Dynamic Rebalancing, ICLR 2023"

    views: int = 2
    memory: float = 0.9
    mixup: float = 1.0
    mix: float = 4.0

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        super().build(network, inside, dtype)
        self.balance = Balance(inside.shape[1], self.memory, dtype)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.balance(self.network(x))
        return scores

    def predictor(self) -> nn.Module:
        return Shifted(self.network, -self.balance.mean.log_softmax(-1))

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        believed, n = self.beliefs[batch.index], len(batch.views)
        mixes = self.mixup > 0 and batch.progress > 0
        others = torch.randperm(len(batch.x), device=batch.x.device)
        share = mixing_share(self.mix, batch.x, at_least_half=True)
        mixed = tuple(x.lerp(x[others], 1 - share) for x in batch.views) if mixes else ()
        scores = scores_of_views(self.network, (*batch.views, *mixed))
        losses = _corr(scores[:n], believed, batch.inside)
        if mixes:
            target = believed.lerp(believed[others], 1 - share)
            losses = losses + self.mixup * _corr(scores[n:], target, target > 0)
        self.balance.follow(scores[:n].detach())
        if batch.progress > 0:
            fresh = candidate_weights(agreed(self.balance(scores[:n])), batch.inside)
            self.beliefs[batch.index] = fresh.to(believed.dtype)
        return losses, scores[0]


def _corr(scores: Tensor, believed: Tensor, inside: Tensor) -> Tensor:
    """The loss of views (V, B, K), shape (B,)."""
    away = get_psi("cross_entropy").away(scores).masked_fill(inside, 0)
    apart = F.kl_div(scores.log_softmax(-1), believed.expand_as(scores), reduction="none")
    return (away + apart).sum((0, -1))
