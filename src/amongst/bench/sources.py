"""The data of a trial: which rows, which candidate sets, which of them are held out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.algorithms import CC
from amongst.bench.conditions import REAL, generate, tail
from amongst.bench.record import Trial
from amongst.candidates import CandidateSets
from amongst.checks import as_seed
from amongst.data import Dataset, hold_out, load, read_table, stratified_folds
from amongst.data.places import cache_folder
from amongst.devices import one_thread
from amongst.errors import AmongstWarning, InputError, named
from amongst.files import atomic_write
from amongst.models import build_model
from amongst.train import Features, Settings, predict_scores, train, training_data

Rows = npt.NDArray[np.int64]
Fold = tuple[int, int, int | None] | None
"""Seed, number of folds, and which of them tests; None where the data have a test part of their own."""

CANDIDATES, FOLDS, HELD, TRAINING, TAIL = range(1, 6)
"""Roles of randomness that come from a trial's seed."""

TEST_FOLDS = 5
"""Data without a test part of its own: one row in five is a test row, the same for all seeds."""

PLAUSIBLE = Settings(epochs=5, batch_size=128, lr=1e-3, optimizer="adam", schedule="constant")


@dataclass(frozen=True)
class OwnFile:
    """A file of one's own, and options of `read_table` for it, as pairs; it stays with the runner, never
    with the record."""

    path: str
    options: tuple[tuple[str, Any], ...] = ()


Files = Mapping[str, OwnFile]
"""Data sets that are not in the catalogue, by the name that trials have for them."""


@dataclass(frozen=True)
class Source:
    """Where data are read: the catalogue, or a file as it was at its time and size."""

    name: str
    own: OwnFile | None = None
    seen: tuple[int, int] | None = None

    @classmethod
    def of(cls, name: str, files: Files | None) -> Source:
        """As the file is now."""
        own = (files or {}).get(name)
        try:
            found = None if own is None else os.stat(own.path)
        except OSError:
            found = None
        return cls(name, own, None if found is None else (found.st_mtime_ns, found.st_size))


@dataclass(frozen=True, eq=False)
class TrialData:
    """What a trial trains and is measured on."""

    features: Features  # all n training rows, and their candidate sets
    sets: CandidateSets
    kept: Rows  # rows of these that are trained on, and that are held out; `held` may be empty
    held: Rows
    # (n,) true labels of the training rows, for the oracle alone; None if unknown
    truth: Rows | None
    test: Features  # test rows
    test_labels: Rows | None  # true labels, or else candidate sets, of the test rows
    test_sets: CandidateSets | None


def open_dataset(name: str, files: Files | None = None) -> Dataset:
    """A data set of the catalogue, or a file of one's own; the last few stay in memory.

    >>> open_dataset("digits").n_classes
    10
    """
    return _opened(Source.of(name, files))


def trial_data(trial: Trial, files: Files | None = None) -> TrialData:
    """The data of a trial; trials with one data set, condition, seed and fold share it.

    >>> data = trial_data(Trial("digits", "q=0.1", "rc", "mlp", 0, settings={"validation": 0.1}))
    >>> len(data.kept), len(data.held), len(data.test)
    (1293, 144, 360)
    """
    source = Source.of(trial.dataset, files)
    with warnings.catch_warnings():  # said when the plan was made
        warnings.simplefilter("ignore", AmongstWarning)
        dataset = _opened(source)
    if trial.data_digest and trial.data_digest != dataset.digest:
        raise InputError(
            f"the data of {trial.dataset!r} on this machine differ from those of the plan (digest "
            f"{dataset.digest[:12]}, expected {trial.data_digest[:12]}). Use the same files."
        )
    fold = None
    if dataset.n_train is None:
        folds = int(trial.settings.get("folds", 10))
        fold = (0, TEST_FOLDS, None) if trial.fold is None else (trial.seed, folds, trial.fold)
    share = float(trial.settings.get("validation", 0.0))
    return _trial_data(
        source, trial.condition, trial.seed, fold, share, "augment" in trial.settings
    )


def training_seed(trial: Trial) -> int:
    """The seed of initial weights, batches and dropout."""
    return _seed(trial.seed, TRAINING, trial.fold or 0)


@lru_cache(maxsize=4)
def _opened(source: Source) -> Dataset:
    if source.own is not None:
        return Dataset.of_table(
            source.name, read_table(source.own.path, **dict(source.own.options))
        )
    return _plain(load(source.name))


def _plain(dataset: Dataset) -> Dataset:
    """Candidates weigh alike here: methods are compared on sets, and so are the papers' numbers."""
    if dataset.candidates is None:
        return dataset
    return replace(dataset, candidates=replace(dataset.candidates, weights=None, answers=None))


@lru_cache(maxsize=32)
def _trial_data(
    source: Source, condition: str, seed: int, fold: Fold, share: float, unit: bool
) -> TrialData:
    features, test, rows, test_rows = _scaled(source, fold, unit)
    dataset = _opened(source)
    known = dataset.has_truth
    truth = dataset.labels[rows] if known else None
    left = None if truth is None else tail(condition, truth, dataset.n_classes, _seed(seed, TAIL))
    guessed = partial(_plausible, source, fold, left)
    if truth is not None and left is not None:
        rows, truth, features = rows[left], truth[left], features.part(left)
    if condition == REAL and dataset.candidates is not None:
        sets = dataset.candidates[rows]
    elif truth is not None:
        seeded = _seed(seed, CANDIDATES)
        sets = generate(condition, truth, dataset.n_classes, seeded, guessed)
    else:
        raise no_truth(condition, dataset.name)
    kept, held = np.arange(len(rows)), np.arange(0)
    if share > 0:
        kept, held = hold_out(sets, share, _seed(seed, HELD, fold[2] or 0 if fold else 0))
    test_sets = None if known or dataset.candidates is None else dataset.candidates[test_rows]
    test_labels = dataset.labels[test_rows] if known else None
    return TrialData(features, sets, kept, held, truth, test, test_labels, test_sets)


def no_truth(condition: str, name: str) -> InputError:
    """Candidate sets cannot be made of labels that are not known."""
    return InputError(
        f"makes candidate sets from true labels, and {name!r} has none.",
        code="no-truth",
        argument="condition",
        got=condition,
        remedy=f"Use {named('condition', REAL)}.",
    )


@lru_cache(maxsize=16)
def _scaled(source: Source, fold: Fold, unit: bool) -> tuple[Features, Features, Rows, Rows]:
    """Training and test features, scaled as the training rows say, and which rows they are; pixels
    to [0, 1] where views are made of them, which have colours."""
    dataset = _opened(source)
    rows, test_rows = _split(dataset, fold)
    scaling = (replace(dataset, scaling="unit") if unit else dataset).fit_scaling(rows)

    def part(of: Rows) -> Features:
        values = dataset.features[of]
        if values.dtype == np.uint8:  # scaled on the device
            return Features.of(values, scaling.shift, scaling.scale)
        return Features.of(scaling.apply(values))

    return part(rows), part(test_rows), rows, test_rows


def _split(dataset: Dataset, fold: Fold) -> tuple[Rows, Rows]:
    if fold is None:
        n_train = dataset.n_train or 0
        return np.arange(n_train), np.arange(n_train, len(dataset))
    seed, folds, index = fold
    known = dataset.has_truth or dataset.candidates is None
    strata = dataset.labels if known else dataset.candidates
    assert strata is not None
    return stratified_folds(strata, folds, _seed(seed, FOLDS))[index or 0]


def _plausible(source: Source, fold: Fold, left: Rows | None) -> npt.NDArray[np.float64]:
    """What a classifier finds plausible of the rows that are left, shape (n, K)."""
    features, _, rows, _ = _scaled(source, fold, False)
    dataset = _opened(source)
    key = sha256(f"{dataset.digest} {fold}".encode()).hexdigest()
    found = plausible(features, dataset.labels[rows], dataset.n_classes, key)
    return found if left is None else found[left]


def plausible(
    features: Features, labels: Rows, n_classes: int, key: str
) -> npt.NDArray[np.float64]:
    """Probabilities (n, K) of an MLP after five epochs on the true labels, as the generators of VALEN, POP
    and DIRK are: it makes data, and nothing that learns from them sees it.

    It is trained on a CPU with one thread, so that every device has the same sets.

    Parameters
    ----------
    features, labels : of the training rows; labels from 0 to K − 1.
    key : of the data, for a copy in the user cache; empty for none.
    """
    cache = cache_folder() if key else None
    path = None if cache is None else cache / "plausible" / f"{key}.npy"
    if path is not None:
        with suppress(OSError, ValueError):
            kept: npt.NDArray[np.float64] = np.load(path, allow_pickle=False)
            if kept.shape == (len(labels), n_classes):
                return kept
    found = _trained(features, labels, n_classes)
    if path is not None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as file:
                np.save(file, found, allow_pickle=False)
    return found


def _trained(features: Features, labels: Rows, n_classes: int) -> npt.NDArray[np.float64]:
    one = np.zeros((len(labels), n_classes), dtype=bool)
    one[np.arange(len(labels)), labels] = True
    data = training_data(features, CandidateSets(one, np.arange(n_classes)))
    with one_thread():
        model = build_model("mlp", features.shape, n_classes, seed=0, widths=(300,))
        train(model, data, CC(), PLAUSIBLE)
        scores = predict_scores(model, features, PLAUSIBLE)
    p: npt.NDArray[np.float64] = scores.double().softmax(-1).numpy()
    return p


def _seed(*parts: int) -> int:
    return as_seed(np.random.SeedSequence(parts))
