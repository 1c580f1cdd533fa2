"""Launching the loss kernel for one group of a cohort."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from amongst.engine.population import loss_kernel
from amongst.engine.population.cohort import Group
from amongst.methods import LossForm

if TYPE_CHECKING:
    from amongst.engine.population.fused import FusedStep

__all__ = ["FusedLoss"]

MOST_CLASSES = 32
"""Beyond this a batch's score rows no longer fit one program."""


@dataclass(eq=False)
class FusedLoss:
    """The loss of one group: losses, slopes, new weights and totals in one launch.

    Attributes
    ----------
    step : whose buffers it reads and writes.
    group, form : what it computes.
    alpha, beta : shape (m,), float32; the method's own memory, which changes from epoch to epoch.
    """

    step: FusedStep
    group: Group
    form: LossForm
    alpha: Tensor
    beta: Tensor

    @classmethod
    def of(cls, step: FusedStep, group: Group) -> FusedLoss | None:
        """The fused loss of a group, or None where the kernel does not know it."""
        form = group.form
        if form is None or step.network.n_classes > MOST_CLASSES:
            return None
        m = group.part.stop - group.part.start
        ones = torch.ones(m, device=step.cohort.device)
        alpha = getattr(group.method, "alpha", ones)
        beta = getattr(group.method, "beta", ones * form.outside)
        if beta.dtype != torch.float32:
            return None
        return cls(step, group, form, alpha.view(-1), beta.view(-1))

    def loss(self, size: int) -> None:
        """Losses and slopes of the batch; new weights too, if they come from the same scores."""
        cohort = self.step.cohort
        loss_kernel.batch_loss[(self._members,)](
            self.step.scores,
            self.step.slopes[-1],
            *self._rows(),
            self.alpha,
            self.beta,
            cohort.alive,
            cohort.totals,
            *self._sizes(size),
            KIND=self.form.kind,
            PSI=self.form.psi,
            REFRESH=self.group.weights is not None and self.group.method.when == "same",
            BOTH=self.form.both,
            **self._launch(size),
        )

    def refresh(self, size: int) -> None:
        """New weights of the batch's rows, from the scores as they are now."""
        loss_kernel.new_weights[(self._members,)](
            self.step.scores,
            *self._rows(),
            self.step.cohort.alive,
            *self._sizes(size),
            BOTH=self.form.both,
            **self._launch(size),
        )

    @property
    def _members(self) -> int:
        return int(self.group.part.stop - self.group.part.start)

    def _rows(self) -> tuple[Any, ...]:
        candidates = self.step.cohort.candidates
        weights = self.group.weights
        unused = self.alpha if weights is None else weights
        return self.step.rows, self.step.index, candidates.codes, candidates.first, unused

    def _sizes(self, size: int) -> tuple[int, ...]:
        step = self.step
        first = int(self.group.part.start)
        return first, step.cohort.n_rows, size, step.capacity, step.network.sizes[-1]

    def _launch(self, size: int) -> dict[str, int]:
        k = self.step.network.n_classes
        rows = max(16, 1 << (size - 1).bit_length())
        columns = max(2, 1 << (k - 1).bit_length())
        return {"K": k, "BLOCK_B": rows, "BLOCK_K": columns, "num_warps": 8}
