"""scikit-learn's own suite, for the searches."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from amongst import LWClassifier
from amongst.selection import LWClassifierCV, PartialLabelSearchCV

EXPECTED_FAILURES: dict[str, str] = {}
"""Checks that cannot apply, with the reason. None so far."""

SEARCHES = [
    PartialLabelSearchCV(LWClassifier(model="linear", epochs=40), {"lr": [0.05, 0.1]}),
    LWClassifierCV(model="linear", epochs=40, lrs=(0.05,), weight_decays=(1e-3,), betas=(1.0, 2.0)),
]


@parametrize_with_checks(SEARCHES, expected_failed_checks=lambda search: EXPECTED_FAILURES)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
