"""An earlier state of a training: whether it belongs to what is trained now, and put beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from amongst.engine.data import TrainingData
from amongst.engine.door import check_optimizer, first_weights
from amongst.engine.settings import Settings
from amongst.errors import InputError
from amongst.methods import Method

if TYPE_CHECKING:
    from amongst.engine.single import Training

__all__ = ["check_training", "put_beside"]


def check_training(
    training: Training, model: nn.Module, data: TrainingData, method: Method, settings: Settings
) -> None:
    """An earlier state must be of this model, its weights of these data and this method, and its
    optimiser of these settings."""
    if training.model is not model:
        raise InputError("training is a state of another model; train its own, training.model.")
    wanted = None if first_weights(method, data.inside[:1]) is None else tuple(data.inside.shape)
    found = None if training.weights is None else tuple(training.weights.shape)
    if found != wanted:
        raise InputError(
            f"training has weights of shape {found}, but the method {method.name!r} needs {wanted} "
            "on these data; go on with the method and the data that it was started with."
        )
    check_optimizer(training.optimizer, settings)


def put_beside(training: Training, data: TrainingData) -> None:
    """Weights and moments follow the data and the model to another device or precision."""
    seen, optimizer = data.features, training.optimizer
    if training.weights is not None:
        training.weights = training.weights.to(seen.device, seen.dtype)
    for group in optimizer.param_groups:
        if group.get("capturable") and seen.device.type == "cpu":
            group["capturable"] = False
    if not _lie_together(optimizer):
        optimizer.load_state_dict(optimizer.state_dict())


def _lie_together(optimizer: torch.optim.Optimizer) -> bool:
    """Whether moments are where, and what, their parameters are."""
    return all(
        (value.device, value.dtype) == (parameter.device, parameter.dtype)
        for parameter, slots in optimizer.state.items()
        for value in slots.values()
        if isinstance(value, Tensor) and value.shape == parameter.shape
    )
