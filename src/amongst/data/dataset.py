"""What `load` returns: features, what is known of their labels, and the official split."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import issparse

from amongst.candidates import CandidateSets
from amongst.data.catalogue import Entry
from amongst.data.encoder import TableEncoder
from amongst.errors import InputError, named

if TYPE_CHECKING:
    from amongst.data.features import Scaling, ScalingKind
    from amongst.data.tables import Table

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a dataset.

    Attributes
    ----------
    features : (n, …) as stored; bytes stay bytes.
    labels : (n,) true classes, or None where they are not known or not to be seen.
    candidates : CandidateSets of these rows, or None.
    """

    features: Array
    labels: npt.NDArray[np.int64] | None
    candidates: CandidateSets | None

    def __len__(self) -> int:
        return len(self.features)

    def without_truth(self) -> Part:
        """The same rows, with candidate labels only.

        >>> Part(np.eye(2), np.array([0, 1]), None).without_truth().labels is None
        True
        """
        return replace(self, labels=None)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A dataset of the catalogue, as `load` returns it.

    Attributes
    ----------
    name : its name in the catalogue.
    features : (n, …) uint8 images, (n, height, width) or (n, 3, height, width), or (n, d) float64.
        Training rows come first, then test rows.
    labels : (n,) true classes 0 … K−1; for evaluation, and for generating candidates.
    candidates : the candidate sets of the training rows, or None where they are to be generated
        from `labels` (see `amongst.candidates.uniform`).
    n_train : how many rows are the official training part; None where there is no such split.
    class_names : K names.
    scaling : the kind of preprocessing that the paper uses for it.
    top : the largest value that a pixel can have.

    Examples
    --------
    >>> from amongst.data import load
    >>> digits = load("digits")
    >>> digits
    Dataset('digits', n=1797, row (8, 8) uint8, K=10, candidates to be generated)
    >>> digits.rows([0, 5]).labels
    array([0, 5])
    """

    name: str
    features: Array
    labels: npt.NDArray[np.int64]
    candidates: CandidateSets | None
    n_train: int | None
    class_names: tuple[str, ...]
    scaling: ScalingKind
    top: float = 255.0

    @classmethod
    def of(
        cls, entry: Entry, features: Array, labels: Array, candidates: CandidateSets | None = None
    ) -> Self:
        """What was read, with what the catalogue says of it."""
        return cls(
            name=entry.name,
            features=features,
            labels=labels.astype(np.int64),
            candidates=candidates,
            n_train=entry.n_train if entry.n_test else None,
            class_names=entry.names_of_classes,
            scaling=entry.scaling,
            top=entry.top,
        )

    @classmethod
    def of_table(cls, name: str, table: Table) -> Self:
        """A person's own data; a truth that is not known is −1.

        >>> from amongst.data import Table
        >>> Dataset.of_table("own", Table(np.eye(2), ("a", "b"), None, ["owl", "kite"], None)).labels
        array([1, 0])
        """
        sets, truth = table.candidates, table.truth
        if sets is None and truth is None:
            which = f"{named('candidates')} or {named('truth')}"
            raise InputError(
                f"the file of {name!r} has neither candidate labels nor true labels.",
                code="no-labels",
                remedy=f"Name their column with {which}.",
            )
        if sets is None:
            classes, labels = np.unique(np.asarray(truth), return_inverse=True)
        else:
            classes = sets.classes
            labels = np.full(len(table), -1) if truth is None else sets.encode(truth)
        names = tuple(map(str, classes.tolist()))
        plain = None if sets is None else replace(sets, classes=np.arange(len(names)))
        features = table.features if table.mixed is None else numbers_of(table.mixed)
        return cls(name, features, labels.astype(np.int64), plain, None, names, "standard")

    def __len__(self) -> int:
        return len(self.features)

    def __repr__(self) -> str:
        row = f"{self.features.shape[1:]} {self.features.dtype}"
        known = "candidates to be generated" if self.candidates is None else str(self.candidates)
        split = "" if self.n_train is None else f" = {self.n_train} + {len(self) - self.n_train}"
        return (
            f"Dataset({self.name!r}, n={len(self)}{split}, row {row}, K={self.n_classes}, {known})"
        )

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.class_names)

    @property
    def has_truth(self) -> bool:
        """Whether the true label of every row is known, so that accuracy can be measured."""
        return bool((self.labels >= 0).all())

    @property
    def classes(self) -> npt.NDArray[np.int64]:
        """0 … K−1: what `labels` and `candidates` speak of; `class_names` says what they mean."""
        return np.arange(self.n_classes)

    @property
    def train(self) -> Part:
        """The official training part, a view."""
        return self._span(slice(None, self._bound("train")))

    @property
    def test(self) -> Part:
        """The official test part, a view."""
        return self._span(slice(self._bound("test"), None))

    def rows(self, rows: Sequence[int] | Array) -> Part:
        """The part with these rows, a copy; for folds.

        Rows beyond the training part have no candidate sets: a part that has such rows has none.
        """
        index = np.asarray(rows)
        index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
        sets = self.candidates
        covered = sets is not None and bool((index < len(sets)).all())
        return Part(
            self.features[index],
            self.labels[index],
            sets[index] if covered and sets is not None else None,
        )

    def fit_scaling(self, rows: Sequence[int] | Array | slice | None = None) -> Scaling:
        """The paper's preprocessing, fitted on training rows: `rows`, or the official ones.

        >>> from amongst.data import load
        >>> load("digits").fit_scaling(range(1000)).scale
        array(16.)
        """
        from amongst.data.features import fit_scaling  # brings PyTorch

        chosen = slice(None, self._bound("train")) if rows is None else rows
        if isinstance(chosen, range):
            chosen = np.asarray(chosen)
        return fit_scaling(self.features[chosen], self.scaling, top=self.top)

    @cached_property
    def digest(self) -> str:
        """sha256 of what changes an answer: features, labels, candidates and the split."""
        total = hashlib.sha256()
        for array in (self.features, self.labels):
            total.update(f"{array.dtype.str}{array.shape}".encode())
            total.update(np.ascontiguousarray(array).data)
        total.update(f"split {self.n_train} of {self.n_classes} classes".encode())
        if self.candidates is not None:
            total.update(np.packbits(self.candidates.mask, axis=1).data)
            if self.candidates.weights is not None:
                total.update(np.ascontiguousarray(self.candidates.prior).data)
        return total.hexdigest()

    def _bound(self, part: str) -> int:
        if self.n_train is None:
            raise InputError(
                f"{self.name} has no official {part} part; make one with stratified_folds, or say "
                "which rows."
            )
        return self.n_train

    def _span(self, span: slice) -> Part:
        start = span.start or 0
        sets = None if self.candidates is None or start else self.candidates
        return Part(self.features[span], self.labels[span], sets)


def numbers_of(frame: pd.DataFrame) -> Array:
    """The columns as numbers, whatever they hold; see `TableEncoder`. It looks at all rows, for their
    categories, medians and words, but at no label.
    """
    found: Any = TableEncoder().fit(frame).transform(frame)
    dense: Array = found.toarray().astype(np.float32) if issparse(found) else found
    return dense


def digest(dataset: Dataset) -> str:
    """sha256 of a dataset's content, in hex: the dataset's place in a trial's key.

    >>> from amongst.data import load
    >>> digest(load("digits"))[:16]
    '924a290b279b48c2'
    """
    return dataset.digest
