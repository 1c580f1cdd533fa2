"""What all searches share: the split, the measures, the refit, and scikit-learn's habits."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from amongst.candidates import CandidateSets
from amongst.checks import check_share
from amongst.datasets import hold_out
from amongst.errors import InputError
from amongst.estimators import PartialLabelClassifier, disambiguate
from amongst.estimators.pipelines import Estimator, classifier_of
from amongst.rng import Seed, as_seed
from amongst.selection.criteria import Measure, measures_for
from amongst.selection.evaluate import Task, evaluate, with_settings
from amongst.selection.result import SearchResult, make_result
from amongst.selection.space import Grid, check_names, grid_points

__all__ = ["Search", "cv_results"]


def _has_proba(search: Search) -> bool:
    return hasattr(search._template(), "predict_proba")


class Search(PartialLabelClassifier):
    """Base of every search: a subclass says what to search, and how.

    It gives `_template`, the estimator to search for, and `_search(X, sets)`; and it has the
    parameters `validation`, `engine`, `random_state` and `verbose`.
    """

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
        labels: npt.NDArray[Any] = self._fitted().predict(X)
        return labels

    @available_if(_has_proba)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Probabilities by the best estimator, shape (n, K)."""
        proba: npt.NDArray[Any] = self._fitted().predict_proba(X)
        return proba

    def decision_function(self, X: npt.ArrayLike) -> npt.NDArray[np.floating[Any]]:
        """Scores by the best estimator, shape (n, K), or (n,) for two classes."""
        scores: npt.NDArray[np.floating[Any]] = self._fitted().decision_function(X)
        return scores

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


def cv_results(result: SearchResult) -> dict[str, Any]:
    """A result as scikit-learn's searches give it: arrays by name, one entry for each point."""
    table, points, signed = result.table, result.points, result.signed
    found: dict[str, Any] = {"params": [dict(point) for point in points]}
    for name in result.parameters:
        absent = [name not in point for point in points]
        column = table[name].to_numpy(dtype=object)
        found[f"param_{name}"] = np.ma.masked_array(column, mask=absent)
    others = [n for n in table.columns if n not in (*result.parameters, "state", "seconds")]
    found |= {f"mean_test_{name}": table[name].to_numpy(dtype=np.float64) for name in others}
    found["mean_test_score"] = signed
    order = np.where((table["state"] == "complete") & np.isfinite(signed), signed, -np.inf)
    found["rank_test_score"] = np.array([1 + int((order > value).sum()) for value in order])
    found["mean_fit_time"] = table["seconds"].to_numpy(dtype=np.float64)
    return found
