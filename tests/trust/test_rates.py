"""Rates of labels by EM: against a loop written from the law, and against the truth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from amongst.candidates import CandidateSets, class_dependent, uniform
from amongst.errors import AmongstWarning, InputError
from amongst.selection import estimate_label_q
from amongst.trust import not_by_chance

Array = npt.NDArray[np.float64]


def slow_em(sets: CandidateSets, rounds: int) -> tuple[Array, Array]:
    """P(s | y) written out, row by row."""
    n, k = sets.shape
    q, prior = np.full(k, (sets.sizes.mean() - 1) / (k - 1)), np.full(k, 1 / k)
    for _ in range(rounds):
        true, false = np.zeros(k), np.zeros(k)
        for row in sets.mask:
            joint = np.zeros(k)
            for y in np.flatnonzero(row):
                others = [q[z] if row[z] else 1 - q[z] for z in range(k) if z != y]
                joint[y] = prior[y] * np.prod(others)
            shares = joint / joint.sum()
            true += shares
            false += row - shares
        prior, q = true / n, false / (n - true)
    return q, prior


def label_dependent(q: list[float], labels: npt.NDArray[np.int64], seed: int) -> CandidateSets:
    k = len(q)
    return class_dependent(labels, np.where(np.eye(k, dtype=bool), 1.0, q), seed=seed)


def test_it_equals_the_loop_written_from_the_law() -> None:
    labels = np.random.default_rng(0).choice(4, 80, p=[0.4, 0.3, 0.2, 0.1])
    sets = label_dependent([0.5, 0.3, 0.2, 0.4], labels, seed=1)
    q, prior = slow_em(sets, rounds=12)
    with pytest.warns(AmongstWarning, match=r"max_iterations=12: .*tolerance=1e-300\. Raise"):
        found = estimate_label_q(sets, uniform_rows=0, tolerance=1e-300, max_iterations=12)
    np.testing.assert_allclose(found.rates, q)
    np.testing.assert_allclose(found.prior, prior)
    assert found.iterations == 12


def test_it_finds_rates_and_prior() -> None:
    prior = np.array([0.5, 0.2, 0.2, 0.1])
    labels = np.random.default_rng(0).choice(4, 50_000, p=prior)
    q = [0.6, 0.3, 0.1, 0.2]
    found = estimate_label_q(label_dependent(q, labels, seed=1), uniform_rows=0)
    np.testing.assert_allclose(found.rates, q, atol=0.03)
    np.testing.assert_allclose(found.prior, prior, atol=0.03)


def test_the_uniform_rows_help_where_sets_are_large() -> None:
    labels = np.random.default_rng(0).integers(0, 10, 1500)
    sets = uniform(labels, 0.7, seed=0)
    with pytest.warns(AmongstWarning, match="max_iterations=1000.*leave uniform_rows at None"):
        likeliest = estimate_label_q(sets, uniform_rows=0)
    found = estimate_label_q(sets)
    assert np.abs(found.rates - 0.7).max() < 0.05 < np.abs(likeliest.rates - 0.7).max()
    assert found.iterations < 100 < likeliest.iterations


def test_as_many_uniform_rows_as_ten_roots_of_n() -> None:
    sets = uniform(np.arange(400) % 4, 0.4, seed=0)
    found, named = estimate_label_q(sets), estimate_label_q(sets, uniform_rows=200)
    np.testing.assert_array_equal(found.rates, named.rates)
    assert np.abs(found.rates - estimate_label_q(sets, uniform_rows=220).rates).max() > 1e-4


@pytest.mark.parametrize("sets", [["a|b"], ["a", "b", "a"], ["a|b", "a|b"], ["a"]])
def test_extremes_stay_finite(sets: list[str]) -> None:
    if sets == ["a"]:
        with pytest.raises(InputError, match="two classes"):
            estimate_label_q(sets)
        return
    found = estimate_label_q(sets)
    assert np.isfinite(found.rates).all()
    assert found.prior.sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(8))
def test_chance_is_not_refuted_by_chance(seed: int) -> None:
    """Few and many rows, classes of any frequency, and rates of each label's own."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.choice([20, 150, 2000])), int(rng.choice([3, 10, 30]))
    labels = rng.choice(k, n, p=rng.dirichlet(np.full(k, 2.0)))
    rates = np.where(np.eye(k, dtype=bool), 1.0, rng.uniform(0.02, 0.6, k))
    assert not_by_chance(class_dependent(labels, rates, seed=seed)) is None


def test_labels_that_come_together_are_named() -> None:
    """Beside each true label a neighbour: 0 with 1, 2 with 3, 4 with 5; the most frequent pair stands out."""
    labels = np.array([0, 1, 2, 3, 4, 5] * 20 + [4] * 60)
    found = not_by_chance([{label, label ^ 1} for label in labels.tolist()])
    assert found is not None
    assert (found.labels, found.rows) == ((4, 5), 100)
    assert found.expected < 60
    assert not_by_chance([{0, 1}, {0}, {1}] * 30) is None  # of two labels nothing can be told
    assert not_by_chance([{0}, {1}, {2}] * 30) is None
