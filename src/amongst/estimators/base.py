"""The scikit-learn face: this base validates, converts once, and answers; a subclass computes."""

from __future__ import annotations

import os
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from amongst.archive import Arrays
from amongst.candidates import CandidateSets, as_candidates
from amongst.candidates.convert import is_binary
from amongst.defaults import made_on_cpu
from amongst.errors import InputError
from amongst.estimators.frames import check_numbers, check_order, explained
from amongst.estimators.importance import row_importance
from amongst.estimators.labels import as_fitted, as_sets, check_labels, check_same_kind
from amongst.tensors import on_host

__all__ = ["KeptInterrupt", "PartialLabelClassifier", "check_row_size", "restricted_proba"]

Floats = npt.NDArray[np.floating[Any]]
LARGEST = float(np.finfo(np.float64).max)


class KeptInterrupt(KeyboardInterrupt):
    """Ctrl-C during a training whose last finished epoch is kept."""


class PartialLabelClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of every estimator here.

    A subclass gives `_fit(X, sets)` and `_scores(X)` of shape (n, K), the higher the likelier;
    and, to be saved, `_get_state` and `_set_state`.

    Attributes
    ----------
    classes_ : array, shape (K,).
    n_features_in_ : int, the values of a row; of an image, all of them.

    Examples
    --------
    >>> from amongst.estimators import PartialLabelClassifier, PLKNNClassifier
    >>> model = PLKNNClassifier(n_neighbors=1).fit([[0.], [1.]], ["a|b", "b"])
    >>> isinstance(model, PartialLabelClassifier), model.score([[1.]], ["b"])
    (True, 1.0)
    """

    classes_: npt.NDArray[Any]
    n_features_in_: int
    _annotators: int | None = None

    def fit(self, X: npt.ArrayLike, y: Any) -> Self:
        """Learn from features and candidate sets.

        A fit that fails leaves the estimator as it was. Ctrl-C stops with KeyboardInterrupt; a
        network then keeps its last finished epoch, and predicts.

        Parameters
        ----------
        X : shape (n, d), or (n, channels, height, width) for images; numbers without NaN.
        y : the candidate labels of each row, in any form `as_candidates` takes; ordinary labels
            are sets of one. All are strings, or whole numbers (bools too), or dates, or datetimes.
        """
        return self._fit_checked(X, y)

    def _fit_checked(self, X: npt.ArrayLike, y: Any, **more: Any) -> Self:
        """`more` is for `_fit`: values of the rows, each by the name of its argument."""
        for name, rows in {"y": y, **more}.items():
            check_order(X, rows, name, stacklevel=4)
        with made_on_cpu(), self._as_it_was_if_it_fails():
            X = self._validate_X(X, reset=True)
            sets = self._validate_y(y, np.shape(X)[0])
            self.classes_ = sets.classes
            self._annotators = y.shape[1] if _is_table(y) and not is_binary(y) else None
            self._fit(X, sets, **more)
        return self

    @contextmanager
    def _as_it_was_if_it_fails(self) -> Iterator[None]:
        """A failure inside undoes what it did to this estimator; a kept interruption is none."""
        before = dict(vars(self))
        try:
            yield
        except KeptInterrupt:
            raise
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The likeliest class of each row, shape (n,)."""
        scores = self._checked_scores(X)
        labels: npt.NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return labels

    def decision_function(self, X: npt.ArrayLike) -> Floats:
        """Scores, shape (n, K); for two classes their difference, shape (n,), as scikit-learn has
        it: positive means the second class."""
        scores = self._checked_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: npt.ArrayLike, y: Any, sample_weight: Any = None) -> float:
        """Share of rows, or of their weight, whose prediction is amongst the labels given for them.

        With true labels this is the accuracy; with candidate sets, the covering rate.
        """
        check_order(X, y)
        check_order(X, sample_weight, "sample_weight")
        predicted, y = self.predict(X), self._as_fitted(y)
        sets = as_sets(y, self.classes_ if self._is_mask(y) else None)
        if len(sets) != len(predicted):
            raise InputError(f"X has {len(predicted)} rows, but y has {len(sets)}.")
        check_same_kind(sets.classes, self.classes_)
        importance = row_importance(sample_weight, len(sets))
        return float(np.average(sets.contains(predicted), weights=importance))

    def _as_fitted(self, y: Any) -> Any:
        """y, read as `fit` read its own: a few rows of answers may hold 0 and 1 only, and days may
        have become times."""
        if _is_table(y) and y.shape[1] == self._annotators and np.asarray(y).dtype != bool:
            y = as_candidates(y, kind="annotators")
        dated = isinstance(self.classes_.tolist()[0], date) and not self._is_mask(y)
        return as_fitted(as_candidates(y), self.classes_) if dated else y

    def _is_mask(self, y: Any) -> bool:
        """Whether this is a 0/1 matrix with a column for each class, without their names."""
        if issparse(y):
            return bool(y.shape[1] == len(self.classes_))
        wide = isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == len(self.classes_)
        return wide and y.dtype.kind in "biuf" and bool(np.isin(y, (0, 1)).all())

    def disambiguate(self, X: npt.ArrayLike, y: Any) -> pd.DataFrame:
        """Which candidate was right: the likeliest of each row's, and how sure.

        Parameters
        ----------
        X : features of the rows.
        y : their candidate sets, in any form `as_candidates` takes.

        Returns
        -------
        DataFrame with a row for each row of X, and its index: ``label``, the likeliest candidate;
        ``confidence``, its probability amongst the candidates; ``runner_up`` and
        ``runner_up_confidence``, the second likeliest (missing and 0 for a single candidate).
        """
        check_order(X, y)
        logs = self._log_weights(X)
        sets = as_sets(self._as_fitted(y), self.classes_)
        if len(sets) != len(logs):
            raise InputError(f"X has {len(logs)} rows, but y has {len(sets)} candidate sets.")
        inside = restricted_proba(logs, sets.mask)
        last = np.where(sets.mask, -np.maximum(logs, -LARGEST), np.inf)
        order = np.argsort(last, axis=1, kind="stable")[:, :2]
        first, second = order[:, 0], order[:, 1]
        rows, several = np.arange(len(sets)), sets.sizes > 1
        runner_up = self.classes_.astype(object)[second]
        runner_up[~several] = None
        return pd.DataFrame(
            {
                "label": self.classes_[first],
                "confidence": inside[rows, first],
                "runner_up": runner_up,
                "runner_up_confidence": np.where(several, inside[rows, second], 0.0),
            },
            index=X.index if isinstance(X, pd.DataFrame) else None,
        )

    def save(self, path: str | os.PathLike[str], metadata: Mapping[str, Any] | None = None) -> None:
        """Write the fitted estimator to one file, without pickle; `amongst.load` reads it.

        `metadata` is anything JSON can hold; it comes back as the attribute ``metadata_``.
        """
        from amongst.estimators.persistence import save

        save(self, path, metadata)

    @abstractmethod
    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        """Learn from validated features and candidate sets."""

    @abstractmethod
    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        """Scores of validated features, shape (n, K)."""

    def _get_state(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays and JSON-ready facts that a fitted estimator can be rebuilt from."""
        raise InputError(f"{type(self).__name__} cannot be saved without pickle.")

    def _set_state(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """The inverse of `_get_state`."""
        raise InputError(f"{type(self).__name__} cannot be loaded without pickle.")

    def _log_weights(self, X: npt.ArrayLike) -> Floats:
        """Shape (n, K): the logarithm of how likely each class is, up to a term for each row."""
        return self._checked_scores(X)

    def _checked_scores(self, X: npt.ArrayLike) -> Floats:
        check_is_fitted(self)
        with made_on_cpu():
            return self._scores(self._validate_X(X, reset=False))

    def _validate_X(self, X: npt.ArrayLike, reset: bool) -> npt.NDArray[Any]:
        if np.ma.is_masked(X):
            raise InputError("X is a masked array with values that are masked; fill them in first.")
        X = on_host(X)
        nd = getattr(X, "ndim", 2) > 2
        array = self._numbers(X, reset=reset, dtype="numeric", allow_nd=nd, ensure_2d=not nd)
        if nd and reset:
            self.n_features_in_ = array[0].size
        # A table's columns of small counts may be bytes, but are no pixels.
        bytes_of_table = array.dtype == np.uint8 and isinstance(X, pd.DataFrame)
        return array.astype(np.float64) if bytes_of_table else array

    def _numbers(self, X: npt.ArrayLike, **options: Any) -> npt.NDArray[Any]:
        try:
            return check_numbers(validate_data(self, X, **options))
        except (TypeError, ValueError) as error:
            better = explained(X, error)
            if better is error:
                raise
            raise better from error

    def _validate_y(self, y: Any, n: int) -> CandidateSets:
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected; it is read as one "
                "label for each row.",
                DataConversionWarning,
                stacklevel=4,
            )
        sets = as_sets(y)
        if len(sets) != n:
            raise InputError(
                f"X has {n} rows, but y has {len(sets)} candidate sets; they must agree."
            )
        check_labels(sets.classes)
        if sets.n_classes < 2:
            raise InputError(
                f"y has one class only ({sets.classes.tolist()[0]!r}); a classifier needs at least two. "
                "Pass as_candidates(y, classes=[…]) if there are more."
            )
        if bool((sets.sizes == sets.n_classes).all()):
            raise InputError(
                f"every candidate set in y contains all {sets.n_classes} classes: there is nothing "
                "to learn from. At least some rows must exclude a class."
            )
        return sets


def restricted_proba(logs: Floats, mask: npt.NDArray[np.bool_]) -> Floats:
    """Softmax of logarithms over the candidates; equal shares where all are −∞.

    A class outside, however likely, takes nothing from the candidates: their own order stands.

    >>> restricted_proba(np.array([[2.0, 2.0, 5000.0]]), np.array([[True, True, False]]))
    array([[0.5, 0.5, 0. ]])
    """
    inside = np.where(mask, np.maximum(logs, -LARGEST), -np.inf)
    weights = np.exp(inside - inside.max(axis=1, keepdims=True))
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


def check_row_size(X: npt.NDArray[Any], size: int) -> None:
    """An error where rows, such as images, hold more or fewer values than those of `fit`."""
    found = X[:1].size
    if found != size:
        raise InputError(
            f"X has rows of {found} values, shape {X.shape[1:]}, but fit had rows of {size}. Resize "
            "them to the shape that fit had."
        )


def _is_table(y: Any) -> bool:
    return isinstance(y, pd.DataFrame | np.ndarray) and y.ndim == 2 and y.shape[1] > 1
