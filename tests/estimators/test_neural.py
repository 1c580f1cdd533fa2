"""The neural estimators as people use them, and misuse them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import amongst
from amongst import (
    AverageClassifier,
    CCClassifier,
    CLPLClassifier,
    LWClassifier,
    PRODENClassifier,
    RCClassifier,
    as_candidates,
)
from amongst.candidates import CandidateSets, uniform
from amongst.errors import DivergenceError, FileFormatError, InputError
from amongst.files import read_archive, write_archive

NEURAL = [
    LWClassifier,
    RCClassifier,
    CCClassifier,
    PRODENClassifier,
    CLPLClassifier,
    AverageClassifier,
]
NAMES = np.array(["ant", "bee", "cow", "doe"])


@pytest.fixture(scope="module")
def easy() -> tuple[np.ndarray, np.ndarray, CandidateSets]:
    """Four separable classes with names, and candidate sets at q = 0.3."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 4
    X = 3 * np.eye(4)[y] + rng.normal(size=(240, 4))
    return X, NAMES[y], uniform(NAMES[y], 0.3, seed=0)


@pytest.mark.parametrize("estimator", NEURAL)
def test_learns_predicts_and_disambiguates(estimator: Any, easy: Any) -> None:
    X, y, sets = easy
    model = estimator(epochs=60, random_state=0).fit(X, sets)
    assert model.score(X, y) > 0.85
    assert set(model.predict(X)) <= set(NAMES)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(1), 1)
    assert (NAMES[proba.argmax(1)] == model.predict(X)).all()
    answer = model.disambiguate(X, sets)
    assert sets.contains(answer["label"]).all()
    assert (answer["label"] == y).mean() > 0.9
    assert answer["confidence"].between(0, 1).all()
    assert (answer["confidence"] >= answer["runner_up_confidence"]).all()
    alone = sets.sizes == 1
    assert (answer.loc[alone, "confidence"] == 1).all()
    assert answer.loc[alone, "runner_up"].isna().all()
    assert (answer.loc[~alone, "label"] != answer.loc[~alone, "runner_up"]).all()
    assert len(model.history_) == 60


@pytest.mark.parametrize("form", ["sets", "lists", "strings", "mask", "sparse", "frame", "series"])
def test_every_form_of_y_gives_the_same_model(form: str, easy: Any) -> None:
    X, _, sets = easy
    forms = {
        "sets": sets.to_sets(),
        "lists": sets.to_lists(),
        "strings": sets.to_strings(),
        "mask": sets.to_mask(),
        "sparse": sets.to_sparse(),
        "frame": sets.to_frame(),
        "series": pd.Series(sets.to_strings()),
    }
    model = LWClassifier(model="linear", epochs=5, random_state=0)
    expected = clone(model).fit(X, sets).decision_function(X)
    assert np.array_equal(model.fit(X, forms[form]).decision_function(X), expected)


def test_pipeline_search_and_cross_validation(easy: Any) -> None:
    X, y, sets = easy
    quick = LWClassifier(model="linear", epochs=20, batch_size=32, random_state=0)
    pipe = make_pipeline(StandardScaler(), quick)
    assert pipe.fit(X, sets).score(X, y) > 0.8
    assert cross_val_score(quick, X, sets, cv=3).mean() > 0.7
    assert cross_val_score(quick, X, np.array(sets.to_strings()), cv=3, n_jobs=2).mean() > 0.7
    search = GridSearchCV(quick, {"beta": [0.0, 1.0], "psi": ["sigmoid", "cross_entropy"]}, cv=2)
    assert search.fit(X, sets).best_params_["beta"] in (0.0, 1.0)


def test_score_is_accuracy_or_covering_rate(easy: Any) -> None:
    X, y, sets = easy
    model = LWClassifier(model="linear", epochs=3, random_state=0).fit(X, sets)
    predicted = model.predict(X)
    assert model.score(X, y) == (predicted == y).mean()
    assert model.score(X, sets) == sets.contains(predicted).mean()


@pytest.mark.parametrize("estimator", NEURAL)
def test_same_seed_same_model(estimator: Any, easy: Any) -> None:
    X, _, sets = easy
    a, b, c = (
        estimator(epochs=3, random_state=s).fit(X, sets).decision_function(X) for s in (1, 1, 2)
    )
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize("estimator", NEURAL)
def test_save_and_load(estimator: Any, easy: Any, tmp_path: Path) -> None:
    X, _, sets = easy
    frame = pd.DataFrame(X, columns=list("wxyz"))
    fitted = estimator(epochs=3, random_state=0).fit(frame, sets)
    fitted.save(tmp_path / "model")
    loaded = amongst.load(tmp_path / "model")
    assert type(loaded) is estimator
    assert loaded.get_params() == fitted.get_params()
    assert np.array_equal(loaded.decision_function(frame), fitted.decision_function(frame))
    assert loaded.feature_names_in_.tolist() == list("wxyz")
    pd.testing.assert_frame_equal(loaded.history_, fitted.history_)


def test_saved_files_hold_no_pickle_and_are_checked(easy: Any, tmp_path: Path) -> None:
    X, _, sets = easy
    path = tmp_path / "model"
    LWClassifier(model="linear", epochs=2).fit(X, sets).save(path)
    content = bytearray(path.read_bytes())
    for damaged in (content[:-9], content[: len(content) // 2], b"", bytes(content[:-1]) + b"\x7f"):
        path.write_bytes(bytes(damaged))
        with pytest.raises(FileFormatError):
            amongst.load(path)
    with pytest.raises(FileNotFoundError):
        amongst.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "change",
    [
        {"params": {"of_a_later_version": 1}},
        {"params": None},
        {"classes": {}},
        {"estimator": ["LWClassifier"]},
        {"state": {}},
        {"n_features_in": 7, "state": {"settings": {"knob": 1}}},
    ],
)
def test_a_whole_file_of_another_version_is_refused_in_one_line(
    easy: Any, tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "model"
    LWClassifier(model="linear", epochs=1).fit(easy[0], easy[2]).save(path)
    arrays, facts = read_archive(path)
    write_archive(path, arrays, facts | change)
    with pytest.raises(FileFormatError, match=r"another version of amongst wrote it[^\n]*$"):
        amongst.load(path)
    write_archive(path, {}, facts)
    with pytest.raises(FileFormatError, match=r"^[^\n]*more numbers than the file[^\n]*$"):
        amongst.load(path)


def test_a_module_of_ones_own(easy: Any, tmp_path: Path) -> None:
    X, y, sets = easy
    own = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
    model = LWClassifier(model=own, epochs=30, random_state=0).fit(X, sets)
    assert model.score(X, y) > 0.8
    model.save(tmp_path / "own")
    with pytest.raises(InputError, match="model="):
        amongst.load(tmp_path / "own")
    loaded = amongst.load(tmp_path / "own", model=own)
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_images_for_the_convnet() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (6, 1, 28, 28), dtype=np.uint8)
    model = LWClassifier(model="convnet", epochs=1, batch_size=3, random_state=0)
    model.fit(X, ["a|b", "b", "a", "b", "a|b", "a"])
    assert model.decision_function(X).shape == (6,)
    assert model.scale_ == 255


def test_bytes_of_a_table_are_no_pixels() -> None:
    """Zeros and ones over 255 would leave almost nothing to learn from, without a word."""
    present = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(np.uint8)
    frame = pd.DataFrame(present * 200, columns=["a", "b", "c"])

    def scale(X: Any) -> Any:
        return LWClassifier(model="linear", epochs=1).fit(X, present[:, 0]).scale_

    np.testing.assert_allclose(scale(present), present.std(axis=0))
    np.testing.assert_allclose(scale(frame), 200 * present.std(axis=0))
    assert scale(present * 200) == 255


@pytest.mark.parametrize("protocol", ["paper", "official"])
def test_protocols_run(protocol: str, easy: Any) -> None:
    X, _, sets = easy
    model = LWClassifier(protocol=protocol, epochs=2, random_state=0).fit(X, sets)
    widths = [m.out_features for m in model.model_.modules() if isinstance(m, nn.Linear)][:-1]
    assert tuple(widths) == amongst.algorithms.get_protocol(protocol).widths


def test_scaling_is_fitted_on_the_rows_of_fit(easy: Any) -> None:
    X, _, sets = easy
    model = LWClassifier(model="linear", epochs=2, random_state=0).fit(X[:100], sets[:100])
    np.testing.assert_allclose(model.shift_, X[:100].mean(0))
    np.testing.assert_allclose(model.scale_, X[:100].std(0))


def test_interrupt_keeps_the_last_epoch_and_goes_on(
    easy: Any, tmp_path: Path, interrupt_before: Callable[[int], None]
) -> None:
    X, _, sets = easy
    model = LWClassifier(epochs=8, random_state=0, checkpoint=tmp_path / "run")
    whole = clone(model).set_params(checkpoint=None).fit(X, sets)
    interrupt_before(5)
    with pytest.raises(KeyboardInterrupt, match=r"epoch 5 of 8 is kept\. Call fit again"):
        model.fit(X, sets)
    assert len(model.history_) == 5
    assert len(model.predict(X)) == len(X)
    model.fit(X, sets)
    assert len(model.history_) == 8
    assert np.array_equal(model.decision_function(X), whole.decision_function(X))


def test_two_classes(easy: Any) -> None:
    X, _, _ = easy
    y = ["no|yes", "yes", "no"] * 80
    model = LWClassifier(epochs=2, random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (240,)
    assert model.predict_proba(X).shape == (240, 2)
    assert ((model.decision_function(X) > 0) == (model.predict(X) == "yes")).all()


def test_a_class_that_never_occurs(easy: Any) -> None:
    X, _, sets = easy
    padded = as_candidates(sets, classes=[*NAMES, "elk"])
    model = LWClassifier(epochs=30, random_state=0).fit(X, padded)
    assert model.predict_proba(X).shape == (240, 5)
    assert "elk" not in model.predict(X)


def test_constant_features_and_large_values(easy: Any) -> None:
    X, y, sets = easy
    wide = np.hstack([1e6 * X, np.ones((240, 1))])
    assert LWClassifier(epochs=30, random_state=0).fit(wide, sets).score(wide, y) > 0.8


@pytest.mark.parametrize(("n", "size"), [(40, 16), (1000, 31), (8191, 255), (60_000, 256)])
def test_few_rows_get_small_batches(n: int, size: int) -> None:
    assert LWClassifier()._settings(n).batch_size == size
    assert LWClassifier(batch_size=100)._settings(n).batch_size == 100


def test_a_named_protocol_has_the_papers_batches_and_no_fading() -> None:
    model, sets = LWClassifier(protocol="paper"), as_candidates([{0, 1}, {1}])
    assert model._settings(40).batch_size == 256
    assert model._method(sets).fade == 0
    assert LWClassifier()._method(sets).fade == 1
    with pytest.raises(ValueError, match=r"batch_size='big' must be 'auto' or a whole number"):
        LWClassifier(batch_size="big").fit(np.eye(3), [0, 1, 1])


def test_a_large_offset_costs_no_digits(easy: Any) -> None:
    X, _, sets = easy
    model = LWClassifier(epochs=5, batch_size=256, random_state=0)
    near = model.fit(X, sets).decision_function(X)
    far = model.fit(X + 1e9, sets).decision_function(X + 1e9)
    np.testing.assert_allclose(near, far, atol=1e-3)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.eye(3), [{0}, set(), {1}], "y[1] is an empty candidate set"),
        (np.eye(3), [0, 1], "X has 3 rows, but y has 2"),
        (np.array([[1.0, np.nan]] * 3), [0, 1, 1], "NaN"),
        (np.array([[1.0, np.inf]] * 3), [0, 1, 1], "infinity"),
        (np.eye(3), ["a", "a", "a"], "one class"),
        (np.eye(3), [{0, 1}] * 3, "nothing to learn from"),
        (np.eye(1), as_candidates([{0}], classes=[0, 1]), "batch normalisation"),
        (np.eye(3), [0.5, 1.5, 2.5], "Unknown label type"),
        (np.empty((0, 3)), [], "0 sample"),
        ([["a", "b"]] * 3, [0, 1, 1], "numeric values"),
        (np.eye(3), None, "requires y"),
    ],
)
def test_bad_input_is_one_clear_sentence(X: Any, y: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        LWClassifier(epochs=1).fit(X, y)
    assert words in str(caught.value)


def test_one_row_works_with_a_linear_model() -> None:
    model = LWClassifier(model="linear", epochs=3, random_state=0)
    model.fit([[1.0, 2.0]], as_candidates([{"a"}], classes=["a", "b"]))
    assert model.predict([[1.0, 2.0]]).tolist() == ["a"]


def test_another_number_of_features(easy: Any) -> None:
    X, _, sets = easy
    model = LWClassifier(epochs=1).fit(X, sets)
    with pytest.raises(ValueError, match="X has 3 features, but LWClassifier is expecting 4"):
        model.predict(X[:, :3])


def test_disambiguating_with_an_unknown_label(easy: Any) -> None:
    X, _, sets = easy
    model = LWClassifier(epochs=1).fit(X, sets)
    with pytest.raises(InputError, match="'yak'"):
        model.disambiguate(X[:1], [{"ant", "yak"}])
    with pytest.raises(InputError, match="X has 2 rows"):
        model.disambiguate(X[:2], [{"ant"}])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"psi": "sigmod"}, "did you mean 'sigmoid'"),
        ({"beta": -1.0}, "beta"),
        ({"epochs": 0}, "epochs=0"),
        ({"model": "mpl"}, "did you mean 'mlp'"),
        ({"model": "convnet"}, "images"),
        ({"device": "cuda:99"}, "device='cuda:99'"),
        ({"protocol": "papers"}, "did you mean 'paper'"),
        ({"random_state": "x"}, "random_state='x'"),
        ({"scaling": "robust"}, "scaling='robust'"),
    ],
)
def test_bad_parameters(params: dict[str, Any], words: str, easy: Any) -> None:
    X, _, sets = easy
    with pytest.raises(InputError) as caught:
        LWClassifier(**{"epochs": 1} | params).fit(X, sets)
    assert words in str(caught.value)


def test_divergence_is_named(easy: Any) -> None:
    X, _, sets = easy
    with pytest.raises(DivergenceError, match="learning rate"):
        LWClassifier(model="linear", psi="squared_hinge", lr=1e30, epochs=3).fit(X, sets)


def test_float64_training(easy: Any) -> None:
    X, y, sets = easy
    model = LWClassifier(precision="float64", epochs=30, random_state=0).fit(X, sets)
    assert model.score(X, y) > 0.8
    assert next(model.model_.parameters()).dtype == torch.float32


def test_digits_at_half_ambiguity() -> None:
    """A real data set: at q = 0.5 the digits are still recognised."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    fit, test = order[:1400], order[1400:]
    sets = uniform(y[fit], 0.5, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LWClassifier(epochs=30, batch_size=64, random_state=0).fit(X[fit], sets)
    assert model.score(X[test], y[test]) > 0.9


def test_beta_auto_is_read_off_the_sets(easy: Any) -> None:
    X, y, _ = easy
    used = []
    for q in (0.1, 0.9):
        sets = uniform(y, q, seed=0)
        model = LWClassifier(model="linear", epochs=2, random_state=0).fit(X, sets)
        assert model.beta_ == amongst.theory.auto_beta(sets, "cross_entropy")
        used.append(model.beta_)
    assert used[0] < used[1]
    with pytest.raises(InputError, match="beta='atuo'"):
        LWClassifier(beta="atuo").fit(X, sets)


def test_clpl_slows_down_where_it_diverges_unless_a_rate_was_chosen() -> None:
    """Far scores have far steeper losses: by default it diverged on digits."""
    X, y = load_digits(return_X_y=True)
    X, sets = X[:200] * 1.0, uniform(y[:200], 0.3, seed=0)
    wide = np.hstack([X] * 8)
    model = CLPLClassifier(epochs=30, random_state=0).fit(wide, sets)
    assert model.settings_.lr == pytest.approx(0.005)
    assert model.score(wide, y[:200]) > 0.7
    with pytest.raises(DivergenceError):
        CLPLClassifier(epochs=30, lr=0.05, random_state=0).fit(wide, sets)
