"""SGD and Adam on stacked parameters, with each member's own numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from amongst.engine.settings import Settings, learning_rate

__all__ = ["BETAS", "EPSILON", "StackedOptimizer"]

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class StackedOptimizer:
    """torch.optim's SGD (with momentum) and Adam, side by side in one stack.

    The first members use SGD and the rest Adam, as `arrange` puts them. A member that is not alive
    keeps its parameters and its state.

    Parameters
    ----------
    parameters : tensors of shape (M, ...), changed in place.
    settings : one for each member.
    steps : optimiser steps in an epoch.

    Attributes
    ----------
    lr, weight_decay, momentum : shape (M,).
    traces : momenta of the SGD members; first moments of the Adam members.
    squares : second moments of the Adam members.
    corrections : shape (steps, 2), Adam's 1 − β₁ᵗ and √(1 − β₂ᵗ) for the steps of this epoch.
    """

    def __init__(
        self, parameters: Sequence[Tensor], settings: Sequence[Settings], steps: int
    ) -> None:
        self.parameters, self.settings, self.steps = list(parameters), list(settings), steps
        self.n_sgd = sum(s.optimizer == "sgd" for s in settings)
        like = parameters[0]
        self.lr = like.new_tensor([s.lr for s in settings])
        self.weight_decay = like.new_tensor([s.weight_decay for s in settings])
        self.momentum = like.new_tensor([s.momentum for s in settings])
        self.traces = [torch.zeros_like(p) for p in parameters]
        self.squares = [torch.zeros_like(p[self.n_sgd :]) for p in parameters]
        self.corrections = like.new_zeros(steps, 2)

    def begin_epoch(self, epoch: int) -> None:
        """Set this epoch's learning rates and bias corrections."""
        rates = [learning_rate(s, epoch) for s in self.settings]
        self.lr.copy_(torch.tensor(rates, dtype=torch.float64))
        times = range(epoch * self.steps + 1, (epoch + 1) * self.steps + 1)
        table = [[1 - BETAS[0] ** t, math.sqrt(1 - BETAS[1] ** t)] for t in times]
        self.corrections.copy_(torch.tensor(table, dtype=torch.float64))

    def apply(self, gradients: Sequence[Tensor | None], alive: Tensor | None, tick: Tensor) -> None:
        """One step for every member; `alive` None means all of them, `tick` counts from 0. A
        parameter without a gradient stays as it is, as in torch.optim."""
        sgd, adam = slice(0, self.n_sgd), slice(self.n_sgd, None)
        correction = self.corrections.index_select(0, tick)[0]
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients, strict=True)):
            if gradient is None:
                continue
            if self.n_sgd:
                self._sgd(parameter[sgd], gradient[sgd], self.traces[i][sgd], alive)
            if self.n_sgd < len(parameter):
                moments = self.traces[i][adam], self.squares[i]
                self._adam(parameter[adam], gradient[adam], moments, alive, correction)

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must hold."""
        named = {f"trace.{i}": t for i, t in enumerate(self.traces)}
        return named | {f"square.{i}": t for i, t in enumerate(self.squares) if t.numel()}

    def _sgd(
        self, parameter: Tensor, gradient: Tensor, trace: Tensor, alive: Tensor | None
    ) -> None:
        lr, decay, momentum = (
            _column(v[: self.n_sgd], parameter) for v in (self.lr, self.weight_decay, self.momentum)
        )
        gradient = torch.addcmul(gradient, parameter, decay)
        if alive is None:
            trace.mul_(momentum).add_(gradient)
            parameter.addcmul_(trace, lr, value=-1)
            return
        mask = _column(alive[: self.n_sgd], parameter)
        new = trace * momentum + gradient
        trace.copy_(torch.where(mask, new, trace))
        moved = torch.addcmul(parameter, new, lr, value=-1)
        parameter.copy_(torch.where(mask, moved, parameter))

    def _adam(
        self,
        parameter: Tensor,
        gradient: Tensor,
        moments: tuple[Tensor, Tensor],
        alive: Tensor | None,
        correction: Tensor,
    ) -> None:
        rates, decays = self.lr[self.n_sgd :], self.weight_decay[self.n_sgd :]
        gradient = torch.addcmul(gradient, parameter, _column(decays, parameter))
        first = moments[0].lerp(gradient, 1 - BETAS[0])
        second = moments[1] * BETAS[1] + gradient * gradient * (1 - BETAS[1])
        size = _column(rates, parameter) / correction[0]
        moved = parameter - size * first / (second.sqrt() / correction[1] + EPSILON)
        mask = None if alive is None else _column(alive[self.n_sgd :], parameter)
        for old, new in ((moments[0], first), (moments[1], second), (parameter, moved)):
            old.copy_(new if mask is None else torch.where(mask, new, old))


def _column(values: Tensor, like: Tensor) -> Tensor:
    """(m,) as (m, 1, ..., 1)."""
    return values.view(-1, *[1] * (like.dim() - 1))
