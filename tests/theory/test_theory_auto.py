"""`auto_beta`: what it is made of, how it moves with q, and what it does with real-life sets."""

from __future__ import annotations

import numpy as np
import pytest

from amongst.candidates import case, class_dependent, uniform
from amongst.errors import InputError
from amongst.theory import (
    AutoRule,
    auto_beta,
    balance,
    beta_from_sizes,
    normalised_threshold,
    reversal_beta,
    reversal_matrix,
    size_law,
)
from lw2021.theory.verification import verify

QS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9)


@pytest.mark.parametrize("psi", ["sigmoid", "cross_entropy"])
@pytest.mark.parametrize("q", QS)
def test_from_sets_it_is_what_the_law_of_the_sizes_says(psi, q):
    y = np.random.default_rng(0).integers(10, size=20_000)
    found = auto_beta(uniform(y, q, seed=1), psi)
    assert found == pytest.approx(beta_from_sizes(size_law(10, q), psi), rel=0.05)


def test_sigmoid_stays_inside_the_early_window():
    for k in (3, 10, 50):
        for q in QS:
            early, beta = balance(size_law(k, q)), beta_from_sizes(size_law(k, q), "sigmoid")
            assert early.threshold < beta <= early.one_vs_all
            assert early.neutral <= beta


def test_cross_entropy_grows_with_q_and_stays_above_the_odds():
    found = [beta_from_sizes(size_law(10, q)) for q in QS]
    assert found == sorted(found)
    for q, beta in zip(QS, found, strict=True):
        assert beta >= q / (1 - q)
        assert beta >= reversal_beta(size_law(10, q))


def test_the_constants_do_what_they_say():
    sizes = size_law(10, 0.7)
    assert beta_from_sizes(sizes, rule=AutoRule(scale=1.0)) == pytest.approx(reversal_beta(sizes))
    assert beta_from_sizes(sizes, rule=AutoRule(cap=5.0)) == 5.0
    assert beta_from_sizes(size_law(10, 0.0), rule=AutoRule(floor=1.5)) == 1.5
    at_chance = beta_from_sizes(sizes, "sigmoid", AutoRule(lift=1.0))
    assert at_chance == pytest.approx(balance(sizes).neutral)


def test_worst_pair_counts_where_rates_are_given():
    y = np.random.default_rng(0).integers(10, size=2000)
    Q = case(3, 10)
    Q[0, 1] = 0.95
    sets = class_dependent(y, Q, seed=0)
    assert auto_beta(sets, rates=Q) > auto_beta(sets)
    assert auto_beta(sets, rates=Q) == pytest.approx(reversal_matrix(Q).max())
    highest = balance(np.bincount(sets.sizes, minlength=11)).one_vs_all
    worst = normalised_threshold(Q, 0, 10).max()
    assert auto_beta(sets, "sigmoid", rates=Q) == pytest.approx(min(worst, highest))
    unknown = Q.copy()
    unknown[3] = np.nan
    off = ~np.eye(10, dtype=bool)
    filled = np.where(np.isnan(unknown), np.nanmean(unknown[off]), unknown)
    np.fill_diagonal(filled, 1)
    for psi in ("cross_entropy", "sigmoid"):
        as_filled = auto_beta(sets, psi, rates=filled)
        assert auto_beta(sets, psi, rates=unknown) == pytest.approx(as_filled)
        assert auto_beta(sets, psi, rates=filled * off) == as_filled  # whatever the diagonal says
        nothing = auto_beta(sets, psi, rates=np.full((10, 10), np.nan))
        assert nothing == auto_beta(sets, psi, rates=np.eye(10))
    with pytest.raises(InputError, match="rates has shape"):
        auto_beta(sets, rates=Q[:3])


@pytest.mark.parametrize("psi", ["sigmoid", "cross_entropy", "hinge"])
def test_extremes_are_finite(psi):
    singletons, full = [{0}, {1}, {2}], [{0, 1, 2}] * 4
    assert 0 < auto_beta(singletons, psi) < 5
    assert auto_beta(full, psi) == AutoRule().cap
    assert np.isfinite(auto_beta([{0, 1}, {1}], psi))


def test_one_class_is_refused():
    with pytest.raises(InputError, match="beta='auto' needs"):
        auto_beta([{"a"}, {"a"}])


def test_every_statement_comes_out_as_documented_whatever_the_seed():
    checks = verify(problems=10, seed=1)
    assert [check.claim for check in checks if not check.as_expected] == []
    assert sum(check.refuted for check in checks) == 4
