"""SoLar: Sinkhorn label refinery for long-tailed partial labels (Wang et al., NeurIPS 2022)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from amongst.algorithms._base import Batch, Rows
from amongst.algorithms._parts import (
    Believing,
    Queue,
    full,
    mixing_share,
    partners,
    scores_of_views,
    shares,
)
from amongst.losses import best_candidate, candidate_weights


@dataclass(eq=False)
class SoLar(Believing):
    """η [−Σ t_z log p_z of the first view, of the second, and of a mixed one] over trusted rows
    + (1 − η) [−Σ c_z log p_z] over the others. t is a plan of transport from a queue and the batch to
    the classes, with cost −log p on s, exponent `sharpness` and the estimated prior r as marginal; c
    is softmax(g) over s at the row's last visit.

    Trusted are, for each class, the B · r · ρ rows of this largest t whose first loss is least, at least
    one, and all with Σ t_z p_z > `sure`. η grows to `eta`, and ρ from `rho` to `rho_end`, over the share
    `ramp`. r is the moving average of how often a class is the best candidate, by `gamma` an epoch;
    over the share `estimating` at the start by `gamma_start`. There the authors train a network of its
    own to find r, and begin anew; it is the same one here. In the first epoch c stays 1/|s|. A queue
    counts while it fills; theirs only when it is full. For CIFAR-10 their commands have ρ end at 0.6.

    >>> algorithm = SoLar(queue=16).begin(nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> algorithm.prior
    tensor([0.3333, 0.3333, 0.3333])
    """

    name, title = "solar", "SoLar"
    reference = "Wang et al., SoLar: Sinkhorn Label Refinery, NeurIPS 2022"
    views = 2

    queue: int = 16384
    sharpness: float = 3.0
    eta: float = 0.9
    rho: float = 0.2
    rho_end: float = 0.8
    sure: float = 0.99
    ramp: float = 0.05
    estimating: float = 0.02
    gamma_start: float = 0.1
    gamma: float = 0.01
    mix: float = 4.0

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        super().build(network, inside, dtype)
        n_classes = inside.shape[1]
        self.past = Queue(self.queue, n_classes, dtype)
        self.past.keys.zero_()  # a row without mass is none
        self.register_buffer("prior", torch.full((n_classes,), 1 / n_classes, dtype=dtype))

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        ramp = min(batch.progress / self.ramp, 1.0)
        scores = scores_of_views(self.network, batch.views)
        logs = scores.log_softmax(-1)
        unsure = -(self.beliefs[batch.index] * logs[0]).sum(-1)
        with torch.no_grad():
            believed = candidate_weights(scores[0], batch.inside).to(self.beliefs.dtype)
            every = self.sharpness * torch.cat((self.past.keys, believed)).log()
            plan = transport(every, self.prior)[-len(believed) :]
            self.past.put(believed, plan.argmax(-1))
            self.beliefs[batch.index] = believed
        losses = -(plan * logs).sum(-1)
        rho = self.rho + (self.rho_end - self.rho) * ramp
        trusted = self._trusted(plan, logs[0].detach(), losses[0].detach(), rho)
        if batch.progress == 0:
            return unsure, scores[0]
        sure = losses.sum(0) + self._mixed(batch.x, plan, trusted)
        eta = self.eta * ramp
        return eta * shares(trusted) * sure + (1 - eta) * shares(~trusted) * unsure, scores[0]

    def after_epoch(self, data: Rows, progress: float) -> None:
        found = best_candidate(data.scores(self.network), data.inside).mean(0)
        gamma = self.gamma_start if progress <= self.estimating else self.gamma
        self.prior.lerp_(found.to(self.prior.dtype), gamma)

    def _trusted(self, plan: Tensor, logs: Tensor, losses: Tensor, rho: float) -> Tensor:
        """Rows (B,) whose transported label counts."""
        labels = plan.argmax(-1)
        places = torch.arange(len(plan), device=plan.device)
        before = losses.unsqueeze(0) < losses.unsqueeze(1)
        before |= (losses.unsqueeze(0) == losses.unsqueeze(1)) & (places < places.unsqueeze(1))
        rank = (before & (labels.unsqueeze(0) == labels.unsqueeze(1))).sum(-1)
        room = (len(plan) * rho * self.prior).ceil().clamp(min=1)
        least: Tensor = rank < room[labels]
        return least | ((plan * logs.exp()).sum(-1) > self.sure)

    def _mixed(self, x: Tensor, plan: Tensor, trusted: Tensor) -> Tensor:
        others, share = partners(trusted), mixing_share(self.mix, x, at_least_half=True)
        mixed = full(self.network(x.lerp(x[others], 1 - share)))
        return -(plan.lerp(plan[others], 1 - share) * mixed.log_softmax(-1)).sum(-1)


def transport(logs: Tensor, prior: Tensor, rounds: int = 50) -> Tensor:
    """Sinkhorn's plan exp(u_z + v_i + logs_iz), shape (N, K), with column sums in the proportions of the
    prior, as near as the zeros allow, and every row of sum 1; a row of −∞ is none, and stays 0.

    >>> transport(torch.zeros(4, 2), torch.tensor([0.25, 0.75]))[0]
    tensor([0.2500, 0.7500])
    """
    there = logs.isfinite().any(-1, keepdim=True)
    v = torch.where(there, 0.0, -torch.inf).to(logs.dtype)
    for _ in range(rounds):
        u = prior.clamp(min=1e-12).log() - (logs + v).logsumexp(0)
        u = torch.where(u.isfinite(), u, 0)
        v = torch.where(there, -(logs + u).logsumexp(1, keepdim=True), -torch.inf)
    return (logs + u + v).exp()
