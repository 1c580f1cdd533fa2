"""A cohort on disk between epochs: one file each, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from amongst.engine.population.cohort import Cohort

__all__ = ["Pause", "checkpoint_path", "load_checkpoint", "save_checkpoint"]

SHARE = 0.05
"""Of the time that saving may take."""


class Pause:
    """Keeps saving, which it times, to a small share of the time.

    >>> pause = Pause()
    >>> pause.over()
    True
    >>> pause.cost = 60.0
    >>> pause.over()
    False
    """

    def __init__(self) -> None:
        self.cost, self.end = 0.0, time.monotonic()

    def over(self) -> bool:
        """Whether enough has been done since the last save."""
        return time.monotonic() - self.end >= self.cost * (1 / SHARE - 1)

    def __enter__(self) -> None:
        self.began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self.end = time.monotonic()
        self.cost = self.end - self.began


def checkpoint_path(folder: Path, cohort: Cohort) -> Path:
    """The file of this cohort: its name is a digest of all that changes its numbers."""
    digest = hashlib.sha256()
    for member in cohort.members:
        described = [
            member.method.name,
            repr(member.method),
            member.settings.to_dict(),
            member.initial_seed,
        ]
        digest.update(json.dumps(described).encode())
        for tensor in (member.inside, member.rows):
            digest.update(b"-" if tensor is None else _digest(tensor))
    shapes = [tuple(p.shape) for p in cohort.network.parameters]
    digest.update(json.dumps([shapes, repr(cohort.network.template)]).encode())
    return folder / f"cohort-{digest.hexdigest()[:16]}.safetensors"


def save_checkpoint(path: Path, cohort: Cohort, epoch: int, history: dict[str, Tensor]) -> None:
    """Write the state after `epoch` epochs, to a temporary file that then takes the name."""
    state = cohort.state() | {f"history.{name}": value for name, value in history.items()}
    tensors = {name: value.detach().cpu().contiguous() for name, value in state.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.tmp")
    save_file(tensors, partial, metadata={"epoch": str(epoch)})
    os.replace(partial, path)


def load_checkpoint(path: Path, cohort: Cohort, history: dict[str, Tensor]) -> int:
    """Put a saved state back in place; returns the epochs done, 0 where there is no file."""
    if not path.exists():
        return 0
    state = cohort.state() | {f"history.{name}": value for name, value in history.items()}
    with safe_open(path, framework="pt") as saved, torch.no_grad():
        for name, value in state.items():
            value.copy_(saved.get_tensor(name))
        return int(saved.metadata()["epoch"])


def _digest(tensor: Tensor) -> bytes:
    return hashlib.sha256(tensor.cpu().contiguous().numpy().tobytes()).digest()
