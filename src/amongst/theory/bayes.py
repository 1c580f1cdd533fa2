"""Theorem 2, checked: where does the minimiser of the exact inner risk rank as the Bayes rule does?

At one x with label posterior p the sets have the law P(s | x) = Σ_y p_y P(s | y), and the inner
risk is Σ_z [a_z ψ(g_z) + β b_z ψ(−g_z)], where a_z and b_z are the mean weights of z inside and
outside of s. Scores are kept in the box |g_z| ≤ `BOX`, since bounded ψ have no finite minimiser. A
tie at the top counts as a failure: the scores then do not tell the labels apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from amongst.checks import check_choice, check_integer, check_number
from amongst.devices import one_thread
from amongst.errors import InputError
from amongst.losses import Psi, get_psi, initial_weights, is_shift_invariant
from amongst.theory.law import as_posterior, as_row, enumerate_sets, mixed_law, no_shape

BOX = 10.0
"""Scores lie in [−BOX, BOX]."""

TIE = 1e-3
"""A lead of no more than this is a tie."""

WEIGHTS = ("equal", "initial", "following", "misled")
GRID = 2001
FLAT = 1e-9
BISECTIONS = 200
STEP, STEPS, COOLING = 0.2, 500, 0.95


@dataclass(frozen=True, eq=False)
class BayesMap:
    """Where the top score is the Bayes label, over a grid of β and q.

    Attributes
    ----------
    psi, weights : what was minimised, see `bayes_map`.
    posterior : (K,), or (P, K).
    betas, qs : (B,), and (Q,) or (Q, K, K).
    agrees : bool, (B, Q) or (P, B, Q): whether the label of the highest score is the Bayes label, alone.

    Examples
    --------
    >>> found = bayes_map([0.1, 1.0], [0.3], [0.6, 0.4], "sigmoid")
    >>> found.agrees.shape, 0 <= found.share <= 1
    (torch.Size([2, 1]), True)
    """

    psi: str
    weights: str
    posterior: Tensor
    betas: Tensor
    qs: Tensor
    agrees: Tensor

    @property
    def share(self) -> float:
        """The share of the grid on which it agrees."""
        return float(self.agrees.double().mean())


def bayes_map(
    betas: Any,
    qs: Any,
    posterior: Sequence[float] | Tensor,
    psi: str | Psi = "sigmoid",
    weights: str = "equal",
) -> BayesMap:
    """Minimise the inner risk at each (β, q) and compare its top label with that of Bayes.

    Parameters
    ----------
    betas : shape (B,).
    qs : shape (Q,), uniform rates; or (Q, K, K), class-dependent ones.
    posterior : p, shape (K,) with one largest entry, or (P, K) for P maps at once; K ≤ 16.
    psi : a margin loss, or ``"cross_entropy"``.
    weights : held fixed at 1 (``"equal"``) or at 1/|s| and 1/(K−|s|) (``"initial"``); or set by
        the scores along the gradient flow, from scores of 0 (``"following"``), or from a firm
        belief in the second label (``"misled"``).

    Examples
    --------
    >>> found = bayes_map([0.5, 4.0], [0.1, 0.5, 0.9], peaked(4, 1.0), "sigmoid")
    >>> found.agrees.int()
    tensor([[1, 0, 0],
            [1, 1, 0]], dtype=torch.int32)
    """
    p, beta_row = as_posterior(posterior), _betas(betas, "betas")
    if beta_row.ndim != 1:
        raise no_shape("betas", beta_row, "one row, (B,)")
    if p.shape[-1] < 2:
        problem = "has one label only; a ranking needs at least two."
        raise InputError(problem, code="one-label", argument="posterior")
    best = p.topk(2)
    if (best.values[..., 0] <= best.values[..., 1]).any():
        problem = "has a tie at the top, so that no label is the Bayes label."
        raise InputError(problem, code="tie", argument="posterior")
    scores = minimiser(beta_row[:, None], as_row(qs, "qs"), p, psi, weights)
    top = scores.topk(2)
    clear = top.values[..., 0] - top.values[..., 1] > TIE
    agrees = clear & (top.indices[..., 0] == best.indices[..., 0][..., None, None])
    return BayesMap(get_psi(psi).name, weights, p, beta_row, as_row(qs, "qs"), agrees)


def peaked(K: int, top: float) -> Tensor:
    """The posterior with `top` on label 0 and the rest spread evenly, shape (K,).

    >>> peaked(3, 0.6)
    tensor([0.6000, 0.2000, 0.2000], dtype=torch.float64)
    """
    low = 1 / check_integer("K", K, low=2)
    rest = (1 - check_number("top", top, low=low, high=1)) / (K - 1)
    p = torch.full((K,), rest, dtype=torch.float64)
    p[0] = top
    return p


def minimiser(beta: Any, q: Any, posterior: Any, psi: str | Psi, weights: str = "equal") -> Tensor:
    """Scores that minimise the inner risk, shape (B, Q, K) for β (B, 1) and q (Q,) or (Q, K, K).

    With P posteriors, shape (P, K), they have shape (P, B, Q, K).
    For the cross-entropy form these are log-probabilities.

    >>> p = torch.tensor([0.75, 0.25], dtype=torch.float64)
    >>> beta, q = torch.zeros(1, 1), torch.zeros(1)
    >>> minimiser(beta, q, p, "cross_entropy").exp()
    tensor([[[0.7500, 0.2500]]], dtype=torch.float64)
    """
    psi = get_psi(psi)
    check_choice("weights", weights, WEIGHTS)
    beta, q, posterior = _betas(beta, "beta"), as_row(q, "q"), as_posterior(posterior)
    sets = enumerate_sets(posterior.shape[-1])
    law = _laws(sets, q, posterior)
    if weights in ("following", "misled"):
        start = torch.zeros_like(posterior)
        if weights == "misled":
            start.scatter_(-1, posterior.topk(2).indices[..., 1:], BOX)
        shape = (*posterior.shape[:-1], len(beta), len(q), -1)
        with one_thread():
            return _flow(start[..., None, None, :].expand(shape).clone(), beta, law, sets, psi)
    inside, outside = _fixed_means(law, sets, weights)
    if is_shift_invariant(psi):
        return _softmax_minimiser(inside, beta[..., None] * outside)
    return _margin_minimiser(inside, beta[..., None] * outside, psi)


def _betas(values: Any, name: str) -> Tensor:
    found = as_row(values, name)
    if not ((found >= 0) & found.isfinite()).all():
        problem = "must hold finite numbers of at least 0."
        raise InputError(problem, code="no-such-number", argument=name)
    return found


def _laws(sets: Tensor, q: Tensor, posterior: Tensor) -> Tensor:
    """P(s | x) of every q, (Q, S), or of every posterior and q, (P, 1, Q, S)."""
    if posterior.ndim > 1:
        return torch.stack([_laws(sets, q, row)[None] for row in posterior])
    return torch.stack([mixed_law(sets, rate, posterior) for rate in q])


def _fixed_means(law: Tensor, sets: Tensor, weights: str) -> tuple[Tensor, Tensor]:
    """a and b, each (..., Q, K), of weights that do not depend on the scores."""
    rule = torch.ones(sets.shape, dtype=torch.float64)
    if weights == "initial":
        rule = initial_weights(sets, dtype=torch.float64)
    return law @ (rule * sets), law @ (rule * ~sets)


def _margin_minimiser(toward: Tensor, away: Tensor, psi: Psi) -> Tensor:
    """Each score by itself, by search over a grid: also right where ψ is not convex.

    Where ψ is flat (ramp) the smallest of the minimising scores is taken.
    """
    grid = torch.linspace(-BOX, BOX, GRID, dtype=torch.float64)
    down, up = psi.toward(grid[:, None])[:, 0], psi.away(grid[:, None])[:, 0]
    pairs = zip(toward.expand(away.shape).unbind(-1), away.unbind(-1), strict=True)
    risks = (a[..., None] * down + b[..., None] * up for a, b in pairs)
    return torch.stack([grid[(risk + FLAT * grid.abs()).argmin(-1)] for risk in risks], dim=-1)


def _softmax_minimiser(toward: Tensor, away: Tensor) -> Tensor:
    """argmin over the simplex of Σ [−a log u − c log(1−u)], convex, by bisection of the multiplier."""
    k = toward.shape[-1]
    a, c = toward.clamp(min=1e-300).expand(away.shape), away
    slope = -a * k + c * k / (k - 1)
    low, high = slope.amin(-1, keepdim=True), slope.amax(-1, keepdim=True)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        small = _shares(a, c, middle).sum(-1, keepdim=True) < 1
        low, high = torch.where(small, middle, low), torch.where(small, high, middle)
    return _shares(a, c, high).log()


def _shares(a: Tensor, c: Tensor, multiplier: Tensor) -> Tensor:
    """The root in (0, 1) of −a/u + c/(1−u) = multiplier."""
    linear = a + c - multiplier
    root = (linear.square() + 4 * multiplier * a).clamp(min=0).sqrt()
    return torch.where(linear > 0, 2 * a / (linear + root), (root - linear) / (2 * multiplier))


def _flow(g: Tensor, beta: Tensor, law: Tensor, sets: Tensor, psi: Psi) -> Tensor:
    """The gradient flow in the box, weights following; time is scaled, so the path is the same."""
    step = STEP
    for count in range(STEPS):
        slope = _slope(g, beta, law, sets, psi)
        blocked = ((g >= BOX) & (slope < 0)) | ((g <= -BOX) & (slope > 0))
        slope = slope.masked_fill(blocked, 0)
        g = (g - step * slope / slope.abs().amax(-1, keepdim=True).clamp(min=1e-12)).clamp(
            -BOX, BOX
        )
        step *= COOLING if count > 0.7 * STEPS else 1
    return g


def _slope(g: Tensor, beta: Tensor, law: Tensor, sets: Tensor, psi: Psi) -> Tensor:
    """The gradient of the inner risk in g, the weights of Eqs. (11), (12) taken as constants."""
    toward, away = _following_means(g, law, sets)
    scores = g.detach().requires_grad_()
    risk = toward * psi.toward(scores) + beta[..., None] * away * psi.away(scores)
    return torch.autograd.grad(risk.sum(), scores)[0]


def _following_means(g: Tensor, law: Tensor, sets: Tensor) -> tuple[Tensor, Tensor]:
    """a and b for weights that are the softmax of g on either side: (..., K) each."""
    inside, outside = sets.double(), (~sets).double()
    e = g.exp()
    a = e * ((law / (e @ inside.T)) @ inside)
    b = e * ((law / (e @ outside.T).clamp(min=1e-300)) @ outside)
    return a, b
