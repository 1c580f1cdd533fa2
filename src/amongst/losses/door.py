"""What a person hands to a loss module, made into tensors once; below, code sees only tensors.

The checks that look at values (`in_range`, `check_scores`, `check_losses`) make the host wait for
the device, so the pure functions and the methods do without them; and there are no values to look at
while a transform runs (`can_look`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from amongst.checks import check_number
from amongst.errors import DivergenceError, InputError

__all__ = [
    "as_index",
    "as_scores",
    "can_look",
    "check_factor",
    "check_losses",
    "check_scores",
    "check_shape",
    "from_the_start",
    "in_range",
]

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
    """Whether tensors have values here: not inside `torch.compile`, `torch.vmap` or `torch.func`.

    >>> can_look(), torch.vmap(lambda x: x * can_look())(torch.ones(2))
    (True, tensor([0., 0.]))
    """
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


def check_losses(losses: Tensor, scores: Tensor, weights: Tensor) -> None:
    """An error where a loss is not finite, which says whether scores or weights are to blame."""
    if torch.isfinite(losses).all():
        return
    if not torch.isfinite(scores).all():
        cause = f"scores contain NaN or infinity. {_remedy(scores)}"
    elif not torch.isfinite(weights).all():
        cause = (
            "the stored weights contain NaN or infinity, the scores do not. Build the loss anew."
        )
    else:
        cause = f"it overflows {scores.dtype} at scores up to {scores.abs().max():g}. {REMEDY}"
    raise DivergenceError(f"the loss is not finite: {cause}")


def check_shape(name: str, found: Tensor, wanted: torch.Size) -> None:
    """An error where a loss of one's own gives a tensor of another shape, which might broadcast.

    >>> check_shape("Mine.loss", torch.tensor(1.5), torch.Size([4]))
    Traceback (most recent call last):
    amongst.errors.InputError: Mine.loss gives shape () for a batch of 4 rows; it must be (4,).
    """
    if found.shape != wanted:
        raise InputError(
            f"{name} gives shape {tuple(found.shape)} for a batch of {wanted[0]} rows; it must be "
            f"{tuple(wanted)}."
        )


def check_factor(name: str, value: Any) -> float:
    """α or β as a finite float of at least 0.

    >>> check_factor("beta", 2)
    2.0
    """
    if isinstance(value, str):
        raise InputError(
            f"{name}={value!r} must be a number of at least 0; "
            "amongst.theory.auto_beta(candidates, psi) computes one for beta."
        )
    if isinstance(value, float) and math.isinf(value):
        raise InputError(f"{name}={value!r} must be finite.")
    return check_number(name, value, low=0)


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
