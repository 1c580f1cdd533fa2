"""The temperature that candidate sets alone give, against the truth that made them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from amongst.candidates import class_dependent, uniform
from amongst.trust import fit_temperature, reliability, set_risk, tempered

RNG = np.random.default_rng(0)
LOGS = RNG.normal(0, 2, (4000, 5))
PROBA = tempered(LOGS, 1.0)
TRUE = np.array([RNG.choice(5, p=p) for p in PROBA])
OWN = np.array([0.7, 0.05, 0.3, 0.1, 0.5])


@pytest.mark.parametrize("factor", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("q", [0.0, 0.3, 0.7])
def test_the_sets_undo_a_factor(factor: float, q: float) -> None:
    sets = uniform(TRUE, q, classes=range(5), seed=0)
    assert fit_temperature(LOGS * factor, sets) == pytest.approx(factor, rel=0.15)


def test_own_rates_need_their_own_law() -> None:
    """A label that is often a false candidate says less when it is one."""
    rates = np.where(np.eye(5, dtype=bool), 1.0, OWN)
    sets = class_dependent(TRUE, rates, seed=0)
    assert fit_temperature(LOGS, sets, OWN) == pytest.approx(1, rel=0.08)
    known = abs(np.log(fit_temperature(LOGS, sets, OWN)))
    assert known < abs(np.log(fit_temperature(LOGS, sets)))


def test_the_temperature_is_the_best_of_a_fine_grid() -> None:
    sets = uniform(TRUE[:300], 0.5, classes=range(5), seed=1).mask
    found = fit_temperature(LOGS[:300] * 3, sets)

    def risk(t: float) -> float:
        return float(set_risk(np.exp(log_softmax(LOGS[:300] * 3 / t, axis=1)), sets).mean())

    assert risk(found) <= min(risk(t) for t in np.linspace(0.5, 12, 400)) + 1e-6


def test_the_risk_against_a_loop() -> None:
    sets = uniform(TRUE[:50], 0.5, classes=range(5), seed=1)
    same, own = set_risk(PROBA[:50], sets.mask), set_risk(PROBA[:50], sets.mask, OWN)
    for i, candidates in enumerate(sets.to_sets()):
        floored = 0.99 * PROBA[i] + 0.01 / 5
        assert same[i] == pytest.approx(-np.log(sum(floored[z] for z in candidates)))
        weighed = sum(floored[z] * OWN.min() / OWN[z] for z in candidates)
        assert own[i] == pytest.approx(-np.log(weighed))


def test_scores_that_are_none_stay_improbable() -> None:
    scores = np.array([[0.0, -np.inf, 1.0], [-np.inf] * 3, [0.0, 1.0, 2.0]])
    mask = np.array([[True, False, True], [True, True, False], [False, False, True]])
    found = tempered(scores, fit_temperature(scores, mask))
    assert found.sum(axis=1) == pytest.approx(np.ones(3))
    assert found[0, 1] < 1e-6
    assert found[1] == pytest.approx(np.full(3, 1 / 3))


def test_nothing_to_tell_leaves_scores_as_they_are() -> None:
    assert fit_temperature(np.zeros((4, 3)), np.ones((4, 3), dtype=bool)) == 1.0
    assert fit_temperature(np.zeros((0, 3)), np.ones((0, 3), dtype=bool)) == 1.0


def test_reliability_against_a_loop() -> None:
    confidence, right = PROBA.max(axis=1), PROBA.argmax(axis=1) == TRUE
    found = reliability(confidence, right)
    assert found["rows"].sum() == 4000
    for row in found.itertuples():
        inside = np.floor(confidence * 10) == np.floor(row.confidence * 10)
        assert row.rows == inside.sum()
        assert row.right == pytest.approx(right[inside].mean())
        assert abs(row.right - row.confidence) < 4 * np.sqrt(0.25 / row.rows)
