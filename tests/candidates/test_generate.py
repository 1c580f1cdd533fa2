"""Frequencies against the law: every set's count is compared with its probability."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from scipy import stats

from amongst.candidates import (
    CandidateSets,
    case,
    class_dependent,
    generate,
    instance_dependent,
    long_tailed,
    noisy,
    uniform,
)
from amongst.candidates.generate import CELLS_AT_ONCE
from amongst.errors import InputError

N = 40_000


def law(q: np.ndarray, y: int, exclude_full: bool) -> dict[tuple[bool, ...], float]:
    """P(s | y) for every set s, from the product formula, written as loops."""
    k = len(q)
    table = {}
    for s in product([False, True], repeat=k):
        p = 1.0
        for z in range(k):
            rate = 1.0 if z == y else q[z]
            p *= rate if s[z] else 1 - rate
        table[s] = p
    if exclude_full:
        full = (True,) * k
        table = {s: p / (1 - table[full]) for s, p in table.items() if s != full}
    return {s: p for s, p in table.items() if p > 0}


def assert_follows(mask: np.ndarray, table: dict[tuple[bool, ...], float]) -> None:
    seen = dict.fromkeys(table, 0)
    for row in map(tuple, mask.tolist()):
        assert row in seen, f"{row} has probability 0"
        seen[row] += 1
    expected = np.array(list(table.values())) * len(mask)
    assert stats.chisquare(list(seen.values()), expected).pvalue > 1e-4


@pytest.mark.parametrize("exclude_full", [False, True])
@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_uniform_follows_its_law(q: float, exclude_full: bool) -> None:
    sets = uniform(np.ones(N, int), q, classes=range(4), exclude_full=exclude_full, seed=3)
    assert_follows(sets.mask, law(np.full(4, q), 1, exclude_full))


@pytest.mark.parametrize("exclude_full", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_class_dependent_follows_its_law(number: int, exclude_full: bool) -> None:
    Q = case(number, 5)
    y = np.arange(N) % 5
    sets = class_dependent(y, Q, exclude_full=exclude_full, seed=number)
    for label in range(5):
        assert_follows(sets.mask[y == label], law(Q[label], label, exclude_full))


def test_instance_dependent_rates() -> None:
    proba = np.tile([0.5, 0.2, 0.3], (N, 1))
    sets = instance_dependent(np.zeros(N, int), proba, rate=0.9, seed=0)
    assert_follows(sets.mask, law(np.array([1, 0.9 * 0.2 / 0.3, 0.9]), 0, False))


@pytest.mark.parametrize("exclude_full", [False, True])
@pytest.mark.parametrize(("q", "eta"), [(0.3, 0.2), (0.5, 1.0), (0.0, 0.4), (1.0, 0.1)])
def test_sets_that_may_lack_the_truth_follow_their_law(
    q: float, eta: float, exclude_full: bool
) -> None:
    rates, table = [q, 1 - eta, q, q], {}
    for s in product([False, True], repeat=4):
        p = math.prod(r if inside else 1 - r for r, inside in zip(rates, s, strict=True))
        if any(s) and not (all(s) and exclude_full) and p > 0:
            table[s] = p
    total = sum(table.values())
    sets = uniform(np.ones(N, int), q, classes=range(4), exclude_full=exclude_full, seed=3, eta=eta)
    if len(table) == 1:
        assert set(map(tuple, sets.mask.tolist())) == set(table)
    else:
        assert_follows(sets.mask, {s: p / total for s, p in table.items()})


def test_rates_relative_to_the_mean_of_a_row() -> None:
    """As the authors of POP, PaPi and DIRK have it, with a loop: label 1 would be above 1."""
    proba, rate = np.tile([0.4, 0.3, 0.25, 0.05], (N, 1)), 0.6
    sets = instance_dependent(np.zeros(N, int), proba, rate=rate, seed=0, relative_to="mean")
    for z, seen in enumerate(sets.mask.mean(axis=0)):
        expected = 1.0 if z == 0 else min(1.0, rate * proba[0, z] / (0.6 / 4))
        assert abs(seen - expected) < 5 * math.sqrt(max(expected * (1 - expected), 1e-12) / N)


def test_a_long_tail_has_its_sizes_and_draws_every_row_alike() -> None:
    y = np.tile(np.arange(5), 80)
    rows = long_tailed(y, rho=16, seed=0)
    assert np.bincount(y[rows]).tolist() == [80, 40, 20, 10, 5]
    assert (np.diff(rows) > 0).all()
    assert np.array_equal(rows, long_tailed(y, rho=16, seed=0))
    times = np.zeros(len(y))
    for seed in range(400):
        times[long_tailed(y, rho=16, seed=seed)] += 1
    of_fourth = times[y == 3] / 400  # 10 of 80 rows
    assert abs(of_fourth - 1 / 8).max() < 5 * math.sqrt(1 / 8 * 7 / 8 / 400)
    orders = {tuple(np.bincount(y[long_tailed(y, 16, shuffle=True, seed=s)])) for s in range(9)}
    assert len(orders) > 4
    assert np.array_equal(long_tailed(y, rho=1), np.arange(len(y)))
    named = np.array(list("abcde"))[y]
    assert Counter(named[long_tailed(named, 16, classes="edcba")])["a"] == 5
    assert Counter(long_tailed([0, 0, 0, 1], rho=2, seed=1).tolist()) == Counter([0, 1, 2, 3])


def test_noise_has_its_rate_and_keeps_sizes() -> None:
    y = np.arange(N) % 6
    clean = uniform(y, 0.3, seed=1)
    sets = noisy(clean, y, eta=0.25, seed=2)
    lost = ~sets.contains(y)
    assert stats.binomtest(int(lost.sum()), N, 0.25).pvalue > 1e-4
    full = clean.sizes == 6
    assert np.array_equal(sets.sizes[~full], clean.sizes[~full])
    assert (sets.sizes >= 1).all()


def test_paper_matrices() -> None:
    first, third = case(1, 10), case(3, 10)
    assert first[9, 0] == 0.5
    assert first.sum() == 15
    assert third[0].tolist() == [1, 0.5, 0.3, 0.1, 0, 0, 0, 0.1, 0.3, 0.5]
    for k in range(2, 8):
        for number in (1, 2, 3):
            assert (np.diag(case(number, k)) == 1).all()


def test_seeds() -> None:
    y = np.arange(100) % 7
    assert uniform(y, 0.4, seed=5) == uniform(y, 0.4, seed=5)
    assert uniform(y, 0.4, seed=5) != uniform(y, 0.4, seed=6)
    assert uniform(y, 0.4, seed=np.random.default_rng(5)) == uniform(
        y, 0.4, seed=np.random.default_rng(5)
    )


def test_string_labels_and_missing_classes() -> None:
    sets = uniform(["b", "a"], 1.0, classes=["a", "b", "c"])
    assert sets.mask.all()
    assert class_dependent([0, 2], case(2, 4), seed=0).n_classes == 4
    assert class_dependent(["a", "b"], np.eye(2)).to_lists() == [["a"], ["b"]]
    assert class_dependent([3, 7], np.eye(2)).to_lists() == [[3], [7]]


def test_no_rows_give_no_sets() -> None:
    assert uniform([], 0.3).shape == (0, 0)
    assert uniform([], 0.3, classes=["a", "b"]).shape == (0, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: uniform([0, 1], 1.5),
        lambda: uniform([0, 1], 1.0, exclude_full=True),
        lambda: class_dependent([0, 1], np.full((2, 2), 0.5)),
        lambda: class_dependent([0, 1], np.eye(3)[:2]),
        lambda: class_dependent([0, 5], np.eye(3)),
        lambda: class_dependent([0, 1], [[1, 1.5], [0.5, 1]]),
        lambda: class_dependent([0, 1], [[1, -0.5], [0.5, 1]]),
        lambda: class_dependent([0, 1], [[1, np.nan], [0.5, 1]]),
        lambda: case(4, 10),
        lambda: uniform([0, 1], 0.0, eta=1.0),
        lambda: uniform([0, 1], 0.5, eta=-0.1),
        lambda: long_tailed([0, 1], rho=0.5),
        lambda: instance_dependent([0, 1], np.eye(2), relative_to="median"),
        lambda: instance_dependent([0, 1], [[0.5, 0.5]]),
        lambda: instance_dependent([0, 1], [[0.5, 0.5], [1.5, -0.5]]),
        lambda: instance_dependent([0, 1], [[0.5, 0.5], [np.nan, 0.5]]),
        lambda: class_dependent([0, 1], [["a", "b"], ["c", "d"]]),
        lambda: class_dependent([0, 1], [[1, 0.5], [1]]),
        lambda: class_dependent([0, 1], None),
        lambda: instance_dependent([0, 1], 0.5),
        lambda: instance_dependent([0, 1], [["a", "b"], ["c", "d"]]),
        lambda: instance_dependent([0, 1], [[0.5], [0.5, 0.5]]),
        lambda: noisy([[0, 1], [1]], [0, 1], eta=0.5),  # type: ignore[arg-type]
        lambda: noisy(uniform([0, 1], 0.5), [0, 1], eta=2),
        lambda: noisy(uniform([0, 1], 0.5), [0, 9], eta=0.5),
        lambda: uniform([0, 1], 0.5, seed=-1),
    ],
)
def test_bad_input(call: object) -> None:
    with pytest.raises(InputError):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("exclude_full", [False, True])
def test_drawing_in_parts_draws_the_same(
    exclude_full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sets that a seed gave once, in a published experiment, it gives always."""
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 5, 501), rng.random((501, 5))
    Q = np.where(np.eye(5, dtype=bool), 1.0, 0.8)

    def draw() -> list[CandidateSets]:
        return [
            uniform(y, 0.8, exclude_full=exclude_full, seed=1),
            class_dependent(y, Q, exclude_full=exclude_full, seed=1),
            instance_dependent(y, p, exclude_full=exclude_full, seed=1),
        ]

    whole = draw()
    monkeypatch.setattr(generate, "CELLS_AT_ONCE", 5 * 7)
    assert draw() == whole
    if not exclude_full:
        drawn = np.random.default_rng(1).random((501, 5), dtype=np.float32) < np.float32(0.8)
        assert np.array_equal(whole[0].mask, drawn | np.eye(5, dtype=bool)[y])


@pytest.mark.parametrize("exclude_full", [False, True])
def test_drawing_takes_little_more_than_the_mask(exclude_full: bool) -> None:
    """For 10,000 classes the numbers drawn took four times its room, and their rates as much."""
    y = np.arange(2000)
    tracemalloc.start()
    sets = uniform(y, 0.001, classes=range(10_000), exclude_full=exclude_full, seed=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < sets.mask.nbytes + 6 * CELLS_AT_ONCE


def test_a_network_s_tensors_are_taken_as_they_are() -> None:
    """Probabilities that carry a gradient ended in an error of PyTorch."""
    proba = torch.tensor([[0.8, 0.2, 0.0], [0.3, 0.4, 0.3]], requires_grad=True)
    plain = instance_dependent([0, 1], proba.detach().numpy(), seed=0)
    assert instance_dependent(torch.tensor([0, 1]), proba * 1, seed=0) == plain
