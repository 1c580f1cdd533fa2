"""A cohort: members that train in lockstep, and everything they need, stacked on one device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from amongst.accel.population.member import Member, runs
from amongst.accel.stacked import EVERYONE, StackedNetwork, stack_models
from amongst.algorithms import LossForm, Method
from amongst.algorithms._base import changed_beyond_leaves, first_weights, kernel_form
from amongst.data.features import Features
from amongst.devices import permutation, split_seed
from amongst.errors import InputError
from amongst.models import ModelSpec, build_model
from amongst.train.loop import check_batches
from amongst.train.run import Settings, batch_bounds, learning_rate

_CODES = ((8, torch.uint8), (15, torch.int16), (31, torch.int32), (63, torch.int64))


@dataclass(frozen=True, eq=False)
class PackedCandidates:
    """S masks over n rows, and which of them each of M members uses.

    Attributes
    ----------
    codes : shape (S·n,), bit z of a code is [z ∈ s]; or bool of shape (S·n, K) beyond 63 classes.
    first : shape (M, 1), where each member's mask begins.
    n_classes : K.
    """

    codes: Tensor
    first: Tensor
    n_classes: int

    def of(self, index: Tensor, part: slice = slice(None)) -> Tensor:
        """Masks of rows (m, B) or (B,) of the features: bool, shape (m, B, K)."""
        found = self.codes[self.first[part] + index]
        if found.dtype == torch.bool:
            return found
        places = torch.arange(self.n_classes, device=found.device, dtype=torch.int64)
        return ((found.long().unsqueeze(-1) >> places) & 1).bool()


def pack(masks: Sequence[Tensor], device: torch.device | str = "cpu") -> PackedCandidates:
    """Pack the members' masks; equal objects are stored once.

    Parameters
    ----------
    masks : M bool tensors of shape (n, K).

    Examples
    --------
    >>> mask = torch.tensor([[True, False, True], [False, True, False]])
    >>> packed = pack([mask, mask])
    >>> packed.codes
    tensor([5, 2], dtype=torch.uint8)
    >>> packed.of(torch.tensor([[1], [0]]))[1]
    tensor([[ True, False,  True]])
    """
    distinct = {id(mask): mask for mask in masks}
    places = {key: position for position, key in enumerate(distinct)}
    n, k = masks[0].shape
    codes = torch.cat([_encode(mask.to(device)) for mask in distinct.values()])
    first = torch.tensor([[places[id(mask)] * n] for mask in masks], device=device)
    return PackedCandidates(codes, first, k)


def code_bytes(n_classes: int) -> int:
    """Bytes of memory that one row of one mask takes."""
    return next((dtype.itemsize for top, dtype in _CODES if n_classes <= top), n_classes)


def _encode(mask: Tensor) -> Tensor:
    k = mask.shape[1]
    dtype = next((dtype for top, dtype in _CODES if k <= top), None)
    if dtype is None:
        return mask
    values = 2 ** torch.arange(k, device=mask.device, dtype=torch.int64)
    return (mask * values).sum(-1).to(dtype)


BETAS = (0.9, 0.999)
EPSILON = 1e-8


class StackedOptimizer:
    """torch.optim's SGD (with momentum) and Adam, side by side in one stack.

    The first members use SGD and the rest Adam, as `arrange` puts them. A member that is not alive
    keeps its parameters and its state.

    Parameters
    ----------
    parameters : tensors of shape (M, ...), changed in place.
    settings : one for each member.
    steps : optimiser steps in an epoch.

    Attributes
    ----------
    lr, weight_decay, momentum : shape (M,).
    traces : momenta of the SGD members; first moments of the Adam members.
    squares : second moments of the Adam members.
    corrections : shape (steps, 2), Adam's 1 − β₁ᵗ and √(1 − β₂ᵗ) for the steps of this epoch.
    """

    def __init__(
        self, parameters: Sequence[Tensor], settings: Sequence[Settings], steps: int
    ) -> None:
        self.parameters, self.settings, self.steps = list(parameters), list(settings), steps
        self.n_sgd = sum(s.optimizer == "sgd" for s in settings)
        like = parameters[0]
        self.lr = like.new_tensor([s.lr for s in settings])
        self.weight_decay = like.new_tensor([s.weight_decay for s in settings])
        self.momentum = like.new_tensor([s.momentum for s in settings])
        self.traces = [torch.zeros_like(p) for p in parameters]
        self.squares = [torch.zeros_like(p[self.n_sgd :]) for p in parameters]
        self.corrections = like.new_zeros(steps, 2)

    def begin_epoch(self, epoch: int) -> None:
        """Set this epoch's learning rates and bias corrections."""
        rates = [learning_rate(s, epoch) for s in self.settings]
        self.lr.copy_(torch.tensor(rates, dtype=torch.float64))
        times = range(epoch * self.steps + 1, (epoch + 1) * self.steps + 1)
        table = [[1 - BETAS[0] ** t, math.sqrt(1 - BETAS[1] ** t)] for t in times]
        self.corrections.copy_(torch.tensor(table, dtype=torch.float64))

    def apply(self, gradients: Sequence[Tensor | None], alive: Tensor | None, tick: Tensor) -> None:
        """One step for every member; `alive` None means all of them, `tick` counts from 0. A
        parameter without a gradient stays as it is, as in torch.optim."""
        sgd, adam = slice(0, self.n_sgd), slice(self.n_sgd, None)
        correction = self.corrections.index_select(0, tick)[0]
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients, strict=True)):
            if gradient is None:
                continue
            if self.n_sgd:
                self._sgd(parameter[sgd], gradient[sgd], self.traces[i][sgd], alive)
            if self.n_sgd < len(parameter):
                moments = self.traces[i][adam], self.squares[i]
                self._adam(parameter[adam], gradient[adam], moments, alive, correction)

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint must hold."""
        named = {f"trace.{i}": t for i, t in enumerate(self.traces)}
        return named | {f"square.{i}": t for i, t in enumerate(self.squares) if t.numel()}

    def _sgd(
        self, parameter: Tensor, gradient: Tensor, trace: Tensor, alive: Tensor | None
    ) -> None:
        lr, decay, momentum = (
            _column(v[: self.n_sgd], parameter) for v in (self.lr, self.weight_decay, self.momentum)
        )
        gradient = torch.addcmul(gradient, parameter, decay)
        if alive is None:
            trace.mul_(momentum).add_(gradient)
            parameter.addcmul_(trace, lr, value=-1)
            return
        mask = _column(alive[: self.n_sgd], parameter)
        new = trace * momentum + gradient
        trace.copy_(torch.where(mask, new, trace))
        moved = torch.addcmul(parameter, new, lr, value=-1)
        parameter.copy_(torch.where(mask, moved, parameter))

    def _adam(
        self,
        parameter: Tensor,
        gradient: Tensor,
        moments: tuple[Tensor, Tensor],
        alive: Tensor | None,
        correction: Tensor,
    ) -> None:
        rates, decays = self.lr[self.n_sgd :], self.weight_decay[self.n_sgd :]
        gradient = torch.addcmul(gradient, parameter, _column(decays, parameter))
        first = moments[0].lerp(gradient, 1 - BETAS[0])
        second = moments[1] * BETAS[1] + gradient * gradient * (1 - BETAS[1])
        size = _column(rates, parameter) / correction[0]
        moved = parameter - size * first / (second.sqrt() / correction[1] + EPSILON)
        mask = None if alive is None else _column(alive[self.n_sgd :], parameter)
        for old, new in ((moments[0], first), (moments[1], second), (parameter, moved)):
            old.copy_(new if mask is None else torch.where(mask, new, old))


def _column(values: Tensor, like: Tensor) -> Tensor:
    """(m,) as (m, 1, ..., 1)."""
    return values.view(-1, *[1] * (like.dim() - 1))


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
    known : the prior π over the candidates, shape (m, n, K), or None.
    start : the method as it is before the first epoch.
    """

    part: slice
    method: Method
    weights: Tensor | None
    start: Method
    known: Tensor | None = None

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

    >>> from amongst.algorithms import LW
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
        return self.alive.device

    @property
    def n_rows(self) -> int:
        return self.order.shape[1]

    @property
    def batch_size(self) -> int:
        return self.members[0].settings.batch_size

    @property
    def epochs(self) -> int:
        return self.members[0].settings.epochs

    @property
    def precision(self) -> str:
        return self.members[0].settings.precision

    @property
    def sizes(self) -> list[int]:
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
    for part, start in runs(members):
        changed(start, (epochs - 1) / epochs)
        leaves = {n: getattr(start, n).to(device, dtype, copy=True) for n in start.leaves}
        method = replace(start, **leaves) if leaves else start
        told = [(m, m.known) for m in members[part]]
        known = [None if prior is None else m.own(prior.to(device, dtype)) for m, prior in told]
        weights = _initial_weights(members[part], known, dtype, device)
        priors = [prior for prior in known if prior is not None]  # of all, or of none
        groups.append(Group(part, method, weights, start, torch.stack(priors) if priors else None))
    return groups


def _initial_weights(
    members: Sequence[Member],
    known: Sequence[Tensor | None],
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor | None:
    k, n = members[0].n_classes, members[0].n_rows
    one = torch.ones(1, k, dtype=torch.bool)
    if known[0] is None and first_weights(members[0].loss, one) is None:
        return None
    weights = torch.empty(len(members), n, k, dtype=dtype, device=device)
    for slot, member, told in zip(weights, members, known, strict=True):
        first = first_weights(member.loss, member.own(member.inside.to(device)), known=told)
        assert first is not None
        slot.copy_(first)
    return weights


def _subset(members: Sequence[Member], device: torch.device) -> Tensor | None:
    if all(member.rows is None for member in members):
        return None
    every = torch.arange(members[0].n_rows)
    chosen = [every if m.rows is None else m.rows.cpu().long() for m in members]
    return torch.stack(chosen).to(device)
