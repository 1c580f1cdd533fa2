"""What every method in the registry must keep; a new one is picked up."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest
import torch
from torch import Tensor

from amongst.algorithms import (
    CLPL,
    LW,
    METHODS,
    PRODEN,
    PROTOCOLS,
    Average,
    Method,
    Minimum,
    get_method,
    get_protocol,
)
from amongst.algorithms._base import changed_beyond_leaves, in_full, kernel_form
from amongst.errors import InputError
from amongst.losses import PSIS, clpl, clpl_mean
from amongst.train import Settings

TRAINABLE = [name for name in PSIS if PSIS[name].trainable]
K = 4
KNOWN = {"lw", "rc", "cc", "proden", "average", "minimum", "clpl"}


def variants() -> list[Method]:
    """Every method, with every ψ and every form that it has."""
    found: list[Method] = []
    for method in METHODS.values():
        if not issubclass(method, Method):
            continue  # test_algorithm_contract.py
        names = {field.name for field in fields(method)}
        options = [{"psi": psi} for psi in TRAINABLE] if "psi" in names else [{}]
        if "form" in names:
            options = [o | {"form": form} for o in options for form in ("max", "mean")]
        found += [method(**option) for option in options]
    return [*found, contributed()(gamma=2.0), Smoothed()]


class Smoothed(PRODEN):
    """A method by inheritance, as people write them: another loss, and the parent's form for kernels,
    which is not its own."""

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        mixed = None if weights is None else 0.9 * weights + 0.1 * self.init(inside)
        return super().loss(scores, inside, mixed)


def contributed() -> type[Any]:
    """The method that CONTRIBUTING tells people to write: what it promises holds for theirs."""
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    code = re.search(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert code is not None
    found: dict[str, Any] = {"__name__": __name__}
    exec(code[1], found)
    return found["Powered"]  # type: ignore[no-any-return]


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
    first, new = weights_of(method, inside, scores.dtype), method.update(scores, inside)
    assert first is not None
    for weights in (first, new, method.blend(first, new)):
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
    points = [Settings(lr=lr) for lr in method.grid.get("lr", ())]
    points += [Settings(weight_decay=decay) for decay in method.grid.get("weight_decay", ())]
    assert all(method.grid.values())
    extra = set(method.grid) - {"lr", "weight_decay"}
    assert extra <= {field.name for field in fields(method)}


@dataclass(frozen=True)
class Growing(Method):
    """One of a person's own: no names, no weights, and more than a leaf that changes."""

    leaves: ClassVar[tuple[str, ...]] = ("share",)
    share: float = 0.0
    power: float = 1.0
    fixed: float = 2.0

    def at(self, progress: float) -> Self:
        return replace(self, share=progress, power=1 + progress)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        return scores.sum(-1)


def test_a_method_of_ones_own_has_the_name_of_its_class_and_no_update() -> None:
    assert (Growing.name, Growing.title) == ("growing", "Growing")
    with pytest.raises(InputError, match=r"'growing' has when='never', but no update"):
        Growing().update(*inputs())


def test_what_changes_beyond_the_leaves_is_named() -> None:
    assert changed_beyond_leaves(Growing()) == ["power"]
    assert changed_beyond_leaves(Growing(), 0.0) == []
    assert changed_beyond_leaves(LW(fade=0.5)) == []


def powers(low: int, high: int) -> tuple[float, ...]:
    return tuple(float(f"1e{power}") for power in range(low, high + 1))


def test_grids_of_the_paper() -> None:
    """50 points for LW, 25 for PRODEN, 36 for RC and for CC."""
    decays, wide = powers(-6, -2), powers(-6, -1)
    lw = {"lr": (0.001, 0.005, 0.01, 0.05, 0.1), "weight_decay": decays, "beta": (1.0, 2.0)}
    sgd, adam = {"lr": powers(-5, -1), "weight_decay": decays}, {"lr": wide, "weight_decay": wide}
    expected = {"lw": lw, "proden": sgd, "rc": adam, "cc": adam}
    assert {name: dict(METHODS[name].grid) for name in expected} == expected


def test_optimizers_of_the_paper() -> None:
    found = {name: method.optimizer for name, method in METHODS.items() if name in ("rc", "cc")}
    assert found == {"rc": "adam", "cc": "adam"}
    assert {LW.optimizer, METHODS["proden"].optimizer} == {"sgd"}


def of_form(method: Method, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
    """Eq. (3) with the terms that `loss_form` names, row by row."""
    form = kernel_form(method)
    assert form is not None
    if form.kind == "consistent":
        return -torch.log((scores.softmax(-1) * inside).sum(-1))
    best = scores.masked_fill(~inside, -torch.inf).argmax(-1)
    on_s = {
        "stored": weights,
        "uniform": inside / inside.sum(-1, keepdim=True),
        "best": torch.nn.functional.one_hot(best, K),
    }[form.kind]
    off_s = weights if form.kind == "stored" else torch.ones_like(scores)
    assert on_s is not None
    assert off_s is not None
    psi, beta = PSIS[form.psi], getattr(method, "beta", 1.0) * form.outside
    away = torch.where(inside, 0.0, off_s * psi.away(scores)).sum(-1)
    return (on_s * inside * psi.toward(scores)).sum(-1) + beta * away


@pytest.mark.parametrize("method", [m for m in variants() if kernel_form(m)], ids=repr)
def test_the_form_for_kernels_is_the_loss(method: Method) -> None:
    scores, inside = inputs()
    weights = None if method.when == "never" else method.update(-scores, inside)
    torch.testing.assert_close(
        method.loss(scores, inside, weights), of_form(method, scores, inside, weights)
    )
    if weights is not None and method.loss_form is not None:
        assert method.loss_form.both == bool((weights * ~inside).any())


def test_kernels_know_all_losses_of_the_package_but_one() -> None:
    own = [m for m in variants() if m.loss_form is None and m.name in KNOWN]
    assert {(m.name, getattr(m, "form", "")) for m in own} == {("clpl", "mean")}


def test_clpl_has_two_forms() -> None:
    scores, inside = inputs()
    for form, function in (("max", clpl), ("mean", clpl_mean)):
        found = CLPL(form=form).loss(scores, inside, None)
        assert torch.equal(found, function(scores, inside, "squared_hinge"))


def test_the_leverage_fades_by_a_half_cosine_and_once() -> None:
    """β (1 − fade (1 − cos πt)/2); what has faded does not fade again."""
    for t, left in ((0.0, 1.0), (1 / 3, 0.875), (0.5, 0.75), (2 / 3, 0.625), (1.0, 0.5)):
        now = LW(beta=8.0, fade=0.5).at(t)
        assert now.beta == pytest.approx(8.0 * left)
        assert now.at(1.0) == now
    assert LW(beta=8.0).at(0.5) == LW(beta=8.0)


def test_values_are_told_apart_in_every_digit_inside_a_tuple_too() -> None:
    near = [torch.tensor([value]) for value in (1.00001, 1.00002)]
    for wrap in (lambda v: v, lambda v: (v,), lambda v: [0, (v,)], lambda v: v.numpy()):
        first, second = (in_full(wrap(value)) for value in near)
        assert first != second
        assert first == in_full(wrap(near[0].clone()))
    assert in_full(0.1) == "0.1"
    assert in_full((1,)) != in_full([1])


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
    assert not paper.dropout_at_evaluation
    assert paper.widths == get_protocol("default").widths == (300,) * 4
    assert (paper.validation, official.validation) == (0.1, 0.0)
    assert get_protocol(official) is official
    assert set(PROTOCOLS) == {"default", "paper", "official"}


@pytest.mark.parametrize(
    "call",
    [
        lambda: get_method("prodn"),
        lambda: get_protocol("papr"),
        lambda: LW(psi="zero_one"),
        lambda: LW(beta=-1.0),
        lambda: LW(refresh="sometimes"),  # type: ignore[arg-type]
        lambda: LW(initial="papr"),
        lambda: Average(psi="zero_one"),
        lambda: Minimum(psi="zero_one"),
        lambda: CLPL(psi="zero_one"),
        lambda: CLPL(form="median"),
    ],
)
def test_bad_input(call: object) -> None:
    with pytest.raises(InputError):
        call()  # type: ignore[operator]


LOSSES = [name for name, kind in METHODS.items() if issubclass(kind, Method)]


@pytest.mark.parametrize("name", LOSSES)
def test_weights_that_a_method_needs_are_asked_for_by_name(name: str) -> None:
    method, (scores, inside) = METHODS[name](), inputs()
    if method.init(inside) is None:
        assert torch.isfinite(method.loss(scores, inside, None)).all()
    else:
        with pytest.raises(InputError, match=rf"'{name}' needs them: init\(inside\) gives"):
            method.loss(scores, inside, None)
