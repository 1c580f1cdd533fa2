"""Criteria: unbiased by enumeration, the same for one model and many, and none takes a label."""

from __future__ import annotations

import inspect
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from amongst.candidates import class_dependent, uniform
from amongst.errors import InputError
from amongst.losses import leveraged_weighted
from amongst.metrics import covering_rate
from amongst.selection import CRITERIA, corrected_error, estimate_label_q, get_criterion
from amongst.selection.criteria import LARGEST_RATE, measures_for
from amongst.theory import enumerate_sets, set_law

RATES = torch.tensor([0.7, 0.2, 0.5, 0.05], dtype=torch.float64)


def one_hot(label: int, k: int) -> torch.Tensor:
    return torch.eye(k)[label]


def rates_given(y: int) -> torch.Tensor:
    row = RATES.clone()
    row[y] = 1
    return row


@pytest.mark.parametrize(("y", "predicted"), list(product(range(4), range(4))))
def test_the_corrected_error_is_unbiased_over_all_sets(y: int, predicted: int) -> None:
    sets = enumerate_sets(4, y)
    law = set_law(sets, rates_given(y), y)
    values = torch.stack(
        [corrected_error(one_hot(predicted, 4)[None], s[None], RATES) for s in sets]
    ).double()
    assert float(values @ law) == pytest.approx(float(predicted != y), abs=1e-6)


def test_it_is_the_away_part_of_the_leveraged_loss_at_corrected_weights() -> None:
    """α = 0, zero-one ψ, w_ŷ = 1/(1 − q_ŷ): Theorem 1 as corrected. As printed, 1/q_ŷ, it fails."""
    y, predicted = 0, 1
    sets = enumerate_sets(4, y)
    law = set_law(sets, rates_given(y), y)
    scores = 2 * one_hot(predicted, 4).double() - 1
    weights = one_hot(predicted, 4).double()
    away = leveraged_weighted(scores, sets, weights, "zero_one", 1.0, 0.0)
    mine = torch.stack([corrected_error(scores[None], s[None], RATES) for s in sets]).double()
    torch.testing.assert_close(away / (1 - RATES[predicted]), mine, atol=1e-6, rtol=1e-6)
    assert float(away @ law / RATES[predicted]) == pytest.approx(4.0)


@given(st.integers(0, 2**31), st.floats(0.05, 0.8))
@settings(max_examples=25, deadline=None)
def test_with_one_rate_for_all_it_ranks_as_the_covering_rate_does(seed: int, q: float) -> None:
    rng = np.random.default_rng(seed)
    sets = uniform(rng.integers(0, 5, 60), q, classes=range(5), seed=seed)
    scores = torch.from_numpy(rng.normal(size=(7, 60, 5)))
    inside = torch.from_numpy(sets.to_mask())
    covering = covering_rate(scores, inside)
    error = corrected_error(scores, inside, torch.full((5,), q))
    torch.testing.assert_close(1 - error, (covering - q) / (1 - q), atol=1e-5, rtol=1e-5)


def test_it_tells_the_error_where_the_covering_rate_does_not() -> None:
    """One label joins most sets. A model that loves it covers well and is wrong."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 40_000)
    Q = np.where(np.eye(4, dtype=bool), 1.0, [0.8, 0.1, 0.1, 0.1])
    sets = class_dependent(truth, Q, seed=1)
    inside = torch.from_numpy(sets.to_mask())
    wrong = rng.random(len(truth)) < 0.2
    lover = torch.eye(4)[np.where(wrong, 0, truth)]
    fair = torch.eye(4)[np.where(rng.random(len(truth)) < 0.1, (truth + 1) % 4, truth)]
    measure = get_criterion("risk").prepare(sets)
    for scores in (lover, fair):
        error = float((scores.argmax(-1).numpy() != truth).mean())
        assert float(measure(scores, inside)) == pytest.approx(error, abs=0.03)
    assert covering_rate(lover, inside) > covering_rate(fair, inside)
    assert measure(lover, inside) > measure(fair, inside)


@pytest.mark.parametrize("name", CRITERIA)
def test_one_model_and_a_population_agree(name: str) -> None:
    rng = np.random.default_rng(0)
    sets = uniform(rng.integers(0, 4, 50), 0.3, classes=range(4), seed=0)
    scores = torch.from_numpy(rng.normal(size=(6, 50, 4))).float()
    inside = torch.from_numpy(sets.to_mask())
    measure = measures_for(sets)[name]
    alone = torch.stack([measure(own, inside) for own in scores])
    torch.testing.assert_close(measure(scores, inside), alone)
    torch.testing.assert_close(measure(scores, inside.expand(6, 50, 4)), alone)


@pytest.mark.parametrize("name", CRITERIA)
def test_a_network_that_diverged_has_no_value(name: str) -> None:
    """argmax of NaN is some class, which may well be a candidate."""
    sets = uniform(np.arange(12) % 3, 0.3, seed=0)
    scores = torch.eye(3)[torch.arange(12) % 3].repeat(2, 1, 1)
    scores[1, 5, 2] = torch.nan
    values = measures_for(sets)[name](scores, torch.from_numpy(sets.to_mask()))
    assert values.isnan().tolist() == [False, True]


@pytest.mark.parametrize("name", CRITERIA)
def test_no_criterion_has_a_place_for_labels(name: str) -> None:
    assert list(inspect.signature(CRITERIA[name].prepare).parameters) == ["sets"]
    assert "oracle" not in CRITERIA


def test_unknown_names() -> None:
    with pytest.raises(InputError, match="did you mean 'covering'"):
        get_criterion("coverage")
    with pytest.raises(InputError, match="oracle_search"):
        get_criterion("oracle")


def test_a_label_in_every_set_has_a_finite_error() -> None:
    inside = torch.tensor([[True, False], [True, True]])
    sets_of_all = estimate_label_q([[0], [0, 1]], uniform_rows=0)
    found = corrected_error(torch.eye(2), inside, torch.from_numpy(sets_of_all.rates))
    assert torch.isfinite(found)
    missed = corrected_error(torch.eye(2), ~torch.eye(2).bool(), torch.tensor([1.0, 0.96]))
    assert missed == pytest.approx(1 / (1 - LARGEST_RATE))
