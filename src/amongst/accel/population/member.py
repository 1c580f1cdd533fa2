"""A member of a population, and how members fall into cohorts that train in lockstep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from amongst.algorithms import Method, Recipe
from amongst.algorithms._base import in_full
from amongst.candidates import CandidateSets
from amongst.devices import split_seed
from amongst.errors import InputError
from amongst.losses.known import prior_of
from amongst.train.loop import check_kind
from amongst.train.run import Settings, check_masks


@dataclass(frozen=True, eq=False)
class Member:
    """One model of a population: what it minimises, how, and on which rows.

    Parameters
    ----------
    method, settings : as for `amongst.train.train`.
    inside : bool, shape (n, K), over all rows of the population's features. Members that share a
        tensor share its memory. A NumPy mask or `CandidateSets` become a tensor of the member's own.
    rows : the rows it trains on, or None for all. These and the next two may be arrays.
    held : rows kept back for criteria that need candidate sets only, or None.
    held_truth : true labels of the held rows, for the accuracy that an oracle would choose by
        (column ``"oracle"``); None keeps them out.
    model_seed : of the initial weights; by default from ``settings.seed`` by `split_seed`.

    Attributes
    ----------
    known : the weights of the candidates, where `CandidateSets` have some, or None.

    Examples
    --------
    >>> from amongst.algorithms import LW
    >>> inside = torch.tensor([[True, False], [True, True]])
    >>> Member(LW(beta=2.0), inside, Settings(epochs=3)).n_rows
    2
    """

    method: Recipe
    inside: Tensor
    settings: Settings = field(default_factory=Settings)
    rows: Tensor | None = None
    held: Tensor | None = None
    held_truth: Tensor | None = None
    model_seed: int | None = None
    known: Tensor | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        inside: Any = self.inside
        if isinstance(inside, CandidateSets):
            object.__setattr__(self, "known", prior_of(inside, torch.float64))
            inside = inside.to_mask()
        given = {"inside": inside, "rows": self.rows, "held": self.held}
        for name, value in (given | {"held_truth": self.held_truth}).items():
            if value is not None and not isinstance(value, Tensor):
                object.__setattr__(self, name, torch.tensor(np.asarray(value)))

    @property
    def loss(self) -> Method:
        """The method of a member that a stack trains; see `goes_alone`."""
        assert isinstance(self.method, Method)
        return self.method

    def own(self, values: Tensor) -> Tensor:
        """Of values of all rows, those of the rows that it trains on."""
        return values if self.rows is None else values[self.rows.to(values.device).long()]

    @property
    def n_rows(self) -> int:
        return len(self.inside) if self.rows is None else len(self.rows)

    @property
    def n_classes(self) -> int:
        """K."""
        return self.inside.shape[1]

    @property
    def initial_seed(self) -> int:
        """The seed of its initial weights."""
        own = self.model_seed
        return split_seed(self.settings.seed)[0] if own is None else own


def arrange(members: Sequence[Member]) -> list[list[int]]:
    """Cohorts, as lists of indices: one number of rows, batch size, epochs and precision each.

    Inside a cohort SGD comes before Adam, members that take a second forward pass stand together,
    and so do members whose methods differ in numbers only.

    >>> from amongst.algorithms import CC, LW
    >>> inside = torch.ones(4, 2, dtype=torch.bool)
    >>> arrange([Member(LW(), inside), Member(CC(), inside), Member(LW(beta=2.0), inside)])
    [[1, 0, 2]]
    """
    by_pace: dict[tuple[Any, ...], list[int]] = {}
    for i, member in enumerate(members):
        by_pace.setdefault(_pace(member), []).append(i)
    return [sorted(cohort, key=lambda i: _place(members[i])) for cohort in by_pace.values()]


def runs(members: Sequence[Member]) -> list[tuple[slice, Any]]:
    """Neighbours of one structure, in the order given: their place, and one method for all of them,
    whose leaves are tensors of shape (m, 1).

    >>> from amongst.algorithms import LW
    >>> inside = torch.ones(4, 2, dtype=torch.bool)
    >>> ((part, method),) = runs([Member(LW(beta=b), inside) for b in (0.0, 1.0)])
    >>> part, method.beta.tolist()
    (slice(0, 2, None), [[0.0], [1.0]])
    """
    found, first = [], 0
    for _, neighbours in groupby(members, key=lambda m: (type(m.method), *_place(m))):
        methods = [member.loss for member in neighbours]
        leaves = {
            name: torch.tensor([[float(getattr(m, name))] for m in methods], dtype=torch.float64)
            for name in methods[0].leaves
        }
        part = slice(first, first + len(methods))
        found.append((part, replace(methods[0], **leaves) if leaves else methods[0]))
        first = part.stop
    return found


def check_members(members: Sequence[Member], n: int) -> None:
    """Every mask fits the features, every subset of rows exists, and each row has a candidate."""
    if not members:
        raise InputError("members is empty: a population needs at least one member.")
    looked_at = set()
    for i, member in enumerate(members):
        _check_member(f"members[{i}]", member, members[0], n)
        if (key := (id(member.inside), id(member.rows))) not in looked_at:
            looked_at.add(key)
            name = f"members[{i}].inside{'' if member.rows is None else '[rows]'}"
            check_masks(name, member.own(member.inside))


def _check_member(name: str, member: Member, first: Member, n: int) -> None:
    check_kind(f"{name}.method", member.method, Recipe)
    check_kind(f"{name}.settings", member.settings, Settings)
    shape, wanted = tuple(member.inside.shape), (n, first.n_classes)
    if member.inside.dtype != torch.bool or shape != wanted:
        raise InputError(
            f"{name}.inside has dtype {member.inside.dtype} and shape {shape}; expected bool of shape "
            f"{wanted}, one row for each row of the features."
        )
    _check_rows(f"{name}.rows", member.rows, n)
    _check_rows(f"{name}.held", member.held, n)
    held, truth = member.held, member.held_truth
    if truth is not None and (held is None or truth.shape != held.shape):
        raise InputError(f"{name}.held_truth must be one label for each held row.")
    if (truth is None) != (first.held_truth is None):
        raise InputError(f"{name}: either all members have true labels of held rows, or none.")


def _check_rows(name: str, rows: Tensor | None, n: int) -> None:
    if rows is None:
        return
    if rows.dim() != 1 or len(rows) == 0 or rows.dtype not in (torch.int32, torch.int64):
        raise InputError(
            f"{name} has dtype {rows.dtype} and shape {tuple(rows.shape)}; expected row numbers, "
            "whole and one-dimensional, at least one."
        )
    if int(rows.min()) < 0 or int(rows.max()) >= n:
        raise InputError(f"{name} points outside the {n} rows of the features.")


def _pace(member: Member) -> tuple[Any, ...]:
    s = member.settings
    held = None if member.held is None else len(member.held)
    return member.n_rows, s.batch_size, s.epochs, s.precision, held


def _place(member: Member) -> tuple[Any, ...]:
    """Sort key: optimiser, then second-pass members next to the border, then structure."""
    method, adam = member.loss, member.settings.optimizer == "adam"
    structure = tuple(
        (f.name, in_full(getattr(method, f.name)))
        for f in fields(method)
        if f.name not in method.leaves
    )
    kind = f"{type(method).__module__}.{type(method).__qualname__}"
    weighted = member.known is not None
    return adam, (method.when == "post") != adam, method.name, kind, structure, weighted
