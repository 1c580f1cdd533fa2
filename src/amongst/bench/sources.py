"""The data of a trial: which rows, which candidate sets, which of them are held out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.bench.conditions import REAL, generate
from amongst.bench.record import Trial
from amongst.candidates import CandidateSets
from amongst.datasets import Dataset, Table, hold_out, load, read_table, stratified_folds
from amongst.engine import Features
from amongst.errors import InputError
from amongst.rng import as_seed

__all__ = ["Files", "OwnFile", "TrialData", "open_dataset", "training_seed", "trial_data"]

Rows = npt.NDArray[np.int64]
Seen = tuple[int, int] | None

CANDIDATES, FOLDS, HELD, TRAINING = range(1, 5)
"""Roles of randomness that come from a trial's seed."""

TEST_FOLDS = 5
"""Data without a test part of its own: one row in five is a test row, the same for all seeds."""


@dataclass(frozen=True)
class OwnFile:
    """A file of one's own, and how to read it; it stays with the runner, never with the record.

    Parameters
    ----------
    path : the file.
    options : of `amongst.datasets.read_table`, as pairs.
    """

    path: str
    options: tuple[tuple[str, Any], ...] = ()


Files = Mapping[str, OwnFile]
"""Data sets that are not in the catalogue, by the name that trials have for them."""


@dataclass(frozen=True, eq=False)
class TrialData:
    """What a trial trains and is measured on.

    Attributes
    ----------
    features, sets : all n training rows, and their candidate sets.
    kept, held : rows of these that are trained on, and that are held out; `held` may be empty.
    truth : (n,) true labels of the training rows, for the oracle alone; None if unknown.
    test : test rows.
    test_labels, test_sets : true labels, or else candidate sets, of the test rows.
    """

    features: Features
    sets: CandidateSets
    kept: Rows
    held: Rows
    truth: Rows | None
    test: Features
    test_labels: Rows | None
    test_sets: CandidateSets | None

    def part(self, rows: Rows) -> Features:
        """Features of some training rows."""
        whole = self.features
        return Features(whole.values[rows], whole.shift, whole.scale, whole.dtype)


def open_dataset(name: str, files: Files | None = None) -> Dataset:
    """A data set of the catalogue, or a file of one's own; the last few stay in memory.

    >>> open_dataset("digits").n_classes
    10
    """
    own = (files or {}).get(name)
    return _opened(name, own, _seen(own))


def trial_data(trial: Trial, files: Files | None = None) -> TrialData:
    """The data of a trial; trials with one data set, condition, seed and fold share it.

    >>> data = trial_data(Trial("digits", "q=0.1", "rc", "mlp", 0, settings={"validation": 0.1}))
    >>> len(data.kept), len(data.held), len(data.test)
    (1293, 144, 360)
    """
    own = (files or {}).get(trial.dataset)
    seen = _seen(own)
    dataset = _opened(trial.dataset, own, seen)
    if trial.data_digest and trial.data_digest != dataset.digest:
        raise InputError(
            f"the data of {trial.dataset!r} on this machine differ from those of the plan (digest "
            f"{dataset.digest[:12]}, expected {trial.data_digest[:12]}). Use the same files."
        )
    fold = None if dataset.n_train is not None else _fold(trial)
    share = float(trial.settings.get("validation", 0.0))
    return _trial_data(trial.dataset, own, seen, trial.condition, trial.seed, fold, share)


def _fold(trial: Trial) -> tuple[int, int, int | None]:
    if trial.fold is None:
        return 0, TEST_FOLDS, None
    return trial.seed, int(trial.settings.get("folds", 10)), trial.fold


def training_seed(trial: Trial) -> int:
    """The seed of initial weights, batches and dropout."""
    return _seed(trial.seed, TRAINING, trial.fold or 0)


def _seen(own: OwnFile | None) -> Seen:
    """What tells that a file of one's own is not as it was when it was read: its time and size."""
    try:
        found = None if own is None else os.stat(own.path)
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4)
def _opened(name: str, own: OwnFile | None, seen: Seen) -> Dataset:
    if own is None:
        return load(name)
    return _own_dataset(name, read_table(own.path, **dict(own.options)))


@lru_cache(maxsize=32)
def _trial_data(
    name: str,
    own: OwnFile | None,
    seen: Seen,
    condition: str,
    seed: int,
    fold: tuple[int, int, int | None] | None,
    share: float,
) -> TrialData:
    features, test, rows, test_rows = _scaled(name, own, seen, fold)
    dataset = _opened(name, own, seen)
    known = bool((dataset.labels >= 0).all())
    truth = dataset.labels[rows] if known else None
    sets = _sets(dataset, condition, rows, truth, seed)
    kept, held = np.arange(len(rows)), np.arange(0)
    if share > 0:
        kept, held = hold_out(sets, share, _seed(seed, HELD, fold[2] or 0 if fold else 0))
    test_sets = None if known or dataset.candidates is None else dataset.candidates[test_rows]
    test_labels = dataset.labels[test_rows] if known else None
    return TrialData(features, sets, kept, held, truth, test, test_labels, test_sets)


@lru_cache(maxsize=16)
def _scaled(
    name: str, own: OwnFile | None, seen: Seen, fold: tuple[int, int, int | None] | None
) -> tuple[Features, Features, Rows, Rows]:
    """Training and test features, scaled as the training rows say, and which rows they are."""
    dataset = _opened(name, own, seen)
    rows, test_rows = _split(dataset, fold)
    scaling = dataset.fit_scaling(rows)
    if dataset.features.dtype != np.uint8:
        parts = (Features.of(scaling.apply(dataset.features[r])) for r in (rows, test_rows))
        train, test = parts
        return train, test, rows, test_rows
    values = (dataset.features[r] for r in (rows, test_rows))
    train, test = (Features.of(x, scaling.shift, scaling.scale) for x in values)
    return train, test, rows, test_rows


def _split(dataset: Dataset, fold: tuple[int, int, int | None] | None) -> tuple[Rows, Rows]:
    if fold is None:
        n_train = dataset.n_train or 0
        return np.arange(n_train), np.arange(n_train, len(dataset))
    seed, folds, index = fold
    known = (dataset.labels >= 0).all() or dataset.candidates is None
    strata = dataset.labels if known else dataset.candidates
    assert strata is not None
    return stratified_folds(strata, folds, _seed(seed, FOLDS))[index or 0]


def _sets(
    dataset: Dataset, condition: str, rows: Rows, truth: Rows | None, seed: int
) -> CandidateSets:
    if condition == REAL:
        if dataset.candidates is None:
            raise InputError(
                f"the dataset {dataset.name!r} came without candidate sets, so that "
                "condition='real' has none to use. Use 'q=0.3', 'case 1', ….",
            )
        return dataset.candidates[rows]
    if truth is None:
        raise InputError(
            f"condition={condition!r} makes candidate sets from true labels, and "
            f"{dataset.name!r} has none. Use condition='real'."
        )
    return generate(condition, truth, dataset.n_classes, _seed(seed, CANDIDATES))


def _own_dataset(name: str, table: Table) -> Dataset:
    sets, truth = table.candidates, table.truth
    if sets is None and truth is None:
        raise InputError(
            f"the file of {name!r} has neither candidate labels nor true labels; name their "
            "column with --candidates or --truth."
        )
    if sets is not None:
        labels = np.full(len(table), -1) if truth is None else sets.encode(truth)
        classes = sets.classes
    else:
        classes, labels = np.unique(np.asarray(truth), return_inverse=True)
    names = tuple(map(str, classes.tolist()))
    plain = None if sets is None else CandidateSets(sets.members, np.arange(len(names)))
    return Dataset(name, table.features, labels.astype(np.int64), plain, None, names, "standard")


def _seed(*parts: int) -> int:
    return as_seed(np.random.SeedSequence(parts))
