"""A search over any estimator of this package, by grid or by TPE."""

from __future__ import annotations

import os
from typing import Any

import numpy.typing as npt
from sklearn.pipeline import Pipeline

from amongst.candidates import CandidateSets
from amongst.errors import InputError
from amongst.estimators.pipelines import Estimator, classifier_of, prefix_of
from amongst.rng import Seed, as_seed
from amongst.selection.base import Search
from amongst.selection.criteria import get_criterion
from amongst.selection.result import SearchResult
from amongst.selection.space import Grid, Space, check_names, paper_grid
from amongst.selection.study import (
    StudyOptions,
    as_distributions,
    data_digest,
    open_search,
    run_study,
)

__all__ = ["PartialLabelSearchCV"]

INCIDENTAL = ("random_state", "verbose", "device", "checkpoint", "n_init")
"""Parameters that may change while a study goes on."""


class PartialLabelSearchCV(Search):
    """Search hyper-parameters by candidate labels alone; there is no way to pass true ones.

    A share of the rows is held out; each point trains on the rest and is judged by the candidate
    sets of the rows held out. The best one is then fitted on all rows.

    Parameters
    ----------
    estimator : an estimator of this package, or a pipeline that ends in one, whose parameters have
        names such as ``"lwclassifier__lr"``; other parameters stay as they are. Steps before the
        classifier are fitted on the rows that train, anew for each of their own settings.
    grid : values by name, or a list of such mappings; None for the paper's grid of the method.
    distributions : instead of a grid, a `Range`, a list of choices or an Optuna distribution by
        name; searched by TPE in batches (needs the extra ``search``).
    criterion : ``"risk"``, ``"covering"`` or ``"approximated"``; see `CRITERIA`.
    validation : share of the rows that is held out.
    engine : ``"auto"``, ``"population"`` or ``"single"``; see `ENGINES`.
    refit : whether to fit the best settings on all rows; without it there is no `predict`.
    trials, batch : with distributions: how many in all, and how many train together.
    study, study_name : with distributions: ``sqlite:///file``, ``postgresql://…`` or a file to keep
        the study in; the same name goes on. None for memory only.
    prune : with distributions: whether poor trials may end early.
    random_state : of the split, the initial weights and the sampler; every point has the same.
    verbose : whether to show progress.

    Attributes
    ----------
    best_estimator_ : fitted on all rows.
    best_params_, best_index_ : the best point, and its place.
    best_score_ : its criterion, turned so that greater is better.
    cv_results_ : a dict of arrays, as scikit-learn has it; ``mean_test_score`` is the criterion,
        turned so that greater is better, and ``mean_test_<criterion>`` are all of them as they are.
    result_ : the `SearchResult`.
    study_ : the Optuna study, with distributions only.

    Examples
    --------
    >>> import numpy as np
    >>> from amongst import LWClassifier
    >>> X, y = np.repeat(np.eye(2), 20, axis=0), ["a|b", "a"] * 10 + ["a|b", "b"] * 10
    >>> estimator = LWClassifier(model="linear", epochs=5)
    >>> search = PartialLabelSearchCV(estimator, {"lr": [0.5, 1e-6]}, random_state=0).fit(X, y)
    >>> search.best_params_, search.predict(X[:1])
    ({'lr': 0.5}, array(['a'], dtype='<U1'))
    """

    def __init__(
        self,
        estimator: Estimator,
        grid: Grid | None = None,
        *,
        distributions: Space | None = None,
        criterion: str = "risk",
        validation: float = 0.1,
        engine: str = "auto",
        refit: bool = True,
        trials: int = 50,
        batch: int = 16,
        study: str | os.PathLike[str] | None = None,
        study_name: str = "amongst",
        prune: bool = True,
        random_state: Seed = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.distributions = distributions
        self.criterion = criterion
        self.validation = validation
        self.engine = engine
        self.refit = refit
        self.trials = trials
        self.batch = batch
        self.study = study
        self.study_name = study_name
        self.prune = prune
        self.random_state = random_state
        self.verbose = verbose

    def _template(self) -> Estimator:
        classifier_of(self.estimator)
        return self.estimator

    def _refits(self) -> bool:
        return bool(self.refit)

    def _search(self, X: npt.NDArray[Any], sets: CandidateSets) -> SearchResult:
        estimator = self._template()
        criterion = get_criterion(self.criterion).name
        if self.distributions is not None:
            return self._search_study(X, sets, self.distributions, criterion)
        grid = paper_grid(estimator) if self.grid is None else self.grid
        return self._search_grid(X, sets, grid, criterion)

    def _search_study(
        self, X: npt.NDArray[Any], sets: CandidateSets, space: Space, criterion: str
    ) -> SearchResult:
        if self.grid is not None:
            raise InputError("grid and distributions are two ways to search; pass one of them.")
        check_names(self._template(), list(space), "distributions")
        options = StudyOptions(
            self.trials, self.batch, self.study, self.study_name, bool(self.prune), criterion
        )
        distributions = as_distributions(space)
        facts = {
            "data": data_digest(X, sets.mask),
            "validation": float(self.validation),
            **_described(self._template(), space),
        }
        study, seed = open_search(options, facts, as_seed(self.random_state))
        self.study_ = study
        return run_study(study, self._task(X, sets, seed), distributions, options)


def _described(estimator: Estimator, space: Space) -> dict[str, str]:
    """What must stay as it is while a study goes on: the steps, and their parameters."""
    steps = dict(estimator.steps) if isinstance(estimator, Pipeline) else {"": estimator}
    incidental = {"steps", "memory", *INCIDENTAL, *(prefix_of(estimator) + n for n in INCIDENTAL)}
    free = {*space, *steps, *incidental}
    fixed = {n: repr(v) for n, v in estimator.get_params().items() if n not in free}
    return {"estimator": " → ".join(type(step).__name__ for step in steps.values()), **fixed}
