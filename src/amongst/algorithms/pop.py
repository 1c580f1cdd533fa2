"""POP: progressive purification of candidate sets (Xu et al., ICML 2023)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from amongst.algorithms._base import Batch, Rows
from amongst.algorithms._parts import Believing, scores_of_views
from amongst.losses import candidate_weights


@dataclass(eq=False)
class POP(Believing):
    """Mean over views of −Σ_{z∈s} c_z log p_z, c the softmax over s of the first view's scores at the
    row's last visit. Every `window` epochs after the share `start` of them, a candidate whose mean
    c of these epochs is below θ times the row's largest is struck out for good; and where fewer than
    one cell of 10,000 went, θ grows by the factor 1 + `growth`, up to `highest`.

    As in the authors' code; the paper compares differences to the largest, and any loss may be below.

    >>> algorithm = POP().begin(nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> bool(algorithm.kept.all()), algorithm.threshold.item() < 0.002
    (True, True)
    """

    name, title = "pop", "POP"
    reference = "Xu et al., Progressive Purification for Instance-Dependent PLL, ICML 2023"

    views: int = 3
    start: float = 0.04
    window: int = 5
    threshold_start: float = 1e-3
    growth: float = 1e-3
    highest: float = 0.4

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        super().build(network, inside, dtype)
        self.register_buffer("past", torch.zeros(self.window, *inside.shape, dtype=dtype))
        self.register_buffer("kept", inside.clone())
        self.register_buffer("threshold", torch.tensor(self.threshold_start, dtype=dtype))
        self.register_buffer("epochs", torch.zeros((), dtype=torch.long))

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        scores = scores_of_views(self.network, batch.views)
        losses = -(self.beliefs[batch.index] * scores.log_softmax(-1)).sum(-1).mean(0)
        return losses, scores[0]

    def after_step(self, batch: Batch, scores: Tensor) -> None:
        believed = candidate_weights(scores, self.kept[batch.index])
        self.beliefs[batch.index] = believed.to(self.beliefs.dtype)

    def after_epoch(self, data: Rows, progress: float) -> None:
        place = self.epochs % self.window
        self.past[place] = self.beliefs
        if progress > self.start:
            self._purify(place == 0)
        self.epochs.add_(1)

    def _purify(self, due: Tensor) -> None:
        mean = self.past.mean(0)
        left = self.kept & (mean >= self.threshold * mean.amax(-1, keepdim=True))
        few = (left != self.kept).sum() < 1e-4 * left.numel()
        grows = due & few & (self.threshold < self.highest)
        purified = mean * left
        purified = purified / purified.sum(-1, keepdim=True)
        self.kept.copy_(torch.where(due, left, self.kept))
        self.beliefs.copy_(torch.where(due, purified, self.beliefs))
        self.threshold.mul_(torch.where(grows, 1 + self.growth, 1.0))
