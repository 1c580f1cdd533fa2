"""ALIM: sets that may lack the truth, trusted as far as they are right (Xu et al., NeurIPS 2023)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.algorithms._base import Batch, Rows
from amongst.algorithms._parts import contrast, embedded, full, mixing_share, move_prototypes
from amongst.algorithms.pico import PiCO
from amongst.checks import check_choice


@dataclass(eq=False)
class ALIM(PiCO):
    """PiCO, with 1 on candidates and λ on other labels in place of the set, and a mixed loss:
    −Σ t_z log p_z + `weight` · contrast + `mixup` · [−Σ_z t'_z log p'_z of mixed rows].

    t moves to the label with the largest product of this factor and r, the softmax over
    `temperature` of likeness to prototypes; with ``form="scale"`` to these products, of sum 1. The
    contrast counts from the first epoch, t moves after the share `start` of them (the authors: at
    once). From the share `adjust` of the epochs on, λ is the quantile
    `noise` of max_{z∈s} r_z / max_{z∉s} r_z over the rows, at most 1: so many sets are taken to be
    wrong. Before that λ is 0.

    >>> algorithm = ALIM(queue=16).begin(nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> algorithm.trust.item()
    0.0
    """

    name, title = "alim", "ALIM"
    reference = "Xu et al., ALIM: Adjusting Label Importance Mechanism, NeurIPS 2023"

    noise: float = 0.1
    form: str = "onehot"
    adjust: float = 0.08
    mixup: float = 1.0
    mix: float = 4.0

    def __post_init__(self) -> None:
        check_choice("form", self.form, ("onehot", "scale"))

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        super().build(network, inside, dtype)
        self.register_buffer("trust", torch.zeros((), dtype=dtype))
        self.register_buffer("margins", torch.ones(len(inside), dtype=dtype))

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        q, scores = embedded(self.network, self.project, batch.views[0])
        k, labels = self._noticed(batch, q, scores)
        targets = self.targets[batch.index]
        losses = -(targets * scores.log_softmax(-1)).sum(-1)
        alike = labels.unsqueeze(1) == torch.cat((labels, labels, self.past.labels))
        others = torch.cat((q, k, self.past.keys))
        losses = losses + self.weight * contrast(q, others, alike, self.temperature)
        self.past.put(k, labels)
        if self.mixup:
            losses = losses + self.mixup * self._mixed(batch.x, targets)
        return losses, scores

    def after_epoch(self, data: Rows, progress: float) -> None:
        if progress >= self.adjust:
            place = min(int(self.noise * len(self.margins)), len(self.margins) - 1)
            worst = self.margins.sort().values[place].clamp(max=1)
            self.trust.copy_(worst if self.noise > 0 else torch.zeros_like(worst))

    @torch.no_grad()
    def _noticed(self, batch: Batch, q: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and labels, (B, d) and (B,); targets, margins and prototypes move."""
        inside, k = batch.inside, embedded(self.slow[0], self.slow[1], batch.views[1])[0]
        factor = torch.where(inside, 1, self.trust)
        chosen = _one_hot(scores.softmax(-1) * factor)
        r = full(q @ self.prototypes.T / self.temperature).softmax(-1)
        if batch.progress >= self.start:
            phi = self.phi + (self.phi_end - self.phi) * batch.progress
            new = r * factor
            new = _one_hot(new) if self.form == "onehot" else new / new.sum(-1, keepdim=True)
            self.targets[batch.index] = self.targets[batch.index].lerp(
                new.to(self.targets), 1 - phi
            )
        within, beyond = (r.masked_fill(~side, 0).amax(-1) for side in (inside, ~inside))
        self.margins[batch.index] = (within / (beyond + 1e-9)).to(self.margins.dtype)
        move_prototypes(self.prototypes, q, chosen, self.memory)
        return k, chosen.argmax(-1)

    def _mixed(self, x: Tensor, targets: Tensor) -> Tensor:
        share = mixing_share(self.mix, x, at_least_half=True)
        others = torch.randperm(len(x), device=x.device)
        scores = full(self.network(x.lerp(x[others], 1 - share)))
        return -(targets.lerp(targets[others], 1 - share) * scores.log_softmax(-1)).sum(-1)


def _one_hot(values: Tensor) -> Tensor:
    """1 at the largest of each row."""
    return F.one_hot(values.argmax(-1), values.shape[-1]).to(values.dtype)
