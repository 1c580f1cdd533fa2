from __future__ import annotations

import io
from copy import deepcopy

import pytest
import torch
from torch import nn

from amongst import losses
from amongst.errors import DivergenceError, InputError

SETS = [{0, 1}, {2}, {0, 1, 2, 3}, {1, 3}]
MODULES = [
    losses.LWLoss,
    losses.RCLoss,
    losses.CCLoss,
    losses.PRODENLoss,
    losses.AverageLoss,
    losses.MinimumLoss,
    losses.CLPLLoss,
]
INDEX = torch.tensor([3, 0, 2])


def scores(seed: int = 0) -> torch.Tensor:
    return torch.randn(3, 4, generator=torch.Generator().manual_seed(seed))


def test_lw_equals_the_pure_function_over_two_visits() -> None:
    criterion = losses.LWLoss(SETS, psi="sigmoid", beta=2.0, reduction="none")
    inside = criterion.inside[INDEX]
    first = losses.leveraged_weighted(
        scores(), inside, losses.initial_weights(inside), "sigmoid", 2.0
    )
    torch.testing.assert_close(criterion(scores(), INDEX), first)
    criterion.update(scores(), INDEX)
    second = losses.leveraged_weighted(
        scores(1), inside, losses.leveraged_weights(scores(), inside), "sigmoid", 2.0
    )
    torch.testing.assert_close(criterion(scores(1), INDEX), second)


@pytest.mark.parametrize("form", ["max", "mean"])
def test_clpl_is_the_pure_function_of_its_form(form: str) -> None:
    pure = {"max": losses.clpl, "mean": losses.clpl_mean}[form]
    criterion = losses.CLPLLoss(SETS, form=form, reduction="none")
    expected = pure(scores(), criterion.inside[INDEX], "squared_hinge")
    assert torch.equal(criterion(scores(), INDEX), expected)


@pytest.mark.parametrize("module", MODULES)
def test_only_a_loss_that_uses_weights_stores_them(module: type[nn.Module]) -> None:
    weighted = module in (losses.LWLoss, losses.RCLoss, losses.PRODENLoss)
    assert module(SETS).weights.shape == ((4, 4) if weighted else (0,))


@pytest.mark.parametrize("module", MODULES)
def test_reductions(module: type[nn.Module]) -> None:
    rows = module(SETS, reduction="none")(scores(), INDEX)
    assert rows.shape == (3,)
    torch.testing.assert_close(module(SETS)(scores(), INDEX), rows.mean())
    torch.testing.assert_close(module(SETS, reduction="sum")(scores(), INDEX), rows.sum())


@pytest.mark.parametrize("module", [losses.LWLoss, losses.RCLoss, losses.PRODENLoss])
def test_state_survives_save_and_load(module: type[nn.Module]) -> None:
    trained, fresh = module(SETS), module(SETS)
    trained.update(scores(), INDEX)
    assert not torch.equal(trained.weights, fresh.weights)
    buffer = io.BytesIO()
    torch.save(trained.state_dict(), buffer)
    buffer.seek(0)
    fresh.load_state_dict(torch.load(buffer, weights_only=True))
    assert torch.equal(trained.weights, fresh.weights)
    torch.testing.assert_close(trained(scores(1), INDEX), fresh(scores(1), INDEX))


@pytest.mark.parametrize("initial", ["paper", "official"])
def test_every_state_of_ones_own_is_taken(initial: str) -> None:
    """New, after some rows and after all; also where every set is full, and after copies."""
    for sets in (SETS, [{0, 1, 2, 3}] * 4):
        lw, proden = losses.LWLoss(sets, initial=initial), losses.PRODENLoss(sets)
        for index in (INDEX[:0], INDEX, torch.tensor([1])):
            lw.update(1e4 * scores()[: len(index)], index)
            proden.update(1e4 * scores()[: len(index)], index)
            for criterion, fresh in ((lw, losses.LWLoss(sets)), (proden, losses.RCLoss(sets))):
                fresh.load_state_dict(deepcopy(criterion).state_dict())
                assert torch.equal(fresh.weights, criterion.weights)


def test_update_touches_only_the_rows_of_the_batch() -> None:
    criterion = losses.LWLoss(SETS)
    before = criterion.weights.clone()
    criterion.update(scores(), INDEX)
    assert torch.equal(criterion.weights[1], before[1])
    assert not torch.equal(criterion.weights[0], before[0])


@pytest.mark.parametrize("module", MODULES)
def test_nan_scores_are_an_error(module: type[nn.Module]) -> None:
    bad = scores()
    bad[1, 3] = float("nan")
    with pytest.raises(DivergenceError, match="learning rate"):
        module(SETS)(bad, INDEX)


def test_weights_carry_no_gradient() -> None:
    g = scores().requires_grad_()
    criterion = losses.LWLoss(SETS)
    criterion.update(g, INDEX)
    assert not criterion.weights.requires_grad


def test_a_loop_of_ones_own_learns() -> None:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(200) % 4
    x = torch.eye(4)[y] + 0.3 * torch.randn(200, 4, generator=generator)
    wrong = torch.rand(200, 4, generator=generator) < 0.4
    criterion = losses.LWLoss((wrong | torch.eye(4, dtype=torch.bool)[y]).numpy(), beta=1.0)
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(60):
        for index in torch.randperm(200, generator=generator).split(50):
            g = model(x[index])
            loss = criterion(g, index)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            criterion.update(g, index)
    assert (model(x).argmax(-1) == y).float().mean() > 0.9


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: losses.LWLoss(SETS)(scores()[:, :3], INDEX), "one column for each class"),
        (lambda: losses.LWLoss(SETS)(scores(), INDEX[:2]), "index"),
        (lambda: losses.LWLoss(SETS, beta=-1.0), "beta=-1.0"),
        (lambda: losses.LWLoss(SETS, psi="sgm"), "psi='sgm'"),
        (lambda: losses.CCLoss(SETS, reduction="men"), "reduction='men'"),
        (lambda: losses.CLPLLoss(SETS, form="median"), "form='median'"),
    ],
)
def test_bad_input(call: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()  # type: ignore[operator]


def test_beta_may_be_a_rule() -> None:
    criterion = losses.LWLoss(SETS, psi="sigmoid", beta=lambda sets, psi: len(sets) + psi.symmetric)
    assert criterion.beta == 5
