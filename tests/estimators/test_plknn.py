"""PL-kNN against loops written from its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from amongst import as_candidates
from amongst.candidates import uniform
from amongst.errors import InputError
from amongst.estimators import PLKNNClassifier
from amongst.estimators.classical.plknn import nearness


def problem(seed: int, n: int = 70, K: int = 4) -> tuple[np.ndarray, Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, 5)) + np.eye(K, 5)[y]
    return X, y, uniform(y, 0.4, classes=range(K), seed=seed)


@pytest.mark.parametrize("weights", ["distance", "uniform"])
@pytest.mark.parametrize("k", [1, 10])
def test_equals_the_definition(weights: str, k: int) -> None:
    X, _, sets = problem(0)
    new = problem(1)[0]
    scale = X.std(0)
    expected = np.zeros((len(new), 4))
    for i, x in enumerate(new):
        distance = [float(np.linalg.norm((x - a) / scale)) for a in X]
        near = sorted(range(len(X)), key=lambda a: distance[a])[:k]
        total = sum(distance[a] for a in near)
        for a in near:
            w = 1.0 if weights == "uniform" or k == 1 else 1 - distance[a] / total
            for c in range(4):
                expected[i, c] += w * (c in sets.to_lists()[a])
    model = PLKNNClassifier(n_neighbors=k, weights=weights).fit(X, sets)
    np.testing.assert_allclose(model.decision_function(new), expected)
    np.testing.assert_allclose(model.predict_proba(new), expected / expected.sum(1, keepdims=True))


@pytest.mark.parametrize("weights", ["distance", "uniform"])
def test_singleton_sets_give_the_supervised_answer(weights: str) -> None:
    X, y, _ = problem(2)
    new = problem(3)[0]
    ours = PLKNNClassifier(weights=weights, scaling=None).fit(X, y)
    how = nearness if weights == "distance" else "uniform"
    theirs = KNeighborsClassifier(10, weights=how).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new))
    assert np.array_equal(ours.predict(new), theirs.predict(new))


def test_copies_of_all_rows_and_twice_the_neighbours_change_nothing() -> None:
    X, _, sets = problem(4)
    new = problem(5)[0]
    once = PLKNNClassifier(n_neighbors=5, weights="uniform").fit(X, sets)
    twice = PLKNNClassifier(n_neighbors=10, weights="uniform").fit(
        np.vstack([X, X]), as_candidates(np.vstack([sets.mask, sets.mask]))
    )
    np.testing.assert_allclose(once.predict_proba(new), twice.predict_proba(new))


def test_relabelling_permutes_the_answer() -> None:
    X, _, sets = problem(6)
    order = np.array([2, 0, 3, 1])
    a = PLKNNClassifier().fit(X, sets).predict_proba(X)
    b = PLKNNClassifier().fit(X, as_candidates(sets.mask[:, order])).predict_proba(X)
    np.testing.assert_allclose(b, a[:, order])


def test_neighbours_in_one_place_count_alike() -> None:
    model = PLKNNClassifier(n_neighbors=3, scaling=None).fit(np.ones((3, 2)), ["a", "a|b", "b"])
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2))), [[0.5, 0.5]])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": 71}, "n_neighbors=71 needs at least 71 rows, but X has 70"),
        ({"n_neighbors": 2.5}, "n_neighbors=2.5 must be a whole number"),
        ({"weights": "distances"}, "did you mean 'distance'"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    X, _, sets = problem(0)
    with pytest.raises(InputError, match=message):
        PLKNNClassifier(**params).fit(X, sets)
