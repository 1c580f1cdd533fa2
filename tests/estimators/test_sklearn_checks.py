"""scikit-learn's own suite, for every estimator in the registry."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from amongst.estimators import ESTIMATORS, NeuralClassifier

FEWER_EPOCHS = 40
"""Enough for the suite's accuracy checks; fewer than the default, to keep the suite quick."""

TOO_FEW = "it fits 10 rows, and IPAL's 10 neighbours need 11; n_neighbors=3 passes it"
IN_BATCHES = "a row of weight 2 is in one batch, a row that is there twice in two"
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "IPALClassifier": {"check_estimators_nan_inf": TOO_FEW, "check_fit2d_1feature": TOO_FEW},
}
"""Checks that cannot apply, with the reason, by estimator."""


def expected_failures(estimator: Any) -> dict[str, str]:
    if isinstance(estimator, NeuralClassifier):
        return {"check_sample_weight_equivalence_on_dense_data": IN_BATCHES}
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


def instances() -> list[Any]:
    return [
        estimator(epochs=FEWER_EPOCHS) if issubclass(estimator, NeuralClassifier) else estimator()
        for estimator in ESTIMATORS.values()
    ]


@parametrize_with_checks(
    instances(),
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
