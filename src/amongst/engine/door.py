"""What a person hands to the engines, checked before anything is trained: models, methods, watches.

Shapes and types only, besides the rows without a candidate that `TrainingData` looks for; so that
what runs in every step can be compiled, or captured in a CUDA graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, get_args

import torch
from torch import Tensor, nn

from amongst.checks import check_choice
from amongst.engine.data import TrainingData
from amongst.engine.order import batch_bounds
from amongst.engine.settings import Settings
from amongst.errors import InputError
from amongst.methods import Method, Refresh

__all__ = [
    "check_batches",
    "check_columns",
    "check_kind",
    "check_losses",
    "check_optimizer",
    "check_scores",
    "check_trainable",
    "first_weights",
    "new_weights",
]

COLUMNS = ("epoch", "lr", "loss", "covering", "seconds")
"""What a history always has."""

MADE_BY: dict[type, str] = {
    nn.Module: "build_model('mlp', features.shape, n_classes, seed=0)",
    TrainingData: "training_data(Features.of(X), candidates)",
    Method: "LW()",
    Settings: "Settings(epochs=10)",
}


def check_kind(name: str, value: Any, kind: type) -> None:
    """An argument of the right class, and no class itself.

    >>> check_kind("method", "lw", Method)
    Traceback (most recent call last):
    amongst.errors.InputError: method='lw' must be a Method, such as LW().
    """
    if not isinstance(value, kind):
        is_short = isinstance(value, str | type)
        given = f"{name}={value!r}" if is_short else f"{name} is a {type(value).__name__}; it"
        raise InputError(f"{given} must be a {kind.__name__}, such as {MADE_BY[kind]}.")


def check_columns(names: Iterable[str]) -> None:
    """Names of what is watched differ from each other and from what a history always has.

    >>> check_columns(["accuracy", "loss"])
    Traceback (most recent call last):
    amongst.errors.InputError: two columns of the history would be called 'loss'; give what is watched a name of its own.
    """
    name, times = Counter([*COLUMNS, *names]).most_common(1)[0]
    if times > 1:
        raise InputError(
            f"two columns of the history would be called {name!r}; give what is watched a name of "
            "its own."
        )


def check_trainable(model: nn.Module) -> None:
    """At least one parameter asks for a gradient."""
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise InputError("the model has no parameter to train: none has requires_grad=True.")


def check_batches(model: nn.Module, n: int, settings: Settings) -> None:
    """Batch normalisation needs two rows in every batch."""
    smallest = min(b - a for a, b in batch_bounds(n, settings.batch_size))
    normalises = any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in model.modules())
    if smallest < 2 and normalises:
        raise InputError(
            f"a batch of one row (n_samples={n}, batch_size={settings.batch_size}) is too "
            "small for batch normalisation, which needs two. Raise batch_size, add rows, or use "
            "model='linear'."
        )


def check_optimizer(optimizer: torch.optim.Optimizer, settings: Settings) -> None:
    """An optimiser as `start` makes it does what the settings say: of them only the learning rate
    reaches it later.

    >>> weight = nn.Parameter(torch.zeros(1))
    >>> check_optimizer(torch.optim.SGD([weight], momentum=0.5), Settings(momentum=0.9))
    Traceback (most recent call last):
    amongst.errors.InputError: training has an optimiser with sgd, weight_decay=0.0, momentum=0.5, but the settings say sgd, weight_decay=0.001, momentum=0.9; go on with the settings it was started with, or start anew.
    """
    kind = {torch.optim.SGD: "sgd", torch.optim.Adam: "adam"}.get(type(optimizer))
    if kind is None or len(optimizer.param_groups) > 1:
        return
    names = ("weight_decay", "momentum") if kind == "sgd" else ("weight_decay",)
    found = [kind, *(f"{name}={float(optimizer.param_groups[0][name])}" for name in names)]
    wanted = [settings.optimizer, *(f"{name}={float(getattr(settings, name))}" for name in names)]
    if found != wanted:
        raise InputError(
            f"training has an optimiser with {', '.join(found)}, but the settings say "
            f"{', '.join(wanted)}; go on with the settings it was started with, or start anew."
        )


def check_scores(scores: Any, inside: Tensor) -> None:
    """A model's scores have the shape of the masks (B, K)."""
    if not isinstance(scores, Tensor):
        raise InputError(
            f"the model gives a {type(scores).__name__}; it must give scores, a tensor of shape "
            f"{tuple(inside.shape)}."
        )
    if scores.shape != inside.shape:
        raise InputError(
            f"the model gives scores of shape {tuple(scores.shape)} for a batch of "
            f"{len(inside)} rows; with {inside.shape[1]} classes it must be {tuple(inside.shape)}."
        )


def check_losses(losses: Tensor, inside: Tensor, method: Method) -> None:
    """One value a row, of masks (..., B, K)."""
    if losses.shape != inside.shape[:-1]:
        raise InputError(
            f"the loss of the method {method.name!r} has shape {tuple(losses.shape)} for batches of "
            f"shape {tuple(inside.shape)}; it must be one value a row, shape "
            f"{tuple(inside.shape[:-1])}: let it work on the last axis only."
        )


def first_weights(method: Method, inside: Tensor) -> Tensor | None:
    """What the method starts from, shape (..., K), or None for one without weights.

    >>> from amongst.methods import CC, LW
    >>> first_weights(CC(), torch.tensor([[True, False]])) is None
    True
    >>> first_weights(LW(), torch.tensor([[True, False]]))
    tensor([[1., 1.]])
    """
    when = check_choice(f"{method.name}.when", method.when, get_args(Refresh))
    weights = method.init(inside)
    if weights is not None:
        return _of_shape(weights, inside, f"init(inside) of the method {method.name!r}")
    if when != "never":
        raise InputError(
            f"the method {method.name!r} has when={when!r}, but init(inside) gives no weights "
            "to change. Let init return them, shape (n, K), or let when be 'never'."
        )
    return None


def new_weights(method: Method, scores: Tensor, inside: Tensor, old: Tensor) -> Tensor:
    """What these scores make of the old weights, shape (..., K), in the precision of the old."""
    name = f"of the method {method.name!r}"
    fresh = _of_shape(method.update(scores, inside), inside, f"update(scores, inside) {name}")
    blended = method.blend(old, fresh.to(old.dtype))
    return _of_shape(blended, inside, f"blend(old, new) {name}").to(old.dtype)


def _of_shape(weights: Any, inside: Tensor, name: str) -> Tensor:
    if isinstance(weights, Tensor) and weights.shape == inside.shape:
        return weights
    found = f"of shape {tuple(weights.shape)}" if isinstance(weights, Tensor) else ""
    raise InputError(
        f"{name} gives a {type(weights).__name__} {found or 'in place of a tensor'}; it must give "
        f"one weight for each row and class, here of shape {tuple(inside.shape)}."
    )
