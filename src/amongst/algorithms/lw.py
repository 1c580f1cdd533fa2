"""LW: the Leveraged Weighted loss (Wen et al., ICML 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

from torch import Tensor

from amongst.algorithms._base import LossForm, Method, Refresh, needed
from amongst.candidates import CandidateSets
from amongst.checks import check_choice, check_factor, check_number
from amongst.errors import InputError
from amongst.losses import (
    get_psi,
    initial_weights,
    is_shift_invariant,
    leveraged_weighted,
    leveraged_weights,
)
from amongst.theory import auto_beta


@dataclass(frozen=True)
class Protocol:
    """One way to run the paper's experiments.

    Attributes
    ----------
    initial : LW's starting weights, ``"paper"`` (1/|s|, 1/(K−|s|)) or ``"official"`` (1/K).
    refresh : when LW's weights change, ``"epoch"``, ``"post"`` or ``"same"``.
    widths : hidden layers of the MLP.
    schedule : LW's learning rate over time, a name of `amongst.train.SCHEDULES`.
    report : ``"final"``, the accuracy after the last epoch, or ``"last10"``, the mean of the last
        ten epochs.
    dropout_at_evaluation : ConvNet only.
    validation : share of the training rows held out for the search.

    Examples
    --------
    >>> Protocol(report="final").validation
    0.1
    """

    initial: str = "paper"
    refresh: Refresh = "same"
    widths: tuple[int, ...] = (300, 300, 300, 300)
    schedule: str = "exponential"
    report: str = "last10"
    dropout_at_evaluation: bool = False
    validation: float = 0.1


PROTOCOLS = MappingProxyType(
    {
        "default": Protocol(),
        "paper": Protocol(refresh="epoch", schedule="halving", report="final"),
        "official": Protocol(
            initial="official",
            refresh="post",
            widths=(300, 301, 302, 303),
            dropout_at_evaluation=True,
            validation=0.0,
        ),
    }
)
"""``default`` takes new weights from the pass that gave the loss, which saves a forward pass;
``paper`` follows the text, ``official`` the published code."""


def get_protocol(protocol: str | Protocol) -> Protocol:
    """The protocol of that name; a `Protocol` passes through.

    >>> get_protocol("official").refresh
    'post'
    """
    if isinstance(protocol, Protocol):
        return protocol
    return PROTOCOLS[check_choice("protocol", protocol, PROTOCOLS)]


@dataclass(frozen=True)
class LW(Method):
    """α Σ_{z∈s} w_z ψ(g_z) + β Σ_{z∉s} w_z ψ(−g_z), w from the scores on either side of s.

    Parameters
    ----------
    psi : name of a trainable binary loss; ``"cross_entropy"`` by default, where the function
        `leveraged_weighted` has ``"sigmoid"``.
    beta, alpha : ≥ 0, the leverage on non-candidates, and the factor on candidates. In an estimator
        β may be ``"auto"``: read off the candidate sets by `amongst.theory.auto_beta`.
    initial : ``"paper"`` (1/|s|, 1/(K−|s|)) or ``"official"`` (1/K).
    refresh : ``"same"``, ``"post"`` or ``"epoch"``; see `Refresh`.
    fade : in [0, 1], the share of β that goes during training: at the share t of the epochs β is
        β (1 − fade (1 − cos πt)/2). The paper has 0. In an estimator None means 1 for the
        cross-entropy form with such a β, else 0; and 0 where a protocol is named.

    Examples
    --------
    >>> import torch
    >>> method = LW(psi="sigmoid", beta=2.0)
    >>> inside = torch.tensor([[True, True, False]])
    >>> method.loss(torch.tensor([[2.0, 0.0, -2.0]]), inside, method.init(inside))
    tensor([0.5480])
    """

    name, title = "lw", "LW"
    reference = "Wen et al., Leveraged Weighted Loss, ICML 2021"
    grid = MappingProxyType(
        {
            "lr": (0.001, 0.005, 0.01, 0.05, 0.1),
            "weight_decay": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
            "beta": (1.0, 2.0),
        }
    )
    leaves = ("beta", "alpha", "fade")
    uses_prior = True
    switches = ("initial", "refresh")
    in_loop = ("refresh", "fade")
    preset = MappingProxyType({"beta": "auto", "fade": None})
    chosen = ("beta",)

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

    @classmethod
    def for_sets(cls, sets: CandidateSets, protocol: Protocol, **given: Any) -> Self:
        """With β off the candidate sets for ``beta="auto"`` (`amongst.theory.auto_beta`). `fade` None
        means 1 for such a β of the cross-entropy form, else 0; and 0 where a protocol is named."""
        psi, beta, fade = get_psi(given["psi"], trainable=True).name, given["beta"], given["fade"]
        if isinstance(beta, str) and beta != "auto":
            problem = "must be 'auto' or a number of at least 0."
            raise InputError(problem, code="no-such-number", argument="beta", got=beta)
        if fade is None:
            ours = beta == "auto" and protocol == PROTOCOLS["default"]
            fade = 1.0 if ours and is_shift_invariant(psi) else 0.0
        beta = auto_beta(sets, psi) if beta == "auto" else check_number("beta", beta, low=0)
        fade = check_number("fade", fade, low=0, high=1)
        return super().for_sets(sets, protocol, **given | {"beta": beta, "fade": fade})

    @property
    def when(self) -> Refresh:
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
        return initial_weights(inside, self.initial)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        given = needed(self, weights)
        return leveraged_weighted(scores, inside, given, self.psi, self.beta, self.alpha)

    def update(self, scores: Tensor, inside: Tensor) -> Tensor:
        return leveraged_weights(scores, inside)
