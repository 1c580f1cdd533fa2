"""Members one after another through the single engine: which they are, and how they train."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from amongst.accel.population.backends import BACKENDS
from amongst.accel.population.checkpoint import mark_of_member
from amongst.accel.population.member import Member
from amongst.accel.population.result import Criterion, Progress, Wave, judged
from amongst.accel.stacked import SoloNetwork, copied, stack_models
from amongst.algorithms import Method
from amongst.algorithms._base import first_line, scored
from amongst.checks import check_choice
from amongst.data.features import Features
from amongst.errors import AmongstWarning, DivergenceError, InputError
from amongst.metrics import accuracy
from amongst.models import ConvNet, ModelSpec, build_model, seeded
from amongst.train.callbacks import Watch
from amongst.train.checkpoint import Checkpoint, digest_of, mark_of_model
from amongst.train.loop import start, train
from amongst.train.run import Callback, Training, TrainingData

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
        oracle = ("oracle",) if self.members[0].held_truth is not None else ()
        return (*COUNTED, *(item.name for item in self.watch), *self.held, *oracle)


ROWS = 4
CLOSE = 1e-2
"""Of the largest score, how far a stacked network may be from the module itself."""


def settled(task: Task) -> Task:
    """The task with a backend that can train its network.

    A network that cannot be stacked trains member after member under ``"auto"``, with a warning;
    any other backend refuses it.
    """
    check_choice("backend", task.backend, BACKENDS)
    _check_algorithms(task)
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


def _check_algorithms(task: Task) -> None:
    """Members that train by themselves, because no stack knows their algorithm, are told of."""
    titles = {m.method.title for m in task.members if not isinstance(m.method, Method)}
    if not titles or task.backend == "alone":
        return
    names = ", ".join(sorted(titles))
    if task.backend != "auto":
        raise InputError(
            f"backend={task.backend!r} cannot train {names}, which owns more than a loss. Use "
            "backend='alone' or 'auto'.",
            code="no-stack",
        )
    text = f"members with {names} train one after another: no stack of networks knows it."
    warnings.warn(AmongstWarning(text, code="alone"), stacklevel=4)


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
    scored(own.train(), x, first.n_classes)
    try:
        return _difference([model.to(x.device, x.dtype) for model in models], own, x)
    except InputError:
        raise
    except Exception as error:
        reason = first_line(error).partition(". ")[0]
        return f"{type(own).__name__} does not go through vmap ({reason})"


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


def _moved(before: nn.Module, after: nn.Module) -> set[str]:
    """Names of the buffers that changed."""
    old = dict(before.named_buffers())
    return {f"buffer {name!r}" for name, b in after.named_buffers() if not b.equal(old[name])}


def _are_close(ours: Tensor, theirs: Tensor) -> bool:
    far = CLOSE * float(theirs.abs().nan_to_num().max())
    return torch.allclose(ours, theirs, rtol=CLOSE, atol=far, equal_nan=True)


SECONDS = 15.0
"""Between two writes of a member to disk: of a ConvNet's three minutes they are one in a hundred."""


def goes_alone(task: Task, member: Member | None = None) -> bool:
    """Whether members of this task train one by one: when asked, and for the ConvNet on a GPU; or
    this member, which no stack can train since its algorithm owns more than a loss, since its settings
    ask for more than a stack does, or since it has no place for the weights of its candidates."""
    if member is not None and (
        not isinstance(member.method, Method)
        or not member.settings.plain
        or (member.known is not None and not member.method.uses_prior)
    ):
        return True
    if task.backend != "auto":
        return task.backend == "alone"
    is_convnet = task.model in ("convnet", ConvNet) or isinstance(task.model, ConvNet)
    return is_convnet and task.features.device.type == "cuda"


def train_alone(task: Task, index: int) -> Wave:
    """Member `index` as a wave of its own."""
    member = task.members[index]
    settings, data = member.settings, _data(task, member)
    shape, seed = data.features.shape, member.initial_seed
    model = build_model(task.model, shape, member.n_classes, seed, **task.options)
    run = start(model, data, member.method, settings)
    checkpoint = _checkpoint(task, member, run)
    telling = _Telling(task, index)
    diverged = 0
    try:
        train(
            model,
            data,
            member.method,
            settings,
            watch=[*task.watch, *_held(task, member)],
            training=run,
            callbacks=[checkpoint, telling],
        )
    except DivergenceError:
        diverged = run.epoch + 1
        checkpoint.restore(run)
        checkpoint.write(run)
    seconds = torch.zeros(settings.epochs, dtype=torch.float64)
    seconds[: run.epoch] = torch.tensor([r["seconds"] for r in run.records]).double()
    weights = None if run.weights is None or not task.keep_weights else run.weights.cpu()
    network = SoloNetwork(run.model.cpu())
    values = telling.values(run.records, settings.epochs)
    return Wave((index,), network, values, seconds, torch.tensor([diverged]), (weights,))


def _data(task: Task, member: Member) -> TrainingData:
    """The member's own rows, in its precision."""
    features, inside = task.features, member.inside.to(task.features.device)
    known = None if member.known is None else member.known.to(features.device, features.dtype)
    if member.rows is not None:
        rows = member.rows.to(features.device).long()
        features, inside = features.part(rows), inside[rows]
        known = None if known is None else known[rows]
    return TrainingData(features, inside, None, known).seen_in(member.settings.precision)


def _held(task: Task, member: Member) -> list[Watch]:
    """The criteria, as things to watch on the held rows."""
    if member.held is None:
        return []
    rows = member.held.to(task.features.device).long()
    features, inside = task.features.part(rows), member.inside.to(rows.device)[rows]
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


def _checkpoint(task: Task, member: Member, run: Training) -> Checkpoint:
    """Of this member, in the folder of the population."""
    if task.checkpoint is None:
        return Checkpoint(survives=False)
    mark = digest_of(task.mark, mark_of_member(member, {}), mark_of_model(run.model))
    task.checkpoint.mkdir(parents=True, exist_ok=True)
    path = task.checkpoint / f"member-{mark}.amongst"
    return Checkpoint(path, mark, every=SECONDS, survives=False)


class _Telling(Callback):
    """The run's records as the population's values, and its progress."""

    def __init__(self, task: Task, index: int) -> None:
        self.task, self.index = task, index

    def begin(self, run: Training) -> None:
        """What a checkpoint brought along counts as done."""
        self.task.progress.go_on(1, run.epoch)

    def after_epoch(self, run: Training) -> None:
        values = self.values(run.records[-1:], 1)[0]
        self.task.progress.advance([self.index], run.epoch, self.task.columns, values)

    def values(self, records: Sequence[Mapping[str, float]], epochs: int) -> Tensor:
        """Shape (epochs, 1, columns), NaN where nothing was measured."""
        found = torch.full((epochs, 1, len(self.task.columns)), torch.nan, dtype=torch.float64)
        for row, record in zip(found, records, strict=False):
            told = [record.get(column, torch.nan) for column in self.task.columns]
            row[0] = torch.tensor(told, dtype=torch.float64)
        return found
