"""Theorem 2: the map of agreement with the Bayes rule, against the windows in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from amongst.errors import InputError
from amongst.losses import PSIS
from amongst.theory import balance, bayes, bayes_map, is_shift_invariant, peaked, size_law
from amongst.theory.bayes import WEIGHTS

BETAS = np.geomspace(0.13, 70, 11)
QS = np.linspace(0.08, 0.93, 7)


def odds(p):
    return p / (1 - p) if p < 1 else np.inf


def between(low, high):
    return (low < BETAS[:, None]) & (BETAS[:, None] < high)


@pytest.mark.parametrize("psi", ["sigmoid", "ramp"])
@pytest.mark.parametrize("top", [1.0, 0.7, 0.4])
def test_equal_weights_agree_exactly_in_the_window_of_odds(psi, top):
    """P(z ∈ s | x) = q + (1−q) p_z; a label rises where its odds are above β."""
    p = peaked(4, top)
    found = bayes_map(BETAS, QS, p, psi, "equal").agrees.numpy()
    low, high = (np.array([odds(q + (1 - q) * float(v)) for q in QS]) for v in (p[1], p[0]))
    assert (found == between(low, high)).all()
    assert not found.all()


@pytest.mark.parametrize("top", [1.0, 0.7, 0.4])
def test_initial_weights_agree_exactly_between_the_pivots(top):
    p = peaked(4, top)
    found = bayes_map(BETAS, QS, p, "sigmoid", "initial").agrees.numpy()
    early = [balance(size_law(4, q)) for q in QS]
    low, high = (np.array([b.pivot(float(v)) for b in early]) for v in (p[1], p[0]))
    assert (found == between(low, high)).all()


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("top", [1.0, 0.5])
def test_cross_entropy_agrees_everywhere_under_uniform_rates(weights, top):
    assert bayes_map(BETAS, QS, peaked(4, top), "cross_entropy", weights).agrees.all()


@pytest.mark.parametrize("psi", ["logistic", "exponential"])
def test_strictly_convex_margin_losses_agree_everywhere_with_fixed_weights(psi):
    p = torch.tensor([0.45, 0.35, 0.2], dtype=torch.float64)
    for weights in ("equal", "initial"):
        assert bayes_map(BETAS, QS[:-1], p, psi, weights).agrees.all()


def test_following_weights_widen_the_region_of_the_sigmoid():
    for top in (1.0, 0.6):
        shares = {w: bayes_map(BETAS, QS, peaked(4, top), "sigmoid", w) for w in WEIGHTS}
        assert shares["following"].share > shares["initial"].share
        assert shares["following"].share > shares["misled"].share


def test_a_misled_sigmoid_needs_more_leverage_as_q_grows():
    agrees = bayes_map(BETAS, QS, peaked(4, 1.0), "sigmoid", "misled").agrees.numpy()
    least = [BETAS[column].min() for column in agrees.T]
    assert (np.diff(least) >= 0).all()
    assert least[-1] > 2
    assert least[0] < 0.5


def test_the_flow_starts_without_belief_or_misled(monkeypatch):
    """From scores of 0, or with the second label at the edge of the box."""
    monkeypatch.setattr(bayes, "STEPS", 0)
    p = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)
    beta, q = torch.ones(2, 1), torch.tensor([0.3])
    start = bayes.minimiser(beta, q, p, "sigmoid", "following")
    misled = bayes.minimiser(beta, q, p, "sigmoid", "misled")
    assert start.tolist() == [[[0.0] * 3]] * 2
    assert misled.tolist() == [[[0.0, 0.0, bayes.BOX]]] * 2


def test_no_leverage_rescues_some_class_dependent_rates():
    Q = torch.eye(3, dtype=torch.float64)
    Q[0, 1] = Q[2, 1] = 0.9
    p = [0.5, 0.3, 0.2]
    for psi in ("sigmoid", "cross_entropy"):
        for weights in WEIGHTS:
            assert not bayes_map(BETAS, Q[None], p, psi, weights).agrees.any()


@pytest.mark.parametrize("psi", ["sigmoid", "cross_entropy"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_several_posteriors_at_once_are_each_by_itself(psi, weights):
    p = torch.tensor([[0.7, 0.2, 0.1], [0.2, 0.45, 0.35]], dtype=torch.float64)
    together = bayes_map(BETAS, QS, p, psi, weights).agrees
    alone = [bayes_map(BETAS, QS, row, psi, weights).agrees for row in p]
    assert torch.equal(together, torch.stack(alone))


def test_shift_invariance_tells_the_cross_entropy_form_apart():
    assert [name for name in PSIS if is_shift_invariant(name)] == ["cross_entropy"]


def test_bad_arguments():
    with pytest.raises(InputError, match="tie at the top"):
        bayes_map([1.0], [0.5], [0.5, 0.5])
    with pytest.raises(InputError, match="weights='equl' is unknown"):
        bayes_map([1.0], [0.5], [0.6, 0.4], weights="equl")
    with pytest.raises(InputError, match="K=1 must be"):
        peaked(1, 1.0)
    with pytest.raises(InputError, match="top"):
        peaked(4, 0.1)
