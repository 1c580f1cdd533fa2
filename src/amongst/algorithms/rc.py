"""RC: the risk-consistent method (Feng et al., NeurIPS 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from amongst.algorithms.proden import PRODEN

POWERS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
ADAM_GRID = MappingProxyType({"lr": POWERS, "weight_decay": POWERS})
"""The paper's grid for RC and CC."""


@dataclass(frozen=True)
class RC(PRODEN):
    """−Σ_{z∈s} c_z log p_z, with c from a second pass after the optimiser's step.

    Examples
    --------
    >>> import torch
    >>> method, inside = RC(), torch.tensor([[True, True, False]])
    >>> method.update(torch.tensor([[0.0, 0.0, 9.0]]), inside)
    tensor([[0.5000, 0.5000, 0.0000]])
    """

    name, title, when = "rc", "RC", "post"
    reference = "Feng et al., Provably Consistent Partial-Label Learning, 2020"
    optimizer, lr, weight_decay, grid = "adam", 1e-3, 1e-5, ADAM_GRID
