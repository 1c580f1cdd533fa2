"""Pipelines of scikit-learn that end in a classifier of this package."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy.typing as npt
import pandas as pd
from sklearn.pipeline import Pipeline

from amongst.errors import InputError
from amongst.estimators.base import PartialLabelClassifier

Estimator: TypeAlias = PartialLabelClassifier | Pipeline
"""A classifier of this package, or a pipeline that ends in one."""


def disambiguate(estimator: Estimator, X: npt.ArrayLike, y: Any) -> pd.DataFrame:
    """Which candidate was right, by a fitted pipeline, which has no such method, or a classifier.

    For a pipeline it is ``pipe[-1].disambiguate(pipe[:-1].transform(X), y)``, with the index of X.

    Parameters
    ----------
    estimator : fitted: a classifier of this package, or a pipeline that ends in one.
    X, y : features of the rows as the pipeline takes them, and their candidate sets.

    Returns
    -------
    DataFrame; see `PartialLabelClassifier.disambiguate`.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from amongst import PLKNNClassifier
    >>> X, y = [[1], [2], [3], [7], [8], [9]], ["cat", "cat|dog", "cat", "dog", "dog|cat", "dog"]
    >>> pipe = make_pipeline(StandardScaler(), PLKNNClassifier(n_neighbors=3)).fit(X, y)
    >>> disambiguate(pipe, X, y)["label"].tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog']
    """
    classifier = classifier_of(estimator)
    if classifier is estimator:
        return classifier.disambiguate(X, y)
    rows = estimator[:-1].transform(X) if len(estimator) > 1 else X
    found = classifier.disambiguate(rows, y)
    return found.set_axis(X.index) if isinstance(X, pd.DataFrame) else found


def classifier_of(estimator: Estimator) -> PartialLabelClassifier:
    """The classifier itself, or the last step of a pipeline.

    >>> from sklearn.linear_model import LogisticRegression
    >>> classifier_of(LogisticRegression())
    Traceback (most recent call last):
    amongst.errors.InputError: estimator is LogisticRegression, which does not take candidate sets. Pass an estimator of this package, such as LWClassifier(), or a pipeline that ends in one.
    """
    piped = isinstance(estimator, Pipeline)
    last = estimator.steps[-1][1] if piped else estimator
    if isinstance(last, PartialLabelClassifier):
        return last
    name = last if isinstance(last, str) else type(last).__name__
    raise InputError(
        f"estimator {'ends in' if piped else 'is'} {name}, which does not take candidate sets. Pass "
        "an estimator of this package, such as LWClassifier(), or a pipeline that ends in one."
    )


def prefix_of(estimator: Estimator) -> str:
    """What stands before the names of the classifier's parameters.

    >>> from sklearn.pipeline import make_pipeline
    >>> from amongst import LWClassifier
    >>> prefix_of(LWClassifier()), prefix_of(make_pipeline(LWClassifier()))
    ('', 'lwclassifier__')
    """
    return f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
