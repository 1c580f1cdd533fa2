"""A cohort: members that train in lockstep, and everything they need, stacked on one device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from amongst.engine.data import Features
from amongst.engine.door import check_batches, first_weights
from amongst.engine.order import batch_bounds, permutation, split_seed
from amongst.engine.population.candidates import PackedCandidates, pack
from amongst.engine.population.member import Member, runs
from amongst.engine.population.optimizers import StackedOptimizer
from amongst.errors import InputError
from amongst.methods import LossForm, Method
from amongst.methods.base import changed_beyond_leaves, kernel_form
from amongst.models import ModelSpec, build_model
from amongst.models.stacked import EVERYONE, StackedNetwork, stack_models

__all__ = ["Cohort", "Group", "form_cohort"]

ORDER_CHUNK = 2**24
"""Row numbers sorted at a time when an epoch's orders are drawn."""


@dataclass(eq=False)
class Group:
    """Neighbours in a cohort that one call of one method serves.

    Attributes
    ----------
    part : their place in the cohort.
    method : with tensors of shape (m, 1) for its leaves, as they are in this epoch.
    weights : shape (m, n, K), or None.
    start : the method as it is before the first epoch.
    """

    part: slice
    method: Method
    weights: Tensor | None
    start: Method

    @property
    def form(self) -> LossForm | None:
        """The loss as a kernel may know it."""
        return kernel_form(self.method)

    def begin_epoch(self, progress: float) -> None:
        """Set the numbers that change during training, in place."""
        now = changed(self.start, progress)
        for name in self.method.leaves:
            getattr(self.method, name).copy_(getattr(now, name))


def changed(method: Method, progress: float) -> Method:
    """The method as it is once this share of the epochs is done, if only its leaves change: a
    population reads nothing else anew.

    >>> from amongst.methods import LW
    >>> changed(LW(beta=4.0, fade=0.5), 1.0).beta
    2.0
    """
    odd = changed_beyond_leaves(method, progress)
    if odd:
        raise InputError(
            f"at({progress:g}) of the method {method.name!r} changes {', '.join(odd)}; in a "
            f"population it may change its leaves only, which are {method.leaves}. Add it to leaves."
        )
    return method.at(progress)


@dataclass(eq=False)
class Cohort:
    """M members in lockstep: the state of training, changed in place by a step.

    Attributes
    ----------
    members : in the order of the stack.
    network, optimizer, groups : what is trained, how, and by which losses.
    features, candidates : shared data; `subset` (M, n) maps a member's rows to them, or None.
    order : shape (M, n), this epoch's order of each member's rows.
    alive : bool, shape (M,); False once a member's loss has been NaN or infinite.
    totals : shape (M, 2), this epoch's sum of losses and rows covered.
    tick : shape (1,), steps done in this epoch.
    """

    members: tuple[Member, ...]
    network: StackedNetwork
    optimizer: StackedOptimizer
    groups: list[Group]
    features: Features
    candidates: PackedCandidates
    subset: Tensor | None
    order: Tensor
    alive: Tensor
    totals: Tensor
    tick: Tensor

    def __len__(self) -> int:
        return len(self.members)

    @property
    def device(self) -> torch.device:
        """Where it trains."""
        return self.alive.device

    @property
    def n_rows(self) -> int:
        """Rows of each member."""
        return self.order.shape[1]

    @property
    def batch_size(self) -> int:
        """Rows in a full batch."""
        return self.members[0].settings.batch_size

    @property
    def epochs(self) -> int:
        """Epochs to train."""
        return self.members[0].settings.epochs

    @property
    def precision(self) -> str:
        """Of the matrix products."""
        return self.members[0].settings.precision

    @property
    def sizes(self) -> list[int]:
        """Rows of each batch of an epoch."""
        return [b - a for a, b in batch_bounds(self.n_rows, self.batch_size)]

    @property
    def second_pass(self) -> slice | None:
        """The members whose weights come from a second forward pass."""
        parts = [g.part for g in self.groups if g.method.when == "post"]
        return slice(parts[0].start, parts[-1].stop) if parts else None

    def begin_epoch(self, epoch: int) -> None:
        """Draw the orders of rows, set the learning rates, and clear the counts."""
        seeds = torch.tensor(
            [split_seed(m.settings.seed)[1] for m in self.members], device=self.device
        )
        at_a_time = max(1, ORDER_CHUNK // self.n_rows)
        for a in range(0, len(self), at_a_time):
            chunk = permutation(seeds[a : a + at_a_time], epoch, self.n_rows, self.device)
            self.order[a : a + at_a_time].copy_(chunk)
        self.optimizer.begin_epoch(epoch)
        for group in self.groups:
            group.begin_epoch(epoch / self.epochs)
        self.totals.zero_()
        self.tick.zero_()

    def draw(self, size: int) -> tuple[Tensor, Tensor]:
        """The next `size` rows of each member: their numbers among its own, and in the features."""
        places = self.tick * self.batch_size + torch.arange(size, device=self.device)
        rows = self.order.index_select(1, places).long()
        return rows, rows if self.subset is None else self.subset.gather(1, rows)

    def all_rows(self, part: slice = EVERYONE) -> Tensor | None:
        """Rows (m, n) of the features that these members train on, None if all in order."""
        return None if self.subset is None else self.subset[part]

    def state(self) -> dict[str, Tensor]:
        """Everything that changes during training, by name: what a checkpoint must hold."""
        named = {f"parameter.{i}": t for i, t in enumerate(self.network.parameters)}
        named |= {f"buffer.{i}": t for i, t in enumerate(self.network.buffers)}
        named |= self.optimizer.state()
        for i, group in enumerate(self.groups):
            if group.weights is not None:
                named[f"weights.{i}"] = group.weights
        return named | {"alive": self.alive}


def form_cohort(
    members: Sequence[Member],
    features: Features,
    model: ModelSpec,
    options: dict[str, object],
    *,
    pad: bool = False,
) -> Cohort:
    """Build the networks, stack them, and put the members' data beside the features."""
    precision = members[0].settings.precision
    dtype = torch.float64 if precision == "float64" else features.dtype
    device = features.device
    features = features.to(device, dtype)
    compute = torch.bfloat16 if precision == "bf16" and device.type == "cuda" else dtype
    models = _fresh_models(members, features, model, options)
    check_batches(models[0], members[0].n_rows, members[0].settings)
    network = stack_models(models, device=device, dtype=dtype, compute=compute, pad=pad)
    n, m = members[0].n_rows, len(members)
    steps = len(batch_bounds(n, members[0].settings.batch_size))
    return Cohort(
        members=tuple(members),
        network=network,
        optimizer=StackedOptimizer(network.parameters, [x.settings for x in members], steps),
        groups=_groups(members, dtype, device),
        features=features,
        candidates=pack([member.inside for member in members], device),
        subset=_subset(members, device),
        order=torch.zeros(m, n, dtype=torch.int32, device=device),
        alive=torch.ones(m, dtype=torch.bool, device=device),
        totals=torch.zeros(m, 2, dtype=torch.float64, device=device),
        tick=torch.zeros(1, dtype=torch.int64, device=device),
    )


def _fresh_models(
    members: Sequence[Member], features: Features, model: ModelSpec, options: dict[str, object]
) -> list[torch.nn.Module]:
    """One network for each member; members with one seed share a starting network."""
    seeds = {member.initial_seed for member in members}
    built = {
        seed: build_model(model, features.shape, members[0].n_classes, seed, **options)
        for seed in seeds
    }
    return [built[member.initial_seed] for member in members]


def _groups(members: Sequence[Member], dtype: torch.dtype, device: torch.device) -> list[Group]:
    groups = []
    epochs = members[0].settings.epochs
    for run in runs(members):
        changed(run.method, (epochs - 1) / epochs)
        leaves = {
            name: getattr(run.method, name).to(device, dtype, copy=True)
            for name in run.method.leaves
        }
        method = replace(run.method, **leaves) if leaves else run.method
        weights = _initial_weights(members[run.part], dtype, device)
        groups.append(Group(run.part, method, weights, start=run.method))
    return groups


def _initial_weights(
    members: Sequence[Member], dtype: torch.dtype, device: torch.device
) -> Tensor | None:
    k, n = members[0].n_classes, members[0].n_rows
    if first_weights(members[0].method, torch.ones(1, k, dtype=torch.bool)) is None:
        return None
    weights = torch.empty(len(members), n, k, dtype=dtype, device=device)
    for slot, member in zip(weights, members, strict=True):
        inside = member.inside.to(device)
        own = inside if member.rows is None else inside[member.rows.to(device)]
        first = first_weights(member.method, own)
        assert first is not None
        slot.copy_(first)
    return weights


def _subset(members: Sequence[Member], device: torch.device) -> Tensor | None:
    if all(member.rows is None for member in members):
        return None
    every = torch.arange(members[0].n_rows)
    chosen = [every if m.rows is None else m.rows.cpu().long() for m in members]
    return torch.stack(chosen).to(device)
