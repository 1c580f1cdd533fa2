"""The binary losses ψ: how much a score costs as a candidate, and as a non-candidate.

Each ψ is a pair over the whole score row g ∈ R^K: `toward` gives ψ(g_z), which falls as g_z grows,
and `away` gives ψ(−g_z). For the cross-entropy form the two are −log p_z and −log(1 − p_z) with
p = softmax(g). In float32 and float64 every one is finite, with finite gradients, at scores of ±1e4;
NaN stays NaN. The loss modules compute half precision in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor
from torch.nn import functional as F

from amongst.checks import check_choice
from amongst.errors import InputError

__all__ = ["EXPONENT_CAP", "PSIS", "Psi", "get_psi"]

EXPONENT_CAP = 30.0
"""Beyond this margin the exponential loss goes on as its tangent, so that it stays finite."""

Elementwise = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Psi:
    """A binary loss, applied to score rows of shape (..., K).

    Attributes
    ----------
    name : how it is asked for.
    toward : (..., K) → (..., K), the loss ψ(g_z) of z as a candidate.
    away : (..., K) → (..., K), the loss ψ(−g_z) of z as a non-candidate.
    symmetric : whether ψ(t) + ψ(−t) = 1.
    trainable : False for the zero-one loss, which has no useful gradient.

    Examples
    --------
    >>> scores = torch.tensor([2.0, 0.0, -2.0])
    >>> psi = get_psi("sigmoid")
    >>> psi.toward(scores)
    tensor([0.1192, 0.5000, 0.8808])
    >>> psi.away(scores)
    tensor([0.8808, 0.5000, 0.1192])
    """

    name: str
    toward: Elementwise
    away: Elementwise
    symmetric: bool = False
    trainable: bool = True


def _of_margin(
    name: str, psi: Elementwise, *, symmetric: bool = False, trainable: bool = True
) -> Psi:
    """A ψ that looks at each score by itself: away(g) = ψ(−g)."""
    return Psi(name, psi, _Mirrored(psi), symmetric, trainable)


@dataclass(frozen=True)
class _Mirrored:
    """ψ(−g); an object rather than a lambda, so that a ψ can be pickled."""

    psi: Elementwise

    def __call__(self, scores: Tensor) -> Tensor:
        return self.psi(-scores)


def _sigmoid(margin: Tensor) -> Tensor:
    return torch.sigmoid(-margin)


def _ramp(margin: Tensor) -> Tensor:
    return ((1 - margin) / 2).clamp(0, 1)


def _zero_one(margin: Tensor) -> Tensor:
    return torch.where(margin.isnan(), margin, (1 - margin.sign()) / 2)


def _logistic(margin: Tensor) -> Tensor:
    return F.softplus(-margin)


def _hinge(margin: Tensor) -> Tensor:
    return F.relu(1 - margin)


def _squared_hinge(margin: Tensor) -> Tensor:
    return F.relu(1 - margin).square()


def _exponential(margin: Tensor) -> Tensor:
    exponent = (-margin).clamp(max=EXPONENT_CAP)
    return exponent.exp() * (1 + F.relu(-margin - EXPONENT_CAP))


def _surprise(scores: Tensor) -> Tensor:
    return -scores.log_softmax(-1)


def _surprise_of_others(scores: Tensor) -> Tensor:
    """−log(1 − p_z) without cancellation: only the largest p_z can be near 1, and for it the
    others are summed by logsumexp. A single class has no others, and costs nothing."""
    if scores.shape[-1] == 1:
        return scores * 0
    top = scores.argmax(-1, keepdim=True)
    rest = scores.scatter(-1, top, float("-inf")).logsumexp(-1, keepdim=True)
    of_top = scores.logsumexp(-1, keepdim=True) - rest
    is_top = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, top, True)
    p = scores.softmax(-1).masked_fill(is_top, 0)
    return torch.where(is_top, of_top, -torch.log1p(-p))


PSIS = MappingProxyType(
    {
        psi.name: psi
        for psi in (
            _of_margin("sigmoid", _sigmoid, symmetric=True),
            Psi("cross_entropy", _surprise, _surprise_of_others),
            _of_margin("ramp", _ramp, symmetric=True),
            _of_margin("zero_one", _zero_one, symmetric=True, trainable=False),
            _of_margin("logistic", _logistic),
            _of_margin("hinge", _hinge),
            _of_margin("squared_hinge", _squared_hinge),
            _of_margin("exponential", _exponential),
        )
    }
)
"""Every ψ by its name."""


def get_psi(psi: str | Psi, *, trainable: bool = False) -> Psi:
    """The ψ of that name; a `Psi` passes through. With `trainable`, one with a gradient only.

    >>> get_psi("ramp").symmetric
    True
    >>> get_psi("zero_one", trainable=True)
    Traceback (most recent call last):
    amongst.errors.InputError: psi='zero_one' is for evaluation only: it has no gradient.
    """
    own = isinstance(psi, str) and psi in PSIS
    names = [n for n in PSIS if own or PSIS[n].trainable or not trainable]
    found = psi if isinstance(psi, Psi) else PSIS[check_choice("psi", psi, names)]
    if trainable and not found.trainable:
        raise InputError(f"psi={found.name!r} is for evaluation only: it has no gradient.")
    return found
