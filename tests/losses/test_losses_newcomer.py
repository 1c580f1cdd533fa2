"""What a newcomer hands to the loss modules and methods, and what must come of it."""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from amongst import AverageClassifier, CLPLClassifier, as_candidates, losses
from amongst.algorithms import CLPL, LW, Average, Minimum
from amongst.errors import DivergenceError, InputError
from amongst.losses import PSIS
from amongst.theory import ova_weights

SETS = [{0, 1}, {1}, {2}]
OTHER_SETS = [{0}, {1, 2}, {2}]
MODULES = [
    losses.LWLoss,
    losses.RCLoss,
    losses.CCLoss,
    losses.PRODENLoss,
    losses.AverageLoss,
    losses.MinimumLoss,
    losses.CLPLLoss,
]
WEIGHTED = [losses.LWLoss, losses.RCLoss, losses.PRODENLoss]
TRAINABLE = [name for name in PSIS if PSIS[name].trainable]
ROWS = torch.tensor([2, 1, 1])
INFINITE = float("inf")

every_module = pytest.mark.parametrize("module", MODULES)


def scores(seed: int = 0) -> Tensor:
    return torch.randn(3, 3, generator=torch.Generator().manual_seed(seed))


@every_module
@pytest.mark.parametrize(
    "index",
    [
        ROWS.to(torch.uint8),
        ROWS.to(torch.int16),
        ROWS.to(torch.uint16),
        [2, 1, 1],
        (2, 1, 1),
        np.array([2, 1, 1], dtype=np.uint8),
    ],
    ids=lambda index: str(getattr(index, "dtype", type(index).__name__)),
)
def test_row_numbers_of_any_whole_type(module: Any, index: Any) -> None:
    criterion = module(SETS, reduction="none")
    assert torch.equal(criterion(scores(), index), criterion(scores(), ROWS))
    criterion.update(scores(), index)


def test_a_range_is_an_index() -> None:
    criterion = losses.CCLoss(SETS)
    assert torch.equal(criterion(scores(), range(3)), criterion(scores(), torch.arange(3)))


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (torch.tensor([True, True, True]), "dtype torch.bool"),
        (torch.tensor([0.0, 1.0, 2.0]), "dtype torch.float32"),
        (torch.tensor([0, -1, 1]), r"index\[1\]=-1"),
        (torch.tensor([0, 1, 3]), r"index\[2\]=3 .* between 0 and 2"),
        (0, r"shape \(\)"),
        (None, "index must be a tensor"),
        ("abc", "index must be a tensor"),
    ],
)
def test_what_is_no_row_number(index: Any, words: str) -> None:
    criterion = losses.RCLoss(SETS)
    before = criterion.weights.clone()
    for call in (criterion, criterion.update):
        with pytest.raises(InputError, match=words):
            call(scores(), index)
    assert torch.equal(criterion.weights, before)


@every_module
def test_scores_of_other_kinds(module: Any) -> None:
    criterion, whole = module(SETS), torch.tensor([[3, 0, 1], [0, 2, 5], [1, 1, 0]])
    assert torch.equal(criterion(scores().numpy(), ROWS), criterion(scores(), ROWS))
    assert torch.equal(criterion(whole, ROWS), criterion(whole.float(), ROWS))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (scores() > 0, "dtype torch.bool"),
        (scores() + 1j, "dtype torch.complex64"),
        ("abc", "scores must be a tensor"),
        (scores().to("meta"), "scores is on meta, but the loss is on cpu"),
    ],
)
def test_what_is_no_score(bad: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        losses.CCLoss(SETS)(bad, ROWS)


def test_a_class_that_no_set_holds_is_named_at_the_door() -> None:
    with pytest.raises(
        InputError, match=r"\(3, 3\); .* as_candidates\(candidates, classes="
    ) as found:
        losses.CCLoss([{0, 2}, {2}, {0}])(scores(), ROWS)
    assert "must be (batch, 2)" in str(found.value)
    sets = as_candidates([{0, 2}, {2}, {0}], classes=range(3))
    assert torch.isfinite(losses.CCLoss(sets)(scores(), ROWS))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float32])
@pytest.mark.parametrize(
    "function",
    [
        lambda g, inside: losses.leveraged_weighted(g, inside, torch.ones(1, 3)),
        losses.leveraged_weights,
        losses.candidate_weights,
        losses.classifier_consistent,
        losses.minimum,
        losses.clpl,
        losses.clpl_mean,
        losses.best_candidate,
        lambda g, inside: losses.initial_weights(inside),
    ],
)
def test_a_mask_of_numbers_is_refused_by_name(function: Any, dtype: torch.dtype) -> None:
    """~1 is -2 (254 in a byte): leveraged_weighted gave -1.5 where 1.5 is right."""
    inside = torch.tensor([[True, True, False]])
    assert torch.isfinite(function(torch.zeros(1, 3), inside)).all()
    with pytest.raises(InputError, match=r"inside has dtype .*Use inside.bool\(\)"):
        function(torch.zeros(1, 3), inside.to(dtype))


@pytest.mark.parametrize("module", WEIGHTED)
@pytest.mark.parametrize("bad", [INFINITE, -INFINITE, float("nan")])
def test_update_refuses_scores_that_are_not_finite(module: Any, bad: float) -> None:
    criterion = module(SETS)
    before, broken = criterion.weights.clone(), scores()
    broken[0] = bad
    with pytest.raises(DivergenceError, match="scores contain"):
        criterion.update(broken, ROWS)
    assert torch.equal(criterion.weights, before)


def test_the_message_tells_scores_from_overflow() -> None:
    criterion = losses.LWLoss(SETS, psi="squared_hinge")
    with pytest.raises(DivergenceError, match=r"scores go up to 1e\+30 in torch.float32"):
        criterion(torch.full((3, 3), -1e30), ROWS)
    with pytest.raises(DivergenceError, match="scores contain NaN"):
        criterion(torch.full((3, 3), float("nan")), ROWS)


@pytest.mark.parametrize(
    "make",
    [
        lambda psi: losses.LWLoss(SETS, psi),
        lambda psi: losses.AverageLoss(SETS, psi),
        lambda psi: losses.MinimumLoss(SETS, psi),
        lambda psi: losses.CLPLLoss(SETS, psi),
        LW,
        Average,
        Minimum,
        CLPL,
        lambda psi: AverageClassifier(psi=psi).fit(np.eye(3), SETS),
        lambda psi: CLPLClassifier(psi=psi).fit(np.eye(3), SETS),
    ],
)
def test_only_a_trainable_psi_trains(make: Callable[[str], object]) -> None:
    with pytest.raises(InputError, match="psi='zero_one' is for evaluation only"):
        make("zero_one")
    with pytest.raises(InputError, match="psi='sigmod' is unknown; did you mean 'sigmoid'"):
        make("sigmod")


@pytest.mark.parametrize("name", PSIS)
def test_a_psi_is_pickled(name: str) -> None:
    assert pickle.loads(pickle.dumps(PSIS[name])) == PSIS[name]


@pytest.mark.parametrize("psi", TRAINABLE)
@pytest.mark.parametrize("module", [losses.LWLoss, losses.CLPLLoss])
def test_a_module_is_saved_whole(module: Any, psi: str) -> None:
    criterion, buffer = module(SETS, psi), io.BytesIO()
    criterion.update(scores(1), ROWS)
    torch.save(criterion, buffer)
    buffer.seek(0)
    again = torch.load(buffer, weights_only=False)
    assert torch.equal(again(scores(), ROWS), criterion(scores(), ROWS))
    assert again.candidates == criterion.candidates


def variants() -> list[nn.Module]:
    plain = [module(SETS) for module in MODULES]
    return plain + [
        module(SETS, psi) for module in (losses.LWLoss, losses.CLPLLoss) for psi in TRAINABLE
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("criterion", variants())
def test_half_precision_is_computed_in_float32(criterion: nn.Module, dtype: torch.dtype) -> None:
    for g in (scores(), torch.full((3, 3), -12.0), 300 * scores(), 1e4 * scores().sign()):
        half = g.to(dtype).requires_grad_()
        full = half.detach().float().requires_grad_()
        loss, expected = criterion(half, ROWS), criterion(full, ROWS)
        assert loss.dtype == torch.float32
        assert torch.equal(loss, expected)
        loss.backward()
        expected.backward()
        assert torch.equal(half.grad, full.grad.to(dtype))  # type: ignore[arg-type, union-attr]


def test_weights_from_half_precision_are_those_of_float32() -> None:
    criterion, expected = losses.LWLoss(SETS), losses.LWLoss(SETS)
    criterion.update(scores().bfloat16(), ROWS)
    expected.update(scores().bfloat16().float(), ROWS)
    assert torch.equal(criterion.weights, expected.weights)


@every_module
def test_autocast_returns_float32(module: Any) -> None:
    network = nn.Linear(3, 3)
    with torch.autocast("cpu", torch.bfloat16):
        g = network(scores())
        assert g.dtype == torch.bfloat16
        assert module(SETS)(g, ROWS).dtype == torch.float32


@pytest.mark.parametrize("psi", TRAINABLE)
def test_one_class(psi: str) -> None:
    g = torch.tensor([[3.0], [-2.0]], requires_grad=True)
    criterion = losses.LWLoss([["a"], ["a"]], psi, reduction="none")
    loss = criterion(g, torch.arange(2))
    loss.sum().backward()
    torch.testing.assert_close(loss, PSIS[psi].toward(g).squeeze(1))
    assert torch.isfinite(g.grad).all()  # type: ignore[arg-type]
    assert torch.isnan(PSIS[psi].away(torch.tensor([[float("nan")]]))).all()


@pytest.mark.parametrize("make", [LW, lambda **given: losses.LWLoss(SETS, **given)])
@pytest.mark.parametrize("name", ["beta", "alpha"])
@pytest.mark.parametrize("value", [math.inf, math.nan, -1, "auto", None])
def test_factors_are_finite_numbers(make: Any, name: str, value: Any) -> None:
    with pytest.raises(InputError, match="auto_beta" if value == "auto" else None) as caught:
        make(**{name: value})
    assert (caught.value.argument, caught.value.code) == (name, "no-such-number")


def test_fade_is_a_share() -> None:
    for bad in ("slow", 1.5, math.nan):
        with pytest.raises(InputError, match="fade="):
            LW(fade=bad)  # type: ignore[arg-type]


def test_ova_weights_of_one_number_need_k() -> None:
    with pytest.raises(InputError, match="K is needed"):
        ova_weights(0.5, 0, 2.0)
    with pytest.raises(InputError, match="K=0"):
        ova_weights(0.5, 0, 2.0, K=0)
    assert torch.equal(ova_weights([0.5] * 3, 0, 2.0), ova_weights(0.5, 0, 2.0, K=3))


@pytest.mark.parametrize("module", [losses.LWLoss, losses.CCLoss])
def test_a_state_of_other_sets_is_refused(module: Any) -> None:
    criterion = module(SETS)
    both = nn.ModuleDict({"criterion": criterion})
    for target, state in (
        (criterion, module(OTHER_SETS).state_dict()),
        (both, nn.ModuleDict({"criterion": module(OTHER_SETS)}).state_dict()),
    ):
        with pytest.raises(InputError, match="other candidate sets"):
            target.load_state_dict(state)
    assert np.array_equal(criterion.inside.numpy(), criterion.candidates.to_mask())


@pytest.mark.parametrize("criterion", variants())
def test_compiles_into_one_graph(criterion: nn.Module) -> None:
    torch.compiler.reset()
    compiled = torch.compile(criterion, fullgraph=True, backend="eager")
    assert torch.equal(compiled(scores(), ROWS), criterion(scores(), ROWS))


def test_half_precision_compiles_to_float32() -> None:
    compiled = torch.compile(losses.LWLoss(SETS), fullgraph=True, backend="eager")
    assert compiled(scores().half(), ROWS).dtype == torch.float32


@pytest.mark.parametrize("module", WEIGHTED)
def test_update_compiles_into_one_graph(module: Any) -> None:
    torch.compiler.reset()
    criterion, plain = module(SETS), module(SETS)
    torch.compile(criterion.update, fullgraph=True, backend="eager")(scores(), ROWS)
    plain.update(scores(), ROWS)
    assert torch.equal(criterion.weights, plain.weights)


@every_module
def test_vmap_leaves_out_what_it_cannot_look_at(module: Any) -> None:
    criterion, stacked = module(SETS), torch.stack((scores(), scores(1)))
    alone = torch.stack([criterion(g, ROWS) for g in stacked])
    together = torch.vmap(criterion, in_dims=(0, None))
    torch.testing.assert_close(together(stacked, ROWS), alone)
    rows = torch.stack((ROWS, ROWS.flip(0)))
    turned = torch.vmap(criterion)(stacked, rows)
    torch.testing.assert_close(turned[1], criterion(stacked[1], rows[1]))
    with pytest.raises(InputError, match="scores has shape"):
        together(stacked[..., :-1], ROWS)
    with pytest.raises(InputError, match="index has dtype"):
        together(stacked, ROWS.float())
    with pytest.raises(DivergenceError):
        criterion(scores() * float("nan"), ROWS)


@every_module
def test_gradients_of_a_population_by_torch_func(module: Any) -> None:
    criterion, stacked = module(SETS), torch.stack((scores(), scores(1))).detach()
    both = torch.vmap(torch.func.grad(criterion), in_dims=(0, None))(stacked, ROWS)
    for g, gradient in zip(stacked, both, strict=True):
        g.requires_grad_()
        torch.testing.assert_close(gradient, torch.autograd.grad(criterion(g, ROWS), g)[0])


@every_module
def test_vmap_compiles_into_one_graph(module: Any) -> None:
    torch.compiler.reset()
    criterion, stacked = module(SETS), torch.stack((scores(), scores(1)))
    together = torch.vmap(criterion.forward, in_dims=(0, None))  # torch 2.8 cannot name a module
    compiled = torch.compile(together, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(stacked, ROWS), together(stacked, ROWS))


@every_module
def test_where_nothing_is_looked_at_a_row_is_not_counted_from_the_end(module: Any) -> None:
    torch.compiler.reset()
    criterion, rows = module(SETS), ROWS - ROWS[0] - 1
    compiled = torch.compile(criterion, fullgraph=True, backend="eager")
    for loss in (compiled, lambda g, index: torch.vmap(criterion, (0, None))(g[None], index)):
        with pytest.raises(Exception, match="out of bounds"):
            loss(scores(), rows)


@every_module
def test_without_checks_nothing_is_looked_at(module: Any) -> None:
    assert torch.isnan(module(SETS, check=False)(scores() * float("nan"), ROWS))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_a_loss_of_ones_own_gives_one_value_a_row(reduction: str) -> None:
    """A mean in place of it was taken for the sum."""

    class Mean(losses.CCLoss):
        def loss(self, scores: Tensor, inside: Tensor, weights: Tensor) -> Tensor:
            return super().loss(scores, inside, weights).mean()

    with pytest.raises(InputError, match=r"Mean.loss gives a tensor of shape \(\); .* \(3,\)"):
        Mean(SETS, reduction=reduction)(scores(), ROWS)


def test_weights_of_ones_own_are_one_for_each_row() -> None:
    """One row of them was spread over the batch."""

    class First(losses.PRODENLoss):
        def refreshed(self, scores: Tensor, inside: Tensor) -> Tensor:
            return super().refreshed(scores, inside)[:1]

    criterion = First(SETS)
    with pytest.raises(InputError, match=r"First.refreshed gives a tensor of shape \(1, 3\)"):
        criterion.update(scores(), ROWS)
    assert torch.equal(criterion.weights, losses.PRODENLoss(SETS).weights)
