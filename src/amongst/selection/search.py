"""Searches over estimators of this package, by grid or by TPE, and searches as one call.

None has a parameter for true labels but `oracle_search`, which says so in its name and its result.
"""

from __future__ import annotations

import copy
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from amongst.algorithms import LW
from amongst.candidates import CandidateSets
from amongst.candidates.cells import class_array, plain_labels
from amongst.checks import Seed, as_seed, check_share
from amongst.data import hold_out
from amongst.errors import InputError, without_secrets
from amongst.estimators import LWClassifier, PartialLabelClassifier, disambiguate
from amongst.estimators.inputs import check_same_kind
from amongst.estimators.pipelines import Estimator, classifier_of, prefix_of
from amongst.metrics import accuracy
from amongst.models import ModelSpec
from amongst.selection.criteria import Measure, get_criterion, measures_for
from amongst.selection.evaluate import Task, evaluate, with_settings
from amongst.selection.result import SearchResult, cv_results, make_result
from amongst.selection.space import Grid, Space, check_names, grid_points, paper_grid, ranges
from amongst.selection.study import (
    StudyOptions,
    as_distribution,
    data_digest,
    open_search,
    run_study,
)

INCIDENTAL = ("random_state", "verbose", "device", "checkpoint", "n_init")
"""Parameters that may change while a study goes on."""


def _has_proba(search: Search) -> bool:
    return hasattr(search._template(), "predict_proba")


class Search(PartialLabelClassifier):
    """Base of every search: a subclass says what to search, and how.

    It gives `_template`, the estimator to search for, and `_search(X, sets)`; and it has the
    parameters `validation`, `engine`, `random_state` and `verbose`.
    """

    uses_prior = True  # or the estimator says that it does not
    validation: float
    engine: str
    random_state: Seed
    verbose: bool
    result_: SearchResult
    best_estimator_: Estimator

    def fit(self, X: npt.ArrayLike, y: Any) -> Self:
        """Search, then fit the best settings on all rows.

        Parameters
        ----------
        X : shape (n, d), or (n, channels, height, width) for images; numbers without NaN. For a
            pipeline, n rows of whatever its first step takes.
        y : the candidate labels of each row, in any form `as_candidates` takes.
        """
        with self._as_it_was_if_it_fails():
            self.__dict__.pop("best_estimator_", None)
            super().fit(X, y)
            if self._refits():
                self.best_estimator_ = self._best()
                self.result_ = replace(self.result_, model=self.best_estimator_)
                self.best_estimator_.fit(X, y)
        return self

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The likeliest class of each row by the best estimator, shape (n,)."""
        return np.asarray(self._fitted().predict(X))

    @available_if(_has_proba)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Probabilities by the best estimator, shape (n, K)."""
        return np.asarray(self._fitted().predict_proba(X))

    def decision_function(self, X: npt.ArrayLike) -> npt.NDArray[np.floating[Any]]:
        """Scores by the best estimator, shape (n, K), or (n,) for two classes."""
        return np.asarray(self._fitted().decision_function(X))

    def disambiguate(self, X: npt.ArrayLike, y: Any) -> pd.DataFrame:
        """Which candidate was right, by the best estimator."""
        return disambiguate(self._fitted(), X, y)

    def save(self, path: str | os.PathLike[str], metadata: Mapping[str, Any] | None = None) -> None:
        """Write the best estimator to one file; `amongst.load` gives it back without the search."""
        best = self._fitted()
        if isinstance(best, Pipeline):
            raise InputError(
                "best_estimator_ is a pipeline, whose other steps cannot be saved without pickle. "
                "Use joblib.dump(search.best_estimator_, path)."
            )
        best.save(path, metadata)

    @abstractmethod
    def _template(self) -> Estimator:
        """The estimator whose parameters are searched."""

    @abstractmethod
    def _search(self, X: npt.NDArray[Any], sets: CandidateSets) -> SearchResult:
        """Judge points, and choose."""

    def _refits(self) -> bool:
        return True

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        self.result_ = self._search(X, sets)
        self.best_params_ = dict(self.result_.best_params)
        self.best_index_ = self.result_.best_index
        self.best_score_ = float(self.result_.signed[self.best_index_])
        self.cv_results_ = cv_results(self.result_)

    def _search_grid(
        self, X: npt.NDArray[Any], sets: CandidateSets, grid: Grid, criterion: str
    ) -> SearchResult:
        points = grid_points(grid)
        check_names(self._template(), [name for point in points for name in point], "grid")
        task = self._task(X, sets, as_seed(self.random_state))
        return make_result(points, evaluate(task, points), criterion)

    def _task(self, X: npt.NDArray[Any], sets: CandidateSets, seed: int) -> Task:
        self._seed = seed
        kept, held = hold_out(sets, check_share("validation", self.validation), seed)
        measures, verbose = self._measures(sets, held), bool(self.verbose)
        return Task(self._template(), X, sets, kept, held, measures, self.engine, seed, verbose)

    def _measures(self, sets: CandidateSets, held: npt.NDArray[np.int64]) -> dict[str, Measure]:
        return measures_for(sets)

    def _is_encoded(self, X: Any) -> bool:
        return getattr(self._template(), "encodes", False) and isinstance(X, pd.DataFrame)

    def _validate_X(self, X: npt.ArrayLike, reset: bool) -> Any:
        """A pipeline's first step knows what it takes."""
        if isinstance(self._template(), Pipeline):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return super()._validate_X(X, reset)

    def _best(self) -> Estimator:
        best = with_settings(self._template(), self.best_params_)
        last = classifier_of(best)
        if last.get_params(deep=False).get("random_state", 0) is None:
            last.set_params(random_state=self._seed)
        return best

    def _fitted(self) -> Estimator:
        check_is_fitted(self, "result_")
        if not hasattr(self, "best_estimator_"):
            raise InputError("this search was made with refit=False, so that it has no model.")
        return self.best_estimator_

    def _scores(self, X: npt.NDArray[Any]) -> npt.NDArray[np.floating[Any]]:
        return classifier_of(self._fitted())._scores(X)


@dataclass(eq=False, repr=False)
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

    estimator: Estimator
    grid: Grid | None = None
    _: KW_ONLY
    distributions: Space | None = None
    criterion: str = "risk"
    validation: float = 0.1
    engine: str = "auto"
    refit: bool = True
    trials: int = 50
    batch: int = 16
    study: str | os.PathLike[str] | None = None
    study_name: str = "amongst"
    prune: bool = True
    random_state: Seed = None
    verbose: bool = False

    def __repr__(self, **options: Any) -> str:
        return str(super(PartialLabelSearchCV, self._shown()).__repr__(**options))

    def _get_params_html(self, *arguments: Any, **options: Any) -> Any:
        """What notebooks show, in scikit-learn from 1.7."""
        return super(PartialLabelSearchCV, self._shown())._get_params_html(*arguments, **options)

    def _shown(self) -> Self:
        """As it may be shown: without the password of a database."""
        shown = copy.copy(self)
        shown.study = self.study and without_secrets(os.fspath(self.study))
        return shown

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
        distributions = {name: as_distribution(name, given) for name, given in space.items()}
        facts = _described(self._template(), space)
        facts |= {"data": data_digest(X, sets.mask), "validation": float(self.validation)}
        study, seed = open_search(options, facts, as_seed(self.random_state))
        self.study_ = study
        return run_study(study, self._task(X, sets, seed), distributions, options)


def _described(estimator: Estimator, space: Space) -> dict[str, Any]:
    """What must stay as it is while a study goes on: the steps, and their parameters."""
    steps = dict(estimator.steps) if isinstance(estimator, Pipeline) else {"": estimator}
    incidental = {"steps", "memory", *INCIDENTAL, *(prefix_of(estimator) + n for n in INCIDENTAL)}
    free = {*space, *steps, *incidental}
    fixed = {n: repr(v) for n, v in estimator.get_params().items() if n not in free}
    return {"estimator": " → ".join(type(step).__name__ for step in steps.values()), **fixed}


@dataclass(kw_only=True, eq=False, repr=False)
class LWClassifierCV(Search):
    """LW that finds its learning rate, weight decay and β by held-out candidate sets.

    All points train as one population; see `PartialLabelSearchCV` for how they are judged.

    Parameters
    ----------
    lrs, weight_decays, betas : values to try; by default the paper's grid of 50 points. A β may
        also be ``"auto"``.
    psi, alpha, model, epochs, batch_size, optimizer, schedule, protocol, scaling, device,
    precision, n_init : of the `LWClassifier`; n_init counts for the last fit on all rows only.
    criterion, validation, engine, random_state, verbose : of the search.

    Attributes
    ----------
    best_estimator_, best_params_, best_index_, best_score_, cv_results_, result_ : see
        `PartialLabelSearchCV`.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.repeat(np.eye(2), 20, axis=0), ["a|b", "a"] * 10 + ["a|b", "b"] * 10
    >>> model = LWClassifierCV(lrs=(0.1, 1e-5), betas=(1.0,), model="linear", epochs=5)
    >>> sorted(model.fit(X, y).best_params_)
    ['beta', 'lr', 'weight_decay']
    """

    lrs: Sequence[float] = LW.grid["lr"]
    weight_decays: Sequence[float] = LW.grid["weight_decay"]
    betas: Sequence[float | str] = LW.grid["beta"]
    psi: str = "cross_entropy"
    alpha: float = 1.0
    criterion: str = "risk"
    validation: float = 0.1
    engine: str = "auto"
    model: ModelSpec = "mlp"
    epochs: int = 100
    batch_size: int | str = "auto"
    optimizer: str | None = None
    schedule: str | None = None
    protocol: str = "default"
    scaling: str | None = "auto"
    device: str = "auto"
    precision: str = "auto"
    n_init: int = 1
    random_state: Seed = None
    verbose: bool = False

    def _template(self) -> PartialLabelClassifier:
        own = LWClassifier().get_params()
        shared = {name: value for name, value in self.get_params().items() if name in own}
        return LWClassifier(**shared)

    def _search(self, X: npt.NDArray[Any], sets: CandidateSets) -> SearchResult:
        criterion = get_criterion(self.criterion).name
        grid = {"lr": self.lrs, "weight_decay": self.weight_decays, "beta": self.betas}
        return self._search_grid(X, sets, grid, criterion)


class _OracleSearch(PartialLabelSearchCV):
    labels: npt.NDArray[Any]

    def _search(self, X: npt.NDArray[Any], sets: CandidateSets) -> SearchResult:
        return self._search_grid(X, sets, self.grid or paper_grid(self.estimator), "oracle")

    def _measures(self, sets: CandidateSets, held: npt.NDArray[np.int64]) -> dict[str, Measure]:
        if self.labels.shape != (len(sets),):
            raise InputError(
                f"labels has shape {self.labels.shape}; give one true label for each of the "
                f"{len(sets)} rows."
            )
        check_same_kind(class_array(plain_labels(self.labels)), sets.classes)
        codes = torch.from_numpy(sets.encode(self.labels)[held])
        return super()._measures(sets, held) | {"oracle": partial(_true_accuracy, codes)}


def _true_accuracy(codes: torch.Tensor, scores: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    return accuracy(scores, codes.to(scores.device))


class OracleKeywords(TypedDict, total=False):
    """Options of every search; see `PartialLabelSearchCV`, which has their defaults."""

    validation: float
    engine: str
    refit: bool
    random_state: Seed
    verbose: bool


class GridKeywords(OracleKeywords, total=False):
    """Those of a search without true labels."""

    criterion: str


class StudyKeywords(GridKeywords, total=False):
    """Those of a search by TPE."""

    trials: int
    batch: int
    study: str | os.PathLike[str] | None
    study_name: str
    prune: bool


def grid_search(
    estimator: Estimator,
    X: npt.ArrayLike,
    y: Any,
    grid: Grid | None = None,
    **options: Unpack[GridKeywords],
) -> SearchResult:
    """Judge every point of a grid by held-out candidate sets, all points as one population.

    Parameters
    ----------
    estimator, X, y : as for `PartialLabelSearchCV`; y holds candidate labels.
    grid : None for the paper's grid of the estimator's method (50 points for LW).
    options : criterion, validation, engine, refit, random_state, verbose; as for
        `PartialLabelSearchCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from amongst import LWClassifier
    >>> X, y = np.repeat(np.eye(2), 20, axis=0), ["a|b", "a"] * 10 + ["a|b", "b"] * 10
    >>> result = grid_search(LWClassifier(model="linear", epochs=2), X, y, random_state=0)
    >>> len(result.table), result.table.columns[:3].tolist()
    (50, ['beta', 'lr', 'weight_decay'])
    """
    return PartialLabelSearchCV(estimator, grid, **options).fit(X, y).result_


def optuna_search(
    estimator: Estimator,
    X: npt.ArrayLike,
    y: Any,
    distributions: Space | None = None,
    **options: Unpack[StudyKeywords],
) -> SearchResult:
    """Search with TPE, a batch of trials at a time as one population; needs the extra ``search``.

    Parameters
    ----------
    estimator, X, y : as for `PartialLabelSearchCV`; y holds candidate labels.
    distributions : by name; None for ranges that span the paper's grid of the method.
    options : trials, batch, study, study_name, prune, criterion, validation, engine, refit,
        random_state, verbose; as for `PartialLabelSearchCV`. A study that goes on does the trials that
        are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from amongst import LWClassifier
    >>> from amongst.selection import Range
    >>> X, y = np.repeat(np.eye(2), 20, axis=0), ["a|b", "a"] * 10 + ["a|b", "b"] * 10
    >>> estimator = LWClassifier(model="linear", epochs=2)
    >>> space = {"lr": Range(1e-3, 1.0, log=True)}
    >>> result = optuna_search(estimator, X, y, space, trials=4, batch=2, random_state=0)
    >>> len(result.table)
    4
    """
    space = ranges(paper_grid(estimator)) if distributions is None else distributions
    return PartialLabelSearchCV(estimator, distributions=space, **options).fit(X, y).result_


def oracle_search(
    estimator: Estimator,
    X: npt.ArrayLike,
    y: Any,
    labels: npt.ArrayLike,
    grid: Grid | None = None,
    **options: Unpack[OracleKeywords],
) -> SearchResult:
    """What a grid search would choose if it knew the true labels of the rows held out.

    A bound to compare criteria with, no way to select: on one's own data there are no such labels.
    The split, the points and the other criteria are those of `grid_search` with the same
    `random_state`; the result has a column ``oracle`` and says `oracle`.

    Parameters
    ----------
    estimator, X, y, grid : as for `grid_search`.
    labels : the true label of each row, shape (n,).
    options : validation, engine, refit, random_state, verbose; as for `grid_search`.

    Examples
    --------
    >>> import numpy as np
    >>> from amongst import LWClassifier
    >>> X, y = np.repeat(np.eye(2), 20, axis=0), ["a|b", "a"] * 10 + ["a|b", "b"] * 10
    >>> estimator = LWClassifier(model="linear", epochs=2)
    >>> result = oracle_search(estimator, X, y, ["a"] * 20 + ["b"] * 20, {"lr": [0.1, 1e-6]})
    >>> result.oracle, "oracle" in result.table
    (True, True)
    """
    search = _OracleSearch(estimator, grid, **options)
    search.labels = np.asarray(labels)
    return search.fit(X, y).result_
