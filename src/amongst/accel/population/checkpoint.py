"""A cohort on disk between epochs: one file each, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from amongst.accel.population.cohort import Cohort
from amongst.accel.population.member import Member
from amongst.algorithms._base import described
from amongst.data.features import Features
from amongst.errors import FileFormatError, StoreError
from amongst.files import clear_abandoned, temporary_prefix
from amongst.train.callbacks import Watch
from amongst.train.checkpoint import digest_of, mark_of_model
from amongst.wording import one_line


def mark_of_task(features: Features, watch: Sequence[Watch], columns: Sequence[str]) -> str:
    """A digest of the features, and of what is measured by which name on which rows."""
    seen = {id(item.features): item.features for item in watch}
    marks = {key: _mark_of_features(own) for key, own in seen.items()}
    watched = [(item.name, marks[id(item.features)]) for item in watch]
    return digest_of(_mark_of_features(features), json.dumps([watched, list(columns)]))


def mark_of_member(member: Member, known: dict[int, str]) -> str:
    """A digest of a member; `known` keeps those of tensors, which members may share."""
    method, tensors = member.method, (member.inside, member.rows, member.held, member.held_truth)
    for tensor in tensors:
        if id(tensor) not in known:
            known[id(tensor)] = digest_of(tensor)
    home = type(method).__module__.replace("amongst.algorithms.", "amongst.methods.")  # as it was
    facts = [
        f"{home} {method.name} {described(method)}",
        member.settings.to_dict(),
        member.initial_seed,
        [known[id(tensor)] for tensor in tensors],
        *([] if member.known is None else [digest_of(member.known)]),
    ]
    return digest_of(json.dumps(facts))


def checkpoint_path(folder: Path, cohort: Cohort, mark: str = "") -> Path:
    """The file of this cohort, before its first step: its name is a digest of all that changes its
    numbers. Of the networks, which a seed gives, the first one stands for all."""
    known: dict[int, str] = {}
    members = [mark_of_member(member, known) for member in cohort.members]
    shapes = [tuple(p.shape) for p in cohort.network.parameters]
    network = mark_of_model(cohort.network.template)
    digest = digest_of(mark, *members, json.dumps(shapes), network)
    return folder / f"cohort-{digest[:16]}.safetensors"


def save_checkpoint(path: Path, cohort: Cohort, epoch: int, history: dict[str, Tensor]) -> None:
    """Write the state after `epoch` epochs, to a temporary file that then takes the name."""
    state = cohort.state() | {f"history.{name}": value for name, value in history.items()}
    tensors = {name: value.detach().cpu().contiguous() for name, value in state.items()}
    partial = path.parent / f"{temporary_prefix(path)}new"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        clear_abandoned(path)
        save_file(tensors, partial, metadata={"epoch": str(epoch)})
        os.replace(partial, path)
    except (SafetensorError, OSError) as error:
        partial.unlink(missing_ok=True)
        raise StoreError(f"{str(path)!r} cannot be written: {one_line(error)}.") from error


def load_checkpoint(path: Path, cohort: Cohort, history: dict[str, Tensor]) -> int:
    """Put a saved state back in place; returns the epochs done, 0 where there is no file."""
    if not path.exists():
        return 0
    state = cohort.state() | {f"history.{name}": value for name, value in history.items()}
    try:
        return _read(path, state.items())
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise FileFormatError(
            f"{os.fspath(path)!r} is not a checkpoint of a population, or it is truncated ({error}). "
            "Delete it to train from the start."
        ) from error


@torch.no_grad()
def _read(path: Path, state: Iterable[tuple[str, Tensor]]) -> int:
    with safe_open(path, framework="pt") as saved:
        for name, value in state:
            value.copy_(saved.get_tensor(name))
        return int((saved.metadata() or {})["epoch"])


def _mark_of_features(features: Features) -> str:
    return digest_of(features.values, features.shift, features.scale)
