"""scikit-learn's own suite, for the searches; and one default for all who name it."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from amongst import LWClassifier
from amongst.algorithms import LW
from amongst.selection import (
    LWClassifierCV,
    PartialLabelSearchCV,
    optuna_search,
    oracle_search,
)

EXPECTED_FAILURES: dict[str, str] = {}
"""Checks that cannot apply, with the reason. None so far."""

SEARCHES = [
    PartialLabelSearchCV(LWClassifier(model="linear", epochs=10), {"lr": [0.05, 0.1]}),
    LWClassifierCV(model="linear", epochs=10, lrs=(0.05,), weight_decays=(1e-3,), betas=(1.0, 2.0)),
]


@parametrize_with_checks(SEARCHES, expected_failed_checks=lambda search: EXPECTED_FAILURES)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("other", [LWClassifier, PartialLabelSearchCV])
def test_the_search_for_lw_has_the_defaults_of_both(other: type) -> None:
    found, of_other = (inspect.signature(c).parameters for c in (LWClassifierCV, other))
    shared = {name: p.default for name, p in found.items() if name in of_other}
    assert len(shared) >= 5
    assert shared == {name: of_other[name].default for name in shared}


def test_without_a_grid_of_ones_own_the_paper_has_one() -> None:
    """The oracle takes the paper's 50 points, Optuna the ranges that span them."""
    pytest.importorskip("optuna", reason="optuna is not installed")
    X, truth = np.repeat(np.eye(2), 10, axis=0), np.repeat([0, 1], 10)
    lw = LWClassifier(model="linear", epochs=1, device="cpu")
    told = oracle_search(lw, X, truth, truth, random_state=0, refit=False)
    drawn = optuna_search(lw, X, truth, trials=5, random_state=0, refit=False)
    for table, points in ((told.table, 50), (drawn.table, 5)):
        assert len(table) == points
        for name, values in LW.grid.items():
            assert table[name].between(min(values), max(values)).all()
    assert [told.table[name].nunique() for name in LW.grid] == [5, 5, 2]
    assert not drawn.table["lr"].isin(LW.grid["lr"]).any()
