"""Members one after another through the single engine: for networks that fill the device alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from amongst.engine.checkpoint import Keeper, load_checkpoint
from amongst.engine.data import Features, TrainingData
from amongst.engine.digest import digest_of, mark_of_model
from amongst.engine.population.checkpoint import mark_of_member
from amongst.engine.population.evaluate import Criterion, judged
from amongst.engine.population.member import Member
from amongst.engine.population.result import Wave
from amongst.engine.population.task import Task
from amongst.engine.single import Training, start, train
from amongst.engine.watch import Watch
from amongst.errors import DivergenceError
from amongst.metrics import accuracy
from amongst.models import ConvNet, build_model
from amongst.models.stacked import SoloNetwork

__all__ = ["goes_alone", "train_alone"]

SECONDS = 15.0
"""Between two writes of a member to disk: of a ConvNet's three minutes they are one in a hundred."""


def goes_alone(task: Task) -> bool:
    """Whether members of this task train one by one: when asked, and for the ConvNet on a GPU."""
    if task.backend != "auto":
        return task.backend == "alone"
    is_convnet = task.model in ("convnet", ConvNet) or isinstance(task.model, ConvNet)
    return is_convnet and task.features.device.type == "cuda"


def train_alone(task: Task, index: int) -> Wave:
    """Member `index` as a wave of its own."""
    member = task.members[index]
    settings, data = member.settings, _data(task, member)
    state = _start(task, member, data)
    keeper = _keeper(task, member, state)
    values = torch.full((settings.epochs, 1, len(task.columns)), torch.nan, dtype=torch.float64)
    _fill(task, values, state)
    task.progress.go_on(1, state.epoch)
    keeper(state)
    diverged = 0
    try:
        train(
            state.model,
            data,
            member.method,
            settings,
            watch=[*task.watch, *_held(task, member)],
            training=state,
            on_epoch=_listener(task, index, values, keeper),
        )
    except DivergenceError:
        diverged = state.epoch + 1
        keeper.restore(state)
    keeper.write(state)
    seconds = torch.zeros(settings.epochs, dtype=torch.float64)
    seconds[: state.epoch] = torch.tensor([r["seconds"] for r in state.records]).double()
    weights = None if state.weights is None or not task.keep_weights else state.weights.cpu()
    network = SoloNetwork(state.model.cpu())
    return Wave((index,), network, values, seconds, torch.tensor([diverged]), (weights,))


def _start(task: Task, member: Member, data: TrainingData) -> Training:
    """Before the first epoch."""
    shape, seed = data.features.shape, member.initial_seed
    model = build_model(task.model, shape, member.n_classes, seed, **task.options)
    return start(model, data, member.method, member.settings)


def _data(task: Task, member: Member) -> TrainingData:
    """The member's own rows, in its precision."""
    features, inside = task.features, member.inside.to(task.features.device)
    if member.rows is not None:
        rows = member.rows.to(features.device).long()
        features, inside = _part(features, rows), inside[rows]
    return TrainingData(features, inside).seen_in(member.settings.precision)


def _part(features: Features, rows: Tensor) -> Features:
    return replace(features, values=features.values[rows])


def _held(task: Task, member: Member) -> list[Watch]:
    """The criteria, as things to watch on the held rows."""
    if member.held is None:
        return []
    rows = member.held.to(task.features.device).long()
    features, inside = _part(task.features, rows), member.inside.to(rows.device)[rows]
    watches = [
        Watch(name, features, partial(_apply, name, criterion, inside.unsqueeze(0)))
        for name, criterion in task.held.items()
    ]
    if member.held_truth is not None:
        truth = member.held_truth.to(rows.device)
        watches.append(Watch("oracle", features, partial(accuracy, labels=truth)))
    return watches


def _apply(name: str, criterion: Criterion, inside: Tensor, scores: Tensor) -> Tensor:
    """The criterion of a population of one, masks (1, n, K)."""
    return judged(name, criterion, scores.unsqueeze(0), inside).squeeze(0)


def _keeper(task: Task, member: Member, state: Training) -> Keeper:
    """Goes on from the member's checkpoint where there is one."""
    if task.checkpoint is None:
        return Keeper()
    mark = digest_of(task.mark, mark_of_member(member, {}), mark_of_model(state.model))
    task.checkpoint.mkdir(parents=True, exist_ok=True)
    path: Path = task.checkpoint / f"member-{mark}.amongst"
    if path.exists():
        load_checkpoint(path, state, mark)
    return Keeper(path, mark, every=SECONDS)


def _listener(task: Task, index: int, values: Tensor, keeper: Keeper) -> Callable[[Training], None]:
    def listen(state: Training) -> None:
        keeper(state)
        _fill(task, values, state)
        task.progress.advance([index], state.epoch, task.columns, values[state.epoch - 1])

    return listen


def _fill(task: Task, values: Tensor, state: Training) -> None:
    """The state's records as rows of values."""
    for epoch, record in enumerate(state.records):
        row = [record.get(column, float("nan")) for column in task.columns]
        values[epoch, 0] = torch.tensor(row, dtype=torch.float64)
