"""The search that sees true labels: only here, only by this name, and marked in what it returns."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from amongst.candidates import CandidateSets
from amongst.candidates.labels import class_array, plain_labels
from amongst.errors import InputError
from amongst.estimators.labels import check_same_kind
from amongst.estimators.pipelines import Estimator
from amongst.metrics import accuracy
from amongst.rng import Seed
from amongst.selection.criteria import Measure
from amongst.selection.result import SearchResult
from amongst.selection.search import PartialLabelSearchCV
from amongst.selection.space import Grid, paper_grid

__all__ = ["oracle_search"]


def oracle_search(
    estimator: Estimator,
    X: npt.ArrayLike,
    y: Any,
    labels: npt.ArrayLike,
    grid: Grid | None = None,
    *,
    validation: float = 0.1,
    engine: str = "auto",
    refit: bool = True,
    random_state: Seed = None,
    verbose: bool = False,
) -> SearchResult:
    """What a grid search would choose if it knew the true labels of the rows held out.

    A bound to compare criteria with, no way to select: on one's own data there are no such labels.
    The split, the points and the other criteria are those of `grid_search` with the same
    `random_state`; the result has a column ``oracle`` and says `oracle`.

    Parameters
    ----------
    estimator, X, y, grid : as for `grid_search`.
    labels : the true label of each row, shape (n,).
    validation, engine, refit, random_state, verbose : as for `grid_search`.

    Examples
    --------
    >>> from amongst import LWClassifier
    >>> X, y = np.repeat(np.eye(2), 20, axis=0), ["a|b", "a"] * 10 + ["a|b", "b"] * 10
    >>> estimator = LWClassifier(model="linear", epochs=2)
    >>> result = oracle_search(estimator, X, y, ["a"] * 20 + ["b"] * 20, {"lr": [0.1, 1e-6]})
    >>> result.oracle, "oracle" in result.table
    (True, True)
    """
    search = _OracleSearch(
        estimator,
        grid,
        validation=validation,
        engine=engine,
        refit=refit,
        random_state=random_state,
        verbose=verbose,
    )
    search.labels = np.asarray(labels)
    return search.fit(X, y).result_


class _OracleSearch(PartialLabelSearchCV):
    labels: npt.NDArray[Any]

    def _search(self, X: npt.NDArray[Any], sets: CandidateSets) -> SearchResult:
        grid = paper_grid(self.estimator) if self.grid is None else self.grid
        return self._search_grid(X, sets, grid, "oracle")

    def _measures(self, sets: CandidateSets, held: npt.NDArray[np.int64]) -> dict[str, Measure]:
        if self.labels.shape != (len(sets),):
            raise InputError(
                f"labels has shape {self.labels.shape}; give one true label for each of the "
                f"{len(sets)} rows."
            )
        check_same_kind(class_array(plain_labels(self.labels)), sets.classes)
        codes = torch.from_numpy(sets.encode(self.labels)[held])
        return super()._measures(sets, held) | {"oracle": partial(_true_accuracy, codes)}


def _true_accuracy(codes: Tensor, scores: Tensor, inside: Tensor) -> Tensor:
    return accuracy(scores, codes.to(scores.device))
