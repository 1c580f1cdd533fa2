"""Search by Optuna: ask for a batch of settings, train it as one population, tell the answers."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.util import hash_pandas_object
from scipy.sparse import issparse

from amongst.checks import check_integer
from amongst.errors import InputError, named
from amongst.estimators.pipelines import classifier_of
from amongst.selection.evaluate import Outcome, Task, evaluate
from amongst.selection.result import SearchResult, make_result, sign
from amongst.selection.space import Range
from amongst.selection.storage import (
    RUNNER,
    at_work,
    give_up,
    import_optuna,
    open_study,
    quiet,
    requeue_stale,
    salt,
)

REPORTS = 10
"""How often a trial's criterion is reported to the pruner: each time is a write to the database."""

MARK = "amongst"
PLAIN = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class StudyOptions:
    """How a study runs; `trials` are the finished ones it shall have in the end, those of earlier runs
    included, and a `batch` of them is asked for, and trained, together."""

    trials: int = 50
    batch: int = 16
    url: str | os.PathLike[str] | None = field(default=None, repr=False)  # may hold a password
    name: str = "amongst"
    prune: bool = True
    criterion: str = "risk"

    def __post_init__(self) -> None:
        check_integer("trials", self.trials, low=1)
        check_integer("batch", self.batch, low=1)


def open_search(options: StudyOptions, facts: Mapping[str, Any], seed: int) -> tuple[Any, int]:
    """The study, and the seed of its search: a study that goes on keeps the one it has. Its `facts`,
    JSON-ready, must not change meanwhile."""
    optuna = import_optuna()
    direction = "maximize" if sign(options.criterion) > 0 else "minimize"
    pruner = optuna.pruners.MedianPruner() if options.prune else optuna.pruners.NopPruner()
    with quiet():
        study = open_study(options.url, options.name, direction, pruner)
        kept = _agree(study, options, {**facts, "criterion": options.criterion}, seed)
    return study, kept


def run_study(
    study: Any, task: Task, distributions: Mapping[str, Any], options: StudyOptions
) -> SearchResult:
    """Batches until the study has as many finished trials as it shall have.

    Killed at any moment it leaves trials that the next run puts back in the queue; stopped by an
    exception it puts them back itself. The result is over all finished trials.
    """
    with quiet(), at_work(study):
        requeue_stale(study)
        study.sampler = _sampler(task.seed + len(study.trials) + salt(study))
        while (missing := options.trials - len(_finished(study))) > 0:
            _run_batch(study, task, distributions, options, min(missing, options.batch))
            if task.verbose:
                _say(study, options)
    trials = _finished(study)
    outcomes = [_remembered(trial, task.measures) for trial in trials]
    states = [
        "diverged" if "diverged" in trial.user_attrs else trial.state.name.lower()
        for trial in trials
    ]
    return make_result([dict(t.params) for t in trials], outcomes, options.criterion, states)


def _say(study: Any, options: StudyOptions) -> None:
    """One line on standard error: how far the study is, and its best value."""
    done, complete = _finished(study), import_optuna().trial.TrialState.COMPLETE
    best = study.best_value if any(t.state == complete for t in done) else math.nan
    line = f"{len(done)} of {options.trials} trials · best {options.criterion} {best:.4f}"
    print(line, file=sys.stderr, flush=True)


def _run_batch(
    study: Any, task: Task, distributions: Mapping[str, Any], options: StudyOptions, size: int
) -> None:
    trials: list[Any] = []
    with _put_back(study, trials):
        for _ in range(size):
            trials.append(_ask(study, distributions))
            trials[-1].set_user_attr("runner", RUNNER)
        reporter = _Reporter(study, trials, options.criterion, _interval(task))
        outcomes = evaluate(task, [dict(trial.params) for trial in trials], reporter)
        for i, (trial, outcome) in enumerate(zip(trials, outcomes, strict=True)):
            if i not in reporter.over:
                _tell(study, trial, outcome, options.criterion)


class _Reporter:
    """Hands each epoch's criterion to Optuna, and says which trials are over: pruned, or diverged,
    so that a population stops with the last of them."""

    def __init__(self, study: Any, trials: Sequence[Any], criterion: str, interval: int) -> None:
        self.study, self.trials, self.criterion = study, trials, criterion
        self.interval, self.over = interval, set[int]()

    def __call__(self, i: int, epoch: int, values: Mapping[str, float]) -> bool:
        if i not in self.over and self._ends(self.trials[i], epoch, values):
            self.study.tell(self.trials[i], state=import_optuna().trial.TrialState.PRUNED)
            self.over.add(i)
        return i in self.over

    def _ends(self, trial: Any, epoch: int, values: Mapping[str, float]) -> bool:
        if all(map(math.isnan, values.values())):  # which is how a population says it
            trial.set_user_attr("diverged", epoch)
            return True
        value = values[self.criterion]
        if epoch % self.interval or not math.isfinite(value):
            return False
        trial.report(value, epoch)
        if not trial.should_prune():
            return False
        _note(trial, values, {})
        return True


def _tell(study: Any, trial: Any, outcome: Outcome | None, criterion: str) -> None:
    """A trial that diverged counts as pruned: TPE then takes it for one of the worst."""
    states = import_optuna().trial.TrialState
    if outcome is None or outcome.diverged is not None:
        trial.set_user_attr("diverged", 0 if outcome is None else outcome.diverged)
        study.tell(trial, state=states.PRUNED)
        return
    _note(trial, outcome.values, {"seconds": round(outcome.seconds, 3)})
    study.tell(trial, outcome.values[criterion])


def _note(trial: Any, values: Mapping[str, float], more: Mapping[str, float]) -> None:
    for name, value in {**values, **more}.items():
        if math.isfinite(value):
            trial.set_user_attr(name, value)


@contextmanager
def _put_back(study: Any, trials: Sequence[Any]) -> Iterator[None]:
    """Whatever ends the batch early, its unfinished trials go back in the queue."""
    try:
        yield
    except BaseException:
        frozen = {t.number: t for t in study.get_trials(deepcopy=False)}
        for trial in trials:
            if not frozen[trial.number].state.is_finished():
                give_up(study, frozen[trial.number])
        raise


def _ask(study: Any, distributions: Mapping[str, Any]) -> Any:
    try:
        return study.ask(dict(distributions))
    except ValueError as error:
        raise InputError(
            f"distributions do not fit those that the study {study.study_name!r} was begun with "
            f"({error}).",
            code="other-study",
            remedy=("keep the choices", f"use another {named('study_name')}"),
        ) from error


def _remembered(trial: Any, measures: Mapping[str, Any]) -> Outcome:
    attributes = trial.user_attrs
    values = {name: float(attributes.get(name, math.nan)) for name in measures}
    return Outcome(values, attributes.get("diverged"), float(attributes.get("seconds", math.nan)))


def _finished(study: Any) -> list[Any]:
    states = import_optuna().trial.TrialState
    found: list[Any] = study.get_trials(deepcopy=False, states=(states.COMPLETE, states.PRUNED))
    return found


def _agree(study: Any, options: StudyOptions, facts: Mapping[str, Any], seed: int) -> int:
    """Write what the study is about, or compare it with what was written; returns its seed."""
    plain = json.loads(json.dumps(facts))
    found = study.user_attrs.get(MARK)
    if found is None:
        if study.trials:
            raise InputError(
                f"the study {options.name!r} was not made by amongst; use another "
                f"{named('study_name')}.",
                code="other-study",
            )
        study.set_user_attr(MARK, {**plain, "seed": seed})
        return seed
    name = next((name for name in plain if found.get(name) != plain[name]), None)
    if name is not None:
        then = found.get(name, "it was searched")
        raise InputError(
            f"the study {options.name!r} was begun with another {name} ({then!s:.120}; now "
            f"{plain[name]!s:.120}).",
            code="other-study",
            remedy=(f"use another {named('study_name')}", f"the same {name}"),
        )
    return int(found["seed"])


def data_digest(X: Any, mask: npt.NDArray[np.bool_]) -> str:
    """sha256 of features and candidate sets, its first 16 digits.

    >>> data_digest(np.zeros((2, 1)), np.eye(2, dtype=bool))
    'b5f368063f9296ff'
    """
    if issparse(X):
        X = np.concatenate((X.tocsr().data, X.tocsr().indices, X.tocsr().indptr))
    X = np.asarray(X)
    if X.dtype.kind not in "biufc":  # of a pipeline, which may take a table of text
        X = hash_pandas_object(pd.DataFrame(X.astype(object)), index=False).to_numpy()
    digest = hashlib.sha256(f"{X.dtype}{X.shape}{mask.shape}".encode())
    digest.update(np.ascontiguousarray(X).data)
    digest.update(np.packbits(mask, axis=1).data)
    return digest.hexdigest()[:16]


def _interval(task: Task) -> int:
    epochs = getattr(classifier_of(task.estimator), "epochs", 1)
    return max(1, epochs // REPORTS) if isinstance(epochs, int) else 1


def _sampler(seed: int) -> Any:
    """TPE that takes the running trials of a batch for bad ones, so that a batch spreads."""
    optuna = import_optuna()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(seed=seed % 2**32, constant_liar=True)


def as_distribution(name: str, given: Any) -> Any:
    """A part of a search space in Optuna's terms.

    >>> as_distribution("lr", Range(0.01, 0.1, log=True))
    FloatDistribution(high=0.1, log=True, low=0.01, step=None)
    """
    distributions = import_optuna().distributions
    if isinstance(given, distributions.BaseDistribution):
        return given
    if isinstance(given, Range) and given.integer:
        return distributions.IntDistribution(int(given.low), int(given.high), log=given.log)
    if isinstance(given, Range):
        return distributions.FloatDistribution(given.low, given.high, log=given.log)
    listed = isinstance(given, Sequence) and not isinstance(given, str)
    if listed and len(given) and all(isinstance(value, PLAIN) for value in given):
        return distributions.CategoricalDistribution(list(given))
    raise InputError(
        f"distributions[{name!r}]={given!r} must be a Range, a list of numbers, strings or None, "
        "or a distribution of Optuna."
    )
