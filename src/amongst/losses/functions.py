"""The binary losses ψ, and the partial-label losses built on them: pure functions on the last axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from amongst.checks import check_choice, check_factor
from amongst.errors import InputError
from amongst.losses.known import with_prior

EXPONENT_CAP = 30.0
"""Beyond this margin the exponential loss goes on as its tangent, so that it stays finite."""

FAR = 100.0
"""Beyond it a row's largest score is taken off, where only differences count: at 1e4 float32 has
three digits of them, near 0 all. Nearer rows stay as they are, to the last bit."""

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
    scores = _near_zero(scores)
    top = scores.argmax(-1, keepdim=True)
    rest = _logsumexp(scores.scatter(-1, top, float("-inf"))).unsqueeze(-1)
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
        problem = "is for evaluation only: it has no gradient."
        raise InputError(problem, code="no-gradient", argument="psi", got=found.name)
    return found


def is_shift_invariant(psi: str | Psi) -> bool:
    """Whether ψ sees only differences of scores, as the cross-entropy form does.

    >>> is_shift_invariant("cross_entropy"), is_shift_invariant("sigmoid")
    (True, False)
    """
    psi = get_psi(psi)
    probe = torch.tensor([0.3, -1.2, 0.8], dtype=torch.float64)
    return bool(torch.allclose(psi.toward(probe), psi.toward(probe + 1.7)))


Number = float | Tensor

INITIAL = ("paper", "official")
"""Rules for weights before any score is known."""


def leveraged_weighted(
    scores: Tensor,
    inside: Tensor,
    weights: Tensor,
    psi: str | Psi = "sigmoid",
    beta: Number = 1.0,
    alpha: Number = 1.0,
) -> Tensor:
    """The Leveraged Weighted loss, Eq. (3) of the paper, with the ablation's α.

    α Σ_{z∈s} w_z ψ(g_z) + β Σ_{z∉s} w_z ψ(−g_z); a full set has no second term.

    Parameters
    ----------
    scores, inside, weights : shape (..., K).
    psi : name of a binary loss, or a `Psi`; ``"sigmoid"`` by default, where `LWLoss` and
        `LWClassifier` have ``"cross_entropy"``.
    beta, alpha : numbers of at least 0, or tensors that broadcast over (...).

    Returns
    -------
    Tensor, shape (...).

    Examples
    --------
    >>> scores = torch.tensor([[2.0, 0.0, -2.0]])
    >>> inside = torch.tensor([[True, True, False]])
    >>> leveraged_weighted(scores, inside, initial_weights(inside), "sigmoid", beta=2.0)
    tensor([0.5480])
    """
    psi = get_psi(psi)
    beta, alpha = _factor("beta", beta), _factor("alpha", alpha)
    toward = (weights * psi.toward(scores) * inside).sum(-1)
    away = (weights * psi.away(scores) * _outside(inside)).sum(-1)
    return alpha * toward + beta * away


def initial_weights(
    inside: Tensor, rule: str = "paper", dtype: torch.dtype | None = None
) -> Tensor:
    """Weights before any score is known, shape (..., K).

    ``"paper"``: 1/|s| inside, 1/(K−|s|) outside. ``"official"``: 1/K everywhere.

    >>> initial_weights(torch.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 1.0000])
    """
    check_choice("rule", rule, INITIAL)
    dtype = dtype or torch.get_default_dtype()
    outside, k = _outside(inside), inside.shape[-1]
    if rule == "official":
        return torch.full(inside.shape, 1 / k, dtype=dtype, device=inside.device)
    size = inside.sum(-1, keepdim=True, dtype=dtype)
    return torch.where(outside, 1 / (k - size).clamp(min=1), 1 / size)


def leveraged_weights(scores: Tensor, inside: Tensor) -> Tensor:
    """w_z of Eqs. (11) and (12): softmax over s for z ∈ s, and over the complement for z ∉ s.

    Each side sums to 1; where s is full the outside is empty. Shape (..., K).

    >>> inside = torch.tensor([True, True, False])
    >>> leveraged_weights(torch.tensor([1.0, 1.0, 5.0]), inside)
    tensor([0.5000, 0.5000, 1.0000])
    """
    return candidate_weights(scores, inside) + candidate_weights(scores, _outside(inside))


def candidate_weights(scores: Tensor, inside: Tensor) -> Tensor:
    """softmax(g) renormalised on s, 0 outside (and everywhere, if s is empty): (..., K).

    >>> candidate_weights(torch.zeros(3), torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    floor = torch.finfo(scores.dtype).min
    return scores.masked_fill(_outside(inside), floor).softmax(-1) * inside


def classifier_consistent(scores: Tensor, inside: Tensor, weights: Tensor | None = None) -> Tensor:
    """CC: −log Σ_{z∈s} p_z, as logsumexp over all minus logsumexp over s; with weights π of the
    candidates −log Σ_{z∈s} π_z p_z. Shape (...).

    >>> classifier_consistent(torch.zeros(4), torch.tensor([True, True, False, False]))
    tensor(0.6931)
    """
    scores = _near_zero(scores)
    known = scores if weights is None else with_prior(scores, inside, weights)
    return scores.logsumexp(-1) - _logsumexp(known.masked_fill(_outside(inside), float("-inf")))


def weighted_cross_entropy(scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
    """RC and PRODEN: −Σ_{z∈s} c_z log p_z. Shape (...).

    >>> inside = torch.tensor([True, True, False])
    >>> weighted_cross_entropy(torch.zeros(3), inside, initial_weights(inside))
    tensor(1.0986)
    """
    return (weights * -scores.log_softmax(-1) * inside).sum(-1)


def average(
    scores: Tensor,
    inside: Tensor,
    psi: str | Psi = "cross_entropy",
    weights: Tensor | None = None,
) -> Tensor:
    """The mean of ψ(g_z) over the candidates (Jin & Ghahramani), LW with β = 0 and w = 1/|s|; or with
    weights π of the candidates Σ_{z∈s} π_z ψ(g_z).

    >>> average(torch.zeros(3), torch.tensor([True, True, False]), "sigmoid")
    tensor(0.5000)
    """
    toward = get_psi(psi).toward(scores) * inside
    return toward.sum(-1) / inside.sum(-1) if weights is None else (toward * weights).sum(-1)


def minimum(
    scores: Tensor,
    inside: Tensor,
    psi: str | Psi = "cross_entropy",
    weights: Tensor | None = None,
) -> Tensor:
    """ψ(max_{z∈s} g_z) = min_{z∈s} ψ(g_z): LW with β = 0 and all weight on the best candidate; with
    weights π of the candidates the best is that of the largest g_z + log π_z.

    >>> minimum(torch.tensor([3.0, 0.0, 9.0]), torch.tensor([True, True, False]), "hinge")
    tensor(0.)
    """
    known = scores if weights is None else with_prior(scores, inside, weights)
    return (get_psi(psi).toward(scores) * best_candidate(known, inside)).sum(-1)


def clpl(scores: Tensor, inside: Tensor, psi: str | Psi = "squared_hinge") -> Tensor:
    """CLPL as the LW paper writes it: ψ(max_{z∈s} g_z) + Σ_{z∉s} ψ(−g_z). Shape (...).

    >>> clpl(torch.tensor([3.0, 0.0, -3.0]), torch.tensor([True, True, False]))
    tensor(0.)
    """
    psi = get_psi(psi)
    return minimum(scores, inside, psi) + (psi.away(scores) * _outside(inside)).sum(-1)


def clpl_mean(scores: Tensor, inside: Tensor, psi: str | Psi = "squared_hinge") -> Tensor:
    """CLPL in Cour's own convex form: ψ(mean_{z∈s} g_z) + Σ_{z∉s} ψ(−g_z). Shape (...).

    ψ is applied to the mean score by itself, so a ψ that needs the whole row (cross entropy) is
    applied to the row in which every candidate has that mean score.

    >>> clpl_mean(torch.tensor([3.0, 1.0, -3.0]), torch.tensor([True, True, False]))
    tensor(0.)
    """
    psi, outside = get_psi(psi), _outside(inside)
    mean = (scores * inside).sum(-1, keepdim=True) / inside.sum(-1, keepdim=True)
    levelled = torch.where(outside, scores, mean)
    return average(levelled, inside, psi) + (psi.away(scores) * outside).sum(-1)


def best_candidate(scores: Tensor, inside: Tensor) -> Tensor:
    """One-hot argmax_{z∈s} g_z: 1 at the candidate with the highest score, shape (..., K).

    >>> best_candidate(torch.tensor([3.0, 0.0, 9.0]), torch.tensor([True, True, False]))
    tensor([1., 0., 0.])
    """
    held = scores.masked_fill(_outside(inside), float("-inf"))
    return torch.zeros_like(held).scatter(-1, held.argmax(-1, keepdim=True), 1.0)


def check_shape(name: str, found: Any, wanted: Sequence[int], advice: str = "") -> None:
    """An error where what somebody's code gives is no tensor of this shape: others might broadcast.

    >>> check_shape("Mine.loss", torch.tensor(1.5), (4,))
    Traceback (most recent call last):
    amongst.errors.InputError: Mine.loss gives a tensor of shape (); it must be one of shape (4,).
    """
    if isinstance(found, Tensor) and found.shape == tuple(wanted):
        return
    is_tensor = isinstance(found, Tensor)
    given = f"tensor of shape {tuple(found.shape)}" if is_tensor else type(found).__name__
    problem = f"{name} gives a {given}; it must be one of shape {tuple(wanted)}."
    raise InputError(problem, code="shape", remedy=advice)


def _near_zero(scores: Tensor) -> Tensor:
    """The row, without its largest score where that is `FAR`: the same softmax, and more digits."""
    return scores - _far(scores)


def _logsumexp(scores: Tensor) -> Tensor:
    """As PyTorch has it; its gradient is a softmax of all digits where the row is far below 0, too."""
    far = _far(scores)
    return (scores - far).logsumexp(-1) + far.squeeze(-1)


def _far(scores: Tensor) -> Tensor:
    """The largest score of a row where it is beyond `FAR`, else 0; shape (..., 1)."""
    top = scores.detach().amax(-1, keepdim=True)
    return torch.where((top.abs() > FAR) & top.isfinite(), top, 0)


def _factor(name: str, value: Number) -> Number:
    """β or α, looked at where it has a value: while it compiles, one that changes has none."""
    given = isinstance(value, Tensor) or torch.compiler.is_compiling()
    return value if given else check_factor(name, value)


def _outside(inside: Tensor) -> Tensor:
    """The mask [z ∉ s]."""
    if not isinstance(inside, Tensor):
        raise InputError(
            f"inside is of type {type(inside).__name__}; it must be a bool tensor. Use "
            "torch.as_tensor(inside)."
        )
    if inside.dtype != torch.bool:
        raise InputError(
            f"inside has dtype {inside.dtype}; it must be a bool mask. Use inside.bool()."
        )
    return ~inside
