"""DIRK: distillation of rectified confidence (Wu et al., AAAI 2024)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.algorithms._base import Batch
from amongst.algorithms._parts import Contrastive, Queue, contrast_of_views, embedded, full
from amongst.losses import candidate_weights, classifier_consistent


@dataclass(eq=False)
class DIRK(Contrastive):
    """−Σ_z r_z log p_z + `weight` · contrast, for sets that depend on the instance: r is a teacher's p,
    rectified so that no non-candidate is above a candidate. The teacher follows the network, from a
    copy of it; the authors' has initial weights of its own.

    The last view is the one to predict, for both. The contrast is of the network's embedding of the
    second view with the teacher's of the first ones, here and in a queue: those of the same largest
    r, weighted by the softmax over `likeness` of the cosines between their r. Before the share
    `start` of the epochs a row is like its own first view alone.

    >>> algorithm = DIRK(queue=16).begin(nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> algorithm.views, algorithm.past.keys.shape
    (3, torch.Size([16, 128]))
    """

    name, title = "dirk", "DIRK"
    reference = "Wu et al., Distilling Reliable Knowledge for Instance-Dependent PLL, AAAI 2024"
    views = 3

    queue: int = 4096
    ema: float = 0.99
    weight: float = 1.0
    temperature: float = 0.07
    likeness: float = 0.4
    start: float = 0.005

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        super().build(network, inside, dtype)
        self.beliefs = Queue(self.queue, inside.shape[1], dtype)

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        first, second, last = batch.views
        q, scores = (
            part.chunk(2)
            for part in embedded(self.network, self.project, torch.cat((second, last)))
        )
        with torch.no_grad():
            k, _ = embedded(self.slow[0], self.slow[1], first)
            r = rectified(full(self.slow[0](last)), batch.inside)
        losses = -(r * scores[1].log_softmax(-1)).sum(-1)
        if batch.progress >= self.start:
            apart = self._apart(q[0], k, r)
        else:
            apart = contrast_of_views(q[0], k, self.past.keys.clone(), self.temperature)
        labels = r.argmax(-1)
        self.past.put(k, labels)
        self.beliefs.put(r, labels)
        return losses + self.weight * apart, scores[1]

    def _apart(self, q: Tensor, k: Tensor, r: Tensor) -> Tensor:
        labels, beliefs = r.argmax(-1), torch.cat((r, r, self.beliefs.keys))
        itself = torch.eye(len(q), len(beliefs), dtype=torch.bool, device=q.device)
        alike = labels.unsqueeze(1) == torch.cat((labels, labels, self.past.labels))
        cosines = F.normalize(r) @ F.normalize(beliefs).T / self.likeness
        weights = full(cosines).masked_fill(~alike | itself, -torch.inf).softmax(-1)
        others = torch.cat((q, k, self.past.keys.clone()))
        near = full(q @ others.T / self.temperature).masked_fill(itself, -torch.inf)
        return -(weights * near.log_softmax(-1).masked_fill(itself, 0)).sum(-1)


def rectified(scores: Tensor, inside: Tensor) -> Tensor:
    """a · p over s + (1 − a) · p over the complement, each of sum 1, with the a that lets the least
    candidate be no less than the largest non-candidate, and 1/Σ_{z∈s} p_z times as large.

    >>> p = rectified(torch.tensor([[3.0, 0.0, 2.0]]), torch.tensor([[True, True, False]]))
    >>> p.sum().item() == 1.0, bool(p[0, 1] >= p[0, 2])
    (True, True)
    """
    within, beyond = (candidate_weights(scores, side) for side in (inside, ~inside))
    largest = beyond.amax(-1, keepdim=True)
    least = within.masked_fill(~inside, 1).amin(-1, keepdim=True)
    raised = classifier_consistent(scores, inside).exp().unsqueeze(-1) * largest
    a = torch.where(largest > 0, raised / (raised + least), 1)
    return a * within + (1 - a) * beyond
