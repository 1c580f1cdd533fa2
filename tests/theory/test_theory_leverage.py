"""Thresholds, cases and OVA under fixed weights, and under weights that sum to one on each side."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from amongst.candidates import case
from amongst.errors import InputError
from amongst.losses import get_psi, initial_weights, leveraged_weights
from amongst.theory import (
    balance,
    believed_threshold,
    beta_threshold,
    enumerate_sets,
    exact_risk,
    fixed_weights,
    minimiser,
    normalised_threshold,
    ova_beta,
    ova_weights,
    peaked,
    reversal_beta,
    reversal_matrix,
    set_law,
    size_law,
    symmetric_form,
)
from amongst.theory.bayes import _following_means, _softmax_minimiser

K = 6
QS = (0.05, 0.3, 0.5, 0.7, 0.9, 0.97)


def rows(seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(0, 2, K)), torch.from_numpy(rng.exponential(1, K))


@pytest.mark.parametrize("psi", ["sigmoid", "ramp"])
@pytest.mark.parametrize("beta", [0.0, 0.7, 3.0])
def test_symmetric_form_equals_enumeration_for_class_dependent_rates(psi, beta):
    g, w = rows()
    Q = case(3, K)
    for y in range(K):
        c, constant = symmetric_form(w, Q, y, beta)
        found = (c * get_psi(psi).toward(g)).sum() + constant
        truth = exact_risk(fixed_weights(w, psi, beta), g, Q, y)
        assert abs(float(found - truth)) < 1e-12


@pytest.mark.parametrize("q", QS)
def test_the_sign_of_a_wrong_label_turns_at_the_odds(q):
    _, w = rows()
    odds = beta_threshold(q)
    below, _ = symmetric_form(w, q, 0, 0.99 * odds)
    above, _ = symmetric_form(w, q, 0, 1.01 * odds)
    assert (below > 0).all()
    assert (above[1:] < 0).all()
    assert above[0] == w[0]


def test_thresholds_of_class_dependent_rates():
    Q = case(3, 10)
    odds = beta_threshold(Q)
    assert (np.diag(odds) == 0).all()
    for y in range(3):
        beta = 1.001 * odds[y].max()
        c, _ = symmetric_form(torch.ones(10), Q, y, beta)
        assert (np.delete(c.numpy(), y) < 0).all()
    assert beta_threshold(1.0) == float("inf")


def test_case_two_and_three_of_the_paper_sit_at_the_odds_and_twice_the_odds():
    g, w = rows()
    psi = get_psi("sigmoid")
    for q in QS:
        odds = beta_threshold(q)
        own, constant = w[0] * psi.toward(g)[0], (w[1:] * q).sum()
        two = exact_risk(fixed_weights(w, psi, odds), g, q, 0)
        three = exact_risk(fixed_weights(w, psi, 2 * odds), g, q, 0)
        assert abs(float(two - own - constant)) < 1e-11
        pushed = (w * q * psi.away(g))[1:].sum()
        assert abs(float(three - own - pushed - constant)) < 1e-11
        printed_beta = exact_risk(fixed_weights(w, psi, 1.0), g, q, 0)
        assert (abs(float(printed_beta - own - constant)) < 1e-9) is (q == 0.5)


def test_ova_forms():
    g, _ = rows()
    psi, Q = get_psi("sigmoid"), case(3, K)
    ova = psi.toward(g)[2] + psi.away(g)[[0, 1, 3, 4, 5]].sum()
    w = ova_weights(Q, 2, beta=2.5)
    risk = exact_risk(fixed_weights(w, psi, 2.5), g, Q, 2)
    others = torch.arange(K) != 2
    constant = (w * torch.from_numpy(Q[2]))[others].sum()
    assert abs(float(risk - ova - constant)) < 1e-12
    for q in QS:
        equal = exact_risk(fixed_weights(torch.ones(K), psi, ova_beta(q)), g, q, 2)
        assert abs(float(equal - ova - (K - 1) * q)) < 1e-11
        paper = ova_weights(q, 0, beta=2 * beta_threshold(q), K=K)
        torch.testing.assert_close(paper[1:], torch.full((K - 1,), 1 / q, dtype=torch.float64))
    with pytest.raises(InputError, match="largest threshold"):
        ova_weights(0.5, 0, beta=1.0, K=3)


def early_by_enumeration(q, y, k):
    sets = enumerate_sets(k, y)
    law, w = set_law(sets, q, y), initial_weights(sets, dtype=torch.float64)
    return (law @ (w * sets)).numpy(), (law @ (w * ~sets)).numpy()


@pytest.mark.parametrize("q", QS)
def test_early_balance_equals_enumeration(q):
    early = balance(size_law(K, q))
    toward, away = early_by_enumeration(q, 0, K)
    np.testing.assert_allclose([early.true, early.wrong], toward[:2], rtol=1e-12)
    np.testing.assert_allclose(early.away, away[1], rtol=1e-12)
    np.testing.assert_allclose(early.true, (1 - (1 - q) ** K) / (K * q), rtol=1e-12)
    np.testing.assert_allclose(early.neutral, 1 / (1 - q ** (K - 1)), rtol=1e-12)
    np.testing.assert_allclose(early.threshold, normalised_threshold(q, 0, K)[1], rtol=1e-12)
    np.testing.assert_allclose(early.threshold, believed_threshold(K, q), rtol=1e-12)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_early_threshold_of_class_dependent_rates_equals_enumeration(number):
    rng = np.random.default_rng(number)
    for Q in (case(number, 8), rng.random((8, 8))):
        toward, away = early_by_enumeration(Q, 3, 8)
        with np.errstate(invalid="ignore", divide="ignore"):
            truth = np.where(toward > 0, toward / away, 0)
        truth[3] = 0
        np.testing.assert_allclose(normalised_threshold(Q, 3, 8), truth, rtol=1e-11, atol=1e-14)


def test_pivot_lifts_exactly_the_labels_above_the_posterior():
    q, k = 0.7, 5
    p = torch.tensor([0.5, 0.25, 0.15, 0.07, 0.03], dtype=torch.float64)
    toward, away = zip(*(early_by_enumeration(q, y, k) for y in range(k)), strict=True)
    inside, outside = p.numpy() @ np.array(toward), p.numpy() @ np.array(away)
    for pivot in (0.05, 0.1, 0.2, 0.4):
        beta = balance(size_law(k, q)).pivot(pivot)
        assert ((inside - beta * outside > 0) == (p.numpy() > pivot)).all()


@pytest.mark.parametrize(("wrong", "true"), [(0.0, 0.0), (3.0, 0.0), (0.5, 4.0), (25.0, 0.0)])
def test_believed_threshold_equals_enumeration_with_weights_that_follow(wrong, true):
    g = torch.zeros(K, dtype=torch.float64)
    g[0], g[1] = true, wrong
    sets = enumerate_sets(K, 0)
    for q in QS:
        law, w = set_law(sets, q, 0), leveraged_weights(g.expand(sets.shape), sets)
        truth = (law @ (w * sets))[1] / (law @ (w * ~sets))[1]
        np.testing.assert_allclose(
            believed_threshold(K, q, wrong=wrong, true=true), truth, rtol=1e-9
        )


def test_following_weights_bring_the_odds_back_or_end_the_need():
    for q in QS:
        assert believed_threshold(K, q, wrong=40.0) == pytest.approx(q / (1 - q), rel=1e-6)
        assert believed_threshold(K, q, true=40.0) < 1e-12


@pytest.mark.filterwarnings("error")
def test_believed_threshold_has_its_limits_at_scores_of_any_size():
    """exp(1000) overflows: the threshold was infinite."""
    assert believed_threshold(10, 0.9, wrong=1e4) == pytest.approx(9.0)
    assert believed_threshold(10, 0.9, wrong=-1e4) == 0
    assert believed_threshold(10, 0.9, true=1e4) == 0
    assert believed_threshold(10, 0.9, wrong=1e4 + 2, true=1e4) == pytest.approx(
        believed_threshold(10, 0.9, wrong=502.0, true=500.0)
    )


@pytest.mark.parametrize("q", [0.3, 0.5, 0.7, 0.9])
def test_reversal_is_where_the_refit_ranks_the_truth_first(q):
    """All weight on the wrong label 1; minimise the cross-entropy risk of these weights exactly."""
    g = torch.zeros(K, dtype=torch.float64)
    g[1] = 60.0
    sets = enumerate_sets(K, 0)
    law, w = set_law(sets, q, 0), leveraged_weights(g.expand(sets.shape), sets)
    toward, away = law @ (w * sets), law @ (w * ~sets)
    beta = reversal_beta(size_law(K, q))
    if beta <= 0:
        scores = _softmax_minimiser(toward, 1e-9 * away)
        assert scores[0] > scores[1]
        return
    below, above = (_softmax_minimiser(toward, f * beta * away) for f in (0.98, 1.02))
    assert below[0] < below[1]
    assert above[0] > above[1]


def test_reversal_matrix_is_the_reversal_of_every_pair():
    uniform = np.where(np.eye(K, dtype=bool), 1.0, 0.7)
    off = ~np.eye(K, dtype=bool)
    np.testing.assert_allclose(reversal_matrix(uniform)[off], reversal_beta(size_law(K, 0.7)))
    Q = np.random.default_rng(0).random((K, K))
    sets = enumerate_sets(K, 2)
    for z in (0, 4):
        by_sets = evened_reversal(set_law(sets, Q, 2), sets, y=2, z=z)
        np.testing.assert_allclose(reversal_matrix(Q)[2, z], by_sets, rtol=1e-6, atol=1e-8)


def evened_reversal(law, sets, y, z):
    """By enumeration and bisection; the labels other than y and z share their weights evenly."""
    g = torch.zeros(K, dtype=torch.float64)
    g[z] = 60.0
    w = leveraged_weights(g.expand(sets.shape), sets)
    toward, away = law @ (w * sets), law @ (w * ~sets)
    rest = torch.tensor([j not in (y, z) for j in range(K)])
    toward[rest], away[rest] = toward[rest].mean(), away[rest].mean()
    low, high = 1e-9, 1e6
    for _ in range(60):
        middle = (low * high) ** 0.5
        scores = _softmax_minimiser(toward, middle * away)
        low, high = (middle, high) if scores[y] < scores[z] else (low, middle)
    return high


def test_following_means_equal_the_library_weights():
    sets = enumerate_sets(4)
    law = torch.softmax(torch.randn(2, len(sets), dtype=torch.float64), -1)
    g = torch.randn(3, 2, 4, dtype=torch.float64)
    w = leveraged_weights(g[:, :, None].expand(3, 2, len(sets), 4), sets.expand(3, 2, -1, -1))
    a, b = _following_means(g, law, sets)
    torch.testing.assert_close(a, torch.einsum("qs,bqsk->bqk", law, w * sets))
    torch.testing.assert_close(b, torch.einsum("qs,bqsk->bqk", law, w * ~sets))


def test_softmax_minimiser_beats_its_neighbours():
    torch.manual_seed(0)
    toward, away = torch.rand(5, 4).double() + 0.01, 3 * torch.rand(5, 4).double()
    best = _softmax_minimiser(toward, away)
    torch.testing.assert_close(best.exp().sum(-1), torch.ones(5, dtype=torch.float64))

    def risk(scores):
        psi = get_psi("cross_entropy")
        return (toward * psi.toward(scores) + away * psi.away(scores)).sum(-1)

    for _ in range(50):
        assert (risk(best + 0.1 * torch.randn(5, 4)) >= risk(best)).all()


def test_minimiser_without_ambiguity_is_the_posterior():
    p = peaked(4, 0.55)
    found = minimiser(torch.zeros(1, 1), torch.zeros(1), p, "cross_entropy")
    torch.testing.assert_close(found[0, 0].exp(), p)


def test_sizes_are_checked():
    with pytest.raises(InputError, match="empty sets"):
        balance([3, 1, 1])
    with pytest.raises(InputError, match="sizes has shape"):
        reversal_beta([[1, 2]])


def test_rates_may_be_arrays_and_must_be_probabilities():
    np.testing.assert_allclose(ova_beta([0.0, 0.5]), [1.0, 3.0])
    for function in (ova_beta, beta_threshold):
        for bad in ([0.5, 1.5], [-0.5, 0.5], np.nan):
            with pytest.raises(InputError, match="between 0 and 1"):
                function(bad)
    with pytest.raises(InputError, match="so K is needed too"):
        ova_weights(0.5, y=0, beta=2.0)
    with pytest.raises(InputError, match=r"above the largest threshold q/\(1-q\) = 9"):
        ova_weights([1.0, 0.5, 0.9], y=0, beta=9.0)


@pytest.mark.parametrize("exclude_full", [False, True])
def test_law_of_the_sizes_equals_enumeration(exclude_full):
    sets = enumerate_sets(4, 0)
    law = set_law(sets, 0.6, 0).numpy()
    if exclude_full:
        law = np.where(sets.all(1).numpy(), 0, law) / (1 - 0.6**3)
    expected = np.bincount(sets.sum(1).numpy(), weights=law, minlength=5)
    np.testing.assert_allclose(size_law(4, 0.6, exclude_full=exclude_full), expected)
