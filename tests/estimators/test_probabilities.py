"""IPAL and PL-SVM say how sure they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from amongst import IPALClassifier, PLSVMClassifier, load
from amongst.candidates import uniform
from amongst.trust import set_risk


@pytest.mark.parametrize("kind", [IPALClassifier, PLSVMClassifier])
def test_probabilities_agree_with_the_prediction_and_are_worth_something(
    kind: Any, tmp_path: Path
) -> None:
    X, truth = load_iris(return_X_y=True)
    sets = uniform(truth, 0.3, seed=0)
    rows = np.random.default_rng(0).permutation(150)
    model = kind().fit(X[rows[:100]], sets[rows[:100]])
    held = rows[100:]
    proba = model.predict_proba(X[held])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(X[held])).all()
    even = np.full_like(proba, 1 / 3)
    mask = np.eye(3, dtype=bool)[truth[held]]
    assert set_risk(proba, mask).mean() < 0.7 * set_risk(even, mask).mean()
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict_proba(X[held]), proba)
