"""What is measured after each epoch, for all members at once, on the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from amongst.engine.data import Features
from amongst.engine.population.cohort import Cohort
from amongst.engine.watch import Watch
from amongst.errors import InputError
from amongst.metrics import accuracy
from amongst.models.stacked import ScoredNetwork

__all__ = [
    "Criterion",
    "Held",
    "judged",
    "measure_held",
    "measure_watched",
    "score",
    "scored_at_a_time",
    "serve_many",
]

NOISE = 10.0
"""Size of the random scores on which a measure is tried: many rows certain, many not."""

Criterion = Callable[[Tensor, Tensor], Tensor]
"""Scores (..., n, K) and masks (..., n, K) to values (...), e.g. of `amongst.metrics`."""


def scored_at_a_time(device: torch.device | str) -> int:
    """Rows × members in one forward pass of an evaluation: enough to keep the device busy.

    >>> scored_at_a_time("cpu")
    65536
    """
    return 2**20 if torch.device(device).type == "cuda" else 2**16


@torch.no_grad()
def score(network: ScoredNetwork, features: Features, index: Tensor | None = None) -> Tensor:
    """Scores (M, n, K) of shared rows, or of each member's own rows `index` (M, n)."""
    n = len(features) if index is None else index.shape[1]
    at_a_time = max(1, min(n, scored_at_a_time(features.device) // len(network)))
    chunks = []
    for a in range(0, n, at_a_time):
        rows = slice(a, a + at_a_time)
        x = features.batch(rows if index is None else index[:, rows])
        chunks.append(network.evaluate(x, shared=index is None))
    return chunks[0] if len(chunks) == 1 else torch.cat(chunks, 1)


def serve_many(cohort: Cohort, watch: Sequence[Watch]) -> set[Watch]:
    """Those of the watches whose measures take the scores of many models at once, (M, n, K), and
    give what they give for each by itself.

    A result of the right shape does not prove it: ``scores.softmax(1)`` means the classes of one
    model, and the rows of many. So each measure is tried on random scores of two models.
    """
    k = cohort.candidates.n_classes
    found = set()
    for item in watch:
        noise = torch.randn(2, len(item.features), k, generator=torch.Generator().manual_seed(0))
        if _serves_many(item, NOISE * noise.to(cohort.device, cohort.features.dtype)):
            found.add(item)
    return found


def _serves_many(item: Watch, scores: Tensor) -> bool:
    try:
        values = item.measure(scores)
        own = torch.stack([item.value(one) for one in scores])
    except Exception:
        return False
    fits = isinstance(values, Tensor) and values.shape == scores.shape[:1]
    return fits and torch.allclose(values.double().cpu(), own.double().cpu(), equal_nan=True)


def measure_watched(cohort: Cohort, watch: Sequence[Watch], many: set[Watch]) -> list[Tensor]:
    """One value (M,) for each thing watched; things that look at one set of rows share scores.
    Those in `many` are asked once for all members."""
    scored: dict[int, Tensor] = {}
    values = []
    for item in watch:
        key = id(item.features)
        if key not in scored:
            moved = item.features.to(cohort.device, cohort.features.dtype)
            scored[key] = score(cohort.network, moved)
        values.append(_per_member(item, scored[key], item in many))
    return values


@dataclass(frozen=True, eq=False)
class Held:
    """The members' held rows, on the device for the whole training.

    Attributes
    ----------
    index : shape (M, n), rows of the features.
    inside : shape (M, n, K), their candidate masks; one tensor, so that a criterion may keep what
        it works out from it.
    truth : shape (M, n), their true labels, or None.
    """

    index: Tensor
    inside: Tensor
    truth: Tensor | None

    @classmethod
    def of(cls, cohort: Cohort) -> Held | None:
        """Of a cohort; None if its members hold nothing out."""
        rows = [member.held for member in cohort.members if member.held is not None]
        if not rows:
            return None
        index = torch.stack([own.long() for own in rows]).to(cohort.device)
        known = [m.held_truth for m in cohort.members if m.held_truth is not None]
        truth = torch.stack(known).to(cohort.device) if known else None
        return cls(index, cohort.candidates.of(index), truth)


def measure_held(
    cohort: Cohort, held: Held | None, criteria: Mapping[str, Criterion]
) -> list[Tensor]:
    """One value (M,) for each criterion, on each member's own held rows and candidate sets; and,
    where members carry the truth of these rows, the accuracy that an oracle would choose by."""
    if held is None:
        return [torch.full((len(cohort),), torch.nan, device=cohort.device) for _ in criteria]
    if not criteria and held.truth is None:
        return []
    scores = score(cohort.network, cohort.features, held.index)
    values = [judged(name, criterion, scores, held.inside) for name, criterion in criteria.items()]
    if held.truth is not None:
        values.append(accuracy(scores, held.truth))
    return values


def _per_member(item: Watch, scores: Tensor, many: bool) -> Tensor:
    """The measure of each member, at once or one by one."""
    if many:
        return torch.as_tensor(item.measure(scores))
    return torch.stack([item.value(own) for own in scores]).to(scores.device)


def judged(name: str, criterion: Criterion, scores: Tensor, inside: Tensor) -> Tensor:
    """What a criterion says of scores (M, n, K): one value for each member, shape (M,)."""
    values: Any = criterion(scores, inside)
    if isinstance(values, Tensor) and values.shape == scores.shape[:1]:
        return values
    found = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
    raise InputError(
        f"the criterion {name!r} gives {found} for scores of shape {tuple(scores.shape)}; it must "
        f"give a tensor of shape {tuple(scores.shape[:1])}, one value for each member: let it work "
        "on the last two axes only."
    )
