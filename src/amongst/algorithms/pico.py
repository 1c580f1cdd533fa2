"""PiCO: contrastive label disambiguation (Wang et al., ICLR 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from amongst.algorithms._base import Batch
from amongst.algorithms._parts import (
    Contrastive,
    contrast,
    contrast_of_views,
    embedded,
    full,
    move_prototypes,
)
from amongst.losses import best_candidate, initial_weights, weighted_cross_entropy


@dataclass(eq=False)
class PiCO(Contrastive):
    """−Σ s_z log p_z + `weight` · contrast: a row's embedding q of its first view nears those, by a slow
    copy of the network, of second views and of a queue that are believed to have its label.

    s moves by 1 − φ to the candidate whose prototype is nearest to q, φ from `phi` to `phi_end`; a
    prototype is the moving average of its label's embeddings. For the share `start` of the epochs s
    stays 1/|s|, and a row is like its own second view alone: in the authors' commands for CIFAR one
    epoch of 800. Their code also shuffles batches between GPUs.

    >>> algorithm = PiCO(queue=16).begin(nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> algorithm.prototypes.shape
    torch.Size([3, 128])
    """

    name, title, views = "pico", "PiCO", 2
    reference = "Wang et al., PiCO: Contrastive Label Disambiguation, ICLR 2022"

    memory: float = 0.99
    weight: float = 0.5
    temperature: float = 0.07
    phi: float = 0.95
    phi_end: float = 0.8
    start: float = 0.1

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        super().build(network, inside, dtype)
        self.register_buffer("targets", initial_weights(inside, dtype=dtype) * inside)
        self.register_buffer("prototypes", torch.zeros(inside.shape[1], self.width, dtype=dtype))

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        q, scores = embedded(self.network, self.project, batch.views[0])
        inside = batch.inside
        trusted = batch.progress >= self.start
        with torch.no_grad():
            k, _ = embedded(self.slow[0], self.slow[1], batch.views[1])
            chosen, nearest = (
                best_candidate(g, inside) for g in (scores, full(q @ self.prototypes.T))
            )
            labels, phi = chosen.argmax(-1), self.phi + (self.phi_end - self.phi) * batch.progress
            if trusted:
                self.targets[batch.index] = self.targets[batch.index].lerp(nearest, 1 - phi)
        losses = weighted_cross_entropy(scores, inside, self.targets[batch.index])
        if trusted:
            alike = labels.unsqueeze(1) == torch.cat((labels, labels, self.past.labels))
            apart = contrast(q, torch.cat((q, k, self.past.keys)), alike, self.temperature)
        else:
            apart = contrast_of_views(q, k, self.past.keys.clone(), self.temperature)
        move_prototypes(self.prototypes, q.detach(), chosen, self.memory)
        self.past.put(k, labels)
        return losses + self.weight * apart, scores
