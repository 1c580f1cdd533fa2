"""The losses against slow loops written from the paper, and against each other."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
import torch
from torch import Tensor

from amongst import losses
from amongst.losses import PSIS

TRAINABLE = [name for name in PSIS if PSIS[name].trainable]
K = 5


def batch(seed: int = 0, n: int = 12, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Random scores, and masks that include a singleton and a full set."""
    generator = torch.Generator().manual_seed(seed)
    scores = 2 * torch.randn(n, K, dtype=dtype, generator=generator)
    inside = torch.rand(n, K, generator=generator) < 0.4
    inside[torch.arange(n), torch.randint(K, (n,), generator=generator)] = True
    inside[0] = torch.eye(K, dtype=torch.bool)[2]
    inside[1] = True
    return scores, inside


def slow_lw(g: list[float], s: list[bool], w: list[float], psi: str, beta: float, alpha: float):
    """Eq. (3) as loops over labels."""
    total = 0.0
    for z in range(K):
        if psi == "cross_entropy":
            p = math.exp(g[z]) / sum(math.exp(x) for x in g)
            toward, away = -math.log(p), -math.log(1 - p)
        else:
            row = torch.tensor([g], dtype=torch.float64)
            toward = float(PSIS[psi].toward(row)[0, z])
            away = float(PSIS[psi].toward(-row)[0, z])
        total += alpha * w[z] * toward if s[z] else beta * w[z] * away
    return total


def slow_weights(g: list[float], s: list[bool]) -> list[float]:
    """Eqs. (11) and (12) as loops."""
    weights = []
    for z in range(K):
        side = [j for j in range(K) if s[j] == s[z]]
        weights.append(math.exp(g[z]) / sum(math.exp(g[j]) for j in side))
    return weights


@pytest.mark.parametrize("psi", TRAINABLE)
@pytest.mark.parametrize(("beta", "alpha"), [(0.0, 1.0), (1.0, 1.0), (2.0, 0.5), (32.0, 0.0)])
def test_lw_equals_the_slow_loop(psi: str, beta: float, alpha: float) -> None:
    scores, inside = batch()
    weights = losses.leveraged_weights(scores, inside)
    fast = losses.leveraged_weighted(scores, inside, weights, psi, beta, alpha)
    slow = [
        slow_lw(g, s, slow_weights(g, s), psi, beta, alpha)
        for g, s in zip(scores.tolist(), inside.tolist(), strict=True)
    ]
    torch.testing.assert_close(fast, torch.tensor(slow, dtype=torch.float64))


def test_weights_sum_to_one_on_each_side() -> None:
    scores, inside = batch()
    for weights in (
        losses.leveraged_weights(scores, inside),
        losses.initial_weights(inside, dtype=torch.float64),
    ):
        torch.testing.assert_close((weights * inside).sum(-1), torch.ones(12, dtype=torch.float64))
        outside = (weights * ~inside).sum(-1)
        torch.testing.assert_close(outside[2:], torch.ones(10, dtype=torch.float64))
        assert outside[1] == 0


def test_initial_weights() -> None:
    inside = torch.tensor([[True, True, False, False, False]])
    assert losses.initial_weights(inside).tolist()[0] == pytest.approx([1 / 2] * 2 + [1 / 3] * 3)
    assert losses.initial_weights(inside, "official").tolist()[0] == pytest.approx([1 / 5] * 5)


@pytest.mark.parametrize("psi", TRAINABLE)
def test_average_is_a_special_case(psi: str) -> None:
    scores, inside = batch()
    weights = losses.initial_weights(inside, dtype=torch.float64)
    lw = losses.leveraged_weighted(scores, inside, weights, psi, beta=0.0)
    torch.testing.assert_close(losses.average(scores, inside, psi), lw)


@pytest.mark.parametrize("psi", TRAINABLE)
def test_minimum_is_a_special_case(psi: str) -> None:
    scores, inside = batch()
    hard = losses.best_candidate(scores, inside)
    lw = losses.leveraged_weighted(scores, inside, hard, psi, beta=0.0)
    closed = PSIS[psi].toward(scores).masked_fill(~inside, math.inf).amin(-1)
    torch.testing.assert_close(losses.minimum(scores, inside, psi), lw)
    torch.testing.assert_close(losses.minimum(scores, inside, psi), closed)


@pytest.mark.parametrize("psi", TRAINABLE)
def test_clpl_is_a_special_case(psi: str) -> None:
    scores, inside = batch()
    weights = torch.where(inside, losses.best_candidate(scores, inside), 1.0)
    lw = losses.leveraged_weighted(scores, inside, weights, psi, beta=1.0)
    torch.testing.assert_close(losses.clpl(scores, inside, psi), lw)


def test_clpl_mean_equals_the_definition() -> None:
    scores, inside = batch()
    for g, s, value in zip(scores, inside, losses.clpl_mean(scores, inside), strict=True):
        mean = float(g[s].mean())
        slow = max(0.0, 1 - mean) ** 2 + sum(max(0.0, 1 + float(x)) ** 2 for x in g[~s])
        assert float(value) == pytest.approx(slow)


def test_clpl_mean_is_convex_and_max_is_not() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = (3 * torch.randn(400, K, dtype=torch.float64, generator=generator) for _ in range(2))
    _, inside = batch(n=400)
    for form, convex in ((losses.clpl_mean, True), (losses.clpl, False)):
        gap = (form(a, inside) + form(b, inside)) / 2 - form((a + b) / 2, inside)
        assert bool((gap >= -1e-9).all()) is convex


def test_cc_equals_the_definition() -> None:
    scores, inside = batch()
    slow = -torch.log((scores.softmax(-1) * inside).sum(-1))
    torch.testing.assert_close(losses.classifier_consistent(scores, inside), slow)


def test_fresh_weights_give_rc_the_gradient_of_cc() -> None:
    scores, inside = batch()
    gradients = []
    for form in ("rc", "cc"):
        g = scores.clone().requires_grad_()
        if form == "rc":
            c = losses.candidate_weights(g.detach(), inside)
            loss = losses.weighted_cross_entropy(g, inside, c)
        else:
            loss = losses.classifier_consistent(g, inside)
        loss.sum().backward()
        gradients.append(g.grad)
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-12, rtol=0)


def every_loss(scores: Tensor, inside: Tensor) -> dict[str, Tensor]:
    weights = losses.initial_weights(inside, dtype=scores.dtype)
    table = {
        "cc": losses.classifier_consistent(scores, inside),
        "rc": losses.weighted_cross_entropy(scores, inside, weights),
    }
    for psi in TRAINABLE:
        table |= {
            f"lw {psi}": losses.leveraged_weighted(scores, inside, weights, psi, 2.0),
            f"lw {psi} beta 0": losses.leveraged_weighted(scores, inside, weights, psi, 0.0),
            f"average {psi}": losses.average(scores, inside, psi),
            f"minimum {psi}": losses.minimum(scores, inside, psi),
            f"clpl {psi}": losses.clpl(scores, inside, psi),
            f"clpl mean {psi}": losses.clpl_mean(scores, inside, psi),
        }
    return table


def test_nan_is_never_a_finite_loss() -> None:
    for z in range(3):
        scores = torch.zeros(1, 3)
        scores[0, z] = float("nan")
        for inside in ([True, True, False], [True, False, False], [True, True, True]):
            for name, value in every_loss(scores, torch.tensor([inside])).items():
                assert torch.isnan(value).all(), (name, z, inside)


def test_symmetric_under_relabelling() -> None:
    scores, inside = batch()
    order = torch.tensor([3, 0, 4, 1, 2])
    before, after = every_loss(scores, inside), every_loss(scores[:, order], inside[:, order])
    for name in before:
        torch.testing.assert_close(before[name], after[name], msg=name)


def test_finite_with_finite_gradients_at_the_extremes() -> None:
    _, inside = batch(dtype=torch.float32)
    signs = torch.randn(12, K, generator=torch.Generator().manual_seed(5)).sign()
    names = every_loss(signs, inside)
    for name in names:
        scores = (1e4 * signs).requires_grad_()
        value = every_loss(scores, inside)[name]
        value.sum().backward()
        assert torch.isfinite(value).all(), name
        assert torch.isfinite(scores.grad).all(), name  # type: ignore[arg-type]


def test_leading_axes_are_free_and_beta_broadcasts() -> None:
    scores, inside = batch(n=12)
    stacked, masks = scores.reshape(3, 4, K), inside.reshape(3, 4, K)
    beta = torch.tensor([[0.0], [1.0], [8.0]], dtype=torch.float64)
    weights = losses.leveraged_weights(stacked, masks)
    together = losses.leveraged_weighted(stacked, masks, weights, "sigmoid", beta)
    for m in range(3):
        alone = losses.leveraged_weighted(
            stacked[m], masks[m], weights[m], "sigmoid", float(beta[m, 0])
        )
        torch.testing.assert_close(together[m], alone)


@pytest.mark.parametrize("name", ["cc", "rc", "lw sigmoid", "lw cross_entropy", "clpl mean hinge"])
def test_gradcheck(name: str) -> None:
    scores, inside = batch(n=4)
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda g: every_loss(g, inside)[name], (scores,))


def test_singletons_reduce_to_cross_entropy() -> None:
    scores, _ = batch()
    y = torch.arange(12) % K
    inside = torch.eye(K, dtype=torch.bool)[y]
    supervised = torch.nn.functional.cross_entropy(scores, y, reduction="none")
    table = every_loss(scores, inside)
    for name in ("cc", "rc", "lw cross_entropy beta 0", "average cross_entropy"):
        torch.testing.assert_close(table[name], supervised, msg=name)


def test_one_row_of_scores_serves_many_sets() -> None:
    """As in an enumeration of all sets; the best candidate wanted a row of scores for each."""
    scores, inside = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([[1, 1, 0], [0, 1, 1]]).bool()
    for function in (losses.minimum, losses.clpl, losses.clpl_mean, losses.average):
        wanted = function(scores.expand(2, 3), inside)
        for row in (scores, scores[None]):
            assert torch.equal(function(row, inside), wanted)


@pytest.mark.parametrize("far", [1e4, -1e4, 4096.0])
@pytest.mark.parametrize("loss", ["cc", "lw"])
def test_scores_far_from_zero_lose_no_digit(loss: str, far: float) -> None:
    """Only differences of scores count; 1/512 is exact beside 1e4, so that both rows have the same."""
    generator = torch.Generator().manual_seed(0)
    near = torch.randint(-2048, 2048, (200, 5), generator=generator).float() / 512
    inside = torch.rand(200, 5, generator=generator) < 0.5
    inside[:, 0] = True

    def value(scores: Tensor) -> Tensor:
        if loss == "cc":
            return losses.classifier_consistent(scores, inside)
        weights = losses.initial_weights(inside)
        return losses.leveraged_weighted(scores, inside, weights, "cross_entropy")

    expected = value(near.double())
    torch.testing.assert_close(value(near + far).double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("top", [0.0, 1e4, -1e4])
@pytest.mark.parametrize("loss", ["cc", "lw"])
def test_candidates_far_below_the_others_have_a_gradient_of_all_digits(
    loss: str, top: float
) -> None:
    """Beside the formulas in float64; PyTorch's logsumexp of −1e4 gave three digits."""
    rows = torch.tensor(list(permutations([top, top - 1e4, top - 9999.5, top - 1e4 - 2.25, 0.0])))
    inside = torch.arange(5).expand(len(rows), 5) % 2 == 0

    def slow(scores: Tensor) -> Tensor:
        p = (scores - scores.amax(-1, keepdim=True)).log_softmax(-1)
        if loss == "cc":
            return -torch.stack(
                [row[held].logsumexp(0) for row, held in zip(p, inside, strict=True)]
            )
        others = [torch.stack([p[:, y] for y in range(5) if y != z]).logsumexp(0) for z in range(5)]
        wrong = torch.stack(others, -1)
        return (-p * inside / 3).sum(-1) - (wrong * ~inside / 2).sum(-1)

    def fast(scores: Tensor) -> Tensor:
        if loss == "cc":
            return losses.classifier_consistent(scores, inside)
        weights = losses.initial_weights(inside)
        return losses.leveraged_weighted(scores, inside, weights, "cross_entropy")

    found, exact = rows.clone().requires_grad_(), rows.double().requires_grad_()
    torch.testing.assert_close(fast(found).double(), slow(exact), rtol=1e-6, atol=1e-6)
    fast(found).sum().backward()
    slow(exact).sum().backward()
    assert found.grad is not None
    torch.testing.assert_close(found.grad.double(), exact.grad, rtol=1e-5, atol=1e-6)
