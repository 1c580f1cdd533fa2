"""A search in a process of its own, for tests that kill it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from sklearn.datasets import load_iris

from amongst import LWClassifier
from amongst.accel.population.cohort import Cohort
from amongst.candidates import uniform
from amongst.selection import Range, optuna_search

EPOCHS, TRIALS, BATCH = 30, 8, 4
SPACE = {"lr": Range(1e-3, 1.0, log=True), "beta": Range(0.0, 4.0)}


def search(url: str, **options: object) -> object:
    X, truth = load_iris(return_X_y=True)
    estimator = LWClassifier(model="linear", epochs=EPOCHS, batch_size=32, device="cpu")
    settings = {"trials": TRIALS, "batch": BATCH, "study": url, "random_state": 0} | options
    return optuna_search(estimator, X, uniform(truth, 0.3, seed=0), SPACE, **settings)


def slowly(epoch: Callable[..., None], *arguments: object) -> None:
    """A batch of trials takes long enough to be killed in, however busy the machine is."""
    time.sleep(0.05)
    epoch(*arguments)


if __name__ == "__main__":
    begin = Cohort.begin_epoch
    Cohort.begin_epoch = lambda *arguments: slowly(begin, *arguments)  # type: ignore[method-assign]
    search(sys.argv[1])
