"""CLPL: candidates against non-candidates (Cour et al., JMLR 2011), in both forms."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from torch import Tensor

from amongst.algorithms._base import LossForm, Method
from amongst.algorithms.proden import PRODEN
from amongst.checks import check_choice
from amongst.losses import clpl, clpl_mean, get_psi


@dataclass(frozen=True)
class CLPL(Method):
    """ψ(max_{z∈s} g_z) + Σ_{z∉s} ψ(−g_z), or with ``form="mean"`` ψ of the mean score over s.

    The first, ``"max"`` by default here and in `CLPLLoss`, is how the LW paper writes it; the second is Cour's own, which
    is convex and the default of `CLPLClassifier`.

    Examples
    --------
    >>> import torch
    >>> CLPL().loss(torch.zeros(1, 3), torch.tensor([[True, True, False]]), None)
    tensor([2.])
    """

    name, title = "clpl", "CLPL"
    reference = "Cour et al., Learning from Partial Labels, JMLR 2011"
    grid = PRODEN.grid
    preset = MappingProxyType({"form": "mean", "model": "linear"})
    slows = 2

    psi: str = "squared_hinge"
    form: str = "max"

    def __post_init__(self) -> None:
        get_psi(self.psi, trainable=True)
        check_choice("form", self.form, ("max", "mean"))

    @property
    def loss_form(self) -> LossForm | None:
        """Eq. (3) with all weight on the best candidate, 1 outside and β = 1; the mean has none."""
        return LossForm("best", self.psi, outside=True) if self.form == "max" else None

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        function = clpl if self.form == "max" else clpl_mean
        return function(scores, inside, self.psi)
