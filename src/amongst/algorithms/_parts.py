"""Parts that several algorithms are made of: views, mixing, a slow copy, a queue of keys, a contrast,
prototypes, a balance of labels. None of them looks at a value on the host."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.algorithms._base import Algorithm, Batch
from amongst.losses import initial_weights
from amongst.models.features import features_and_scores, head_of


def full(values: Tensor) -> Tensor:
    """As float32 or better: what autocast made of them loses small probabilities."""
    return values if values.dtype == torch.float64 else values.float()


def scores_of_views(network: nn.Module, views: tuple[Tensor, ...]) -> Tensor:
    """Scores of every view, from one pass over all of them: shape (V, B, K). So batch normalisation sees
    all views together, as in RECORDS' code; the other authors pass one view after another.

    >>> scores_of_views(nn.Linear(2, 3), (torch.zeros(4, 2), torch.ones(4, 2))).shape
    torch.Size([2, 4, 3])
    """
    scores = full(network(torch.cat(views)))
    return scores.reshape(len(views), -1, scores.shape[-1])


def embedded(network: nn.Module, project: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """Embeddings of length 1, by a layer that sees what the head sees, and scores: (B, d), (B, K).

    >>> q, scores = embedded(nn.Linear(2, 3), nn.Linear(2, 4), torch.ones(5, 2))
    >>> q.norm(dim=-1).allclose(torch.ones(5)), scores.shape
    (True, torch.Size([5, 3]))
    """
    features, scores = features_and_scores(network, x)
    return F.normalize(full(project(features))), full(scores)


def projection(network: nn.Module, width: int) -> nn.Module:
    """Two layers from what the head of a network sees to an embedding, beside the network."""
    head = head_of(network)
    size = head.in_features
    return nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, width)).to(head.weight)


def agreed(scores: Tensor) -> Tensor:
    """The logarithm of the geometric mean of all views' probabilities: (V, B, K) → (B, K)."""
    return scores.detach().log_softmax(-1).mean(0)


def mixing_share(a: float, like: Tensor, at_least_half: bool = False) -> Tensor:
    """λ from Beta(a, a), shape (), drawn on the device; or max(λ, 1 − λ).

    >>> share = mixing_share(4.0, torch.zeros(2), at_least_half=True)
    >>> bool(0.5 <= share <= 1)
    True
    """
    two = torch._standard_gamma(torch.full((2,), a, dtype=like.dtype, device=like.device))
    return (two.max() if at_least_half else two[0]) / two.sum()


def partners(chosen: Tensor) -> Tensor:
    """For each chosen row another one of them, in a random order: rows of the batch, shape (B,).

    >>> partners(torch.tensor([False, True, False]))[1]
    tensor(1)
    """
    order = (torch.rand(len(chosen), device=chosen.device) + ~chosen).argsort()
    return order[(chosen.cumsum(0) - 1).clamp(min=0)]


def shares(chosen: Tensor) -> Tensor:
    """Factors with which a mean over the batch is the mean over the chosen rows; 0 elsewhere.

    >>> shares(torch.tensor([True, False, True, False]))
    tensor([2., 0., 2., 0.])
    """
    return chosen * len(chosen) / chosen.sum().clamp(min=1)


class Balance(nn.Module):
    """What a network says on average, taken off its scores: g − log softmax(m), with m a moving average
    of scores (RECORDS, Hong et al., ICLR 2023). The paper has the present head on a moving average of
    features, which is the same where the head is linear, but for what it moved within 1/(1 − memory)
    steps; so it serves a network of any form, on top of any algorithm.

    >>> balance = Balance(2, memory=0.0)
    >>> balance.follow(torch.tensor([[4.0, 1.0], [2.0, 1.0]]))
    >>> balance(torch.tensor([[3.0, 1.0]])).softmax(-1)
    tensor([[0.5000, 0.5000]])
    """

    mean: Tensor

    def __init__(self, n_classes: int, memory: float, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.memory = memory
        self.register_buffer("mean", torch.zeros(n_classes, dtype=dtype))

    @torch.no_grad()
    def follow(self, scores: Tensor) -> None:
        """Move towards the mean of these scores, shape (..., K)."""
        now = scores.flatten(0, -2).mean(0).to(self.mean.dtype)
        self.mean.lerp_(now, 1 - self.memory)

    def forward(self, scores: Tensor) -> Tensor:
        """The scores without it."""
        return scores - self.mean.log_softmax(-1)


def slow_copy(*networks: nn.Module) -> nn.ModuleList:
    """Copies that no gradient reaches; `follow` moves them."""
    return copy.deepcopy(nn.ModuleList(networks)).requires_grad_(False)


@torch.no_grad()
def follow(slow: nn.Module, fast: nn.Module, share: float | Tensor) -> None:
    """Each parameter of the slow copy moves by this share of the way to the fast one's.

    >>> slow, fast = nn.Linear(1, 1), nn.Linear(1, 1)
    >>> follow(slow, fast, share=1.0)
    >>> torch.equal(slow.weight, fast.weight)
    True
    """
    for old, new in zip(slow.parameters(), fast.parameters(), strict=True):
        old.lerp_(new, share)


class Queue(nn.Module):
    """The last keys and their labels; a label of −1 is none.

    >>> queue = Queue(3, 2)
    >>> queue.put(torch.eye(2), torch.tensor([5, 7]))
    >>> queue.labels
    tensor([ 5,  7, -1])
    """

    keys: Tensor
    labels: Tensor
    place: Tensor

    def __init__(self, size: int, width: int, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.register_buffer("keys", F.normalize(torch.randn(size, width, dtype=dtype)))
        self.register_buffer("labels", torch.full((size,), -1))
        self.register_buffer("place", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def put(self, keys: Tensor, labels: Tensor) -> None:
        """In place of the oldest ones."""
        size = len(self.keys)
        keys, labels = keys[-size:].to(self.keys.dtype), labels[-size:]
        places = (self.place + torch.arange(len(keys), device=keys.device)) % size
        self.keys[places], self.labels[places] = keys, labels
        self.place.copy_((self.place + len(keys)) % size)


@dataclass(eq=False)
class Believing(Algorithm):
    """A network, and what is believed of each row's candidates: at first 1/|s|."""

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        self.network = network
        self.register_buffer("beliefs", initial_weights(inside, dtype=dtype) * inside)


@dataclass(eq=False)
class Contrastive(Algorithm):
    """A network with an embedding of `width` beside it, slow copies of both, which follow by 1 − `ema`,
    and the last keys that these gave."""

    width: int = 128
    queue: int = 8192
    ema: float = 0.999

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        self.network, self.project = network, projection(network, self.width)
        self.slow = slow_copy(self.network, self.project)
        self.past = Queue(self.queue, self.width, dtype)

    def after_step(self, batch: Batch, scores: Tensor) -> None:
        follow(self.slow, nn.ModuleList([self.network, self.project]), 1 - self.ema)


def contrast(q: Tensor, others: Tensor, alike: Tensor, temperature: float) -> Tensor:
    """−mean over the others alike of log softmax(q · others / τ), shape (B,); the first B of the others
    are the rows themselves, which do not count (Khosla et al., Supervised Contrastive Learning).

    Parameters
    ----------
    q : shape (B, d), of length 1.
    others : shape (N, d), the first B of them q.
    alike : bool, shape (B, N).

    Examples
    --------
    >>> q = torch.eye(2)
    >>> contrast(q, torch.cat((q, q)), torch.eye(2).repeat(1, 2).bool(), temperature=1.0)
    tensor([0.5514, 0.5514])
    """
    itself = torch.eye(len(q), len(others), dtype=torch.bool, device=q.device)
    likeness = (q @ others.T / temperature).masked_fill(itself, -torch.inf)
    logs, counted = likeness.log_softmax(-1).masked_fill(itself, 0), alike & ~itself
    return -(logs * counted).sum(-1) / counted.sum(-1).clamp(min=1)


def contrast_of_views(q: Tensor, k: Tensor, past: Tensor, temperature: float) -> Tensor:
    """−log softmax(q · (k, past) / τ) at k, shape (B,): a row is like its own other view alone.

    >>> contrast_of_views(torch.eye(2), torch.eye(2), torch.zeros(3, 2), temperature=1.0)
    tensor([0.7437, 0.7437])
    """
    likeness = torch.cat(((q * k).sum(-1, keepdim=True), q @ past.T), 1)
    return -full(likeness / temperature).log_softmax(-1)[:, 0]


@torch.no_grad()
def move_prototypes(prototypes: Tensor, q: Tensor, chosen: Tensor, memory: float) -> None:
    """For one row after another: the prototype of its label becomes memory · old + (1 − memory) · q;
    at last each has length 1.

    Parameters
    ----------
    prototypes : shape (K, d), changed in place.
    q, chosen : shapes (B, d), and (B, K): one-hot labels.

    Examples
    --------
    >>> prototypes = torch.zeros(2, 2)
    >>> move_prototypes(prototypes, torch.eye(2), torch.eye(2), memory=0.9)
    >>> prototypes
    tensor([[1., 0.],
            [0., 1.]])
    """
    times = chosen.sum(0)
    later = ((times - chosen.cumsum(0)) * chosen).sum(-1, keepdim=True)
    moved = chosen.T @ ((1 - memory) * memory**later * q)
    prototypes.copy_(F.normalize(memory ** times.unsqueeze(1) * prototypes + moved))
