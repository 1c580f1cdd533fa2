"""The corrected error rate of held-out rows, for members whose candidate sets differ."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import torch
from torch import Tensor

from amongst.bench.sources import TrialData
from amongst.selection.criteria import LARGEST_RATE
from amongst.selection.rates import estimate_label_q

__all__ = ["MemberRisk", "label_rates"]


@lru_cache(maxsize=64)
def label_rates(data: TrialData) -> Tensor:
    """q_z of a trial's training sets, shape (K,); see `amongst.selection.rates`."""
    return torch.from_numpy(estimate_label_q(data.sets).rates)


class MemberRisk:
    """Mean of [ŷ ∉ s] / (1 − q_ŷ) on each member's held rows, with the rates of its own sets.

    A population hands its criteria scores (M, n, K) and masks (M, n, K), and not whose they are: a
    member's data are recognised by a checksum of its masks.

    Parameters
    ----------
    data : of the members; each has held rows, as many as the others.
    """

    def __init__(self, data: Iterable[TrialData]) -> None:
        distinct = {id(item): item for item in data}.values()
        masks = [torch.from_numpy(item.sets[item.held].to_mask()) for item in distinct]
        generator = torch.Generator().manual_seed(0)
        self.marks = torch.randint(-(2**62), 2**62, masks[0].shape, generator=generator)
        rates = [label_rates(item) for item in distinct]
        self.rates = dict(zip(self._sums(torch.stack(masks)), rates, strict=True))
        self.last: tuple[Tensor, Tensor] | None = None

    def __call__(self, scores: Tensor, inside: Tensor) -> Tensor:
        """Values (M,)."""
        caught = self._caught(inside)
        predicted = scores.argmax(-1, keepdim=True)
        missed = ~inside.gather(-1, predicted).squeeze(-1)
        return (missed / caught.gather(-1, predicted.squeeze(-1))).mean(-1)

    def _caught(self, inside: Tensor) -> Tensor:
        """1 − q_z, shape (M, K); worked out once for the masks of a training."""
        if self.last is None or self.last[0] is not inside:
            rates = torch.stack([self.rates[mark] for mark in self._sums(inside)])
            caught = (1 - rates.clamp(max=LARGEST_RATE)).to(inside.device, torch.float32)
            self.last = inside, caught
        return self.last[1]

    def _sums(self, inside: Tensor) -> list[int]:
        """One number for each mask, exact: integers that wrap around."""
        marks = self.marks.to(inside.device)
        found: list[int] = torch.stack([(marks * own).sum() for own in inside]).tolist()
        return found
