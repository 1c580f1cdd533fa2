from __future__ import annotations

import json

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


def test_sparse_and_dense_agree() -> None:
    dense = uniform(np.arange(50) % 5, 0.4, seed=1)
    sparse = as_candidates(dense.to_sparse())
    assert describe(dense).to_dict() == describe(sparse).to_dict()


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_q_is_recovered(q: float) -> None:
    sets = uniform(np.arange(20_000) % 10, q, seed=0)
    standard_error = np.sqrt(q * (1 - q) / (20_000 * 9))
    assert abs(sets.describe().estimated_q - q) < 5 * standard_error
