from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

from amongst import as_candidates
from amongst.candidates import describe, uniform


def test_every_figure_of_a_small_example() -> None:
    sets = as_candidates(["a|b", "a", "a|b|c", "c|a"], classes=["a", "b", "c", "d"])
    facts = describe(sets)
    assert (facts.n, facts.n_classes, facts.mean_size) == (4, 4, 2.0)
    assert facts.size_histogram.tolist() == [0, 1, 2, 1, 0]
    assert (facts.singleton_share, facts.full_share) == (0.25, 0.0)
    assert facts.co_occurrence.tolist() == [[4, 2, 2, 0], [2, 2, 1, 0], [2, 1, 2, 0], [0] * 4]
    assert facts.ambiguity_degree == 1.0
    assert facts.never_alone == ["b", "c"]
    assert facts.absent == ["d"]
    assert json.loads(json.dumps(facts.to_dict()))["n"] == 4


def test_ambiguity_is_the_largest_share_of_a_class_that_comes_with_another() -> None:
    sets = uniform(np.arange(60) % 5, 0.3, classes=range(6), seed=3)
    rows = sets.to_sets()
    shares = [
        sum({j, k} <= row for row in rows) / sum(j in row for row in rows)
        for j in range(5)
        for k in range(6)
        if j != k
    ]
    assert 0 < describe(sets).ambiguity_degree == max(shares) < 1
    rare = as_candidates([{0, 1}, {0}, {0, 2}, {2}])  # class 1 occurs once, never without class 0
    assert describe(rare).ambiguity_degree == 1.0


def test_a_single_class_is_never_ambiguous() -> None:
    facts = describe(as_candidates([{0}, {0}]))
    assert (facts.estimated_q, facts.ambiguity_degree, facts.full_share) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(("k", "end"), [(8, "6, 7"), (9, "6, 7, … (9)")])
def test_long_lists_of_classes_are_cut(k: int, end: str) -> None:
    never_alone = dict(describe(as_candidates([set(range(k))])).rows())["classes never alone"]
    assert never_alone.endswith(end)


def test_sparse_and_dense_agree() -> None:
    dense = uniform(np.arange(50) % 5, 0.4, seed=1)
    sparse = as_candidates(dense.to_sparse())
    assert describe(dense).to_dict() == describe(sparse).to_dict()


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_q_is_recovered(q: float) -> None:
    sets = uniform(np.arange(20_000) % 10, q, seed=0)
    standard_error = np.sqrt(q * (1 - q) / (20_000 * 9))
    assert abs(sets.describe().estimated_q - q) < 5 * standard_error


def test_many_classes_are_described_in_twice_the_room_of_their_pairs() -> None:
    """It took three times that: 2.4 GB for 10,000 classes."""
    k = 1000
    sets = as_candidates(np.eye(k, dtype=bool))
    tracemalloc.start()
    describe(sets)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2.1 * 8 * k * k
