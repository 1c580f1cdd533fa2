"""PRODEN: progressive identification (Lv et al., ICML 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from amongst.methods.base import Refresh
from amongst.methods.identification import Identification

__all__ = ["PRODEN"]


@dataclass(frozen=True)
class PRODEN(Identification):
    """−Σ_{z∈s} c_z log p_z, with c from the pass that gave the row's last loss.

    Examples
    --------
    >>> import torch
    >>> method, inside = PRODEN(), torch.tensor([[True, True, False]])
    >>> method.loss(torch.zeros(1, 3), inside, method.init(inside))
    tensor([1.0986])
    """

    name: ClassVar[str] = "proden"
    title: ClassVar[str] = "PRODEN"
    reference: ClassVar[str] = "Lv et al., Progressive Identification of True Labels, ICML 2020"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {
            "lr": (1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
            "weight_decay": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
        }
    )

    @property
    def when(self) -> Refresh:
        """From the pass that gave the loss."""
        return "same"
