"""RC: the risk-consistent method (Feng et al., NeurIPS 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from amongst.methods.base import Optimizer, Refresh
from amongst.methods.identification import Identification

__all__ = ["ADAM_GRID", "RC"]

ADAM_GRID: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "lr": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
        "weight_decay": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
    }
)
"""The paper's grid for RC and CC."""


@dataclass(frozen=True)
class RC(Identification):
    """−Σ_{z∈s} c_z log p_z, with c from a second pass after the optimiser's step.

    Examples
    --------
    >>> import torch
    >>> method, inside = RC(), torch.tensor([[True, True, False]])
    >>> method.update(torch.tensor([[0.0, 0.0, 9.0]]), inside)
    tensor([[0.5000, 0.5000, 0.0000]])
    """

    name: ClassVar[str] = "rc"
    title: ClassVar[str] = "RC"
    reference: ClassVar[str] = "Feng et al., Provably Consistent Partial-Label Learning, 2020"
    optimizer: ClassVar[Optimizer] = "adam"
    lr: ClassVar[float] = 1e-3
    weight_decay: ClassVar[float] = 1e-5
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = ADAM_GRID

    @property
    def when(self) -> Refresh:
        """From a second pass after the step."""
        return "post"
