"""PALS: labels from neighbours, for sets that may lack the truth (Saravanan et al., CVPRW 2025)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.algorithms._base import Algorithm, Batch, Rows
from amongst.algorithms._parts import mixing_share, partners, scores_of_views
from amongst.losses import initial_weights
from amongst.models.features import Seen, head_of

CELLS_AT_ONCE = 2**24
"""So many likenesses are held at a time."""


@dataclass(eq=False)
class PALS(Algorithm):
    """Mean over views of −Σ t_z log p_z of reliable rows, mixed with other ones by max(λ, 1 − λ) of
    Beta(`mix`, `mix`); t is their label, with `smoothing`/K everywhere and 1 − `smoothing` more on it.

    After each epoch a label that the network gives more than `sure` (in the end `sure_end`) joins the
    row's set. The sets of the `neighbours` nearest rows and its own, with weights exp(cosine / 0.1) of
    features, vote on each row's label; then these labels vote, which gives shares. Each class takes
    the rows of its set with the largest shares, as many as the quantile `delta` over the classes of
    how many rows agree: their winner is in their set. Of several classes the largest share counts.

    The authors draw batches from reliable rows; here others count 0. They look for neighbours before
    the first epoch too, with an untrained network; here t is 1/|s| in it.

    >>> algorithm = PALS().begin(nn.Linear(2, 3), torch.ones(4, 3).bool(), torch.float32)
    >>> algorithm.reliable
    tensor([True, True, True, True])
    """

    name, title = "pals", "PALS"
    reference = "Saravanan et al., Pseudo-labelling meets Label Smoothing, CVPRW 2025"

    views: int = 2
    neighbours: int = 15
    delta: float = 0.25
    smoothing: float = 0.5
    sure: float = 0.45
    sure_end: float = 0.35
    mix: float = 1.0

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        self.network = network
        self.register_buffer("targets", initial_weights(inside, dtype=dtype) * inside)
        self.register_buffer("reliable", torch.ones_like(inside[:, 0]))

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        reliable = self.reliable[batch.index]
        targets, mixed, wanted = self.targets[batch.index], [], []
        for view in batch.views:
            others, share = partners(reliable), mixing_share(self.mix, view, at_least_half=True)
            mixed.append(view.lerp(view[others], 1 - share))
            wanted.append(targets.lerp(targets[others], 1 - share))
        scores = scores_of_views(self.network, tuple(mixed))
        losses = -(torch.stack(wanted) * scores.log_softmax(-1)).sum(-1).mean(0)
        return losses * reliable * (len(self.reliable) / self.reliable.sum()), scores[0]

    def after_epoch(self, data: Rows, progress: float) -> None:
        seen, size = data.scores(Seen(self.network)), head_of(self.network).in_features
        features, scores = F.normalize(seen[:, :size]), seen[:, size:]
        sure = self.sure + (self.sure_end - self.sure) * progress
        p, best = scores.softmax(-1).max(-1)
        inside = data.inside | F.one_hot(best, scores.shape[1]).bool() & (p > sure).unsqueeze(1)
        near, weights = nearest(features, self.neighbours)
        votes = poll(inside.to(seen.dtype), near, weights).argmax(-1)
        found = poll(F.one_hot(votes, scores.shape[1]).to(seen.dtype), near, weights)
        labels, reliable = chosen_rows(found / found.sum(-1, keepdim=True), inside, self.delta)
        hard = F.one_hot(labels, scores.shape[1]).to(self.targets.dtype)
        self.targets.copy_(hard.lerp(torch.full_like(hard, 1 / hard.shape[1]), self.smoothing))
        self.reliable.copy_(reliable)


def nearest(features: Tensor, number: int) -> tuple[Tensor, Tensor]:
    """Each row's neighbours and itself, and exp(cosine / 0.1), both (n, number + 1).

    >>> nearest(torch.eye(3), 0)[0].flatten()
    tensor([0, 1, 2])
    """
    step = max(1, CELLS_AT_ONCE // len(features))
    number = min(number + 1, len(features))
    found = [(rows @ features.T).topk(number) for rows in torch.split(features, step)]
    cosines = torch.cat([part.values for part in found])
    return torch.cat([part.indices for part in found]), (cosines / 0.1).exp()


def poll(votes: Tensor, near: Tensor, weights: Tensor) -> Tensor:
    """Weighted sums of what each row's neighbours say, (n, K).

    >>> poll(torch.eye(2), torch.tensor([[0, 1]]), torch.tensor([[1.0, 2.0]]))
    tensor([[1., 2.]])
    """
    step = max(1, CELLS_AT_ONCE // (near.shape[1] * votes.shape[1]))
    parts = zip(torch.split(near, step), torch.split(weights, step), strict=True)
    return torch.cat([(w.unsqueeze(-1) * votes[rows]).sum(1) for rows, w in parts])


def chosen_rows(found: Tensor, inside: Tensor, delta: float) -> tuple[Tensor, Tensor]:
    """Labels (n,), and which rows are reliable (n,); see `PALS`.

    >>> found = torch.tensor([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    >>> chosen_rows(found, torch.tensor([[1, 0], [1, 1], [0, 1]]).bool(), delta=0.5)
    (tensor([0, 1, 0]), tensor([ True,  True, False]))
    """
    winner = F.one_hot(found.argmax(-1), found.shape[1]).bool()
    agree = (winner & inside).sum(0).to(found.dtype)
    room = agree.quantile(delta).floor().clamp(min=1)
    shares = found.clamp(0.01, 0.99).masked_fill(~inside, -1)
    order = shares.argsort(stable=True, dim=0, descending=True).argsort(0)
    taken = (order < room) & inside
    return torch.where(taken, shares, -1).argmax(-1), taken.any(-1)
