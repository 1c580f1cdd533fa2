"""One module as it is, among stacked ones: for what was trained by itself."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from amongst.models.stacked.base import EVERYONE, ScoredNetwork, copied

__all__ = ["SoloNetwork"]


class SoloNetwork(ScoredNetwork):
    """A copy of one module on the CPU, as a stack of one; no vmap, so that any module will do.

    Examples
    --------
    >>> SoloNetwork(nn.Linear(4, 3)).evaluate(torch.zeros(6, 4)).shape
    torch.Size([1, 6, 3])
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = copied(model).cpu().eval()

    def __len__(self) -> int:
        return 1

    @property
    def dtype(self) -> torch.dtype:
        """Of the parameters."""
        return next(self.model.parameters()).dtype

    def evaluate(self, x: Tensor, part: slice = EVERYONE, *, shared: bool = True) -> Tensor:
        """Scores (1, B, K) in evaluation mode, of rows (B, ...) if shared, else (1, B, ...)."""
        with torch.no_grad():
            scores: Tensor = self.model(x if shared else x[0])
        return scores.unsqueeze(0)

    def member(self, i: int) -> nn.Module:
        """A copy of the module, in evaluation mode, on the CPU."""
        return copied(self.model)
