"""IPAL against loops written from its definition, and the properties it must have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from amongst import as_candidates
from amongst.candidates import CandidateSets, uniform
from amongst.errors import InputError
from amongst.estimators import IPALClassifier
from amongst.estimators.classical._neighbours import index_rows, nearest
from amongst.estimators.classical.ipal import _class_mass, _transitions, propagate


def problem(seed: int, n: int = 60, d: int = 7, K: int = 4) -> tuple[np.ndarray, Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, d)) + 1.5 * np.eye(K, d)[y]
    return X, y, uniform(y, 0.4, classes=range(K), seed=seed)


def unit(row: np.ndarray) -> np.ndarray:
    return row / np.sqrt((row**2).sum())


def closest(point: np.ndarray, rows: np.ndarray, k: int, without: int | None) -> list[int]:
    order = sorted(range(len(rows)), key=lambda a: float(((point - rows[a]) ** 2).sum()))
    return [a for a in order if a != without][:k]


def slow_fit(X: Any, sets: CandidateSets, k: int, alpha: float, T: int) -> tuple[Any, Any, Any]:
    """Definition, row by row: the scaled rows, F after class mass, and the labels."""
    shift, scale = X.mean(0), X.std(0)
    rows = np.array([unit((x - shift) / scale) for x in X])
    n, K = sets.shape
    P = np.zeros((n, n))
    for i in range(n):
        near = closest(rows[i], rows, k, without=i)
        weights, _ = nnls(rows[near].T, rows[i])
        P[i, near] = weights / weights.sum()
    inside = sets.mask
    F0 = np.array([[inside[i, c] / inside[i].sum() for c in range(K)] for i in range(n)])
    F = F0.copy()
    for _ in range(T):
        new = np.zeros_like(F)
        for i in range(n):
            for c in range(K):
                if inside[i, c]:
                    new[i, c] = alpha * sum(P[i] * F[:, c]) + (1 - alpha) * F0[i, c]
            new[i] /= new[i].sum()
        change, F = np.abs(new - F).max(), new
        if change < 1e-4:
            break
    F = F * (F0.sum(0) / F.sum(0))
    labels = np.array([max(np.flatnonzero(inside[i]), key=lambda c: F[i, c]) for i in range(n)])
    return rows, F / F.sum(1, keepdims=True), labels


def slow_predict(X: Any, train: Any, rows: Any, labels: Any, k: int) -> np.ndarray:
    shift, scale = train.mean(0), train.std(0)
    answer = []
    for x in X:
        point = unit((x - shift) / scale)
        near = closest(point, rows, k, without=None)
        weights, _ = nnls(rows[near].T, point)
        residual = {}
        for c in set(labels[near]):
            part = sum(w * rows[a] for w, a in zip(weights, near, strict=True) if labels[a] == c)
            residual[c] = ((point - part) ** 2).sum()
        answer.append(min(residual, key=lambda c: residual[c]))
    return np.array(answer)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("k", "alpha"), [(10, 0.95), (4, 0.5)])
def test_equals_the_definition(seed: int, k: int, alpha: float) -> None:
    X, _, sets = problem(seed)
    new = problem(seed + 100)[0]
    rows, confidences, labels = slow_fit(X, sets, k, alpha, 100)
    model = IPALClassifier(n_neighbors=k, alpha=alpha).fit(X, sets)
    np.testing.assert_allclose(model.confidences_, confidences, atol=1e-8)
    assert np.array_equal(model.labels_, labels)
    assert np.array_equal(model.predict(new), slow_predict(new, X, rows, labels, k))


def test_max_iter_ends_the_propagation() -> None:
    X, _, sets = problem(0)
    model = IPALClassifier(max_iter=2).fit(X, sets)
    assert model.n_iter_ == 2
    np.testing.assert_allclose(model.confidences_, slow_fit(X, sets, 10, 0.95, 2)[1], atol=1e-8)
    assert IPALClassifier().fit(X, sets).n_iter_ < 100


def test_alpha_zero_keeps_the_candidates_alike() -> None:
    X, _, sets = problem(0)
    spread = sets.mask / sets.sizes[:, None]
    np.testing.assert_allclose(IPALClassifier(alpha=0).fit(X, sets).confidences_, spread)


@pytest.mark.parametrize("alpha", [0.95, 1.0])
def test_confidences_lie_on_the_candidates_and_sum_to_one(alpha: float) -> None:
    X, _, sets = problem(1)
    model = IPALClassifier(alpha=alpha).fit(X, sets)
    assert (model.confidences_[~sets.mask] == 0).all()
    np.testing.assert_allclose(model.confidences_.sum(1), 1)
    assert sets.contains(model.labels_).all()


def test_relabelling_permutes_the_answer() -> None:
    X, _, sets = problem(2)
    order = np.array([2, 0, 3, 1])
    model = IPALClassifier().fit(X, sets)
    other = IPALClassifier().fit(X, as_candidates(sets.mask[:, order]))
    np.testing.assert_allclose(other.confidences_, model.confidences_[:, order], atol=1e-12)
    assert np.array_equal(order[other.predict(X)], model.predict(X))


def test_singleton_sets_give_the_supervised_answer() -> None:
    X, y, _ = problem(3)
    new = problem(4)[0]
    model = IPALClassifier().fit(X, y)
    assert np.array_equal(model.labels_, y)
    assert np.array_equal(model.confidences_, np.eye(4)[y])
    shift, scale = X.mean(0), X.std(0)
    rows = np.array([unit((x - shift) / scale) for x in X])
    assert np.array_equal(model.predict(new), slow_predict(new, X, rows, y, 10))


def test_copies_of_a_row_get_the_same_answer() -> None:
    X, _, sets = problem(5)
    twice, both = np.vstack([X, X]), as_candidates(np.vstack([sets.mask, sets.mask]))
    model = IPALClassifier().fit(twice, both)
    np.testing.assert_allclose(model.confidences_[:60], model.confidences_[60:], atol=1e-8)
    assert np.isfinite(model.decision_function(X)).all()


def test_a_row_is_not_its_own_neighbour_amongst_many_copies() -> None:
    rows = np.repeat(np.eye(2), 15, axis=0)
    _, neighbours = nearest(index_rows(rows, 3, None))
    assert not (neighbours == np.arange(30)[:, None]).any()


def test_disambiguate_gives_training_rows_their_labels() -> None:
    X, _, sets = problem(6)
    model = IPALClassifier().fit(X, sets)
    answer = model.disambiguate(X, sets)
    assert np.array_equal(answer["label"], model.labels_)
    np.testing.assert_allclose(answer["confidence"], model.confidences_.max(1), atol=1e-6)


def test_rows_that_no_neighbour_reconstructs_take_the_majority() -> None:
    X = np.vstack([np.eye(3), np.eye(3) + 0.1, np.zeros((1, 3))])
    model = IPALClassifier(n_neighbors=3, scaling="unit").fit(X, [0, 1, 1, 0, 1, 1, 0])
    scores = model.decision_function(np.zeros((2, 3)))
    assert np.isfinite(scores).all()
    away = IPALClassifier(n_neighbors=3, scaling="unit").fit(np.eye(3)[[0, 1, 2, 2]], [0, 1, 1, 1])
    assert away.predict([[-1.0, -1.0, -1.0]]).tolist() == [1]


@pytest.mark.parametrize("scaling", ["standard+unit", None])
def test_classes_that_no_neighbour_has_are_last(scaling: str | None) -> None:
    """However long the rows are: residuals of rows that are not scaled go beyond 1."""
    X, _, sets = problem(7)
    padded = as_candidates(sets, classes=[0, 1, 2, 3, 9])
    model = IPALClassifier(scaling=scaling).fit(10 * X, padded)
    scores = model.decision_function(10 * X)
    assert (scores.argmin(1) == 4).any()
    assert (scores[:, 4] == scores.min(1)).all()


def test_a_row_that_its_neighbours_say_nothing_of_keeps_its_candidates_alike() -> None:
    """α = 1, and no neighbour has a candidate of the row: there is no 0 / 0."""
    steps = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    mask = np.array([[True, True, False], [False, False, True]])
    with np.errstate(all="raise"):
        spread, repeated = propagate(steps, mask / mask.sum(1, keepdims=True), 1.0, 100)
    assert spread.tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    assert repeated == 1


def test_a_fall_is_a_move_as_a_rise_is() -> None:
    """One candidate falls by α/3 = 1.5e-4, two rise by half of it: F is not still yet."""
    steps = sp.csr_array(np.array([[0.0, 1.0], [0.0, 1.0]]))
    mask = np.array([[True, True, True], [False, True, True]])
    spread, repeated = propagate(steps, mask / mask.sum(1, keepdims=True), 4.5e-4, 100)
    np.testing.assert_allclose(spread[0], np.array([1 - 4.5e-4, 1 + 2.25e-4, 1 + 2.25e-4]) / 3)
    assert repeated == 2


def test_neighbours_that_reconstruct_nothing_count_alike() -> None:
    with np.errstate(all="raise"):
        steps = _transitions(np.array([[0.0, 0.0], [1.0, 3.0]]), np.array([[1, 2], [0, 2]]), 3)
    assert steps.toarray().tolist() == [[0.0, 0.5, 0.5], [0.25, 0.0, 0.75]]


def test_class_mass_by_hand() -> None:
    """The mass of a class is ΣF⁰; a class without rows has none, and is not divided by."""
    spread = np.array([[0.75, 0.25, 0.0], [1.0, 0.0, 0.0]])
    mask = np.array([[True, True, False], [True, False, False]])
    with np.errstate(all="raise"):
        found = _class_mass(spread, mask / mask.sum(1, keepdims=True))
    first, second = 0.75 * 1.5 / 1.75, 0.25 * 0.5 / 0.25
    total = first + second
    np.testing.assert_allclose(found, [[first / total, second / total, 0.0], [1.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": 60}, "n_neighbors=60 needs at least 61 rows, but X has 60; lower"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be a whole number"),
        ({"alpha": 1.5}, "alpha=1.5 must be a number between 0 and 1"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"scaling": "standrd"}, "did you mean 'standard'"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    X, _, sets = problem(0)
    with pytest.raises(InputError, match=message):
        IPALClassifier(**params).fit(X, sets)
