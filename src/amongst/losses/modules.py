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
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from amongst.candidates import CandidateSets, as_candidates
from amongst.checks import check_choice
from amongst.errors import InputError
from amongst.losses import door, partial
from amongst.losses.processes import gathered
from amongst.losses.psi import Psi, get_psi

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

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
SHOWN = ("psi", "form", "beta", "alpha")


class PartialLabelLoss(nn.Module):
    """Base of the loss modules: holds the candidate sets, and weights where a loss has them.

    For a loss of one's own, write `loss`; with weights, also ``weighted = True`` and, where they are
    not the softmax over the candidates, `refreshed`. Both see tensors of one batch.

    Parameters
    ----------
    candidates : anything `as_candidates` takes; n rows, K classes.
    reduction : ``"mean"`` over the batch, ``"sum"``, or ``"none"`` for one value a row.
    check : whether to look for row numbers out of range, NaN and infinity. That makes the host wait
        for the device; say False in a CUDA graph. `torch.compile`, `torch.vmap` and `torch.func`
        leave these checks out by themselves, and there a row number out of range is an error of
        PyTorch; shapes and types are always checked.

    Examples
    --------
    >>> criterion = CCLoss([{0, 1}, {2, 0}])
    >>> torch.vmap(criterion, in_dims=(0, None))(torch.zeros(2, 2, 3), torch.tensor([0, 1]))
    tensor([0.4055, 0.4055])
    >>> class Doubled(CCLoss):
    ...     def loss(self, scores, inside, weights):
    ...         return 2 * super().loss(scores, inside, weights)
    >>> Doubled([{0, 1}, {2, 0}])(torch.zeros(2, 3), torch.tensor([0, 1]))
    tensor(0.8109)
    """

    inside: Tensor
    weights: Tensor
    weighted: ClassVar[bool] = False

    def __init__(self, candidates: Any, *, reduction: str = "mean", check: bool = True) -> None:
        super().__init__()
        self.reduction = check_choice("reduction", reduction, REDUCTIONS)
        self.check = check
        sets = as_candidates(candidates)
        self.candidates = sets
        self.register_buffer("inside", torch.as_tensor(sets.to_mask()))  # on the default device
        weights = partial.initial_weights(self.inside) if self.weighted else torch.empty(0)
        self.register_buffer("weights", weights)

    def forward(self, scores: Tensor, index: Tensor) -> Tensor:
        """The loss of a batch, computed in float32 at least.

        Parameters
        ----------
        scores : shape (B, K), straight from the network (no softmax).
        index : shape (B,), the row numbers of the batch in `candidates`, 0 to n − 1.
        """
        scores, index = self._tensors(scores, index)
        weights = self.weights[index].to(scores.dtype) if self.weighted else self.weights
        losses = self.loss(scores, self.inside[index], weights)
        door.check_shape(f"{type(self).__name__}.loss", losses, scores.shape[:1])
        if self._looks():
            door.check_losses(losses, scores, weights)
        return _reduce(losses, self.reduction)

    @torch.no_grad()
    def update(self, scores: Tensor, index: Tensor, group: ProcessGroup | None = None) -> None:
        """Set the weights of these rows from their scores; a loss without weights does nothing.

        Parameters
        ----------
        scores, index : as for `forward`.
        group : of processes that train one network, e.g. ``torch.distributed.group.WORLD``: each
            then sets the weights of the rows of all, and all must call `update`. None for the rows
            of this process alone.
        """
        if self.weighted:
            scores, index = self._tensors(scores, index)
            if group is not None:
                scores, index = gathered(group, scores, index)
            if self._looks():
                door.check_scores(scores)
            fresh = self.refreshed(scores.detach(), self.inside[index])
            door.check_shape(f"{type(self).__name__}.refreshed", fresh, scores.shape)
            self.weights[index] = fresh.to(self.weights.dtype)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """One value a row, shape (B,)."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """What `print` says of the loss.

        >>> LWLoss([{0, 1}, {2}], beta=2.0)
        LWLoss(n=2, K=3, psi=cross_entropy, beta=2, alpha=1, reduction=mean)
        """
        n, k = self.inside.shape
        own = [f"{name}={value}" for name in SHOWN if (value := _told(self, name))]
        return ", ".join([f"n={n}", f"K={k}", *own, f"reduction={self.reduction}"])

    def refreshed(self, scores: Tensor, inside: Tensor) -> Tensor:
        """The weights that these scores ask for, shape (B, K)."""
        return partial.candidate_weights(scores, inside)

    def _tensors(self, scores: Any, index: Any) -> tuple[Tensor, Tensor]:
        n, k = self.inside.shape
        scores = door.as_scores(scores, k, self.inside.device)
        index = door.as_index(index, len(scores), n)
        if self._looks():
            return scores, door.in_range(index, n).to(self.inside.device)
        rows = index.to(self.inside.device)
        return scores, door.from_the_start(rows, n) if self.check else rows

    def _looks(self) -> bool:
        return self.check and door.can_look() and not self.inside.is_meta

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """As any module, but only a state of these candidate sets: its weights are theirs."""
        inside = torch.from_numpy(self.candidates.to_mask())  # the buffer may be on the meta device
        saved = state_dict.get(f"{prefix}inside")
        if _has_values(saved) and not torch.equal(saved.cpu(), inside):
            raise InputError(
                f"state_dict belongs to other candidate sets, of shape {tuple(saved.shape)}, than "
                f"this loss, of {tuple(inside.shape)}; build the loss from the sets with which the "
                "state was saved."
            )
        weights = state_dict.get(f"{prefix}weights")
        if _has_values(weights) and not self._own(weights.cpu(), ~inside):
            raise InputError(
                f"state_dict holds weights that {type(self).__name__} cannot have: LWLoss has some "
                "outside the candidates of a row, PRODENLoss and RCLoss have none there, the others "
                "have none at all. Load them into the loss with which they were saved."
            )
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _own(self, weights: Tensor, outside: Tensor) -> bool:
        """Whether this loss can have such weights; one of one's own may have any of their shape."""
        return weights.shape == self.weights.shape


class LWLoss(PartialLabelLoss):
    """The Leveraged Weighted loss (ICML 2021, Eq. 3).

    α Σ_{z∈s} w_z ψ(g_z) + β Σ_{z∉s} w_z ψ(−g_z). The weights start at 1/|s| inside and
    1/(K−|s|) outside, and `update` sets them to the softmax of the scores on either side.

    Parameters
    ----------
    candidates : anything `as_candidates` takes.
    psi : ``"cross_entropy"`` by default, where the function `leveraged_weighted` has ``"sigmoid"``;
        or another name in `PSIS`.
    beta : ≥ 0, the leverage on non-candidates; or a rule that gives it from (candidates, ψ), such
        as `amongst.theory.auto_beta`.
    alpha : ≥ 0, the factor on candidates.
    initial : ``"paper"``, or ``"official"`` (1/K everywhere).
    reduction, check : see `PartialLabelLoss`.

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
        check: bool = True,
    ) -> None:
        super().__init__(candidates, reduction=reduction, check=check)
        self.psi = get_psi(psi, trainable=True)
        chosen = beta(self.candidates, self.psi) if callable(beta) else beta
        self.beta = door.check_factor("beta", chosen)
        self.alpha = door.check_factor("alpha", alpha)
        if check_choice("initial", initial, partial.INITIAL) != "paper":
            self.weights = partial.initial_weights(self.inside, initial)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """Eq. (3), shape (B,)."""
        return partial.leveraged_weighted(scores, inside, weights, self.psi, self.beta, self.alpha)

    def refreshed(self, scores: Tensor, inside: Tensor) -> Tensor:
        """Eqs. (11) and (12), shape (B, K)."""
        return partial.leveraged_weights(scores, inside)

    def _own(self, weights: Tensor, outside: Tensor) -> bool:
        if weights.shape != outside.shape:
            return False
        return bool((((weights != 0) & outside).any(-1) == outside.any(-1)).all())


class PRODENLoss(PartialLabelLoss):
    """PRODEN: −Σ_{z∈s} c_z log p_z; call `update` with the scores that gave the loss.

    Examples
    --------
    >>> criterion = PRODENLoss([{0, 1}, {2}])
    >>> criterion(torch.zeros(2, 3), torch.tensor([0, 1]))
    tensor(1.0986)
    """

    weighted = True

    def __init__(self, candidates: Any, *, reduction: str = "mean", check: bool = True) -> None:
        super().__init__(candidates, reduction=reduction, check=check)
        self.weights.masked_fill_(~self.inside, 0)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """−Σ_{z∈s} c_z log p_z, shape (B,)."""
        return partial.weighted_cross_entropy(scores, inside, weights)

    def _own(self, weights: Tensor, outside: Tensor) -> bool:
        return weights.shape == outside.shape and not bool(((weights != 0) & outside).any())


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
        self,
        candidates: Any,
        psi: str = "cross_entropy",
        *,
        reduction: str = "mean",
        check: bool = True,
    ) -> None:
        super().__init__(candidates, reduction=reduction, check=check)
        self.psi = get_psi(psi, trainable=True)

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

    Parameters
    ----------
    candidates : anything `as_candidates` takes.
    psi : name of a trainable binary loss; ``"squared_hinge"`` by default, as Cour has it.
    form : ``"max"`` by default, as the LW paper writes it; `CLPLClassifier` has ``"mean"``.
    reduction, check : see `PartialLabelLoss`.

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
        check: bool = True,
    ) -> None:
        super().__init__(candidates, psi, reduction=reduction, check=check)
        self.form = check_choice("form", form, ("max", "mean"))

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """One of the two forms, shape (B,)."""
        form = partial.clpl if self.form == "max" else partial.clpl_mean
        return form(scores, inside, self.psi)


def _has_values(saved: Any) -> bool:
    """Whether this is a tensor that can be looked at; on the meta device none can."""
    return isinstance(saved, Tensor) and not saved.is_meta


def _reduce(losses: Tensor, reduction: str) -> Tensor:
    return {"mean": Tensor.mean, "sum": Tensor.sum}.get(reduction, lambda loss: loss)(losses)


def _told(module: nn.Module, name: str) -> str:
    """A setting as it was given; empty if the loss has none of that name."""
    value = getattr(module, name, "")
    if isinstance(value, Psi):
        return value.name
    return f"{value:g}" if isinstance(value, float) else str(value)
