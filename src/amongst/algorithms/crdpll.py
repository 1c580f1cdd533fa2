"""CRDPLL: consistency regularisation for deep partial-label learning (Wu et al., ICML 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from amongst.algorithms._base import Batch
from amongst.algorithms._parts import Believing, agreed, scores_of_views
from amongst.losses import candidate_weights, get_psi


@dataclass(eq=False)
class CRDPLL(Believing):
    """−Σ_{z∉s} log(1 − p_z) of the first view + λ(t) Σ_views KL(c ‖ p), with c on s proportional to the
    geometric mean of all views' p at the row's last visit; λ grows from 0 to `weight` over the share
    `ramp` of the epochs. The first view is cropped and mirrored, the others have Cutout and AutoAugment.

    The first term is LW's outside part with β = 1 and weights of 1.

    >>> algorithm = CRDPLL().begin(torch.nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> algorithm.beliefs[0]
    tensor([0.3333, 0.3333, 0.3333])
    """

    name, title = "crdpll", "CRDPLL"
    reference = "Wu et al., Revisiting Consistency Regularization for Deep PLL, ICML 2022"

    views: int = 3
    weight: float = 1.0
    ramp: float = 0.5

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        scores = scores_of_views(self.network, batch.views)
        away = get_psi("cross_entropy").away(scores[0]).masked_fill(batch.inside, 0).sum(-1)
        believed, share = self.beliefs[batch.index], min(batch.progress / self.ramp, 1.0)
        apart = F.kl_div(scores.log_softmax(-1), believed.expand_as(scores), reduction="none")
        with torch.no_grad():
            fresh = candidate_weights(agreed(scores), batch.inside)
            self.beliefs[batch.index] = fresh.to(believed.dtype)
        return away + self.weight * share * apart.sum((0, -1)), scores[0]
