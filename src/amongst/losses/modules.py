"""The losses as `nn.Module`s, for a training loop of one's own.

    criterion = LWLoss(candidates, psi="cross_entropy", beta=1.0)
    for index, x in loader:                  # index: row numbers in `candidates`
        scores = model(x)
        loss = criterion(scores, index)
        ...                                  # backward, step
        criterion.update(scores, index)      # new weights for these rows

The per-row state lives on the module's device and in its `state_dict`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from amongst.candidates import CandidateSets, as_candidates
from amongst.checks import check_choice, check_number
from amongst.errors import DivergenceError, InputError
from amongst.losses import partial
from amongst.losses.psi import Psi, get_psi

__all__ = [
    "AverageLoss",
    "CCLoss",
    "CLPLLoss",
    "LWLoss",
    "MinimumLoss",
    "PRODENLoss",
    "PartialLabelLoss",
    "RCLoss",
]

REDUCTIONS = ("mean", "sum", "none")


class PartialLabelLoss(nn.Module):
    """Base of the loss modules: holds the candidate sets, and weights where a loss has them.

    Parameters
    ----------
    candidates : anything `as_candidates` takes; n rows, K classes.
    reduction : ``"mean"`` over the batch, ``"sum"``, or ``"none"`` for one value a row.
    """

    inside: Tensor
    weights: Tensor
    weighted: ClassVar[bool] = False

    def __init__(self, candidates: Any, *, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = check_choice("reduction", reduction, REDUCTIONS)
        sets = as_candidates(candidates)
        self.candidates = sets
        self.register_buffer("inside", torch.from_numpy(sets.to_mask()))
        weights = partial.initial_weights(self.inside) if self.weighted else torch.empty(0)
        self.register_buffer("weights", weights)

    def forward(self, scores: Tensor, index: Tensor) -> Tensor:
        """The loss of a batch.

        Parameters
        ----------
        scores : shape (B, K), straight from the network (no softmax).
        index : shape (B,), the row numbers of the batch in `candidates`.
        """
        inside = self._rows(scores, index)
        weights = self.weights[index].to(scores.dtype) if self.weighted else self.weights
        losses = self.loss(scores, inside, weights)
        if not torch.isfinite(losses).all():
            raise DivergenceError(
                "the loss is not finite: scores contain NaN or infinity. Lower the learning rate, "
                "or look for NaN in the inputs."
            )
        return _reduce(losses, self.reduction)

    @torch.no_grad()
    def update(self, scores: Tensor, index: Tensor) -> None:
        """Set the weights of these rows from their scores; a loss without weights does nothing."""
        if self.weighted:
            fresh = self.refreshed(scores.detach(), self._rows(scores, index))
            self.weights[index] = fresh.to(self.weights.dtype)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """One value a row, shape (B,)."""
        raise NotImplementedError

    def refreshed(self, scores: Tensor, inside: Tensor) -> Tensor:
        """The weights that these scores ask for, shape (B, K)."""
        return partial.candidate_weights(scores, inside)

    def _rows(self, scores: Tensor, index: Tensor) -> Tensor:
        n, k = self.inside.shape
        if scores.ndim != 2 or scores.shape[1] != k:
            raise InputError(
                f"scores has shape {tuple(scores.shape)}; it must be (batch, {k}): one column for "
                "each class of the candidate sets."
            )
        if index.shape != scores.shape[:1]:
            raise InputError(
                f"index has shape {tuple(index.shape)}, but scores has {len(scores)} rows; index "
                f"holds the row number (0 to {n - 1}) of each row of the batch."
            )
        return self.inside[index]


class LWLoss(PartialLabelLoss):
    """The Leveraged Weighted loss (ICML 2021, Eq. 3).

    α Σ_{z∈s} w_z ψ(g_z) + β Σ_{z∉s} w_z ψ(−g_z). The weights start at 1/|s| inside and
    1/(K−|s|) outside, and `update` sets them to the softmax of the scores on either side.

    Parameters
    ----------
    candidates : anything `as_candidates` takes.
    psi : ``"cross_entropy"``, ``"sigmoid"``, or another name in `PSIS`.
    beta : ≥ 0, the leverage on non-candidates; or a rule that gives it from (candidates, ψ), such
        as `amongst.theory.auto_beta`.
    alpha : ≥ 0, the factor on candidates.
    initial : ``"paper"``, or ``"official"`` (1/K everywhere).
    reduction : ``"mean"``, ``"sum"`` or ``"none"``.

    Examples
    --------
    >>> criterion = LWLoss([{0, 1}, {2}], psi="sigmoid", beta=2.0)
    >>> scores = torch.tensor([[3.0, 0.0, 0.0], [0.0, 0.0, 1.0]], requires_grad=True)
    >>> index = torch.tensor([0, 1])
    >>> criterion(scores, index)
    tensor(1.2713, grad_fn=<MeanBackward0>)
    >>> criterion.update(scores, index)
    >>> criterion.weights[0]
    tensor([0.9526, 0.0474, 1.0000])
    """

    weighted = True

    def __init__(
        self,
        candidates: Any,
        psi: str = "cross_entropy",
        beta: float | Callable[[CandidateSets, Psi], float] = 1.0,
        alpha: float = 1.0,
        *,
        initial: str = "paper",
        reduction: str = "mean",
    ) -> None:
        super().__init__(candidates, reduction=reduction)
        self.psi = get_psi(psi)
        chosen = beta(self.candidates, self.psi) if callable(beta) else beta
        self.beta = check_number("beta", chosen, low=0)
        self.alpha = check_number("alpha", alpha, low=0)
        self.weights = partial.initial_weights(self.inside, initial)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """Eq. (3), shape (B,)."""
        return partial.leveraged_weighted(scores, inside, weights, self.psi, self.beta, self.alpha)

    def refreshed(self, scores: Tensor, inside: Tensor) -> Tensor:
        """Eqs. (11) and (12), shape (B, K)."""
        return partial.leveraged_weights(scores, inside)


class PRODENLoss(PartialLabelLoss):
    """PRODEN: −Σ_{z∈s} c_z log p_z; call `update` with the scores that gave the loss.

    Examples
    --------
    >>> criterion = PRODENLoss([{0, 1}, {2}])
    >>> criterion(torch.zeros(2, 3), torch.tensor([0, 1]))
    tensor(1.0986)
    """

    weighted = True

    def __init__(self, candidates: Any, *, reduction: str = "mean") -> None:
        super().__init__(candidates, reduction=reduction)
        self.weights = self.weights * self.inside

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """−Σ_{z∈s} c_z log p_z, shape (B,)."""
        return partial.weighted_cross_entropy(scores, inside, weights)


class RCLoss(PRODENLoss):
    """RC: the loss of PRODEN; call `update` with the scores of a second pass after the step.

    Examples
    --------
    >>> RCLoss([{0, 1}, {2}])(torch.zeros(2, 3), torch.tensor([0, 1]))
    tensor(1.0986)
    """


class CCLoss(PartialLabelLoss):
    """CC: −log Σ_{z∈s} p_z; it has no weights.

    Examples
    --------
    >>> CCLoss([{0, 1}, {2, 0}])(torch.zeros(2, 3), torch.tensor([0, 1]))
    tensor(0.4055)
    """

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """−log Σ_{z∈s} p_z, shape (B,)."""
        return partial.classifier_consistent(scores, inside)


class _PsiLoss(PartialLabelLoss):
    """A loss without weights that is built on one ψ."""

    function: ClassVar[Callable[..., Tensor]]

    def __init__(
        self, candidates: Any, psi: str = "cross_entropy", *, reduction: str = "mean"
    ) -> None:
        super().__init__(candidates, reduction=reduction)
        self.psi = get_psi(psi)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """The pure function of that name, shape (B,)."""
        return type(self).function(scores, inside, self.psi)


class AverageLoss(_PsiLoss):
    """The mean of ψ over the candidates.

    Examples
    --------
    >>> AverageLoss([{0, 1}, {2}], psi="sigmoid")(torch.zeros(2, 3), torch.tensor([0, 1]))
    tensor(0.5000)
    """

    function = staticmethod(partial.average)


class MinimumLoss(_PsiLoss):
    """ψ of the best candidate.

    Examples
    --------
    >>> MinimumLoss([{0, 1}, {2}], psi="hinge")(torch.eye(3)[:2], torch.tensor([0, 1]))
    tensor(0.5000)
    """

    function = staticmethod(partial.minimum)


class CLPLLoss(_PsiLoss):
    """CLPL: ψ(max_{z∈s} g_z) + Σ_{z∉s} ψ(−g_z), or with ``form="mean"`` Cour's convex one.

    Examples
    --------
    >>> CLPLLoss([{0, 1}, {2}])(torch.zeros(2, 3), torch.tensor([0, 1]))
    tensor(2.5000)
    """

    def __init__(
        self,
        candidates: Any,
        psi: str = "squared_hinge",
        *,
        form: str = "max",
        reduction: str = "mean",
    ) -> None:
        super().__init__(candidates, psi, reduction=reduction)
        self.form = check_choice("form", form, ("max", "mean"))

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """One of the two forms, shape (B,)."""
        form = partial.clpl if self.form == "max" else partial.clpl_mean
        return form(scores, inside, self.psi)


def _reduce(losses: Tensor, reduction: str) -> Tensor:
    return {"mean": Tensor.mean, "sum": Tensor.sum}.get(reduction, lambda loss: loss)(losses)
