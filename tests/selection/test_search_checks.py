"""scikit-learn's own suite, for the searches; and one default for all who name it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from amongst import LWClassifier
from amongst.selection import (
    LWClassifierCV,
    PartialLabelSearchCV,
    grid_search,
    optuna_search,
    oracle_search,
)

EXPECTED_FAILURES: dict[str, str] = {}
"""Checks that cannot apply, with the reason. None so far."""

SEARCHES = [
    PartialLabelSearchCV(LWClassifier(model="linear", epochs=40), {"lr": [0.05, 0.1]}),
    LWClassifierCV(model="linear", epochs=40, lrs=(0.05,), weight_decays=(1e-3,), betas=(1.0, 2.0)),
]


@parametrize_with_checks(SEARCHES, expected_failed_checks=lambda search: EXPECTED_FAILURES)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("function", [grid_search, optuna_search, oracle_search])
def test_a_search_as_one_call_has_the_defaults_of_the_class(function: Callable[..., Any]) -> None:
    of_class = inspect.signature(PartialLabelSearchCV).parameters
    own = inspect.signature(function).parameters.values()
    shared = {p.name: p.default for p in own if p.name in of_class and p.name != "estimator"}
    assert {"validation", "engine", "refit", "verbose"} <= set(shared)
    assert shared == {name: of_class[name].default for name in shared}
