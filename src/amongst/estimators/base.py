"""The scikit-learn face: this base validates, converts once, and answers; a subclass computes."""

from __future__ import annotations

import os
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from amongst.algorithms._base import warn_unused
from amongst.candidates import CandidateSets, as_candidates
from amongst.candidates.cells import label_kinds, wrong
from amongst.candidates.container import LARGEST, with_prior
from amongst.candidates.convert import is_annotators
from amongst.checks import check_choice, check_sparse, on_host
from amongst.data.encoder import TableEncoder
from amongst.devices import made_on_cpu, threads_that_are_there
from amongst.errors import AmongstWarning, InputError, named, warn
from amongst.estimators.answers import Answers
from amongst.estimators.inputs import HOLES, as_fitted, check_same_kind, explained, stacked
from amongst.estimators.inputs import Floats as Floats
from amongst.estimators.persistence import save
from amongst.files import Arrays
from amongst.train.doubts import LIKELY

TAKEN = ("string", "number", "date", "datetime", "datetime with a zone")
"""Kinds of labels."""


class KeptInterrupt(KeyboardInterrupt):
    """Ctrl-C during a training whose last finished epoch is kept."""


class PartialLabelClassifier(Answers, ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of every estimator here.

    A subclass gives `_fit(X, sets)` and `_scores(X)` of shape (n, K), the higher the likelier;
    and, to be saved, `_get_state` and `_set_state`.

    Attributes
    ----------
    classes_ : array, shape (K,).
    uses_prior : whether `fit` uses weights of candidates, such as votes; if not, a warning says so.
    n_features_in_ : int, the values of a row; of an image, all of them.
    encoder_ : a `TableEncoder`, of a data frame whose columns it made numbers; else None.

    Examples
    --------
    >>> from amongst.estimators import PartialLabelClassifier, PLKNNClassifier
    >>> model = PLKNNClassifier(n_neighbors=1).fit([[0.], [1.]], ["a|b", "b"])
    >>> isinstance(model, PartialLabelClassifier), model.score([[1.]], ["b"])
    (True, 1.0)
    """

    uses_prior: ClassVar[bool] = False
    classes_: npt.NDArray[Any]
    n_features_in_: int
    encoder_: TableEncoder | None = None
    encodes: bool | TableEncoder = False
    """Whether a data frame may have columns of any kind, as for `AutoClassifier`; else numbers alone."""
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
            check_order(X, rows, name)
        with made_on_cpu(), threads_that_are_there(), self._as_it_was_if_it_fails():
            values = self._validate_X(X, reset=True)
            sets = self._validate_y(y, _num_samples(values))
            self.classes_ = sets.classes
            self._annotators = y.shape[1] if is_annotators(y) else None
            if sets.weights is not None and not self.uses_prior:
                warn_unused(getattr(self, "title", type(self).__name__))
            self.__dict__.pop("calibration_", None)
            self._fit(values, sets, **more)
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
        ``runner_up_confidence``, the second likeliest (missing and 0 for a single candidate). Weights
        of candidates count: P(z | x, s) ∝ π_z p_z(x) for z ∈ s. An estimator that was fitted with
        ``outside=`` also gives ``outside``, the probability that no candidate is right, and
        ``proposed``, the likeliest other class where that is above 1/2.
        """
        logs, sets = self._weighed(X, y)
        doubts = {}
        if hasattr(self, "outside_"):
            chances, other = self._outside(logs, sets), self._likeliest(logs, ~sets.mask)
            proposed = np.where(chances > LIKELY, other, None)
            doubts = {"outside": chances, "proposed": proposed}
        logs = logs / self._temperature
        inside, logs = sets.posterior(logs), np.maximum(with_prior(logs, sets), -LARGEST)
        last = np.where(sets.mask, -logs, np.inf)
        first, second = np.argsort(last, axis=1, kind="stable")[:, :2].T
        rows, several = np.arange(len(sets)), sets.sizes > 1
        classes: Any = self.classes_.astype(object)
        table = {
            "label": self.classes_[first],
            "confidence": inside[rows, first],
            "runner_up": np.where(several, classes[second], None),
            "runner_up_confidence": np.where(several, inside[rows, second], 0.0),
        }
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(table | doubts, index=index)

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

    def _weighed(self, X: npt.ArrayLike, y: Any) -> tuple[Floats, CandidateSets]:
        """Logarithmic weights of rows, and their candidate sets."""
        check_order(X, y)
        logs = self._log_weights(X)
        sets = as_sets(self._as_fitted(y), self.classes_)
        if len(sets) != len(logs):
            raise InputError(f"X has {len(logs)} rows, but y has {len(sets)} candidate sets.")
        return logs, sets

    def save(self, path: str | os.PathLike[str], metadata: Mapping[str, Any] | None = None) -> None:
        """Write the fitted estimator to one file, without pickle; `amongst.load` reads it.

        `metadata` is anything JSON can hold; it comes back as the attribute ``metadata_``.
        """
        save(self, path, metadata)

    def in_lockstep(self) -> bool:
        """Whether clones of this estimator can train together, as one population."""
        return False

    def _as_one_of(self, clones: int) -> Mapping[str, Any]:
        """Parameters of a clone amongst so many that shall not take longer than one fit."""
        return {}

    @property
    def _temperature(self) -> float:
        """By which logarithmic weights are divided."""
        return 1.0 if self.calibration_ is None else self.calibration_.temperature

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
        with made_on_cpu(), threads_that_are_there():
            return check_scores(self._scores(self._validate_X(X, reset=False)))

    def _validate_X(self, X: Any, reset: bool) -> Any:
        """Features as numbers: dense, or sparse where X is, or has a text, and the estimator takes it."""
        if reset:
            self.encoder_ = self._new_encoder().fit(X) if self._is_encoded(X) else None
        if self.encoder_ is not None:
            return self._encoded(X, self.encoder_, reset)
        if issparse(X):
            check_sparse("X", X)
        if issparse(X) and self._takes_sparse():
            return validate_data(self, X, reset=reset, accept_sparse="csr")
        return self._array(X, reset)

    def _is_encoded(self, X: Any) -> bool:
        return bool(self.encodes) and isinstance(X, pd.DataFrame)

    def _new_encoder(self) -> TableEncoder:
        given = self.encodes
        return clone(given) if isinstance(given, TableEncoder) else TableEncoder()

    def _takes_sparse(self) -> bool:
        return bool(get_tags(self).input_tags.sparse)

    def _encoded(self, X: Any, encoder: TableEncoder, reset: bool) -> Any:
        if not isinstance(X, pd.DataFrame):
            array = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
            X = pd.DataFrame(array, columns=list(encoder.columns_)).infer_objects()
        elif reset:
            validate_data(self, X, reset=True, skip_check_array=True)
        found: Any = encoder.transform(X)
        return found.toarray() if issparse(found) and not self._takes_sparse() else found

    def _column_names(self) -> Any:
        """Of what `_validate_X` gives, for messages; None where they are not known."""
        if self.encoder_ is not None:
            return self.encoder_.get_feature_names_out()
        return getattr(self, "feature_names_in_", None)

    def _array(self, X: npt.ArrayLike, reset: bool) -> npt.NDArray[Any]:
        if np.ma.is_masked(X):
            raise InputError("X is a masked array with values that are masked; fill them in first.")
        X = on_host(stacked(X) if isinstance(X, list | tuple) else X)
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
            warn(
                DataConversionWarning(
                    "A column-vector y was passed when a 1d array was expected; it is read as one "
                    "label for each row."
                )
            )
        sets = as_sets(y)
        if len(sets) != n:
            raise InputError(
                f"X has {n} rows, but y has {len(sets)} candidate sets; they must agree."
            )
        check_labels(sets.classes)
        if sets.n_classes < 2:
            raise InputError(
                f"has one class only ({sets.classes.tolist()[0]!r}); a classifier needs at least two.",
                code="one-class",
                argument="y",
                remedy={
                    "python": "Pass as_candidates(y, classes=[…]) if there are more.",
                    "command": f"Check the column and {named('separator')}.",
                },
            )
        if sets.weights is None and bool((sets.sizes == sets.n_classes).all()):
            raise InputError(
                f"every candidate set contains all {sets.n_classes} classes: there is nothing to learn "
                "from. At least some rows must exclude a class.",
                code="full-sets",
            )
        return sets


def check_scores(scores: Floats) -> Floats:
    """The scores, shape (n, K); NaN or +∞ is no belief, and must not become a label.

    >>> check_scores(np.array([[0.0, 1.0], [0.0, np.nan]]))
    Traceback (most recent call last):
    amongst.errors.InputError: row 1 of the features has a score that is not finite; its values may be too large. Mend or drop it.
    """
    odd = np.isnan(scores) | np.isposinf(scores)
    if odd.any():
        row = int(odd.any(axis=1).argmax())
        raise InputError(
            f"row {row} of the features has a score that is not finite; its values may be too large.",
            code="not-finite",
            at=row,
            remedy="Mend or drop it.",
        )
    return scores


def check_row_size(X: npt.NDArray[Any], size: int) -> None:
    """An error where rows, such as images, hold more or fewer values than those of `fit`."""
    found = int(np.prod(X.shape[1:]))
    if found != size:
        raise InputError(
            f"X has rows of {found} values, shape {X.shape[1:]}, but fit had rows of {size}. Resize "
            "them to the shape that fit had."
        )


def _is_table(y: Any) -> bool:
    return isinstance(y, pd.DataFrame | np.ndarray) and y.ndim == 2 and y.shape[1] > 1


def as_sets(y: Any, classes: npt.NDArray[Any] | None = None) -> CandidateSets:
    """As `as_candidates`, with a remedy that an estimator's `fit` and `disambiguate` know.

    >>> as_sets([["owl"], []])
    Traceback (most recent call last):
    amongst.errors.InputError: y[1] is an empty candidate set; every row needs at least one label. Drop the row, or pass as_candidates(y, empty='full') if any label may be right.
    """
    try:
        return as_candidates(y, None if classes is None else classes.tolist())
    except InputError as error:
        error.audience = "estimator"
        raise


def check_labels(classes: npt.NDArray[Any]) -> None:
    """An error unless all labels are of one kind that is `TAKEN`, and whole.

    >>> check_labels(np.array(["a", 1], dtype=object))
    Traceback (most recent call last):
    amongst.errors.InputError: y mixes labels of different types, such as 'a' (string) and 1 (number). Give all of them one type: make them strings.
    """
    kinds = label_kinds(classes.tolist())
    shown = " and ".join(f"{label!r} ({kind})" for kind, label in list(kinds.items())[:2])
    if len(kinds) > 1:
        problem = f"mixes labels of different types, such as {shown}."
        raise wrong("mixed-types", problem, "Give all of them one type: make them strings.")
    if not set(kinds) <= set(TAKEN):
        raise wrong(
            "not-a-label",
            f"holds labels such as {shown}; a classifier takes strings, whole numbers, bools, dates or "
            "datetimes.",
            "Make them strings.",
        )
    fractions = [v for v in classes.tolist() if isinstance(v, float) and not v.is_integer()]
    if fractions:
        problem = f"holds {fractions[0]}, a continuous number. Unknown label type: it is not whole."
        raise wrong("continuous", problem, "Make them strings.")


def check_numbers(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as numbers or bools: scikit-learn lets dates pass, and categories as objects."""
    if X.dtype.kind in "mM":
        raise InputError(
            f"X holds values of type {X.dtype}; make numbers of them, such as days since a first day."
        )
    if X.dtype != object:
        return X
    numbers = X.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InputError(f"X holds NaN or infinity. {HOLES}")
    return numbers


def check_order(X: Any, y: Any, name: str = "y") -> None:
    """A warning where X and y have the same rows by their index, but in another order."""
    pandas = isinstance(X, pd.DataFrame) and isinstance(y, pd.DataFrame | pd.Series)
    if not pandas or len(X) != len(y) or X.index.equals(y.index):
        return
    if set(X.index) == set(y.index):
        warn(
            AmongstWarning(
                f"X and {name} have the same index in another order; the first row of X is taken with "
                f"the first of {name}, whatever their index says. If the index is right, pass "
                f"{name}.loc[X.index]; if not, {name}.reset_index(drop=True) and likewise X."
            )
        )


def row_importance(sample_weight: Any, n: int) -> npt.NDArray[np.float64] | None:
    """Weights of n rows, divided by the mean of those above 0, shape (n,); None where all count
    alike. So steps are as long as without weights, whatever the unit.

    >>> row_importance([0, 1, 3], 3), row_importance(None, 3), row_importance([2, 2, 2], 3)
    (array([0. , 0.5, 1.5]), None, None)
    """
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(on_host(sample_weight), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"sample_weight is a {type(sample_weight).__name__} that does not read as numbers; "
            "expected one number for each row of X."
        ) from error
    if weights.shape not in ((), (n,)):
        raise InputError(
            f"sample_weight has shape {weights.shape}; expected ({n},), one number for each row of X."
        )
    weights = np.broadcast_to(weights, n)
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(
            f"sample_weight has {weights[row]:g} in row {row}; weights are 0 or more. Leave a row out "
            "by 0."
        )
    if not weights.any():
        raise InputError("sample_weight is zero in every row: there is nothing left to count.")
    return None if (weights == weights[0]).all() else weights / weights[weights > 0].mean()


def class_importance(
    class_weight: Mapping[Any, float] | str, sets: CandidateSets, importance: Floats | None = None
) -> Floats:
    """What each row counts, shape (n,), by the mean weight of its candidates.

    >>> from amongst import as_candidates
    >>> class_importance({"a": 3.0}, as_candidates(["a", "b", "a|b"])).tolist()
    [3.0, 1.0, 2.0]
    >>> class_importance("balanced", as_candidates(["a", "a", "a", "b"])).round(2).tolist()
    [0.67, 0.67, 0.67, 2.0]
    """
    prior = sets.prior if importance is None else sets.prior * importance[:, None]
    if isinstance(class_weight, str):
        check_choice("class_weight", class_weight, ("balanced",))
        counts = prior.sum(axis=0)
        each = counts.sum() / (len(counts) * np.where(counts > 0, counts, np.inf))
    else:
        known = {str(c): float(w) for c, w in class_weight.items()}
        each = np.array([known.pop(str(c), 1.0) for c in sets.classes])
        if known:
            problem = f"has classes that no row has: {', '.join(sorted(known))}."
            raise InputError(problem, argument="class_weight", got=class_weight)
    weighed: Floats = prior @ each
    return weighed
