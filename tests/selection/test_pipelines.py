"""Pipelines: searched as any estimator, prepared on the rows that train, and disambiguated."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from amongst import LWClassifier, PLKNNClassifier, RCClassifier, disambiguate
from amongst.candidates import uniform
from amongst.data import hold_out
from amongst.errors import InputError
from amongst.selection import (
    CRITERIA,
    PartialLabelSearchCV,
    Range,
    grid_search,
    optuna_search,
    oracle_search,
    paper_grid,
)

X, TRUTH = load_iris(return_X_y=True)
SETS = uniform(TRUTH, 0.3, seed=0)


def linear(**params: Any) -> LWClassifier:
    return LWClassifier(**{"model": "linear", "epochs": 8, "scaling": None} | params)


class Noted(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Leaves rows as they are, and remembers in a list that is shared how many it was fitted on."""

    fits: list[tuple[int, int]] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any = None) -> Noted:
        Noted.fits.append((len(X), len(y)))
        self.fitted_ = True
        return self

    def transform(self, X: Any) -> Any:
        return X


@pytest.mark.parametrize("engine", ["population", "single"])
def test_a_pipeline_is_judged_as_its_classifier_on_prepared_rows(engine: str) -> None:
    kept, _ = hold_out(SETS, 0.1, 0)
    rows = StandardScaler().fit(X[kept]).transform(X)
    options = {"random_state": 0, "engine": engine, "refit": False}
    alone = grid_search(linear(), rows, SETS, {"lr": [0.1, 1e-3]}, **options)
    pipe = make_pipeline(StandardScaler(), linear())
    piped = grid_search(pipe, X, SETS, {"lwclassifier__lr": [0.1, 1e-3]}, **options)
    assert piped.points == ({"lwclassifier__lr": 0.1}, {"lwclassifier__lr": 1e-3})
    pd.testing.assert_frame_equal(piped.table[list(CRITERIA)], alone.table[list(CRITERIA)])


def test_the_best_pipeline_is_fitted_on_all_rows_and_answers() -> None:
    pipe = make_pipeline(StandardScaler(), linear())
    grid = {"lwclassifier__lr": [0.5, 1e-6], "standardscaler__with_std": [True, False]}
    frame = pd.DataFrame(X, columns=list("abcd"), index=range(7, 157))
    search = PartialLabelSearchCV(pipe, grid, random_state=0).fit(frame, SETS)
    assert isinstance(search.best_estimator_, Pipeline)
    assert search.best_params_["lwclassifier__lr"] == 0.5
    assert search.n_features_in_ == 4
    assert list(search.feature_names_in_) == list("abcd")
    assert np.allclose(search.best_estimator_[0].mean_, X.mean(axis=0))
    assert search.score(frame, TRUTH) == search.best_estimator_.score(frame, TRUTH) > 0.8
    assert np.array_equal(search.predict_proba(frame).argmax(1), search.predict(frame))
    again = make_pipeline(StandardScaler(), linear(random_state=0)).set_params(
        **search.best_params_
    )
    assert np.array_equal(again.fit(frame, SETS).predict(frame), search.predict(frame))
    found = search.disambiguate(frame, SETS)
    assert found.index.equals(frame.index)
    assert (found["label"] == TRUTH).mean() > 0.9
    assert not hasattr(pipe[0], "mean_")
    assert pickle.loads(pickle.dumps(search)).score(frame, TRUTH) == search.score(frame, TRUTH)
    assert len(search.cv_results_["param_lwclassifier__lr"]) == 4


def test_steps_are_fitted_once_for_each_of_their_settings_on_the_rows_that_train() -> None:
    Noted.fits.clear()
    pipe = Pipeline([("noted", Noted()), ("pca", PCA()), ("end", linear(epochs=1))])
    grid = {"end__lr": [0.1, 0.2, 0.3], "pca__n_components": [2, 3]}
    search = PartialLabelSearchCV(pipe, grid, random_state=0, refit=False).fit(X, SETS)
    assert len(search.result_.table) == 6
    assert Noted.fits == [(135, 135)] * 2


def test_steps_themselves_can_be_searched() -> None:
    pipe = Pipeline([("scale", StandardScaler()), ("end", linear())])
    other = RCClassifier(model="linear", epochs=8, lr=0.5)
    grid = {"scale": [MinMaxScaler(), "passthrough"], "end": [linear(lr=1e-6), other]}
    search = PartialLabelSearchCV(pipe, grid, random_state=0).fit(X, SETS)
    assert isinstance(search.best_estimator_[-1], RCClassifier)
    assert not hasattr(other, "classes_")
    assert other.random_state is None
    with pytest.raises(InputError, match="estimator ends in LogisticRegression"):
        PartialLabelSearchCV(pipe, {"end": [LogisticRegression()]}).fit(X, SETS)


def with_holes() -> pd.DataFrame:
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=["x", "y"] * 75)
    frame.iloc[::9, 1] = np.nan
    return frame


TABLE = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), list("abcd")), (OneHotEncoder(), ["kind"])
)
SVD = TruncatedSVD(2, random_state=0)
TEXTS = [f"{'long ' * round(row[2])}{'wide ' * round(row[3])}" for row in X]


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        (with_holes(), TABLE),
        (TEXTS, make_pipeline(CountVectorizer(token_pattern="\\w+"), SVD)),
        (sp.csr_array(X), SVD),
    ],
    ids=["table", "texts", "sparse"],
)
def test_the_first_step_says_what_it_takes(tmp_path: Path, rows: Any, steps: Any) -> None:
    pipe = make_pipe(steps)
    search = PartialLabelSearchCV(pipe, {"end__lr": [0.3, 1e-6]}, random_state=0).fit(rows, SETS)
    assert search.score(rows, TRUTH) > 0.75
    options = {"study": tmp_path / "study.db", "batch": 2, "refit": False}
    space = {"end__lr": Range(0.01, 0.5)}
    for trials in (2, 3):
        found = optuna_search(pipe, rows, SETS, space, trials=trials, **options)
        assert len(found.table) == trials
    turned = rows.iloc[::-1] if isinstance(rows, pd.DataFrame) else rows[::-1]
    with pytest.raises(InputError, match="begun with another data"):
        optuna_search(pipe, turned, SETS, space, **options)


def make_pipe(steps: Any) -> Pipeline:
    return Pipeline([("before", steps), ("end", linear())])


def test_a_study_refuses_other_steps(tmp_path: Path) -> None:
    space, options = {"end__lr": Range(0.01, 0.5)}, {"trials": 1, "study": tmp_path / "s.db"}
    optuna_search(make_pipe(StandardScaler()), X, SETS, space, **options)
    optuna_search(make_pipe(StandardScaler()), X, SETS, space, **options)
    with pytest.raises(InputError, match=r"another estimator \(StandardScaler → LWClassifier"):
        optuna_search(make_pipe(MinMaxScaler()), X, SETS, space, **options)
    with pytest.raises(InputError, match="another before__with_mean"):
        optuna_search(make_pipe(StandardScaler(with_mean=False)), X, SETS, space, **options)


def test_the_papers_grid_and_the_oracle_know_pipelines() -> None:
    pipe = make_pipeline(StandardScaler(), linear(epochs=1))
    assert paper_grid(pipe) == {f"lwclassifier__{n}": v for n, v in paper_grid(linear()).items()}
    assert oracle_search(pipe, X, SETS, TRUTH, {"lwclassifier__lr": [0.1]}).oracle


def test_what_a_pipeline_cannot_do_is_said(tmp_path: Path) -> None:
    pipe = make_pipeline(StandardScaler(), linear(epochs=1))
    with pytest.raises(InputError, match="Did you mean 'lwclassifier__lr'"):
        PartialLabelSearchCV(pipe, {"lr": [0.1]}).fit(X, SETS)
    with pytest.raises(InputError, match="estimator ends in LogisticRegression"):
        PartialLabelSearchCV(make_pipeline(LogisticRegression()), {"C": [1]}).fit(X, SETS)
    search = PartialLabelSearchCV(pipe, {"lwclassifier__lr": [0.1]}).fit(X, SETS)
    with pytest.raises(InputError, match=r"joblib\.dump\(search\.best_estimator_"):
        search.save(tmp_path / "model")


def test_disambiguate_goes_through_the_steps() -> None:
    frame = pd.DataFrame(X, index=range(7, 157))
    pipe = make_pipeline(StandardScaler(), PLKNNClassifier(n_neighbors=5))
    with pytest.raises(NotFittedError):
        disambiguate(pipe, frame, SETS)
    found = disambiguate(pipe.fit(frame, SETS), frame, SETS)
    pd.testing.assert_frame_equal(
        found, pipe[-1].disambiguate(pipe[:-1].transform(frame), SETS).set_axis(frame.index)
    )
    alone = PLKNNClassifier(n_neighbors=5).fit(X, SETS)
    pd.testing.assert_frame_equal(disambiguate(alone, X, SETS), alone.disambiguate(X, SETS))
    single = make_pipeline(clone(alone)).fit(X, SETS)
    pd.testing.assert_frame_equal(disambiguate(single, X, SETS), alone.disambiguate(X, SETS))
    grid = GridSearchCV(pipe, {"plknnclassifier__n_neighbors": [3, 5]}, cv=KFold(3, shuffle=True))
    assert len(disambiguate(grid.fit(X, SETS).best_estimator_, X, SETS)) == len(X)
    with pytest.raises(InputError, match="estimator is LogisticRegression"):
        disambiguate(LogisticRegression(), X, SETS)


def test_steps_that_differ_in_the_middle_of_a_long_list_are_two() -> None:
    """Their texts are cut short, and read the same."""
    rng = np.random.default_rng(0)
    names = [f"a column with a long name {i}" for i in range(60)]
    frame = pd.DataFrame(rng.normal(0, 1, (len(X), 60)), columns=names)
    frame[names[30]] = TRUTH * 5.0

    def without(name: str) -> ColumnTransformer:
        return ColumnTransformer([("kept", "passthrough", [n for n in names if n != name])])

    worse, better = without(names[30]), without(names[31])
    pipe = Pipeline([("columns", worse), ("last", LWClassifier(model="linear", epochs=8))])
    found = [
        grid_search(pipe, frame, SETS, {"columns": steps}, random_state=0, refit=False).table
        for steps in ([worse, better], [better])
    ]
    assert found[0]["risk"].iloc[1] == found[1]["risk"].iloc[0] != found[0]["risk"].iloc[0]
