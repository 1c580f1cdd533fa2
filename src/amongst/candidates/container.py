"""What a candidate set is: n rows, K classes, and which classes each row admits."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from amongst.candidates.cells import check_separator, reads_back
from amongst.candidates.labels import plain_labels
from amongst.errors import InputError
from amongst.tensors import on_host

__all__ = ["DENSE_LIMIT_BYTES", "CandidateSets"]

DENSE_LIMIT_BYTES = 4 * 2**30
"""A sparse mask is turned into a dense one only below this size."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class CandidateSets:
    """The candidate labels of n rows, over K classes; exactly one of each row's is the true one.

    Made by `as_candidates`; frozen. `members` is the n×K mask s_iz = [z ∈ s_i], a bool array or,
    where it came sparse, a CSR matrix that is never densified beyond `DENSE_LIMIT_BYTES`.
    Indexing by rows gives the candidate sets of these rows, so that scikit-learn can split it.

    Parameters
    ----------
    members : bool array or CSR matrix, shape (n, K)
    classes : array, shape (K,)

    Examples
    --------
    >>> from amongst import as_candidates
    >>> sets = as_candidates(["cat|dog", "dog", "cat|emu"])
    >>> sets
    CandidateSets(n=3, K=3, mean size 1.67)
    >>> sets.mask.astype(int)
    array([[1, 1, 0],
           [0, 1, 0],
           [1, 0, 1]])
    >>> sets[1:].to_lists()
    [['dog'], ['cat', 'emu']]
    """

    members: Any
    classes: npt.NDArray[Any]

    def __post_init__(self) -> None:
        shape, classes = getattr(self.members, "shape", ()), getattr(self.classes, "shape", ())
        if len(shape) != 2 or shape[1:] != classes or self.members.dtype != bool:
            raise InputError(
                "members must be a bool array of shape (n, K), and classes one of shape (K,); "
                "as_candidates makes CandidateSets from anything else."
            )
        if not self.is_sparse:
            frozen = self.members.view()
            frozen.setflags(write=False)
            object.__setattr__(self, "members", frozen)

    def __len__(self) -> int:
        return int(self.members.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """(n, K).

        >>> from amongst import as_candidates
        >>> as_candidates([[0, 1], [2]]).shape
        (2, 3)
        """
        return len(self), self.n_classes

    @property
    def n_classes(self) -> int:
        """K, the number of classes."""
        return len(self.classes)

    @property
    def is_sparse(self) -> bool:
        """Whether the mask is held as a CSR matrix."""
        return bool(sp.issparse(self.members))

    @cached_property
    def mask(self) -> Mask:
        """The dense bool mask, shape (n, K); refused where it would not fit."""
        dense: Mask = self._dense() if self.is_sparse else self.members
        dense.setflags(write=False)
        return dense

    def _dense(self) -> Mask:
        """A sparse mask as a new dense one."""
        size = len(self) * self.n_classes
        if size > DENSE_LIMIT_BYTES:
            raise InputError(
                f"these candidate sets are sparse, {len(self)} rows × {self.n_classes} classes; "
                f"as a dense mask they take {size / 2**30:.1f} GiB. Take rows first (sets[rows])."
            )
        dense: Mask = self.members.toarray().astype(bool, copy=False)
        return dense

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """|s_i|, shape (n,)."""
        return np.asarray(self.members.sum(axis=1, dtype=np.int64)).ravel()

    def __getitem__(self, rows: Any) -> CandidateSets:
        if hasattr(rows, "__array__"):  # a Series, or a tensor: one of a single row is no number
            rows = np.asarray(on_host(rows))
        if isinstance(rows, int) or (isinstance(rows, np.ndarray) and rows.ndim == 0):
            rows = np.reshape(rows, 1)
        if sp.issparse(self.members) and isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        try:
            members = self.members[rows]
        except NotImplementedError:  # SciPy before 1.15 has no sparse vectors
            members = np.empty(0)
        if members.ndim != 2 or members.shape[1] != self.n_classes:
            raise InputError("sets are indexed by rows alone; sets.mask[…] takes columns, too.")
        return CandidateSets(members, self.classes)

    def __iter__(self) -> Iterator[frozenset[Hashable]]:
        return iter(self.to_sets())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CandidateSets):
            return NotImplemented
        same_classes = self.classes.tolist() == other.classes.tolist()
        if not same_classes or len(self) != len(other):
            return False
        if self.is_sparse or other.is_sparse:
            return bool((self.to_sparse() != other.to_sparse()).nnz == 0)
        return bool(np.array_equal(self.mask, other.mask))

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.mask, dtype=dtype if dtype is not None else np.int8)

    def __repr__(self) -> str:
        mean = f", mean size {self.sizes.mean():.2f}" if len(self) else ""
        return f"CandidateSets(n={len(self)}, K={self.n_classes}{mean})"

    def contains(self, labels: npt.ArrayLike) -> Mask:
        """Whether each row's set contains the label given for it: [y_i ∈ s_i], shape (n,).

        >>> from amongst import as_candidates
        >>> as_candidates([["a", "b"], ["b"]]).contains(["a", "a"])
        array([ True, False])
        """
        codes = self.encode(labels)
        known = codes >= 0
        inside = np.zeros(len(self), dtype=bool)
        rows = np.flatnonzero(known)
        inside[rows] = np.asarray(self.members[rows, codes[rows]]).ravel()
        return inside

    def encode(self, labels: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The column of each label in `classes`, −1 where it is none of them, shape (n,).

        >>> from amongst import as_candidates
        >>> as_candidates([["a", "b"], ["b"]]).encode(["b", "z"])
        array([ 1, -1])
        """
        column = {label: code for code, label in enumerate(self.classes.tolist())}
        try:
            found = [column.get(label, -1) for label in plain_labels(labels)]
        except TypeError as error:
            raise InputError("labels must hold one label for each row, not several.") from error
        if len(found) != len(self):
            raise InputError(f"labels has {len(found)} entries, but there are {len(self)} rows.")
        return np.array(found, dtype=np.int64)

    def to_mask(self) -> Mask:
        """A writable dense copy of the mask, shape (n, K)."""
        return self._dense() if self.is_sparse else self.mask.copy()

    def to_sparse(self) -> sp.csr_array:
        """The mask as a CSR matrix of bools, shape (n, K)."""
        return sp.csr_array(self.members)

    def to_sets(self) -> list[frozenset[Hashable]]:
        """A list of frozensets of labels.

        >>> from amongst import as_candidates
        >>> as_candidates([2, 5]).to_sets()
        [frozenset({2}), frozenset({5})]
        """
        return [frozenset(row) for row in self.to_lists()]

    def to_lists(self) -> list[list[Any]]:
        """A list of lists of labels, in the order of `classes`."""
        members = self.to_sparse()
        members.sort_indices()
        labels = self.classes.tolist()
        columns = [labels[code] for code in members.indices.tolist()]
        bounds = members.indptr.tolist()
        return [columns[a:b] for a, b in pairwise(bounds)]

    def to_strings(self, separator: str = "|") -> list[str]:
        """One string a row, labels joined by `separator`, as `as_candidates` reads them.

        A label that would not be read back, such as ``"a|b"``, is an error.

        >>> from amongst import as_candidates
        >>> as_candidates([{"a", "b"}, {"c"}]).to_strings()
        ['a|b', 'c']
        >>> as_candidates([["a|b", "d"], ["c"]]).to_strings(separator=";")
        ['a|b;d', 'c']
        """
        check_separator(separator)
        rows = [list(map(str, row)) for row in self.to_lists()]
        odd = next((row for row in rows if not reads_back(row, separator)), None)
        if odd is not None:
            label = next((name for name in odd if not reads_back([name], separator)), odd[0])
            raise InputError(
                f"the label {label!r} would not be read back from a string with "
                f"separator={separator!r}. Pass another separator=, or use to_lists()."
            )
        return [separator.join(row) for row in rows]

    def to_labels(self) -> npt.NDArray[Any]:
        """The one label of each row; an error if some row has several.

        >>> from amongst import as_candidates
        >>> as_candidates(["x", "y"]).to_labels().tolist()
        ['x', 'y']
        """
        several = np.flatnonzero(self.sizes != 1)
        if len(several):
            raise InputError(
                f"row {several[0]} has {self.sizes[several[0]]} candidates, so there is no single "
                "label; use to_sets(), or disambiguate(X, y) of a fitted classifier."
            )
        labels: npt.NDArray[Any] = self.classes[self.to_sparse().indices]
        return labels

    def to_frame(self) -> pd.DataFrame:
        """A DataFrame of bools, a column for each class.

        >>> from amongst import as_candidates
        >>> as_candidates(["a|b", "b"]).to_frame()
               a     b
        0   True  True
        1  False  True
        """
        return pd.DataFrame(self.mask, columns=pd.Index(self.classes.tolist(), dtype=object))

    def to_columns(self) -> pd.DataFrame:
        """Annotator-like columns: the first candidate, the second, …, None where there are fewer.

        >>> from amongst import as_candidates
        >>> as_candidates(["a|b", "b"]).to_columns()
           0     1
        0  a     b
        1  b  None
        """
        rows = self.to_lists()
        width = max(map(len, rows), default=0)
        padded = [row + [None] * (width - len(row)) for row in rows]
        return pd.DataFrame(padded, columns=range(width), dtype=object)

    def describe(self) -> Any:
        """What these sets look like: see `amongst.candidates.describe`."""
        from amongst.candidates.description import describe

        return describe(self)
