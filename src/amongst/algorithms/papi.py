"""PaPi: prototypes that learn from the classifier, not the reverse (Xia et al., CVPR 2023)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.algorithms._base import Algorithm, Batch
from amongst.algorithms._parts import embedded, mixing_share, move_prototypes, projection
from amongst.losses import best_candidate, candidate_weights, initial_weights


@dataclass(eq=False)
class PaPi(Algorithm):
    """−Σ c_z log p_z of the first view + α Σ_views [λ KL(c ‖ r) + (1 − λ) KL(c' ‖ r)], with r the softmax
    over `temperature` of a mixed view's likeness to the prototypes, and c' of the row mixed in.

    c is a moving average of softmax(g) over s, with memory from `phi` to `phi_end`; a prototype that of
    the embeddings of both views whose best candidate is its label, with memory from `memory` to
    `memory_end`. λ is from Beta(`mix`, `mix`); α grows to `weight` over the share `ramp` of the epochs.

    >>> algorithm = PaPi(width=16).begin(nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> algorithm.prototypes.shape
    torch.Size([3, 16])
    """

    name, title = "papi", "PaPi"
    reference = "Xia et al., Towards Effective Visual Representations for PLL, CVPR 2023"
    views = 2

    width: int = 128
    temperature: float = 0.3
    mix: float = 8.0
    weight: float = 1.0
    ramp: float = 0.02
    phi: float = 0.95
    phi_end: float = 0.8
    memory: float = 0.9
    memory_end: float = 0.5

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        self.network, self.project = network, projection(network, self.width)
        self.register_buffer("targets", initial_weights(inside, dtype=dtype) * inside)
        self.register_buffer("prototypes", torch.zeros(inside.shape[1], self.width, dtype=dtype))

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        first, second = batch.views
        share = mixing_share(self.mix, first)
        others = torch.randperm(len(first), device=first.device)
        mixed = (view.lerp(view[others], 1 - share) for view in (first, second))
        every = torch.cat((first, second, *mixed))
        q, scores = (part.chunk(4) for part in embedded(self.network, self.project, every))
        targets = self._targets(scores[0].detach(), batch)
        losses = -(targets * scores[0].log_softmax(-1)).sum(-1)
        prototypes, likeness = self.prototypes.clone(), torch.zeros_like(losses)
        for embedding in q[2:]:
            r = (embedding @ prototypes.T / self.temperature).log_softmax(-1)
            own, other = (_divergence(c, r) for c in (targets, targets[others]))
            likeness = likeness + share * own + (1 - share) * other
        chosen = torch.cat([best_candidate(g.detach(), batch.inside) for g in scores[:2]])
        memory = self.memory + (self.memory_end - self.memory) * batch.progress
        move_prototypes(self.prototypes, torch.cat(q[:2]).detach(), chosen, memory)
        alpha = self.weight * min(batch.progress / self.ramp, 1.0)
        return losses + alpha * likeness, scores[0]

    def _targets(self, scores: Tensor, batch: Batch) -> Tensor:
        phi = self.phi + (self.phi_end - self.phi) * batch.progress
        fresh = candidate_weights(scores, batch.inside).to(self.targets.dtype)
        self.targets[batch.index] = fresh.lerp(self.targets[batch.index], phi)
        found: Tensor = self.targets[batch.index]
        return found


def _divergence(c: Tensor, logs: Tensor) -> Tensor:
    """KL(c ‖ exp logs), shape (B,)."""
    return F.kl_div(logs, c, reduction="none").sum(-1)
