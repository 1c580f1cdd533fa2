"""LW: the Leveraged Weighted loss (Wen et al., ICML 2021)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

from torch import Tensor

from amongst.checks import check_choice, check_number
from amongst.losses import (
    get_psi,
    initial_weights,
    leveraged_weighted,
    leveraged_weights,
)
from amongst.losses.door import check_factor
from amongst.methods.base import LossForm, Method, Refresh, needed

__all__ = ["LW"]


@dataclass(frozen=True)
class LW(Method):
    """α Σ_{z∈s} w_z ψ(g_z) + β Σ_{z∉s} w_z ψ(−g_z), w from the scores on either side of s.

    Parameters
    ----------
    psi : name of a trainable binary loss.
    beta, alpha : ≥ 0.
    initial : ``"paper"`` (1/|s|, 1/(K−|s|)) or ``"official"`` (1/K).
    refresh : ``"same"``, ``"post"`` or ``"epoch"``; see `Refresh`.
    fade : in [0, 1], the share of β that goes during training: at the share t of the epochs β is
        β (1 − fade (1 − cos πt)/2). The paper has 0.

    Examples
    --------
    >>> import torch
    >>> method = LW(psi="sigmoid", beta=2.0)
    >>> inside = torch.tensor([[True, True, False]])
    >>> method.loss(torch.tensor([[2.0, 0.0, -2.0]]), inside, method.init(inside))
    tensor([0.5480])
    """

    name: ClassVar[str] = "lw"
    title: ClassVar[str] = "LW"
    reference: ClassVar[str] = "Wen et al., Leveraged Weighted Loss, ICML 2021"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType(
        {
            "lr": (0.001, 0.005, 0.01, 0.05, 0.1),
            "weight_decay": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
            "beta": (1.0, 2.0),
        }
    )
    leaves: ClassVar[tuple[str, ...]] = ("beta", "alpha", "fade")

    psi: str = "cross_entropy"
    beta: float | Tensor = 1.0
    alpha: float | Tensor = 1.0
    initial: str = "paper"
    refresh: Refresh = "same"
    fade: float | Tensor = 0.0

    def __post_init__(self) -> None:
        check_choice("initial", self.initial, ("paper", "official"))
        check_choice("refresh", self.refresh, ("same", "post", "epoch"))
        get_psi(self.psi, trainable=True)
        for name in ("beta", "alpha"):
            if not isinstance(value := getattr(self, name), Tensor):
                check_factor(name, value)
        if not isinstance(self.fade, Tensor):
            check_number("fade", self.fade, low=0, high=1)

    @property
    def when(self) -> Refresh:
        """As the parameter `refresh` says."""
        return self.refresh

    @property
    def loss_form(self) -> LossForm:
        """Eq. (3) itself."""
        return LossForm("stored", self.psi, both=True, outside=True)

    def at(self, progress: float) -> Self:
        """With the β of this share of the epochs.

        >>> LW(beta=4.0, fade=0.5).at(1.0).beta
        2.0
        """
        if not isinstance(self.fade, Tensor) and self.fade == 0:
            return self
        left = 1 - self.fade * ((1 - math.cos(math.pi * progress)) / 2)
        return replace(self, beta=self.beta * left, fade=self.fade * 0)

    def init(self, inside: Tensor) -> Tensor:
        """Starting weights by the rule `initial`."""
        return initial_weights(inside, self.initial)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        """Eq. (3) of the paper."""
        given = needed(self, weights)
        return leveraged_weighted(scores, inside, given, self.psi, self.beta, self.alpha)

    def update(self, scores: Tensor, inside: Tensor) -> Tensor:
        """Eqs. (11) and (12) of the paper."""
        return leveraged_weights(scores, inside)
