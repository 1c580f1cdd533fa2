"""What all waves of one call of `train_population` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amongst.engine.data import Features
from amongst.engine.population.evaluate import Criterion
from amongst.engine.population.member import Member
from amongst.engine.population.progress import Progress
from amongst.engine.watch import Watch
from amongst.models import ModelSpec

__all__ = ["COUNTED", "Task"]

COUNTED = ("loss", "covering")


@dataclass(frozen=True, eq=False)
class Task:
    """The arguments of `train_population`, with features and watches on the device.

    `mark` is a digest of the features and of what is measured, for the names of checkpoints.
    """

    members: Sequence[Member]
    features: Features
    model: ModelSpec
    options: dict[str, Any]
    watch: Sequence[Watch]
    held: Mapping[str, Criterion]
    backend: str
    checkpoint: Path | None
    every: int
    keep_weights: bool
    progress: Progress
    mark: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of what is measured each epoch."""
        oracle = ("oracle",) if self.members[0].held_truth is not None else ()
        return (*COUNTED, *(item.name for item in self.watch), *self.held, *oracle)
