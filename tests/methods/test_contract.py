"""What every method in the registry must keep; a new one is picked up."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch
from torch import Tensor

from amongst.engine import Settings
from amongst.errors import InputError
from amongst.losses import PSIS
from amongst.methods import LW, METHODS, PROTOCOLS, Method, get_method, get_protocol

TRAINABLE = [name for name in PSIS if PSIS[name].trainable]
K = 4


def variants() -> list[Method]:
    """Every method, with every ψ and every form that it has."""
    found: list[Method] = []
    for method in METHODS.values():
        names = {field.name for field in fields(method)}
        options = [{"psi": psi} for psi in TRAINABLE] if "psi" in names else [{}]
        if "form" in names:
            options = [o | {"form": form} for o in options for form in ("max", "mean")]
        found += [method(**option) for option in options]
    return found


def inputs(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(6, K, dtype=dtype, generator=generator)
    inside = torch.tensor(
        [[1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1], [0, 1, 1, 1], [1, 0, 0, 1], [0, 0, 0, 1]]
    ).bool()
    return scores, inside


def weights_of(method: Method, inside: Tensor, dtype: torch.dtype) -> Tensor | None:
    weights = method.init(inside)
    return None if weights is None else weights.to(dtype)


every = pytest.mark.parametrize("method", variants(), ids=repr)


@every
def test_loss_is_per_row_with_a_true_gradient(method: Method) -> None:
    scores, inside = inputs()
    weights = weights_of(method, inside, scores.dtype)
    assert method.loss(scores, inside, weights).shape == (6,)
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda g: method.loss(g, inside, weights), (scores,))


@every
def test_relabelling(method: Method) -> None:
    scores, inside = inputs()
    order = torch.tensor([2, 0, 3, 1])
    weights, turned = (
        weights_of(method, mask, scores.dtype) for mask in (inside, inside[:, order])
    )
    torch.testing.assert_close(
        method.loss(scores, inside, weights),
        method.loss(scores[:, order], inside[:, order], turned),
    )


@every
def test_finite_at_the_extremes(method: Method) -> None:
    scores, inside = inputs(torch.float32)
    scores = (1e4 * scores.sign()).requires_grad_()
    loss = method.loss(scores, inside, weights_of(method, inside, scores.dtype))
    loss.sum().backward()
    assert torch.isfinite(loss).all()
    assert torch.isfinite(scores.grad).all()  # type: ignore[arg-type]


@every
def test_nan_is_never_hidden(method: Method) -> None:
    scores, inside = inputs()
    for z in range(K):
        bad = scores.clone()
        bad[:, z] = float("nan")
        loss = method.loss(bad, inside, weights_of(method, inside, scores.dtype))
        assert torch.isnan(loss).all()


weighted = pytest.mark.parametrize("method", [m for m in variants() if m.when != "never"], ids=repr)


@weighted
def test_weights_are_a_distribution_on_the_candidates(method: Method) -> None:
    scores, inside = inputs()
    for weights in (weights_of(method, inside, scores.dtype), method.update(scores, inside)):
        assert weights is not None
        assert (weights >= 0).all()
        torch.testing.assert_close((weights * inside).sum(-1), torch.ones(6, dtype=scores.dtype))


@every
def test_leading_axes_are_free(method: Method) -> None:
    scores, inside = inputs()
    stacked, masks = torch.stack((scores, -scores)), torch.stack((inside, inside))
    weights = weights_of(method, masks, scores.dtype)
    together = method.loss(stacked, masks, weights)
    alone = method.loss(-scores, inside, weights_of(method, inside, scores.dtype))
    torch.testing.assert_close(together[1], alone)


@every
def test_leaves_may_be_tensors(method: Method) -> None:
    scores, inside = inputs()
    stacked, masks = torch.stack((scores, scores)), torch.stack((inside, inside))
    weights = weights_of(method, masks, scores.dtype)
    for leaf in method.leaves:
        column = torch.tensor([[0.25], [0.75]], dtype=scores.dtype)
        mixed = replace(method, **{leaf: column}).at(0.5).loss(stacked, masks, weights)
        for m, value in enumerate((0.25, 0.75)):
            alone = replace(method, **{leaf: value}).at(0.5)
            torch.testing.assert_close(mixed[m], alone.loss(stacked[m], masks[m], weights[m]))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_documented_and_searchable(method: type[Method]) -> None:
    assert method.__doc__
    assert method.title
    assert method.reference
    points = [Settings(lr=lr) for lr in method.grid["lr"]]
    points += [Settings(weight_decay=decay) for decay in method.grid["weight_decay"]]
    assert len(points) >= 10
    extra = set(method.grid) - {"lr", "weight_decay"}
    assert extra <= {field.name for field in fields(method)}


def test_grid_sizes_of_the_paper() -> None:
    sizes = dict.fromkeys(METHODS, 1)
    for name, method in METHODS.items():
        for values in method.grid.values():
            sizes[name] *= len(values)
    assert (sizes["lw"], sizes["rc"], sizes["cc"], sizes["proden"]) == (50, 36, 36, 25)


def test_protocols_set_every_switch() -> None:
    paper, official = get_protocol("paper"), get_protocol("official")
    assert (paper.initial, paper.refresh, paper.schedule, paper.report) == (
        "paper",
        "epoch",
        "halving",
        "final",
    )
    assert (official.initial, official.refresh, official.schedule, official.report) == (
        "official",
        "post",
        "exponential",
        "last10",
    )
    assert official.widths == (300, 301, 302, 303)
    assert official.dropout_at_evaluation
    assert set(PROTOCOLS) == {"default", "paper", "official"}


@pytest.mark.parametrize(
    "call",
    [
        lambda: get_method("prodn"),
        lambda: get_protocol("papr"),
        lambda: LW(psi="zero_one"),
        lambda: LW(beta=-1.0),
        lambda: LW(refresh="sometimes"),  # type: ignore[arg-type]
    ],
)
def test_bad_input(call: object) -> None:
    with pytest.raises(InputError):
        call()  # type: ignore[operator]
