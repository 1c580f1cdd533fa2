"""What holds for every classical estimator: the face, files, bad input, real data."""

from __future__ import annotations

import doctest
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import amongst
from amongst import as_candidates
from amongst.candidates import CandidateSets, uniform
from amongst.errors import InputError
from amongst.estimators import (
    IPALClassifier,
    LWClassifier,
    PALOCClassifier,
    PLECOCClassifier,
    PLKNNClassifier,
    PLRidgeClassifier,
    PLSVMClassifier,
)
from amongst.estimators.classical import _machines as machines

NAMES = np.array(["ant", "bee", "cow", "doe"])
EVERY = [
    IPALClassifier(),
    PALOCClassifier(),
    PLECOCClassifier(random_state=0),
    PLKNNClassifier(),
    PLRidgeClassifier(random_state=0),
    PLSVMClassifier(),
]
KERNELS = [
    kind(kernel=kernel, random_state=0, n_components=40)
    for kind in (PALOCClassifier, PLECOCClassifier, PLSVMClassifier)
    for kernel in ("linear", "nystroem", "fourier")
]
WITH_CODES = PLECOCClassifier(kernel="nystroem", n_components=40, random_state=0)


def named(estimator: Any) -> str:
    return f"{type(estimator).__name__}-{estimator.get_params().get('kernel', '')}"


@pytest.fixture(scope="module")
def easy() -> tuple[np.ndarray, np.ndarray, CandidateSets]:
    """Four separable classes with names, and candidate sets at q = 0.3."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    X = 3 * np.eye(4)[y] + rng.normal(size=(200, 4))
    return X, NAMES[y], uniform(NAMES[y], 0.3, seed=0)


@parametrize_with_checks(
    [IPALClassifier(n_neighbors=3), PALOCClassifier(kernel="linear"), WITH_CODES]
)
def test_scikit_learn_check_of_other_settings(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("estimator", EVERY + KERNELS, ids=named)
def test_learns_predicts_and_disambiguates(estimator: Any, easy: Any) -> None:
    X, y, sets = easy
    model = clone(estimator).fit(X, sets)
    assert model.score(X, y) > 0.85
    answer = model.disambiguate(X, sets)
    assert sets.contains(answer["label"]).all()
    assert (answer["label"] == y).mean() > 0.9
    assert answer["confidence"].between(0, 1).all()
    assert (answer["confidence"] >= answer["runner_up_confidence"]).all()
    assert model.decision_function(X).shape == (200, 4)


@pytest.mark.parametrize("estimator", EVERY + KERNELS, ids=named)
def test_save_and_load(estimator: Any, easy: Any, tmp_path: Path) -> None:
    X, _, sets = easy
    frame = pd.DataFrame(X, columns=list("wxyz"))
    fitted = clone(estimator).fit(frame, sets)
    fitted.save(tmp_path / "model")
    loaded = amongst.load(tmp_path / "model")
    assert type(loaded) is type(fitted)
    assert loaded.get_params() == fitted.get_params()
    assert np.array_equal(loaded.decision_function(frame), fitted.decision_function(frame))
    assert np.array_equal(loaded.predict(frame), fitted.predict(frame))
    answers = (model.disambiguate(frame, sets) for model in (loaded, fitted))
    pd.testing.assert_frame_equal(*answers)
    kept = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    assert kept <= set(vars(loaded)) | {"metadata_"}
    assert b"pickle" not in (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_every_form_of_y_gives_the_same_model(estimator: Any, easy: Any) -> None:
    X, _, sets = easy
    expected = clone(estimator).fit(X, sets).decision_function(X)
    for form in (sets.to_sets(), sets.to_strings(), sets.to_frame()):
        assert np.array_equal(clone(estimator).fit(X, form).decision_function(X), expected)
    masks = clone(estimator).fit(X, sets.to_sparse())
    assert np.array_equal(masks.decision_function(X), expected)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_pipeline_and_cross_validation(estimator: Any, easy: Any) -> None:
    X, y, sets = easy
    assert make_pipeline(StandardScaler(), clone(estimator)).fit(X, sets).score(X, y) > 0.85
    assert cross_val_score(clone(estimator), X, sets, cv=3).mean() > 0.8


def test_cost_is_searched_by_covering_rate_without_true_labels(easy: Any) -> None:
    X, _, sets = easy
    search = GridSearchCV(PLECOCClassifier(random_state=0), {"C": [1e-6, 10.0]}, cv=3)
    assert search.fit(X, sets).best_params_ == {"C": 10.0}


@pytest.mark.parametrize("estimator", EVERY + KERNELS, ids=named)
def test_constant_features_change_nothing(estimator: Any, easy: Any) -> None:
    X, _, sets = easy
    padded = np.hstack([X, np.full((200, 1), 0.1), np.zeros((200, 1))])
    a = clone(estimator).fit(X, sets)
    b = clone(estimator).fit(padded, sets)
    assert np.isfinite(b.decision_function(padded)).all()
    if estimator.get_params().get("kernel") != "fourier":  # its frequencies are drawn anew
        assert (a.predict(X) == b.predict(padded)).mean() > 0.98


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_all_features_constant(estimator: Any, easy: Any) -> None:
    _, _, sets = easy
    X = np.full((200, 3), 7.0)
    model = clone(estimator).fit(X, sets)
    assert np.isfinite(model.decision_function(X)).all()
    assert set(model.predict(X)) <= set(NAMES)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_features_beyond_what_floats_can_square_are_refused(estimator: Any, easy: Any) -> None:
    """No scale makes a model that knows nothing, and says so to nobody."""
    X, truth, sets = easy
    for size in (1e-140, 1e140):
        assert clone(estimator).fit(size * X, sets).score(size * X, truth) > 0.8
    for size, message in ((1e200, "too large"), (1e-200, "too small")):
        with pytest.raises(InputError, match=f"column 0 reach .*{message} for a standard"):
            clone(estimator).fit(size * X, sets)
    for scaling in (None, "unit"):
        with pytest.raises(InputError, match=r"row 0 of X reaches .* too large for distances"):
            clone(estimator).set_params(scaling=scaling).fit(1e200 * X, sets)
    fitted = clone(estimator).fit(X, sets)
    with pytest.raises(InputError, match="row 1 of X reaches"):
        fitted.predict(X[:2] * [[1.0], [1e200]])


@pytest.mark.parametrize("estimator", EVERY + KERNELS, ids=named)
def test_a_class_that_is_never_a_candidate_is_never_predicted(estimator: Any, easy: Any) -> None:
    X, _, sets = easy
    padded = as_candidates(sets, classes=[*NAMES, "elk"])
    model = clone(estimator).fit(X, padded)
    assert model.classes_.tolist() == [*NAMES, "elk"]
    far = np.vstack([X, 100 * X])
    assert "elk" not in set(model.predict(far))


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_rows_without_information_are_allowed(estimator: Any, easy: Any) -> None:
    X, y, sets = easy
    mask = sets.to_mask()
    mask[::5] = True
    model = clone(estimator).fit(X, as_candidates(mask, classes=NAMES))
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_images_are_flattened(estimator: Any, easy: Any) -> None:
    X, _, sets = easy
    model = clone(estimator).fit(X.reshape(200, 1, 2, 2), sets)
    flat = clone(estimator).fit(X, sets)
    assert np.array_equal(model.predict(X.reshape(200, 1, 2, 2)), flat.predict(X))


@pytest.mark.parametrize("estimator", EVERY, ids=named)
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [np.nan]], [0, 1], "NaN"),
        ([[1.0], [2.0]], [0, 1, 1], "X has 2 rows, but y has 3"),
        ([[1.0], [2.0]], [[0, 1], []], r"y\[1\] is an empty candidate set"),
        ([[1.0], [2.0]], [[0, 1], [0, 1]], "contains all 2 classes"),
        ([[1.0], [2.0]], ["a", "a"], "one class only"),
    ],
)
def test_bad_input(estimator: Any, X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(X, y)


@pytest.mark.parametrize("estimator", EVERY, ids=named)
def test_labels_unknown_to_the_model(estimator: Any, easy: Any) -> None:
    X, _, sets = easy
    model = clone(estimator).fit(X, sets)
    with pytest.raises(InputError, match="'fox', which is none of the classes"):
        model.disambiguate(X[:1], ["ant|fox"])


PAPER = {
    "lost": {"IPALClassifier": 62.37 - 4.81, "PLECOCClassifier": 63.04 - 6.72},
    "msrcv2": {"IPALClassifier": 50.34 - 3.24, "PLECOCClassifier": 44.13 - 5.06},
}
"""The paper's Table 2, mean less one standard deviation; the whole of it is printed elsewhere."""


@pytest.mark.parametrize("name", sorted(PAPER))
@pytest.mark.parametrize("estimator", [EVERY[0], EVERY[2]], ids=named)
def test_three_folds_of_real_data_reach_the_paper(
    name: str, estimator: Any, data_folder: Path
) -> None:
    from amongst.data import load, stratified_folds

    data = load(name)
    scores = [
        clone(estimator)
        .fit(data.features[a], data.candidates[a])
        .score(data.features[b], data.labels[b])
        for a, b in stratified_folds(data.labels, 10, seed=0)[:3]
    ]
    assert 100 * np.mean(scores) > PAPER[name][type(estimator).__name__]


def test_large_sets_of_real_data_have_no_column_at_half_the_rows(data_folder: Path) -> None:
    """FG-NET has 7.5 candidates a row on average, which rarely lie on one side."""
    from amongst.data import load

    data = load("fgnet")
    with pytest.raises(InputError, match=r"tau=0.5 .* Lower tau \(to 0"):
        PLECOCClassifier(tau=0.5, random_state=0).fit(data.features, data.candidates)


def test_warnings_of_fit_point_at_the_line_that_called_it(
    easy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, truth, sets = easy
    monkeypatch.setattr(machines, "TRIED", 0.0)
    monkeypatch.setattr(machines, "LONG", 0.0)
    monkeypatch.setattr(machines, "MAX_ITER", 1)
    frame, shuffled = pd.DataFrame(X), pd.Series(truth, index=range(200)[::-1])
    for model in (PALOCClassifier(kernel="linear"), WITH_CODES, LWClassifier(epochs=1)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            clone(model).fit(X, sets)
            clone(model).fit(frame, shuffled)
            clone(model).fit(X, truth[:, None])
        assert {warning.filename for warning in told} == {__file__}
        assert len(told) >= (2 if isinstance(model, LWClassifier) else 5)


def test_the_documentation_runs() -> None:
    page = Path(__file__).parents[2] / "docs" / "classical.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert (failed, tried > 5) == (0, True)


@pytest.mark.parametrize("estimator", [*EVERY, *KERNELS], ids=named)
def test_the_global_generator_is_left_alone(
    easy: tuple[np.ndarray, np.ndarray, CandidateSets], estimator: Any
) -> None:
    X, _, sets = easy
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    clone(estimator).fit(X, sets).predict(X)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
