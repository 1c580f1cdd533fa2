"""Weights beside those that the optimiser moves: lookahead's slow copy, and a moving average."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from amongst.algorithms import Algorithm
from amongst.train.run import Settings

EVERY, STRONGEST = 5, 0.95**5
"""Steps between two meetings with the slow copy, and its share at the last of them."""


class Averages:
    """Averages of what an algorithm learns: parameters, and statistics of batch normalisation.

    What is kept after training is the moving average, or the slow copy; `shown` exchanges it with what
    the optimiser moves.

    Parameters
    ----------
    algorithm, settings : with `lookahead` or `averaged`.

    Examples
    --------
    >>> from amongst.algorithms import CC
    >>> inside = torch.ones(2, 2, dtype=torch.bool)
    >>> algorithm = CC().begin(nn.Linear(1, 2), inside, torch.float32)
    >>> averages = Averages(algorithm, Settings(averaged=0.9))
    >>> with torch.no_grad():
    ...     _ = algorithm.network.weight.fill_(3.0)
    >>> averages.step(1, 10)
    >>> averages.kept["averaged"][0].flatten()
    tensor([3., 3.])
    """

    def __init__(self, algorithm: Algorithm, settings: Settings) -> None:
        self.algorithm, self.memory, self.is_shown = algorithm, settings.averaged, False
        names = [n for n in ("lookahead", "averaged") if getattr(settings, n)]
        self.kept = {name: [t.clone() for t in learnt(algorithm)] for name in names}

    @torch.no_grad()
    def step(self, done: int, steps: int) -> None:
        """After so many optimiser steps of all."""
        if "lookahead" in self.kept and done % EVERY == 0:
            live, slow = learnt(self.algorithm), self.kept["lookahead"]
            torch._foreach_lerp_(slow, live, 1 - STRONGEST * (done / steps) ** 3)
            torch._foreach_copy_(live, slow)
        if "averaged" in self.kept:
            share = max(1 - self.memory, 1 / done)
            torch._foreach_lerp_(self.kept["averaged"], learnt(self.algorithm), share)

    def show(self, shown: bool = True) -> None:
        """Put what is kept into the networks, or take it out again."""
        if shown != self.is_shown:
            self.is_shown = shown
            for live, kept in zip(learnt(self.algorithm), self._last, strict=True):
                before = live.clone()
                live.copy_(kept)
                kept.copy_(before)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Inside, what is kept is in the networks."""
        before = self.is_shown
        self.show()
        try:
            yield
        finally:
            self.show(before)

    @property
    def _last(self) -> list[Tensor]:
        return list(self.kept.values())[-1]

    def state(self) -> dict[str, Tensor]:
        """All that is kept, by name."""
        return {f"{n}/{i}": t for n, kept in self.kept.items() for i, t in enumerate(kept)}

    @torch.no_grad()
    def install(self, state: Mapping[str, Tensor]) -> None:
        """Take over what `state` gave of a run like this one, before anything is shown."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])

    def to(self, device: torch.device, dtype: torch.dtype) -> None:
        """Follow the algorithm to another device or precision."""
        self.kept = {n: [t.to(device, dtype) for t in kept] for n, kept in self.kept.items()}


def learnt(algorithm: nn.Module) -> list[Tensor]:
    """Parameters with a gradient, and running statistics beside them; of a teacher, nothing."""
    found = [p.data for p in algorithm.parameters() if p.requires_grad]
    for module in algorithm.modules():
        norm = isinstance(module, nn.modules.batchnorm._BatchNorm)
        if norm and any(p.requires_grad for p in module.parameters()):
            seen = module.running_mean, module.running_var
            found += [tensor for tensor in seen if isinstance(tensor, Tensor)]
    return found
