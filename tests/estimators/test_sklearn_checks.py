"""scikit-learn's own suite, for every estimator in the registry."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from amongst.estimators import ESTIMATORS, NeuralClassifier

SMALL = {"epochs": 15, "lr": 0.05, "widths": (32,), "queue": 64, "width": 16}
"""Enough for the suite's accuracy checks; the defaults take six times as long."""

TOO_FEW = "it fits 10 rows, and IPAL's 10 neighbours need 11; n_neighbors=3 passes it"
IN_BATCHES = "a row of weight 2 is in one batch, a row that is there twice in two"
BALANCED = "it takes off its scores what the classes' weights put there"
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "IPALClassifier": {"check_estimators_nan_inf": TOO_FEW, "check_fit2d_1feature": TOO_FEW},
    "RECORDSClassifier": {"check_class_weight_classifiers": BALANCED},
}
"""Checks that cannot apply, with the reason, by estimator."""


def expected_failures(estimator: Any) -> dict[str, str]:
    own = EXPECTED_FAILURES.get(type(estimator).__name__, {})
    if isinstance(estimator, NeuralClassifier):
        kinds = ("dense", "sparse")
        own = own | {
            f"check_sample_weight_equivalence_on_{kind}_data": IN_BATCHES for kind in kinds
        }
    return own


def instances() -> list[Any]:
    made = [estimator() for estimator in ESTIMATORS.values()]
    return [
        one.set_params(**{n: v for n, v in SMALL.items() if n in one.get_params()})
        if isinstance(one, NeuralClassifier)
        else one
        for one in made
    ]


@parametrize_with_checks(
    instances(),
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
