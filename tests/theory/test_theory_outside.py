"""The outside part of LW with weights of 1, over every candidate set: CRDPLL's first term."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from amongst.algorithms import METHODS, Batch
from amongst.losses import classifier_consistent, leveraged_weighted, leveraged_weights
from amongst.theory.law import enumerate_sets, mixed_law, set_law

K = 4
SETS = enumerate_sets(K)
POSTERIOR = torch.tensor([0.45, 0.3, 0.2, 0.05]).double()


def outside(scores: Tensor, weights: Tensor | None = None) -> Tensor:
    """β = 1 and α = 0 for every set, (S,)."""
    rows = scores.expand(len(SETS), K)
    given = torch.ones_like(rows) if weights is None else weights
    return leveraged_weighted(rows, SETS, given, "cross_entropy", beta=1.0, alpha=0.0)


def losses(name: str, scores: Tensor, progress: float, **options: object) -> Tensor:
    """An algorithm's losses of every set, at a network that gives these scores."""
    algorithm = METHODS[name](**options).begin(nn.Identity(), SETS, torch.float64)
    rows = scores.expand(len(SETS), K)
    batch = Batch((rows,) * algorithm.views, SETS, torch.arange(len(SETS)), progress)
    return algorithm.training_step(batch)[0]


def slope(risk: Tensor, scores: Tensor) -> Tensor:
    return torch.autograd.grad(risk, scores)[0]


def test_crdplls_first_term_is_lws_outside_part_with_weights_of_one() -> None:
    torch.manual_seed(0)
    for _ in range(5):
        scores = 2 * torch.randn(K, dtype=torch.float64)
        first = losses("crdpll", scores, progress=0.0)  # λ = 0: nothing else
        torch.testing.assert_close(first, outside(scores))
        p = scores.softmax(-1)
        by_hand = [-sum((1 - p[z]).log() for z in range(K) if not s[z]) for s in SETS]
        torch.testing.assert_close(
            first, torch.stack([torch.as_tensor(v) for v in by_hand]).double()
        )
        torch.testing.assert_close(losses("lw-views", scores, progress=0.0), first)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_its_risk_is_that_of_true_labels_times_one_minus_q(q: float) -> None:
    scores = torch.tensor([1.0, -0.5, 0.2, 0.7]).double()
    p = scores.softmax(-1)
    for y in range(K):
        risk = set_law(SETS, q, y) @ outside(scores)
        complementary = -sum((1 - p[z]).log() for z in range(K) if z != y)
        torch.testing.assert_close(risk, (1 - q) * complementary)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_the_posterior_is_where_it_is_least(q: float) -> None:
    law = mixed_law(SETS, q, POSTERIOR)
    scores = POSTERIOR.log().requires_grad_()
    risk = law @ outside(scores)
    torch.testing.assert_close(slope(risk, scores), torch.zeros(K).double())
    torch.manual_seed(0)
    for _ in range(20):
        other = scores.detach() + 0.5 * torch.randn(K, dtype=torch.float64)
        assert law @ outside(other) > risk


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("progress", [0.0, 0.1, 0.9])
def test_a_ramped_candidate_part_does_not_move_the_posterior(q: float, progress: float) -> None:
    law, scores = mixed_law(SETS, q, POSTERIOR), POSTERIOR.log().requires_grad_()
    risk = law @ losses("lw-views", scores, progress, keep=0.0)
    torch.testing.assert_close(slope(risk, scores), torch.zeros(K).double())


@pytest.mark.parametrize(("q", "least"), [(0.1, 0.320), (0.5, 0.355), (0.9, 0.424)])
def test_weights_of_sum_one_do(q: float, least: float) -> None:
    """They flatten, more so the smaller the sets are, and keep the order; the label of 0.45 comes to this."""
    law, scores = mixed_law(SETS, q, POSTERIOR), POSTERIOR.log()
    for _ in range(300):
        weights = leveraged_weights(scores.expand(len(SETS), K), SETS)
        risk = law @ outside(scores.requires_grad_(), weights)
        scores = (scores - 6 / (1 - q) * slope(risk, scores)).detach()
    p = scores.softmax(-1)
    assert float(p[0]) == pytest.approx(least, abs=0.001)
    assert p.argsort().tolist() == POSTERIOR.argsort().tolist()


def test_at_the_start_cc_lifts_candidates_of_small_sets_more() -> None:
    scores = torch.zeros(len(SETS), K, dtype=torch.float64, requires_grad=True)
    ours = leveraged_weighted(scores, SETS, torch.ones(K), "cross_entropy", alpha=0.0)
    lifts = [slope(risk.sum(), scores) for risk in (ours, classifier_consistent(scores, SETS))]
    for s, mine, ccs in zip(SETS, *lifts, strict=True):
        torch.testing.assert_close(ccs[s], (K - 1) / int(s.sum()) * mine[s])


def test_it_is_a_lower_bound_of_cc_and_equal_where_one_label_is_outside() -> None:
    torch.manual_seed(0)
    for _ in range(20):
        scores = 2 * torch.randn(K, dtype=torch.float64)
        bound, cc = outside(scores), classifier_consistent(scores.expand(len(SETS), K), SETS)
        assert (bound <= cc + 1e-12).all()
        single = (~SETS).sum(-1) <= 1
        torch.testing.assert_close(bound[single], cc[single])


@pytest.mark.parametrize(("q", "eta"), [(0.3, 0.2), (0.5, 0.3), (0.5, 0.45)])
def test_where_the_truth_may_be_outside_it_ranks_as_the_posterior_does(
    q: float, eta: float
) -> None:
    """1 − p_z in the proportions of a − (1 − q − η) π_z, a = 1 − q − η (1 − q)^{K−1}."""
    a, b = 1 - q - eta * (1 - q) ** (K - 1), 1 - q - eta
    p = 1 - (K - 1) * (a - b * POSTERIOR) / (K * a - b)
    assert p.argsort().tolist() == POSTERIOR.argsort().tolist()
    law = mixed_law(SETS, q, POSTERIOR, eta=eta)
    scores = p.log().requires_grad_()
    step = slope(law @ outside(scores), scores)
    torch.testing.assert_close(step, torch.zeros(K).double())


def test_the_law_with_noise_is_a_law() -> None:
    rates = torch.tensor([0.2, 0.7, 0.4, 0.9]).double()
    for y in range(K):
        for exclude in (False, True):
            law = set_law(SETS, rates, y, eta=0.25, exclude_full=exclude)
            assert float(law.sum()) == pytest.approx(1.0)
            free = [float(rates[z]) if z != y else 0.75 for z in range(K)]
            products = []
            for s in SETS.tolist():
                terms = [r if z else 1 - r for z, r in zip(s, free, strict=True)]
                p = torch.tensor(terms).double().prod()
                products.append(0.0 if exclude and all(s) else float(p))
            assert law.tolist() == pytest.approx([v / sum(products) for v in products])
