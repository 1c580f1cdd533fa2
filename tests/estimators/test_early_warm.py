"""Networks end early, go on from where they were, and weigh classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from amongst import LWClassifier, PRODENClassifier, load
from amongst.candidates import CandidateSets, uniform
from amongst.errors import InputError


def iris(q: float = 0.4) -> tuple[Any, Any, CandidateSets]:
    X, truth = load_iris(return_X_y=True)
    return X, truth, uniform(truth, q, seed=0)


def small(**settings: Any) -> PRODENClassifier:
    return PRODENClassifier(model="linear", device="cpu", random_state=0, **settings)


def test_the_best_epoch_on_rows_left_out_is_kept() -> None:
    X, _, sets = iris()
    model = small(epochs=60, lr=1.0, early_stopping=5).fit(X, sets)
    risks = model.history_["risk"].to_numpy()
    assert len(risks) < 60
    assert len(risks) - 1 - risks.argmin() == 5
    rows, held = model._tenth(sets)
    assert not set(rows) & set(held)
    inside = (model.predict_proba(X[held]) * sets[held].to_mask()).sum(axis=1)
    found = -np.log(inside).mean()
    assert found == pytest.approx(risks.min(), abs=1e-4)


def test_a_warm_start_goes_on() -> None:
    X, truth, _ = iris()
    cold = small(epochs=3).fit(X, truth)
    model = small(epochs=3, warm_start=True).fit(X, truth)
    np.testing.assert_array_equal(model.predict_proba(X), cold.predict_proba(X))
    model.fit(X, truth)
    assert model.history_["loss"].iloc[0] < cold.history_["loss"].iloc[-1]
    with pytest.raises(InputError) as caught:
        model.fit(X[:, :2], truth)
    assert caught.value.argument == "warm_start"


def test_a_loaded_model_goes_on(tmp_path: Path) -> None:
    X, _, sets = iris()
    model = small(epochs=3, warm_start=True).fit(X, sets)
    model.save(tmp_path / "model")
    there = load(tmp_path / "model")
    np.testing.assert_allclose(
        there.fit(X, sets).predict_proba(X), model.fit(X, sets).predict_proba(X), atol=1e-6
    )


def test_class_weights_are_weights_of_rows() -> None:
    X, truth, _ = iris()
    rows = np.r_[0:50, 50:60, 100:150]
    weights = np.where(truth[rows] == 1, 5.0, 1.0)
    by_class = small(epochs=5, class_weight={1: 5.0}).fit(X[rows], truth[rows])
    by_row = small(epochs=5).fit(X[rows], truth[rows], sample_weight=weights)
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X))
    plain = small(epochs=5).fit(X[rows], truth[rows])
    even = small(epochs=5, class_weight="balanced").fit(X[rows], truth[rows])
    assert even.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
    with pytest.raises(InputError) as caught:
        small(class_weight={"lark": 2.0}).fit(X, truth)
    assert caught.value.argument == "class_weight"


@pytest.mark.parametrize("settings", [{"early_stopping": 3}, {"warm_start": True}])
def test_several_seeds_do_neither(settings: Any) -> None:
    X, _, sets = iris()
    with pytest.raises(InputError) as caught:
        LWClassifier(model="linear", epochs=2, n_init=2, **settings).fit(X, sets)
    assert caught.value.code == "one-init"


def test_too_few_rows_to_leave_some_out() -> None:
    with pytest.raises(InputError) as caught:
        small(early_stopping=3).fit([[0.0], [1.0]], ["a|b", "b"])
    assert caught.value.argument == "early_stopping"
