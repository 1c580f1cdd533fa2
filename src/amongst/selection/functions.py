"""Searches as one call; none of them has a parameter for true labels."""

from __future__ import annotations

import os
from typing import Any

import numpy.typing as npt

from amongst.estimators.pipelines import Estimator
from amongst.rng import Seed
from amongst.selection.result import SearchResult
from amongst.selection.search import PartialLabelSearchCV
from amongst.selection.space import Grid, Space, paper_grid, ranges

__all__ = ["grid_search", "optuna_search"]


def grid_search(
    estimator: Estimator,
    X: npt.ArrayLike,
    y: Any,
    grid: Grid | None = None,
    *,
    criterion: str = "risk",
    validation: float = 0.1,
    engine: str = "auto",
    refit: bool = True,
    random_state: Seed = None,
    verbose: bool = False,
) -> SearchResult:
    """Judge every point of a grid by held-out candidate sets, all points as one population.

    Parameters
    ----------
    estimator, X, y : as for `PartialLabelSearchCV`; y holds candidate labels.
    grid : None for the paper's grid of the estimator's method (50 points for LW).
    criterion, validation, engine, refit, random_state, verbose : as for `PartialLabelSearchCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from amongst import LWClassifier
    >>> X, y = np.repeat(np.eye(2), 20, axis=0), ["a|b", "a"] * 10 + ["a|b", "b"] * 10
    >>> result = grid_search(LWClassifier(model="linear", epochs=2), X, y, random_state=0)
    >>> len(result.table), result.table.columns[:3].tolist()
    (50, ['beta', 'lr', 'weight_decay'])
    """
    search = PartialLabelSearchCV(
        estimator,
        grid,
        criterion=criterion,
        validation=validation,
        engine=engine,
        refit=refit,
        random_state=random_state,
        verbose=verbose,
    )
    return search.fit(X, y).result_


def optuna_search(
    estimator: Estimator,
    X: npt.ArrayLike,
    y: Any,
    distributions: Space | None = None,
    *,
    trials: int = 50,
    batch: int = 16,
    study: str | os.PathLike[str] | None = None,
    study_name: str = "amongst",
    prune: bool = True,
    criterion: str = "risk",
    validation: float = 0.1,
    engine: str = "auto",
    refit: bool = True,
    random_state: Seed = None,
    verbose: bool = False,
) -> SearchResult:
    """Search with TPE, a batch of trials at a time as one population; needs the extra ``search``.

    Parameters
    ----------
    estimator, X, y : as for `PartialLabelSearchCV`; y holds candidate labels.
    distributions : by name; None for ranges that span the paper's grid of the method.
    trials : how many finished trials the study has in the end; one that goes on does the rest.
    batch, study, study_name, prune : as for `PartialLabelSearchCV`.
    criterion, validation, engine, refit, random_state, verbose : likewise.

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
    search = PartialLabelSearchCV(
        estimator,
        distributions=space,
        criterion=criterion,
        validation=validation,
        engine=engine,
        refit=refit,
        trials=trials,
        batch=batch,
        study=study,
        study_name=study_name,
        prune=prune,
        random_state=random_state,
        verbose=verbose,
    )
    return search.fit(X, y).result_
