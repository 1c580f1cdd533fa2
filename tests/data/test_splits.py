"""Splits: every row once, classes spread, and validation parts that know candidates only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

from amongst import as_candidates
from amongst.candidates import uniform
from amongst.data import Part, hold_out, stratified_folds, validation_split
from amongst.errors import InputError
from amongst.estimators import PLKNNClassifier


@given(
    labels=st.lists(st.integers(0, 6), min_size=10, max_size=80),
    k=st.integers(2, 10),
    seed=st.integers(0, 5),
)
def test_folds_partition_the_rows_and_spread_every_class(
    labels: list[int], k: int, seed: int
) -> None:
    folds = stratified_folds(labels, k, seed)
    tests = [test for _, test in folds]
    assert sorted(np.concatenate(tests).tolist()) == list(range(len(labels)))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(len(labels)))
    sizes = [len(test) for test in tests]
    assert max(sizes) - min(sizes) <= 1
    for label in set(labels):
        counts = [int((np.array(labels)[test] == label).sum()) for test in tests]
        assert max(counts) - min(counts) <= 1


def test_folds_depend_on_the_seed_only() -> None:
    labels = np.arange(50) % 5
    first, again, other = (stratified_folds(labels, 10, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(first, other, strict=True))


def test_folds_from_candidates_spread_the_rare_class() -> None:
    sets = as_candidates(["a|b"] * 40 + ["a|rare"] * 10)
    for _, test in stratified_folds(sets, 10, 0):
        assert int((test >= 40).sum()) == 1


@given(n=st.integers(2, 60), share=st.floats(0.01, 0.99), seed=st.integers(0, 5))
def test_hold_out_has_the_size_asked_for(n: int, share: float, seed: int) -> None:
    sets = uniform(np.arange(n) % 3, 0.4, classes=range(3), seed=0)
    kept, held = hold_out(sets, share, seed)
    assert sorted([*kept, *held]) == list(range(n))
    assert len(held) == min(max(round(share * n), 1), n - 1)


def test_hold_out_spreads_rare_candidates() -> None:
    sets = as_candidates(["a|b"] * 90 + ["a|rare"] * 10)
    counts = [int((hold_out(sets, 0.1, seed)[1] >= 90).sum()) for seed in range(20)]
    assert set(counts) <= {0, 1, 2}
    assert np.mean(counts) == pytest.approx(1, abs=0.5)


def test_validation_parts_carry_candidates_only() -> None:
    labels = np.arange(40) % 4
    part = Part(np.eye(40), labels, uniform(labels, 0.3, seed=0))
    kept, held = validation_split(part, 0.25, seed=3)
    assert kept.labels is None
    assert held.labels is None
    assert held.candidates is not None
    rows = held.features.argmax(axis=1)
    assert part.candidates is not None
    assert held.candidates == part.candidates[rows]
    assert len(held) == 10


def test_true_labels_are_refused_for_validation() -> None:
    with pytest.raises(InputError, match="candidate labels only"):
        hold_out(np.array([0, 1, 2]), 0.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no candidates"):
        validation_split(Part(np.eye(2), np.array([0, 1]), None))


def test_bad_arguments() -> None:
    with pytest.raises(InputError, match="more than there are rows"):
        stratified_folds([0, 1], 3)
    with pytest.raises(InputError, match="k=1"):
        stratified_folds([0, 1], 1)
    for share in (0, 1, 1.5):
        with pytest.raises(InputError, match=f"share={share} must be a number between 0 and 1"):
            hold_out(as_candidates([0, 1]), share)
    with pytest.raises(InputError, match="at least 2"):
        hold_out(as_candidates([0]), 0.5)
    with pytest.raises(InputError, match="one label for each row"):
        stratified_folds(np.eye(3), 2)


@pytest.mark.parametrize("labels", [[1, "a", None, 2], [["a", "b"], ["b"]]])
def test_labels_that_are_not_one_a_row_are_refused(labels: list[object]) -> None:
    with pytest.raises(InputError, match=r"one label of one type for each row.*as_candidates"):
        stratified_folds(labels, k=2)


def test_what_scikit_learn_cannot_stratify_is_spread_all_the_same() -> None:
    """To it, each combination of candidates is a class, and most occur once."""
    sets, X = uniform(np.arange(150) % 30, q=0.3, seed=0), np.eye(150)
    with pytest.raises(ValueError, match="only 1 member"):
        train_test_split(X, sets, stratify=sets)
    kept, held = hold_out(sets, 0.25, seed=0)
    assert len(held) == 38
    assert all(sets[rows].mask.any(axis=0).all() for rows in (kept, held))
    model, folds = PLKNNClassifier(), stratified_folds(sets, k=5, seed=0)
    assert len(cross_val_score(model, X, sets, cv=folds)) == 5
    search = GridSearchCV(model, {"n_neighbors": [3, 5]}, cv=folds).fit(X, sets)
    assert search.n_splits_ == 5
