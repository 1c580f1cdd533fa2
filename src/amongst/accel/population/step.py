"""One optimiser step of a whole cohort, in plain torch: the portable path.

It reads and writes tensors of the cohort only, never the host, so that it can run as it is, be
compiled, or be captured in a CUDA graph.
"""

from __future__ import annotations

import torch
from torch import Tensor

from amongst.accel.population.cohort import Cohort, Group
from amongst.algorithms._base import check_losses, new_weights

EVALUATION_ENTRIES = 2**22
"""Rows × members scored at a time."""


def advance(cohort: Cohort, size: int) -> None:
    """Forward, loss, backward, update and new weights on the next `size` rows of each member.

    Parameters
    ----------
    cohort : changed in place.
    size : rows in this batch.
    """
    rows, index = cohort.draw(size)
    x = cohort.network.prepare(cohort.features.batch(index))
    inside = cohort.candidates.of(index)
    scores, tape = cohort.network.forward(x)
    parts = [
        group_slopes(group, *(values[group.part] for values in (scores, inside, rows)))
        for group in cohort.groups
    ]
    losses, slopes = _joined([part[0] for part in parts]), _joined([part[1] for part in parts])
    cohort.alive.logical_and_(losses.sum(-1).isfinite())  # NaN or infinite: alive no more
    gradients = cohort.network.backward(tape, slopes)
    cohort.network.track(tape, cohort.alive)
    cohort.optimizer.apply(gradients, _mask(cohort), cohort.tick)
    refresh_rows(cohort, x, scores, inside, rows)
    count(cohort, losses, scores, inside)


def keep_finite(cohort: Cohort) -> None:
    """At the end of an epoch: a member with a parameter that is NaN or infinite is alive no more.
    No loss tells of what its last step did."""
    for parameter in filter(Tensor.numel, cohort.network.parameters):
        ends = torch.stack(parameter.reshape(len(parameter), -1).aminmax(dim=1))
        cohort.alive.logical_and_(ends.isfinite().all(0))


def refresh_rows(cohort: Cohort, x: Tensor, scores: Tensor, inside: Tensor, rows: Tensor) -> None:
    """New weights for the batch's rows, from these scores or from a second forward pass."""
    second = cohort.second_pass
    if second is not None:
        scores_after, tape = cohort.network.forward(x[second], second)
        cohort.network.track(tape, cohort.alive, second)
    for group in cohort.groups:
        if group.weights is None or group.method.when not in ("same", "post"):
            continue
        found = scores[group.part]
        if group.method.when == "post":
            assert second is not None
            a = second.start
            found = scores_after[group.part.start - a : group.part.stop - a]
        keep_weights(cohort, group, found, inside[group.part], rows[group.part])


def count(cohort: Cohort, losses: Tensor, scores: Tensor, inside: Tensor) -> None:
    """Add the batch to the epoch's totals, and move on to the next."""
    covered = inside.gather(-1, scores.argmax(-1, keepdim=True)).sum((-2, -1))
    cohort.totals.add_(torch.stack((losses.sum(-1).double(), covered.double()), -1))
    cohort.tick.add_(1)


@torch.no_grad()
def refresh_all(cohort: Cohort) -> None:
    """New weights for all rows, for the members that take them once an epoch."""
    for group in cohort.groups:
        if group.weights is None or group.method.when != "epoch":
            continue
        m = group.part.stop - group.part.start
        at_a_time = max(1, EVALUATION_ENTRIES // m)
        for a in range(0, cohort.n_rows, at_a_time):
            b = min(a + at_a_time, cohort.n_rows)
            _refresh_chunk(cohort, group, a, b)


def _refresh_chunk(cohort: Cohort, group: Group, a: int, b: int) -> None:
    assert group.weights is not None
    own = cohort.all_rows(group.part)
    index = torch.arange(a, b, device=cohort.device) if own is None else own[:, a:b]
    x = cohort.features.batch(index)
    scores = cohort.network.evaluate(x, group.part, shared=own is None)
    inside = cohort.candidates.of(index, group.part)
    old, known = group.weights[:, a:b], None if group.known is None else group.known[:, a:b]
    new = new_weights(group.method, scores, inside, old, known)
    old.copy_(torch.where(cohort.alive[group.part].view(-1, 1, 1), new, old))


def _mask(cohort: Cohort) -> Tensor | None:
    """Who is alive; None for all, which only the CPU, where looking costs nothing, finds out."""
    looks = cohort.device.type == "cpu" and not torch.compiler.is_compiling()
    return None if looks and bool(cohort.alive.all()) else cohort.alive


def group_slopes(
    group: Group, scores: Tensor, inside: Tensor, rows: Tensor
) -> tuple[Tensor, Tensor]:
    """Losses (m, B) and slopes (m, B, K) of one group, by automatic differentiation."""
    weights = None
    if group.weights is not None:
        flat = group.weights.flatten(0, 1)
        weights = flat.index_select(0, _flat(group, rows))
        weights = weights.view_as(scores)

    def total(values: Tensor) -> tuple[Tensor, Tensor]:
        losses = group.method.loss(values, inside, weights)
        check_losses(losses, inside, group.method.name)
        return losses.mean(-1).sum(), losses

    slopes, losses = torch.func.grad(total, has_aux=True)(scores)
    return losses, slopes


def keep_weights(
    cohort: Cohort, group: Group, scores: Tensor, inside: Tensor, rows: Tensor
) -> None:
    """Store a group's new weights for these rows, but not those of dead members."""
    assert group.weights is not None
    flat, place = group.weights.flatten(0, 1), _flat(group, rows)
    old, known = flat.index_select(0, place), None
    if group.known is not None:
        known = group.known.flatten(0, 1).index_select(0, place).view_as(inside)
    new = new_weights(group.method, scores, inside, old.view_as(inside), known).flatten(0, 1)
    mask = cohort.alive[group.part].view(-1, 1).expand_as(rows).reshape(-1, 1)
    flat.index_copy_(0, place, torch.where(mask, new, old))


def _flat(group: Group, rows: Tensor) -> Tensor:
    """Rows (m, B) of each member as rows of its group's flattened weights."""
    assert group.weights is not None
    m, n, _ = group.weights.shape
    first = torch.arange(m, device=rows.device).unsqueeze(1) * n
    return (first + rows).flatten()


def _joined(pieces: list[Tensor]) -> Tensor:
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces)
