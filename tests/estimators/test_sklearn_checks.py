"""scikit-learn's own suite, for every estimator in the registry."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from amongst.estimators import ESTIMATORS, NeuralClassifier

FEWER_EPOCHS = 40
"""Enough for the suite's accuracy checks; fewer than the default, to keep the suite quick."""

TOO_FEW = "it fits 10 rows, and IPAL's 10 neighbours need 11; n_neighbors=3 passes it"
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "IPALClassifier": {"check_estimators_nan_inf": TOO_FEW, "check_fit2d_1feature": TOO_FEW},
}
"""Checks that cannot apply, with the reason, by estimator."""


def instances() -> list[Any]:
    return [
        estimator(epochs=FEWER_EPOCHS) if issubclass(estimator, NeuralClassifier) else estimator()
        for estimator in ESTIMATORS.values()
    ]


@parametrize_with_checks(
    instances(),
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
