"""What is measured after every epoch, of one model or of a population."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from amongst.engine.data import Features, check_features
from amongst.errors import InputError

__all__ = ["Watch", "moved"]


@dataclass(frozen=True, eq=False)
class Watch:
    """Something to measure after every epoch.

    Parameters
    ----------
    name : the column of the history.
    features : what to score.
    measure : scores (n, K) → one number, e.g. a function of `amongst.metrics`. A population asks it
        once for all its members, (M, n, K) → (M,), where that gives the same on random scores, and
        else one by one.
    """

    name: str
    features: Features
    measure: Callable[[Tensor], Any]

    def __post_init__(self) -> None:
        check_features(f"features of the watch {self.name!r}", self.features)

    def value(self, scores: Tensor) -> Tensor:
        """What is measured of the scores (n, K) of one model, shape ().

        >>> Watch("mean", Features(torch.zeros(1, 2)), lambda scores: float(scores.mean())).value(
        ...     torch.ones(1, 3)
        ... )
        tensor(1.)
        """
        value = torch.as_tensor(self.measure(scores))
        if value.numel() != 1:
            raise InputError(
                f"the watch {self.name!r} gives a value of shape {tuple(value.shape)} for scores of "
                f"shape {tuple(scores.shape)}; it must give one number."
            )
        return value.reshape(())


def moved(
    watch: Iterable[Watch], device: torch.device, dtype: torch.dtype | None = None
) -> list[Watch]:
    """The same things on another device, or seen in another precision; those that look at one set
    of rows still share it."""
    watched = list(watch)
    seen = {id(item.features): item.features for item in watched}
    there = {key: features.to(device, dtype) for key, features in seen.items()}
    return [replace(item, features=there[id(item.features)]) for item in watched]
