"""Any scikit-learn classifier learns from candidate sets."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from amongst import CandidateSets, PartialLabel, as_candidates, load
from amongst.candidates import uniform
from amongst.errors import InputError
from amongst.estimators.partial_label import candidate_weights, set_risk

IN_FOLDS = {
    f"check_sample_weight_equivalence_on_{kind}_data": (
        "a row of weight 2 is in one fold, a row that is there twice in two"
    )
    for kind in ("dense", "sparse")
}
FREEZABLE = [
    RandomForestClassifier(7),
    ExtraTreesClassifier(7),
    HistGradientBoostingClassifier(max_iter=5),
    LogisticRegression(),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


def iris(q: float = 0.3) -> tuple[npt.NDArray[Any], npt.NDArray[Any], CandidateSets]:
    X, truth = load_iris(return_X_y=True)
    return X, truth, uniform(truth, q, seed=0)


@parametrize_with_checks(
    [PartialLabel(DecisionTreeClassifier()), PartialLabel(LogisticRegression(), rounds=2)],
    expected_failed_checks=lambda model: IN_FOLDS if model.rounds == 2 else {},
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def test_one_round_of_singletons_is_the_classifier_itself() -> None:
    X, truth, _ = iris()
    own = LogisticRegression().fit(X, truth).predict_proba(X)
    wrapped = PartialLabel(LogisticRegression(), rounds=1).fit(X, truth).predict_proba(X)
    np.testing.assert_allclose(wrapped, own, atol=1e-6)


def test_weights_as_the_formula_has_them() -> None:
    rng = np.random.default_rng(0)
    proba, mask = rng.dirichlet(np.ones(4), 20), rng.random((20, 4)) < 0.5
    mask[np.arange(20), rng.integers(0, 4, 20)] = True
    plain, leveraged = (candidate_weights(proba, mask, name) for name in ("proden", "lw"))
    for p, s, c, w in zip(proba, mask, plain, leveraged, strict=True):
        even = 0.99 * p + 0.01 / 4
        shares = [even[z] / sum(even[s]) if s[z] else 0.0 for z in range(4)]
        out = [z for z in range(4) if not s[z]]
        pull = sum(p[z] * p[z] / sum(p[out]) for z in out)
        np.testing.assert_allclose(c, shares)
        np.testing.assert_allclose(w, np.array(shares) * (1 + pull))


def test_rounds_beat_equal_candidates_on_iris() -> None:
    X, truth, sets = iris(0.7)
    forest = RandomForestClassifier(50, random_state=0)
    one, many = (
        PartialLabel(forest, rounds=rounds, random_state=0).fit(X, sets) for rounds in (1, 5)
    )
    right_one, right_many = (
        (m.weights_.argmax(axis=1) == truth)[sets.sizes > 1].mean() for m in (one, many)
    )
    assert right_many > right_one + 0.2
    assert many.risks_[0] > min(many.risks_)


def test_the_best_round_is_kept() -> None:
    X, _, sets = iris(0.5)
    model = PartialLabel(GaussianNB(), rounds=6, random_state=0).fit(X, sets)
    risks = model.risks_
    assert all(a >= b for a, b in pairwise(risks[:-1]))
    rounds = int(np.argmin(risks)) + 1
    again = PartialLabel(GaussianNB(), rounds=rounds, random_state=0).fit(X, sets)
    np.testing.assert_array_equal(model.weights_, again.weights_)


def test_a_class_that_is_rare_or_has_no_row() -> None:
    X = np.arange(12.0)[:, None]
    sets = as_candidates(["a"] * 6 + ["b"] * 5 + ["b|rare"], classes=["a", "b", "never", "rare"])
    proba = PartialLabel(DecisionTreeClassifier(), random_state=0).fit(X, sets).predict_proba(X)
    assert proba.shape == (12, 4)
    np.testing.assert_array_equal(proba[:, 2], 0)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_weight_zero_leaves_a_row_out() -> None:
    X, _, sets = iris()
    rows = np.arange(0, 150, 2)
    weight = np.zeros(150)
    weight[rows] = 3.0
    half = PartialLabel(GaussianNB(), random_state=0).fit(X[rows], sets[rows])
    weighted = PartialLabel(GaussianNB(), random_state=0).fit(X, sets, sample_weight=weight)
    np.testing.assert_allclose(weighted.predict_proba(X), half.predict_proba(X))


def test_sparse_rows_are_as_dense_ones() -> None:
    X, _, sets = iris()
    dense = PartialLabel(LogisticRegression(), random_state=0).fit(X, sets).predict_proba(X)
    sparse = PartialLabel(LogisticRegression(), random_state=0).fit(csr_matrix(X), sets)
    np.testing.assert_allclose(sparse.predict_proba(csr_matrix(X)), dense, atol=0.01)


def test_a_pipeline_gets_the_weights() -> None:
    X, truth, sets = iris()
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    assert PartialLabel(clone(pipe), random_state=0).fit(X, sets).score(X, truth) > 0.9


@pytest.mark.parametrize("estimator", FREEZABLE, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_saved_model_answers_as_before(tmp_path: Path, estimator: Any, n_classes: int) -> None:
    X, truth, _ = iris()
    X, truth = X[truth < n_classes], truth[truth < n_classes]
    fitted = PartialLabel(estimator, random_state=0).fit(X, uniform(truth, 0.3, seed=0))
    fitted.save(tmp_path / "model.amongst")
    loaded = load(tmp_path / "model.amongst")
    np.testing.assert_allclose(loaded.predict_proba(X), fitted.predict_proba(X), atol=1e-12)
    assert loaded.fit(X, truth).score(X, truth) > 0.9


def test_what_has_no_form_without_pickle_is_said(tmp_path: Path) -> None:
    X, _, sets = iris()
    model = PartialLabel(GaussianNB()).fit(X, sets)
    with pytest.raises(InputError) as caught:
        model.save(tmp_path / "model.amongst")
    assert caught.value.code == "pickle"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(), GaussianNB, "lw"])
def test_a_classifier_without_weights_is_refused(estimator: Any) -> None:
    X, _, sets = iris()
    with pytest.raises(InputError) as caught:
        PartialLabel(estimator).fit(X, sets)
    assert (caught.value.code, caught.value.argument) == ("no-weights", "estimator")


def test_risk_is_zero_for_full_sets_and_finite_for_sure_mistakes() -> None:
    proba, mask = np.array([[1.0, 0.0]] * 2), np.array([[True, True], [False, True]])
    first, second = set_risk(proba, mask)
    assert first == 0
    assert 5 < second < 6


class Forest(RandomForestClassifier):  # type: ignore[misc]
    """Of a person's own: no file may name it."""


@pytest.mark.parametrize(
    ("estimator", "again"),
    [
        (RandomForestClassifier(7, max_depth=3, random_state=0), True),
        (make_pipeline(StandardScaler(), LogisticRegression(C=0.3)), True),
        (HistGradientBoostingClassifier(max_iter=4), True),
        (Forest(7, random_state=0), False),
        (RandomForestClassifier(7, class_weight={0: 1.0, 1: 2.0}), False),
    ],
)
def test_a_saved_learner_is_fitted_anew_as_it_was(
    estimator: Any, again: bool, tmp_path: Path
) -> None:
    """Where its settings are plain and its class one that files may name; else it says why not."""
    X, y = np.repeat(np.eye(2), 20, axis=0), ["a|b", "a"] * 10 + ["a|b", "b"] * 10
    model = PartialLabel(estimator, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    if not again:
        with pytest.raises(InputError) as caught:
            clone(loaded).fit(X, y)
        assert caught.value.code == "frozen"
        return
    assert repr(loaded.estimator) == repr(estimator)
    fitted = clone(loaded).fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba(X), model.predict_proba(X))
