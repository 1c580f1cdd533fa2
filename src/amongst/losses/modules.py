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

import inspect
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from amongst.candidates import as_candidates
from amongst.checks import check_choice, check_factor
from amongst.errors import DivergenceError, InputError
from amongst.losses.functions import (
    Psi,
    candidate_weights,
    check_shape,
    get_psi,
    initial_weights,
)
from amongst.losses.known import first_with_prior, prior_of, with_prior

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

REDUCTIONS = ("mean", "sum", "none")
BY_PLACE = ("psi", "beta", "alpha")
SHOWN = ("psi", "form", "beta", "alpha")
ROOM = "amongst.losses"
DOC = """{about}

`beta` may also be a rule that gives it from (candidates, ψ), such as `amongst.theory.auto_beta`, where
there is a β. See `PartialLabelLoss` for `candidates`, `reduction` and `check`.

Examples
--------
>>> from amongst.losses import {name}
>>> bool({name}([{{0, 1}}, {{2}}])(torch.zeros(2, 3), torch.tensor([0, 1])) > 0)
True
"""


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
    >>> from amongst.losses import CCLoss
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
    weighted: bool = False

    def __init__(self, candidates: Any, *, reduction: str = "mean", check: bool = True) -> None:
        super().__init__()
        self.reduction = check_choice("reduction", reduction, REDUCTIONS)
        self.check = check
        sets = as_candidates(candidates)
        self.candidates = sets
        self.register_buffer("inside", torch.as_tensor(sets.to_mask()))  # on the default device
        weights = initial_weights(self.inside) if self.weighted else torch.empty(0)
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
        check_shape(f"{type(self).__name__}.loss", losses, scores.shape[:1])
        if self._looks():
            check_losses(losses, scores)
        reduce = {"mean": Tensor.mean, "sum": Tensor.sum}.get(self.reduction)
        return losses if reduce is None else reduce(losses)

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
                check_scores(scores)
            fresh = self.refreshed(self._weigh(scores.detach(), index), self.inside[index])
            check_shape(f"{type(self).__name__}.refreshed", fresh, scores.shape)
            self.weights[index] = fresh.to(self.weights.dtype)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """One value a row, shape (B,)."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """What `print` says of the loss.

        >>> from amongst.losses import LWLoss
        >>> LWLoss([{0, 1}, {2}], beta=2.0)
        LWLoss(n=2, K=3, psi=cross_entropy, beta=2, alpha=1, reduction=mean)
        """
        n, k = self.inside.shape
        own = [f"{name}={value}" for name in SHOWN if (value := _told(self, name))]
        return ", ".join([f"n={n}", f"K={k}", *own, f"reduction={self.reduction}"])

    def refreshed(self, scores: Tensor, inside: Tensor) -> Tensor:
        """The weights that these scores ask for, shape (B, K)."""
        return candidate_weights(scores, inside)

    def _weigh(self, scores: Tensor, index: Tensor) -> Tensor:
        """The scores with what is known of the rows' candidates."""
        return scores

    def _tensors(self, scores: Any, index: Any) -> tuple[Tensor, Tensor]:
        n, k = self.inside.shape
        scores = as_scores(scores, k, self.inside.device)
        index = as_index(index, len(scores), n)
        if self._looks():
            return scores, in_range(index, n).to(self.inside.device)
        rows = index.to(self.inside.device)
        return scores, from_the_start(rows, n) if self.check else rows

    def _looks(self) -> bool:
        return self.check and can_look() and not self.inside.is_meta

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """As any module, but only a state of these candidate sets: its weights are theirs."""
        inside = torch.from_numpy(self.candidates.to_mask())  # the buffer may be on the meta device
        saved = state_dict.get(f"{prefix}inside")
        known = isinstance(saved, Tensor) and not saved.is_meta
        if known and not torch.equal(saved.cpu(), inside):
            raise InputError(
                f"state_dict belongs to other candidate sets, of shape {tuple(saved.shape)}, than "
                f"this loss, of {tuple(inside.shape)}; build the loss from the sets with which the "
                "state was saved."
            )
        super()._load_from_state_dict(state_dict, prefix, *args)


class MethodLoss(PartialLabelLoss):
    """The loss of a `Method`, with the method's hyper-parameters; `loss_of` makes the classes.

    Examples
    --------
    >>> from amongst.losses import LWLoss
    >>> criterion = LWLoss([{0, 1}, {2}], psi="sigmoid", beta=2.0)
    >>> scores = torch.tensor([[3.0, 0.0, 0.0], [0.0, 0.0, 1.0]], requires_grad=True)
    >>> index = torch.tensor([0, 1])
    >>> criterion(scores, index)
    tensor(1.2713, grad_fn=<MeanBackward0>)
    >>> criterion.update(scores, index)
    >>> criterion.weights[0]
    tensor([0.9526, 0.0474, 1.0000])
    """

    kind: ClassVar[Any]
    prior: Tensor | None
    __signature__: ClassVar[inspect.Signature]

    def __init__(self, *args: Any, **options: Any) -> None:
        bound = type(self).__signature__.bind(*args, **options)
        bound.apply_defaults()
        given = bound.arguments
        candidates, reduction, check = (given.pop(n) for n in ("candidates", "reduction", "check"))
        super().__init__(candidates, reduction=reduction, check=check)
        if "psi" in given:
            self.psi = get_psi(given["psi"], trainable=True)
            given["psi"] = self.psi.name
        for name in ("beta", "alpha"):
            if name in given:
                value = given[name]
                rule = value(self.candidates, self.psi) if callable(value) else value
                given[name] = check_factor(name, rule)
        for name, value in given.items():
            if name != "psi":
                setattr(self, name, value)
        self.method = type(self).kind(**given)
        prior = prior_of(self.candidates, torch.get_default_dtype())
        self.register_buffer("prior", prior, persistent=False)
        weights = self.method.init(self.inside)
        if prior is not None and self.method.uses_prior:
            weights = first_with_prior(weights, self.inside, prior)
        self.weighted = weights is not None
        if weights is not None:
            self.weights = weights

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
        """The method's, shape (B,)."""
        losses: Tensor = self.method.loss(scores, inside, weights if self.weighted else None)
        return losses

    @torch.no_grad()
    def update(self, scores: Tensor, index: Tensor, group: ProcessGroup | None = None) -> None:
        """See `PartialLabelLoss.update`."""
        if self.method.when != "never":
            super().update(scores, index, group)

    def refreshed(self, scores: Tensor, inside: Tensor) -> Tensor:
        """The method's new weights, shape (B, K)."""
        fresh: Tensor = self.method.update(scores, inside)
        return fresh

    def _weigh(self, scores: Tensor, index: Tensor) -> Tensor:
        if self.prior is None or not self.method.uses_prior:
            return scores
        return with_prior(scores, self.inside[index], self.prior[index].to(scores.dtype))


@cache
def loss_of(kind: Any) -> type[MethodLoss]:
    """The `nn.Module` of a `Method`: ψ, β and α may go by place, other hyper-parameters by name; those
    that need a training loop are left out.

    >>> from amongst.algorithms import CLPL
    >>> print(inspect.signature(loss_of(CLPL)))
    (candidates: 'Any', psi: 'str' = 'squared_hinge', *, form: 'str' = 'max', reduction: 'str' = 'mean', check: 'bool' = True)
    """
    by_place, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    own = [f for f in fields(kind) if f.init and f.name not in kind.in_loop]
    parameters = [inspect.Parameter("candidates", by_place, annotation="Any")]
    for f in sorted(own, key=lambda f: f.name not in BY_PLACE):
        place = by_place if f.name in BY_PLACE else by_name
        parameters.append(inspect.Parameter(f.name, place, default=f.default, annotation=f.type))
    for name, default in (("reduction", "mean"), ("check", True)):
        annotation = type(default).__name__
        parameters.append(inspect.Parameter(name, by_name, default=default, annotation=annotation))
    name = f"{kind.__name__}Loss"
    about = inspect.cleandoc(kind.__doc__ or "").partition("\nExamples\n---")[0].rstrip()
    facts = {"kind": kind, "__signature__": inspect.Signature(parameters), "__module__": ROOM}
    return type(name, (MethodLoss,), facts | {"__doc__": DOC.format(about=about, name=name)})


def _told(module: nn.Module, name: str) -> str:
    """A setting as it was given; empty if the loss has none of that name."""
    value = getattr(module, name, "")
    if isinstance(value, Psi):
        return value.name
    return f"{value:g}" if isinstance(value, float) else str(value)


REMEDY = "Lower the learning rate, or look for NaN in the inputs."


def as_scores(given: Any, k: int, device: torch.device) -> Tensor:
    """The scores of a batch, shape (B, k), in float32 or float64.

    Half precision becomes float32, as under autocast's own cross entropy; so do whole numbers.

    >>> as_scores([[2, 0, 1]], 3, torch.device("cpu"))
    tensor([[2., 0., 1.]])
    """
    scores = _as_tensor("scores", given)
    if scores.dtype == torch.bool or scores.is_complex():
        raise InputError(f"scores has dtype {scores.dtype}; it must hold real numbers.")
    if scores.ndim != 2 or scores.shape[1] != k:
        raise InputError(
            f"scores has shape {tuple(scores.shape)}; it must be (batch, {k}): one column for "
            f"each class of the candidate sets. {_shape_remedy(scores, k)}"
        )
    if scores.device != device:
        raise InputError(
            f"scores is on {scores.device}, but the loss is on {device}; move the loss with "
            f".to({str(scores.device)!r})."
        )
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


def as_index(given: Any, batch: int, n: int) -> Tensor:
    """Row numbers as int64, shape (batch,); see `in_range` for their values.

    >>> as_index(range(3), 3, n=9)
    tensor([0, 1, 2])
    """
    index = _as_tensor("index", given)
    wanted = f"index holds the row number (0 to {n - 1}) of each row of the batch"
    if index.dtype == torch.bool or index.is_floating_point() or index.is_complex():
        raise InputError(f"index has dtype {index.dtype}, but {wanted}: whole numbers, no mask.")
    if index.shape != (batch,):
        raise InputError(
            f"index has shape {tuple(index.shape)}, but scores has {batch} rows; {wanted}."
        )
    return index.to(torch.int64)


def can_look() -> bool:
    """Whether tensors have values here: not inside `torch.compile`, `torch.vmap` or `torch.func`."""
    compiling = torch.compiler.is_compiling()
    return not compiling and torch._C._functorch.peek_interpreter_stack() is None


def in_range(index: Tensor, n: int) -> Tensor:
    """Return `index` if every row number lies between 0 and n − 1.

    >>> in_range(torch.tensor([0, -1]), 3)
    Traceback (most recent call last):
    amongst.errors.InputError: index[1]=-1 is no row of the candidate sets; it must be between 0 and 2.
    """
    outside = (index < 0) | (index >= n)
    if outside.any():
        at = int(outside.nonzero()[0])
        raise InputError(
            f"index[{at}]={int(index[at])} is no row of the candidate sets; it must be between 0 "
            f"and {n - 1}."
        )
    return index


def from_the_start(index: Tensor, n: int) -> Tensor:
    """Negative row numbers as n, which is refused where it is used; they would count from the end.

    It looks at nothing, so that it may stand where `in_range` cannot.

    >>> from_the_start(torch.tensor([0, -1]), 3)
    tensor([0, 3])
    """
    return torch.where(index < 0, n, index)


def check_scores(scores: Tensor) -> None:
    """An error where a score is NaN or infinite: no weights follow from it."""
    if not torch.isfinite(scores).all():
        raise DivergenceError(
            f"scores contain NaN or infinity, so the weights are left as they were. {_remedy(scores)}"
        )


def check_losses(losses: Tensor, scores: Tensor) -> None:
    """An error where a loss is not finite, which says whether scores are to blame."""
    if torch.isfinite(losses).all():
        return
    cause = f"scores contain NaN or infinity. {_remedy(scores)}"
    if torch.isfinite(scores).all():
        cause = f"scores go up to {scores.abs().max():g} in {scores.dtype}. {REMEDY}"
    raise DivergenceError(f"the loss is not finite: {cause}")


def _remedy(scores: Tensor) -> str:
    """Where nothing but −∞ is amiss, somebody has ruled classes out: 0·∞ is no number."""
    if (torch.isfinite(scores) | torch.isneginf(scores)).all():
        return "To rule a class out, give it a low finite score, such as -1e4, in place of -inf."
    return REMEDY


def _shape_remedy(scores: Tensor, k: int) -> str:
    if scores.ndim > 2:
        return (
            "Where each pixel or token has a set of its own, it is a row: with the classes on the "
            f"last axis, scores.reshape(-1, {k})."
        )
    return "If they lack a class, name all of them: as_candidates(candidates, classes=...)."


def _as_tensor(name: str, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "logits"):
        kind = type(value).__name__
        raise InputError(f"{name} must be a tensor or an array, not {kind}; take its logits.")
    try:
        return torch.from_numpy(np.array(value))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} must be a tensor or an array, not {value!r:.80}.") from error


def gathered(group: Any, *values: Tensor) -> list[Tensor]:
    """The rows that all processes of a group hold, in the order of their ranks.

    Each of the tensors goes from shape (b, ...) to (B, ...), B = Σ b over the processes, which may have
    different numbers of rows b. All of them must call it.

    Parameters
    ----------
    group : of `torch.distributed`, such as ``torch.distributed.group.WORLD``.
    values : with one number of rows, on a device that the group can send from.

    Examples
    --------
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> gathered(dist.group.WORLD, torch.tensor([[1.0, 2.0]]), torch.tensor([7]))
    [tensor([[1., 2.]]), tensor([7])]
    >>> dist.destroy_process_group()
    """
    _check_group(group)
    count = torch.tensor([len(values[0])], device=values[0].device)
    counts = [int(found) for found in _all(count, group)]
    return [_rows(value, counts, group) for value in values]


def _rows(value: Tensor, counts: list[int], group: Any) -> Tensor:
    """Collectives want equal shapes: short parts travel with rows that are cut off again."""
    padded = value.new_zeros(max(counts), *value.shape[1:])
    padded[: len(value)] = value
    parts = zip(_all(padded, group), counts, strict=True)
    return torch.cat([part[:count] for part, count in parts])


def _all(value: Tensor, group: Any) -> list[Tensor]:
    parts = [torch.empty_like(value) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, value, group=group)
    return parts


def _check_group(group: Any) -> None:
    if not dist.is_available() or not isinstance(group, dist.ProcessGroup):
        raise InputError(
            f"group={group!r:.80} must be a process group, such as torch.distributed.group.WORLD; "
            "leave it out for one process."
        )
