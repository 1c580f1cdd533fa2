"""Enumeration, the corrected form, the printed form and its gap, against slow loops and each other."""

from __future__ import annotations

from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from amongst.candidates import class_dependent
from amongst.errors import InputError
from amongst.losses import PSIS, average, classifier_consistent, get_psi
from amongst.theory import (
    COUNTEREXAMPLE,
    Counterexample,
    bayes_map,
    corrected_risk,
    enumerate_sets,
    exact_risk,
    fixed_weights,
    following_weights,
    marginal_risk,
    mixed_law,
    monte_carlo_risk,
    printed_gap,
    printed_risk,
    rates_of,
    set_law,
)

TRAINABLE = sorted(name for name, psi in PSIS.items() if psi.trainable)


@st.composite
def problems(draw, largest=7):
    """(g, w, q, y, β, ψ) with rates that include 0 and 1, and large scores."""
    k = draw(st.integers(2, largest))

    def row(low, high):
        numbers = st.floats(low, high, allow_nan=False)
        return torch.tensor(draw(st.lists(numbers, min_size=k, max_size=k)), dtype=torch.float64)

    g, w, q = row(-20, 20), row(0, 5), row(0, 1)
    return (
        g,
        w,
        q,
        draw(st.integers(0, k - 1)),
        draw(st.floats(0, 40)),
        draw(st.sampled_from(TRAINABLE)),
    )


def slow_risk(g, w, q, y, beta, psi, exclude_full=False):
    """Written from the definitions: a loop over sets, a product over labels, a sum over labels."""
    k, psi = len(g), get_psi(psi)
    toward, away = psi.toward(g), psi.away(g)
    total = norm = 0.0
    for bits in product((False, True), repeat=k):
        if not bits[y] or (exclude_full and all(bits)):
            continue
        chance = 1.0
        for z in range(k):
            if z != y:
                chance *= float(q[z]) if bits[z] else 1 - float(q[z])
        loss = sum(float(w[z]) * float(toward[z] if bits[z] else beta * away[z]) for z in range(k))
        total, norm = total + chance * loss, norm + chance
    return total / norm


def close(a, b, scale=1.0):
    return abs(float(a) - float(b)) <= 1e-12 * max(1.0, abs(float(b)), scale)


@settings(max_examples=60, deadline=None)
@given(problems(), st.booleans())
def test_enumeration_equals_the_slow_loop(problem, exclude_full):
    g, w, q, y, beta, psi = problem
    q = q * 0.99 if exclude_full else q
    found = exact_risk(fixed_weights(w, psi, beta), g, q, y, exclude_full=exclude_full)
    assert close(found, slow_risk(g, w, q, y, beta, psi, exclude_full))


@settings(max_examples=150, deadline=None)
@given(problems(largest=9), st.booleans())
def test_enumeration_equals_the_corrected_form(problem, exclude_full):
    g, w, q, y, beta, psi = problem
    q = q * 0.99 if exclude_full else q
    found = exact_risk(fixed_weights(w, psi, beta), g, q, y, exclude_full=exclude_full)
    assert close(corrected_risk(g, w, q, y, beta, psi, exclude_full=exclude_full), found)


@pytest.mark.parametrize("psi", TRAINABLE)
def test_sixteen_labels_are_enumerated_exactly(psi):
    rng = np.random.default_rng(16)
    g, w, q = rng.normal(0, 2, 16), rng.exponential(1, 16), rng.random(16)
    found = exact_risk(fixed_weights(w, psi, 3.0), g, q, 5, exclude_full=True)
    assert close(corrected_risk(g, w, q, 5, 3.0, psi, exclude_full=True), found)


@settings(max_examples=150, deadline=None)
@given(problems())
def test_the_printed_form_is_off_by_the_predicted_gap(problem):
    g, w, q, y, beta, psi = problem
    exact = exact_risk(fixed_weights(w, psi, beta), g, q, y)
    printed, gap = printed_risk(g, w, q, y, beta, psi), printed_gap(g, w, q, y, beta, psi)
    assert close(printed - exact, gap, scale=float(exact.abs() + printed.abs()))
    wrong = torch.arange(len(g)) != y
    by_hand = beta * (w * (2 * q - 1) * get_psi(psi).away(g))[wrong].sum()
    assert close(gap, by_hand, scale=float(exact))


def test_the_printed_form_holds_at_one_half_only():
    g, w = torch.randn(5, dtype=torch.float64), torch.rand(5, dtype=torch.float64) + 0.1
    for q in (0.1, 0.5, 0.9):
        same = close(printed_risk(g, w, q, 2, 3.0), exact_risk(fixed_weights(w, beta=3.0), g, q, 2))
        assert same is (q == 0.5)


def test_the_counterexample_by_hand():
    q, beta = COUNTEREXAMPLE.q, COUNTEREXAMPLE.beta
    by_hand = (1 - q) * (0.5 + beta * 0.5) + q * (0.5 + 0.5)
    assert close(COUNTEREXAMPLE.exact, by_hand)
    assert close(COUNTEREXAMPLE.corrected, by_hand)
    assert close(COUNTEREXAMPLE.printed, 0.5 + q * (0.5 + beta * 0.5))
    assert abs(COUNTEREXAMPLE.printed - by_hand) > 0.5
    half = Counterexample(q=0.5)
    assert close(half.printed, half.exact)


@pytest.mark.parametrize("k", [2, 5, 16])
@pytest.mark.parametrize("exclude_full", [False, True])
def test_the_law_sums_to_one(k, exclude_full):
    q = np.random.default_rng(k).random(k)
    sets = enumerate_sets(k, k - 1)
    assert sets.shape == (2 ** (k - 1), k)
    assert len(torch.unique(sets, dim=0)) == len(sets)
    law = set_law(sets, q, k - 1, exclude_full=exclude_full)
    assert close(law.sum(), 1)
    memberships = law @ sets.double()
    full = rates_of(q, k - 1, k).prod()
    expected = rates_of(q, k - 1, k)
    expected = (expected - full) / (1 - full) if exclude_full else expected
    torch.testing.assert_close(memberships, expected, rtol=0, atol=1e-12)


def test_one_half_without_the_full_set_is_uniform_over_sets():
    law = set_law(enumerate_sets(5, 0), 0.5, 0, exclude_full=True)
    torch.testing.assert_close(law[:-1], torch.full((15,), 1 / 15, dtype=torch.float64))
    assert law[-1] == 0


def test_generated_sets_follow_the_law():
    Q = np.array([[1, 0.3, 0.8], [0.5, 1, 0.1], [0.9, 0.6, 1]])
    drawn = class_dependent(np.full(50_000, 1), Q, classes=range(3), seed=0).mask
    sets = enumerate_sets(3, 1)
    law = set_law(sets, Q, 1).numpy()
    seen = (drawn[:, None] == sets.numpy()).all(-1).mean(0)
    assert np.abs(seen - law).max() < 4.5 * np.sqrt(0.25 / 50_000)


@settings(max_examples=40, deadline=None)
@given(problems(largest=6), st.booleans())
def test_appendix_theorem_for_any_partial_loss(problem, exclude_full):
    g, w, q, _, beta, psi = problem
    k = len(g)
    Q = torch.rand(k, k, dtype=torch.float64, generator=torch.Generator().manual_seed(k)) * 0.98
    p = torch.softmax(q, 0)

    def odd_loss(scores, inside):
        return (scores * inside).sum(-1).sin() + inside.sum(-1) ** 2

    losses = (odd_loss, fixed_weights(w, psi, beta), following_weights(psi, beta),
              classifier_consistent, lambda s, i: average(s, i, psi))  # fmt: skip
    for loss in losses:
        seen = marginal_risk(loss, g, Q, p, exclude_full=exclude_full)
        labels = sum(p[y] * exact_risk(loss, g, Q, y, exclude_full=exclude_full) for y in range(k))
        assert close(seen, labels)


def test_mixed_law_is_a_law_over_every_set():
    p = torch.softmax(torch.randn(6, dtype=torch.float64), 0)
    assert close(mixed_law(enumerate_sets(6), 0.7, p).sum(), 1)


def test_scores_may_carry_leading_axes():
    g, w = torch.randn(3, 4, 5, dtype=torch.float64), torch.rand(5, dtype=torch.float64)
    for loss in (fixed_weights(w, "cross_entropy", 2.0), following_weights("sigmoid", 2.0)):
        stacked = exact_risk(loss, g, 0.3, 1)
        assert stacked.shape == (3, 4)
        assert close(stacked[2, 1], exact_risk(loss, g[2, 1], 0.3, 1))
        marginal = marginal_risk(loss, g, 0.3, [0.3, 0.3, 0.2, 0.1, 0.1])
        assert marginal.shape == (3, 4)
        assert close(marginal[2, 1], marginal_risk(loss, g[2, 1], 0.3, [0.3, 0.3, 0.2, 0.1, 0.1]))


def test_monte_carlo_covers_the_closed_form_at_large_k():
    rng = np.random.default_rng(0)
    g, w, q = rng.normal(0, 2, 100), rng.exponential(1, 100), rng.random(100)
    truth = float(corrected_risk(g, w, q, 3, 2.0, "cross_entropy"))
    loss = fixed_weights(w, "cross_entropy", 2.0)
    runs = [monte_carlo_risk(loss, g, q, 3, draws=2000, seed=seed) for seed in range(40)]
    assert 33 <= sum(truth in run for run in runs) <= 40
    wide = monte_carlo_risk(loss, g, q, 3, draws=2000, confidence=0.999, seed=0)
    assert wide.high - wide.low > runs[0].high - runs[0].low


def test_the_interval_is_that_of_the_normal_law():
    """A confidence of 1 gave (−∞, ∞), or NaN where all draws agree."""
    loss, g = fixed_weights([1.0, 2.0, 0.5], beta=2.0), [1.0, -1.0, 0.3]
    for confidence in (0.5, 0.95):
        drawn = monte_carlo_risk(loss, g, 0.4, 0, draws=5, confidence=confidence, seed=0)
        half = NormalDist().inv_cdf((1 + confidence) / 2) * drawn.standard_error
        assert close(drawn.high, drawn.value + half)
        assert close(drawn.low, drawn.value - half)
        assert drawn.draws == 5
    for confidence in (0.0, 1.0):
        with pytest.raises(InputError, match="confidence"):
            monte_carlo_risk(loss, g, 0.4, 0, confidence=confidence)
    with pytest.raises(InputError, match="draws"):
        monte_carlo_risk(loss, g, 0.4, 0, draws=1)


def test_losses_by_default_are_the_sigmoid_at_one():
    g, inside = torch.tensor([1.0, -1.0, 0.3]), torch.tensor([True, False, False])
    w = [1.0, 2.0, 0.5]
    assert following_weights()(g, inside) == following_weights("sigmoid", 1.0)(g, inside)
    assert fixed_weights(w)(g, inside) == fixed_weights(w, "sigmoid", 1.0)(g, inside)
    assert following_weights("sigmoid", 2.0)(g, inside) != following_weights()(g, inside)


def test_monte_carlo_without_the_full_set():
    loss, g, q = fixed_weights([1.0, 2.0, 0.5], beta=2.0), [1.0, -1.0, 0.3], 0.9
    drawn = monte_carlo_risk(loss, g, q, 0, exclude_full=True, confidence=0.9999, seed=1)
    assert float(exact_risk(loss, g, q, 0, exclude_full=True)) in drawn
    assert float(exact_risk(loss, g, q, 0)) not in drawn


def test_bad_arguments_get_one_clear_sentence():
    with pytest.raises(InputError, match="monte_carlo_risk"):
        enumerate_sets(17)
    with pytest.raises(InputError, match="between 0 and 2"):
        enumerate_sets(3, 3)
    with pytest.raises(InputError, match="probabilities"):
        exact_risk(classifier_consistent, [0.0, 0.0], 1.2, 0)
    with pytest.raises(InputError, match="q has shape"):
        exact_risk(classifier_consistent, [0.0, 0.0], [0.1, 0.2, 0.3], 0)
    with pytest.raises(InputError, match=r"q has shape \(2, 3\)"):
        rates_of(np.zeros((2, 3)), 0, 3)
    with pytest.raises(InputError, match="only the full set"):
        set_law(enumerate_sets(2, 0), 1.0, 0, exclude_full=True)
    with pytest.raises(InputError, match="weights has shape"):
        corrected_risk([0.0, 0.0], [1.0, 1.0, 1.0], 0.1, 0, 1.0)


@pytest.mark.parametrize(
    ("posterior", "words"),
    [
        ([0.5, 0.5], r"must be \(..., 3\)"),
        ([3.0, 1.0, 0.0], "a row sums to 4"),
        ([1.5, -0.5, 0.0], "negative or NaN"),
        ([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], "that of one x"),
    ],
)
def test_what_is_no_posterior_is_refused(posterior, words):
    """A label too few counted as impossible, and counts in place of shares scaled the risk."""
    loss = fixed_weights([1.0, 1.0, 1.0])
    with pytest.raises(InputError, match=words):
        marginal_risk(loss, [0.0, 1.0, 2.0], 0.1, posterior)
    if np.ndim(posterior) == 1 and len(posterior) == 3:
        with pytest.raises(InputError, match=words):
            bayes_map([1.0], [0.1], posterior)


def test_weights_and_scores_of_another_shape_are_refused():
    """One weight was spread over all labels, and a row of scores for each draw over the draws."""
    with pytest.raises(InputError, match=r"weights has shape \(1,\).*3"):
        exact_risk(fixed_weights([1.0]), [0.0, 1.0, 2.0], 0.1, 0)
    with pytest.raises(InputError, match=r"g has shape \(10, 3\).*one row"):
        monte_carlo_risk(fixed_weights([1.0] * 3), np.zeros((10, 3)), 0.1, 0, draws=10)


def test_words_for_numbers_are_named():
    loss = fixed_weights([1.0, 1.0])
    with pytest.raises(InputError, match="q='high' must be numbers"):
        exact_risk(loss, [0.0, 0.0], "high", 0)
    with pytest.raises(InputError, match=r"g=\['a', 'b'\] must be numbers"):
        exact_risk(loss, ["a", "b"], 0.1, 0)


def test_an_array_may_run_backwards():
    """PyTorch takes no negative strides."""
    g, q = np.array([0.3, -1.0, 2.0]), np.array([0.1, 0.5, 0.9])
    loss = fixed_weights([1.0, 2.0, 3.0][::-1], "sigmoid", beta=2.0)
    back = exact_risk(loss, g[::-1], q[::-1], 0)
    assert back == exact_risk(loss, g[::-1].copy(), q[::-1].copy(), 0)
