"""A few rows through a person's own network, before anything is trained: whether its scores have
the right shape, and whether it can be stacked."""

from __future__ import annotations

import warnings
from dataclasses import replace

import torch
from torch import Tensor, nn

from amongst.checks import check_choice
from amongst.engine.population.alone import goes_alone
from amongst.engine.population.backends import BACKENDS
from amongst.engine.population.task import Task
from amongst.errors import AmongstWarning, InputError
from amongst.models import build_model, seeded
from amongst.models.stacked import copied, stack_models

__all__ = ["settled"]

ROWS = 4
CLOSE = 1e-2
"""Of the largest score, how far a stacked network may be from the module itself."""


def settled(task: Task) -> Task:
    """The task with a backend that can train its network.

    A network that cannot be stacked trains member after member under ``"auto"``, with a warning;
    any other backend refuses it.
    """
    check_choice("backend", task.backend, BACKENDS)
    if isinstance(task.model, str) or goes_alone(task):
        return task
    with seeded(0, task.features.device):
        reason = why_not_stacked(task)
    if reason is None:
        return task
    if task.backend != "auto":
        raise InputError(
            f"backend={task.backend!r} cannot train this population: {reason}. Use backend='alone' "
            "or 'auto'."
        )
    warnings.warn(f"members train one after another: {reason}.", AmongstWarning, stacklevel=3)
    return replace(task, backend="alone")


def why_not_stacked(task: Task) -> str | None:
    """Why the network cannot be stacked, or None."""
    first, features = task.members[0], task.features
    x = features.batch(torch.arange(ROWS, device=features.device) % len(features))
    x = x.double() if first.settings.precision == "float64" else x
    seeds = list(dict.fromkeys(member.initial_seed for member in task.members))[:2]
    models = [
        build_model(task.model, features.shape, first.n_classes, seed, **task.options)
        for seed in seeds
    ]
    own = copied(models[0].to(x.device, x.dtype))
    _check_scores(own, x, first.n_classes)
    try:
        return _difference([model.to(x.device, x.dtype) for model in models], own, x)
    except InputError:
        raise
    except Exception as error:
        return f"{type(own).__name__} does not go through vmap ({_said(error)})"


@torch.no_grad()
def _difference(models: list[nn.Module], trained: nn.Module, x: Tensor) -> str | None:
    """What a stack does otherwise than its modules; a copy of the first had a pass in training."""
    stack, m = stack_models(models, device=x.device, dtype=x.dtype), len(models)
    for model, stacked in zip(models, stack.evaluate(x), strict=True):
        alone = copied(model).eval()
        scores = alone(x)
        is_certain = _are_close(alone(x), scores)
        if is_certain and not _are_close(stacked, scores):
            return (
                f"stacked, {type(model).__name__} gives other scores than alone; what a seed draws "
                "must be a parameter or a buffer"
            )
    slopes, tape = stack.forward(stack.prepare(x.expand(m, *x.shape)))
    stack.backward(tape, slopes)
    stack.track(tape, torch.ones(m, dtype=torch.bool, device=x.device))
    still = _moved(models[0], trained) - _moved(models[0], stack.member(0).to(x.device))
    names = ", ".join(sorted(still))
    return f"forward assigns a new {names} and does not change it in place" if still else None


def _check_scores(model: nn.Module, x: Tensor, n_classes: int) -> None:
    """One pass in training mode; its scores have shape (B, K)."""
    try:
        scores = model.train()(x)
    except Exception as error:
        raise InputError(
            f"the model cannot score a batch of shape {tuple(x.shape)}: {_said(error)}."
        ) from error
    shape = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
    if shape != (len(x), n_classes):
        raise InputError(
            f"the model gives scores of shape {shape} for a batch of {len(x)} rows; with "
            f"{n_classes} classes it must be {(len(x), n_classes)}."
        )


def _moved(before: nn.Module, after: nn.Module) -> set[str]:
    """Names of the buffers that changed."""
    old = dict(before.named_buffers())
    return {f"buffer {name!r}" for name, b in after.named_buffers() if not b.equal(old[name])}


def _are_close(ours: Tensor, theirs: Tensor) -> bool:
    far = CLOSE * float(theirs.abs().nan_to_num().max())
    return torch.allclose(ours, theirs, rtol=CLOSE, atol=far, equal_nan=True)


def _said(error: Exception) -> str:
    """The first sentence of an error."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].partition(". ")[0].rstrip(".")
