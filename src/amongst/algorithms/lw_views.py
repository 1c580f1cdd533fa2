"""LW with views: the outside part from the start, the candidate part as it may be trusted."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from amongst.algorithms._base import Algorithm, Batch, Rows
from amongst.algorithms._parts import agreed, follow, full, scores_of_views, slow_copy
from amongst.checks import check_choice
from amongst.losses import initial_weights, leveraged_weighted, leveraged_weights


@dataclass(eq=False)
class LWViews(Algorithm):
    """Mean over views of λ(t) α Σ_{z∈s} w_z ψ(g_z) + β Σ_{z∉s} w_z ψ(−g_z), the cross-entropy ψ by default:
    −log p_z and −log(1 − p_z).

    Parameters
    ----------
    views : how many.
    beta, alpha : ≥ 0, the factors of the outside part and of the candidate part.
    outside : weights of non-candidates, ``"ones"``, or ``"lw"``: they sum to 1, as the paper has them.
    start, ramp : λ is 0 for the share `start` of the epochs, and grows to 1 over the share `ramp`.
    belief : where weights come from, as softmax over s of the logarithm of a geometric mean of p:
        ``"views"``, of all views; ``"teacher"``, of all views by a slow copy of the network; ``"clean"``,
        of rows that are not augmented, once an epoch.
    keep : memory of the weights' moving average, over the visits of a row.
    sharpness : exponent of p before it is normalised.
    ema : memory of the slow copy, early on the mean of all steps.
    psi : name of a binary loss.

    Examples
    --------
    >>> algorithm = LWViews(views=3).begin(nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> algorithm.views, algorithm.weights[0]
    (3, tensor([0.3333, 0.3333, 0.3333]))
    """

    name, title = "lw-views", "LW with views"
    reference = "Wen et al., Leveraged Weighted Loss, ICML 2021, with views as CRDPLL has them"

    views: int = 2
    beta: float = 1.0
    alpha: float = 1.0
    outside: str = "ones"
    start: float = 0.0
    ramp: float = 0.3
    belief: str = "views"
    keep: float = 0.5
    sharpness: float = 1.0
    ema: float = 0.99
    psi: str = "cross_entropy"

    def __post_init__(self) -> None:
        check_choice("outside", self.outside, ("ones", "lw"))
        check_choice("belief", self.belief, ("views", "teacher", "clean"))

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        self.network = network
        self.teachers = slow_copy(network) if self.belief == "teacher" else nn.ModuleList()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.register_buffer("weights", initial_weights(inside, dtype=dtype))

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        scores = scores_of_views(self.network, batch.views)
        if self.belief != "clean":
            with torch.no_grad():
                teachers = [scores_of_views(slow, batch.views) for slow in self.teachers]
                seen = agreed(teachers[0] if teachers else scores)
                self.weights[batch.index] = self._blended(seen, batch.inside, batch.index)
        weights, inside = self.weights[batch.index], batch.inside
        if self.outside == "ones":
            weights = weights.masked_fill(~inside, 1)
        trust = self.alpha * self.trusted(batch.progress)
        losses = leveraged_weighted(scores, inside, weights, self.psi, self.beta, trust)
        return losses.mean(0), scores[0]

    def after_step(self, batch: Batch, scores: Tensor) -> None:
        self.steps.add_(1)
        for slow in self.teachers:
            follow(slow, self.network, (1 / self.steps).clamp(min=1 - self.ema))

    def after_epoch(self, data: Rows, progress: float) -> None:
        if self.belief == "clean":
            seen = agreed(full(data.scores(self.network)).unsqueeze(0))
            self.weights.copy_(self._blended(seen, data.inside, slice(None)))

    def trusted(self, progress: float) -> float:
        """λ at this share of the epochs.

        >>> [LWViews(start=0.25, ramp=0.5).trusted(t) for t in (0.0, 0.5, 0.9)]
        [0.0, 0.5, 1.0]
        """
        since = progress - self.start
        return float(since >= 0) if self.ramp == 0 else min(max(since / self.ramp, 0.0), 1.0)

    def _blended(self, seen: Tensor, inside: Tensor, rows: Tensor | slice) -> Tensor:
        fresh = leveraged_weights(self.sharpness * seen, inside).to(self.weights.dtype)
        return fresh.lerp(self.weights[rows], self.keep)
