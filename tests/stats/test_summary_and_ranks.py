"""Tests of summaries, and of Friedman's and Nemenyi's tests."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from amongst.errors import InputError
from amongst.stats import friedman_nemenyi, summarize

# Demšar (JMLR 2006), Table 6: AUC of four variants of C4.5 on 14 data sets.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
    ]
)  # fmt: skip


def test_demsars_mean_ranks_and_critical_difference() -> None:
    result = friedman_nemenyi(DEMSAR)
    np.testing.assert_allclose(result.ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert result.critical == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)
    assert result.critical == pytest.approx(1.25, abs=0.01)


def test_demsars_conclusion_no_pair_of_adjacent_methods_differs() -> None:
    result = friedman_nemenyi(DEMSAR)
    assert result.p < 0.05
    apart = np.abs(result.ranks[:, None] - result.ranks) > result.critical
    np.testing.assert_array_equal(apart, result.pairs < 0.05)


def test_nemenyi_alpha_10_is_the_published_quantile() -> None:
    result = friedman_nemenyi(DEMSAR, alpha=0.10)
    assert result.critical == pytest.approx(2.291 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)


def test_p_of_a_pair_is_the_alpha_at_which_it_begins_to_differ() -> None:
    """CD at α = p of the pair is the distance of its mean ranks; both ways, and 1 on the diagonal."""
    result = friedman_nemenyi(DEMSAR)
    np.testing.assert_array_equal(result.pairs, result.pairs.T)
    np.testing.assert_allclose(np.diag(result.pairs), 1.0)
    for i, j in ((0, 1), (0, 3), (2, 3)):
        reached = friedman_nemenyi(DEMSAR, alpha=float(result.pairs[i, j])).critical
        assert reached == pytest.approx(abs(result.ranks[i] - result.ranks[j]), rel=1e-4)


def test_identical_methods_do_not_differ() -> None:
    result = friedman_nemenyi(np.ones((3, 3)))
    assert (result.p, result.statistic) == (1.0, 0.0)
    np.testing.assert_array_equal(result.ranks, [2, 2, 2])


@pytest.mark.parametrize("shape", [(1, 3), (3, 2), (3,)])
def test_too_few_rows_or_methods_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="at least 2 rows"):
        friedman_nemenyi(np.ones(shape))


def test_one_missing_score_and_an_alpha_without_a_quantile_are_refused() -> None:
    missing = DEMSAR.copy()
    missing[0, 0] = np.nan
    with pytest.raises(InputError, match="finite"):
        friedman_nemenyi(missing)
    for alpha in (0.0, 1.5):
        with pytest.raises(InputError, match="alpha="):
            friedman_nemenyi(DEMSAR, alpha=alpha)


def test_two_data_sets_are_enough() -> None:
    """Two rows that agree on three methods: Friedman's statistic is N(k − 1) = 4."""
    result = friedman_nemenyi([[3.0, 2.0, 1.0], [9.0, 8.0, 7.0]])
    assert (result.ranks.tolist(), result.statistic) == ([1.0, 2.0, 3.0], pytest.approx(4.0))


def test_confidence_interval_covers_as_it_says() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(3.0, 2.0, size=(4000, 5))
    found = [summarize(row, confidence=0.9) for row in draws]
    covered = np.mean([s.low <= 3.0 <= s.high for s in found])
    # binomial standard error 0.0047
    assert abs(covered - 0.9) < 0.02


def test_summary_equals_scipy() -> None:
    x = [98.1, 98.4, 98.2, 98.9]
    summary = summarize(x)
    low, high = stats.t.interval(0.95, 3, loc=np.mean(x), scale=stats.sem(x))
    assert (summary.low, summary.high) == (pytest.approx(low), pytest.approx(high))
    assert summary.std == pytest.approx(np.std(x, ddof=1))


def test_one_value_has_no_spread_and_none_is_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = summarize([0.5])
    assert (one.n, one.mean) == (1, 0.5)
    assert np.isnan([one.std, one.low, one.high]).all()
    for bad in ([], [np.nan], [0.5, np.inf]):
        with pytest.raises(InputError, match="finite"):
            summarize(bad)
    with pytest.raises(InputError, match="confidence="):
        summarize([0.5, 0.6], confidence=95)
