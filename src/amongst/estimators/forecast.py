"""How long many machines will take, from a few of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from amongst.errors import AmongstWarning
from amongst.estimators.machines import Machine, Task
from amongst.estimators.pairs import class_pairs, pair_sizes, pair_task

__all__ = ["LONG_SECONDS", "forecast", "say_seconds", "warn_if_long"]

Mask = npt.NDArray[np.bool_]

LONG_SECONDS = 60.0
MEASURED = 5
SAMPLE_ROWS = 2000
FEW_PAIRS = 50
STACK_COST = 3.0
"""A linear machine takes 1.3 to 5 times as long on the stack as on the features (seen on Lost,
MSRCv2, BirdSong and 219 classes); an exact kernel does not."""


def forecast(
    mask: Mask, train: Callable[[Task], Machine], kernel: str, n_jobs: int | None
) -> float:
    """Seconds that all pairwise and one-against-rest machines will take, about.

    Some pairs, from small to large, and one class are trained on at most `SAMPLE_ROWS` rows; time
    is taken to grow with the number of rows, for an exact kernel with its square.
    """
    sizes = pair_sizes(mask)
    if len(sizes) < FEW_PAIRS:
        return 0.0
    power, stacked = (2, 1.0) if kernel == "rbf" else (1, STACK_COST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        a_pair = _rate(train, _some_pairs(mask, sizes), power)
        a_class = _rate(train, [_few(_commonest(mask))], power) * stacked
    work = a_pair * float((sizes.astype(np.float64) ** power).sum())
    work += a_class * mask.shape[1] * float(len(mask)) ** power
    return float(work / effective_n_jobs(n_jobs))


def warn_if_long(seconds: float, pairs: int, classes: int, kernel: str, n_jobs: int | None) -> None:
    """Say before the work starts how long it will take, if that is more than a minute."""
    if seconds < LONG_SECONDS:
        return
    cheaper = "" if kernel == "linear" else ' kernel="linear" is the quickest.'
    warnings.warn(
        f"PALOC trains {pairs:,} pairwise and {classes:,} one-against-rest machines: about "
        f"{say_seconds(seconds)} with {effective_n_jobs(n_jobs)} at once (n_jobs={n_jobs}), "
        f"judged by {MEASURED + 1} of them.{cheaper}",
        AmongstWarning,
        stacklevel=6,
    )


def say_seconds(seconds: float) -> str:
    """A length of time for people.

    >>> say_seconds(42), say_seconds(600), say_seconds(72666)
    ('42 seconds', '10 minutes', '20.2 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def _some_pairs(mask: Mask, sizes: npt.NDArray[np.int64]) -> list[Task]:
    pairs = class_pairs(mask.shape[1])
    places = np.linspace(0, len(sizes) - 1, MEASURED + 2).astype(int)[1:-1]
    return [_few(pair_task(mask, *pairs[chosen])) for chosen in np.argsort(sizes)[places]]


def _commonest(mask: Mask) -> Task:
    return np.arange(len(mask)), mask[:, mask.sum(axis=0).argmax()]


def _few(task: Task) -> Task:
    rows, positive = task
    step = max(1, -(-len(rows) // SAMPLE_ROWS))
    return rows[::step], positive[::step]


def _rate(train: Callable[[Task], Machine], tasks: list[Task], power: int) -> float:
    """Seconds for each row to the power."""
    began = time.perf_counter()
    for task in tasks:
        train(task)
    work = sum(float(len(rows)) ** power for rows, _ in tasks)
    return (time.perf_counter() - began) / max(work, 1.0)
