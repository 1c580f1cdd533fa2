"""Train a population: members → cohorts → waves that fit → epochs → steps."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from amongst.accel.population.alone import COUNTED, Task, goes_alone, settled, train_alone
from amongst.accel.population.backends import Stepper, choose_backend, make_stepper
from amongst.accel.population.checkpoint import (
    checkpoint_path,
    load_checkpoint,
    mark_of_task,
    save_checkpoint,
)
from amongst.accel.population.cohort import Cohort, form_cohort
from amongst.accel.population.member import Member, arrange, check_members
from amongst.accel.population.plan import plan_memory, split_waves
from amongst.accel.population.result import (
    Criterion,
    Held,
    PopulationResult,
    Progress,
    Wave,
    measure_held,
    measure_watched,
    serve_many,
)
from amongst.accel.population.step import keep_finite, refresh_all
from amongst.accel.stacked import StackedDense
from amongst.checks import check_integer
from amongst.data.features import Features, check_features
from amongst.devices import (
    as_device,
    current,
    dropout_seed,
    is_out_of_memory,
    made_on_cpu,
    products_in,
    warn_of_precision,
)
from amongst.errors import AmongstWarning, InputError
from amongst.models import ModelSpec, seeded
from amongst.train.callbacks import Watch, moved
from amongst.train.checkpoint import Pause, without_checkpoint
from amongst.train.loop import check_columns


def train_population(
    features: Features,
    members: Sequence[Member],
    *,
    model: ModelSpec = "mlp",
    options: Mapping[str, Any] | None = None,
    watch: Sequence[Watch] = (),
    held: Mapping[str, Criterion] | None = None,
    device: str | torch.device = "auto",
    backend: str = "auto",
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 10,
    memory_limit: int | None = None,
    keep_weights: bool = False,
    on_epoch: Callable[[Progress], None] | None = None,
) -> PopulationResult:
    """Train many models at once; each equals the same model trained alone by `train`.

    Members may differ in everything but the shape of the network: method, ψ, β, α, fade, optimiser,
    learning rate, weight decay, momentum, schedule, seeds, candidate sets and rows. Those with one
    number of rows, batch size, number of epochs and precision train in lockstep.

    Parameters
    ----------
    features : n examples, shared by all members.
    members : what each one minimises, and how.
    model, options : a network as for `build_model`. A linear model or MLP has layers written for
        the purpose; the ConvNet on a GPU, which it fills alone, trains member after member; any
        other module goes through vmap, where dropout differs from the single engine's, or, with a
        warning, member after member where vmap cannot take it.
    watch : measured after every epoch for every member, e.g. accuracy on a test set.
    held : criteria by name, measured on each member's own held rows and candidate sets.
    device : where to train.
    backend : one of `BACKENDS`.
    checkpoint : folder to save to every `checkpoint_every` epochs, and to go on from, if features,
        members, network and what is measured are the same (criteria by name). A population that
        takes long to save is saved less often: saving takes a twentieth of the time at most.
    memory_limit : bytes; a larger population is trained in waves.
    keep_weights : keep the methods' final weights, shape (n, K) for each member.
    on_epoch : called after every epoch.

    Returns
    -------
    PopulationResult

    Examples
    --------
    >>> from amongst.train import Features, Settings
    >>> from amongst.algorithms import CC, LW
    >>> inside = torch.tensor([[True, True, False], [True, False, False]] * 6)
    >>> features = Features(torch.randn(12, 4))
    >>> settings = Settings(epochs=2, batch_size=4)
    >>> members = [Member(LW(beta=b), inside, settings) for b in (0.0, 1.0)]
    >>> members.append(Member(CC(), inside, replace(settings, optimizer="adam", lr=1e-3)))
    >>> result = train_population(features, members, model="linear", device="cpu")
    >>> result.history(2).columns.tolist()
    ['epoch', 'lr', 'loss', 'covering', 'seconds']
    """
    check_features("features", features)
    check_members(members, len(features))
    check_integer("checkpoint_every", checkpoint_every, low=1)
    chosen = as_device(device)
    task = Task(
        members=members,
        features=features.to(chosen),
        model=model,
        options=dict(options or {}),
        watch=moved(watch, chosen),
        held=dict(held or {}),
        backend=backend,
        checkpoint=None if checkpoint is None else Path(checkpoint),
        every=checkpoint_every,
        keep_weights=keep_weights,
        progress=Progress(sum(member.settings.epochs for member in members), on_epoch),
    )
    check_columns(task.columns[len(COUNTED) :])
    task = settled(task)
    if checkpoint is not None:
        task = replace(task, mark=mark_of_task(features, watch, task.columns))
    with made_on_cpu(), current(task.features.device):
        parts = _parts(task, memory_limit)
        waves = [wave for part in parts for wave in _fitting(task, part)]
    return PopulationResult(members, task.columns, waves)


def _parts(task: Task, memory_limit: int | None) -> list[list[int]]:
    """Members that train in lockstep and fit the memory; one that no stack can train is by itself."""
    alone = [i for i, member in enumerate(task.members) if goes_alone(task, member)]
    together = [i for i in range(len(task.members)) if i not in set(alone)]
    parts = []
    for cohort in arrange([task.members[i] for i in together]):
        indices = [together[i] for i in cohort]
        plan = plan_memory(
            [task.members[i] for i in indices],
            task.features,
            task.model,
            task.options,
            device=task.features.device,
            memory_limit=memory_limit,
        )
        task.progress.plans.append(plan)
        parts += split_waves(indices, plan.waves)
    return parts + [[i] for i in alone]


def _fitting(task: Task, indices: list[int]) -> list[Wave]:
    """Train these members together, or, where the device runs out of memory, half by half."""
    try:
        if goes_alone(task, task.members[indices[0]]):
            return [train_alone(task, index) for index in indices]
        return [_train_wave(task, indices)]
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        if len(indices) == 1:
            raise InputError(
                "one member alone does not fit the memory of the device. Use a smaller "
                "batch_size or network, or another device."
            ) from error
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    warnings.warn(
        f"{len(indices)} members did not fit the memory; trying half as many at a time.",
        AmongstWarning,
        stacklevel=2,
    )
    return [wave for half in split_waves(indices, 2) for wave in _fitting(task, half)]


def _train_wave(task: Task, indices: list[int]) -> Wave:
    members = [task.members[i] for i in indices]
    warn_of_precision(members[0].settings.precision, task.features.device)
    pad = task.features.device.type == "cuda"
    cohort = form_cohort(members, task.features, task.model, task.options, pad=pad)
    history = {
        "values": torch.zeros(
            cohort.epochs, len(cohort), len(task.columns), dtype=torch.float64, device=cohort.device
        ),
        "seconds": torch.zeros(cohort.epochs, dtype=torch.float64),
        "diverged": torch.zeros(len(cohort), dtype=torch.int64, device=cohort.device),
    }
    with torch.no_grad(), products_in(cohort.precision):
        _train_cohort(task, indices, cohort, history)
    return Wave(
        indices=tuple(indices),
        network=cohort.network.to("cpu"),
        values=history["values"].cpu(),
        seconds=history["seconds"],
        diverged=history["diverged"].cpu(),
        weights=_final_weights(cohort) if task.keep_weights else (None,) * len(cohort),
    )


def _train_cohort(
    task: Task, indices: list[int], cohort: Cohort, history: dict[str, Tensor]
) -> None:
    path = None if task.checkpoint is None else checkpoint_path(task.checkpoint, cohort, task.mark)
    done = 0 if path is None else load_checkpoint(path, cohort, history)
    task.progress.go_on(len(cohort), done)
    backend = choose_backend(task.backend, cohort)
    stepper = make_stepper(cohort, backend, fallback=task.backend == "auto")
    pause, held = Pause(), Held.of(cohort)
    many = serve_many(cohort, task.watch)
    for epoch in range(done, cohort.epochs):
        began = time.perf_counter()
        cohort.begin_epoch(epoch)
        _run_steps(cohort, stepper, epoch)
        keep_finite(cohort)
        refresh_all(cohort)
        history["values"][epoch] = _measured(task, cohort, held, many)
        history["diverged"].masked_fill_((history["diverged"] == 0) & ~cohort.alive, epoch + 1)
        history["seconds"][epoch] = time.perf_counter() - began
        due = (epoch + 1) % task.every == 0 or epoch + 1 == cohort.epochs
        if path is not None and due and pause.over():
            with pause, without_checkpoint():
                save_checkpoint(path, cohort, epoch + 1, history)
        task.progress.advance(indices, epoch + 1, task.columns, history["values"][epoch])


def _run_steps(cohort: Cohort, stepper: Stepper, epoch: int) -> None:
    """An epoch's; what dropout draws, if there is any, is for the seed of the first member to say."""
    forms = [getattr(member.method, "loss_form", None) for member in cohort.members]
    calm = all(forms) and isinstance(cohort.network, StackedDense)  # threads go side by side
    seed = dropout_seed(cohort.members[0].settings.seed, epoch)
    with nullcontext() if calm else seeded(seed, cohort.device):
        for size in cohort.sizes:
            stepper(size)


def _measured(task: Task, cohort: Cohort, held: Held | None, many: set[Watch]) -> Tensor:
    """This epoch's values (M, columns); NaN for members that are alive no more."""
    counted = list((cohort.totals / cohort.n_rows).unbind(-1))
    watched = measure_watched(cohort, task.watch, many)
    values = counted + watched + measure_held(cohort, held, task.held)
    table = torch.stack([value.to(cohort.device, torch.float64) for value in values], -1)
    return torch.where(cohort.alive.unsqueeze(-1), table, torch.nan)


def _final_weights(cohort: Cohort) -> tuple[Tensor | None, ...]:
    found: list[Tensor | None] = []
    for group in cohort.groups:
        m = group.part.stop - group.part.start
        found += [None] * m if group.weights is None else list(group.weights.cpu())
    return tuple(found)
