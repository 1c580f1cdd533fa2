"""What a candidate set is: n rows, K classes, and which classes each row admits."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from amongst.candidates.cells import check_separator, not_in_classes, plain_labels, read_cell
from amongst.candidates.description import Description, describe
from amongst.candidates.marks import no_weight, read_note, weight_of, with_marks
from amongst.candidates.raters import Answers
from amongst.checks import check_sparse, on_host
from amongst.errors import InputError, named

DENSE_LIMIT_BYTES = 4 * 2**30
"""A sparse mask is turned into a dense one only below this size."""

LARGEST = float(np.finfo(np.float64).max)

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.floating[Any]]


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
    weights : what is known of the candidates before any feature is seen, such as votes: above 0 on
        them, 0 elsewhere, like `members` an array or a CSR matrix. Kept as the prior π_iz with
        Σ_z π_iz = 1; None where the candidates of every row weigh alike. `prior` is never None.
    answers : who said what, where `as_candidates` was given a column for each annotator; else None.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> as_candidates([{"cat": 3, "dog": 1}, {"dog": 2}]).weights
    array([[0.75, 0.25],
           [0.  , 1.  ]])
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
    weights: Any = None
    answers: Answers | None = None

    def __post_init__(self) -> None:
        shape, classes = getattr(self.members, "shape", ()), getattr(self.classes, "shape", ())
        if len(shape) != 2 or shape[1:] != classes or self.members.dtype != bool:
            problem = "must be a bool array of shape (n, K), and classes one of shape (K,)."
            remedy = "Use as_candidates for anything else."
            raise InputError(problem, code="shape", argument="members", remedy=remedy)
        if self.is_sparse:
            check_sparse("members", self.members)
        if self.weights is not None:
            object.__setattr__(self, "weights", _as_prior(self.weights, self.members))
        for name in ("members", "weights"):
            if isinstance(given := getattr(self, name), np.ndarray):
                frozen = given.view()
                frozen.setflags(write=False)
                object.__setattr__(self, name, frozen)

    def __len__(self) -> int:
        return int(self.members.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """(n, K)."""
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
        dense: Mask = self.to_mask() if self.is_sparse else self.members
        dense.setflags(write=False)
        return dense

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """|s_i|, shape (n,)."""
        return np.asarray(self.members.sum(axis=1, dtype=np.int64)).ravel()

    @cached_property
    def prior(self) -> npt.NDArray[np.float64]:
        """π_iz, shape (n, K): the weights, or 1/|s_i| on the candidates where there are none.

        >>> from amongst import as_candidates
        >>> as_candidates([["cat", "dog"], ["dog"]]).prior
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        if self.weights is None:
            return self.mask / np.maximum(self.sizes, 1)[:, None]
        dense: npt.NDArray[np.float64] = (
            self.weights.toarray() if self.is_sparse else np.asarray(self.weights)
        )
        return dense

    def weighted(self, weights: Any) -> CandidateSets:
        """The same sets with these weights; one of 0 takes a candidate out."""
        given = weights if sp.issparse(weights) else np.asarray(on_host(weights), dtype=np.float64)
        if given.shape != self.shape:
            problem = f"has shape {given.shape}; the sets have {self.shape}."
            raise InputError(problem, code="shape", argument="weights")
        if self.is_sparse or sp.issparse(given):
            kept = sp.csr_array(self.to_sparse().multiply(sp.csr_array(given)))
            kept.eliminate_zeros()
            kept = kept if self.is_sparse else kept.toarray()
        else:
            kept = np.where(self.members, given, 0.0)
        members = kept.astype(bool)
        left_out = np.flatnonzero(np.asarray(members.sum(axis=1)).ravel() == 0)
        if len(left_out):
            raise no_weight(int(left_out[0]))
        return replace(self, members=members, weights=kept)

    def __getitem__(self, rows: Any) -> CandidateSets:
        if hasattr(rows, "__array__"):  # a Series, or a tensor: one of a single row is no number
            rows = np.asarray(on_host(rows))
        if isinstance(rows, int | np.ndarray) and np.ndim(rows) == 0:
            rows = np.reshape(rows, 1)
        if sp.issparse(self.members) and isinstance(rows, slice):
            rows = np.arange(len(self))[rows]
        members = self.members[rows]
        if members.ndim != 2 or members.shape[1] != self.n_classes:
            problem = "sets are indexed by rows alone; sets.mask[…] takes columns, too."
            raise InputError(problem, code="columns")
        weights = None if self.weights is None else self.weights[rows]
        answers = None if self.answers is None else self.answers[rows]
        return CandidateSets(members, self.classes, weights, answers)

    def __iter__(self) -> Iterator[frozenset[Hashable]]:
        return iter(self.to_sets())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CandidateSets):
            return NotImplemented
        if self.classes.tolist() != other.classes.tolist() or len(self) != len(other):
            return False
        if (self.to_sparse() != other.to_sparse()).nnz:
            return False
        if self.weights is None and other.weights is None:
            return True
        return bool(np.allclose(self._shares(), other._shares(), rtol=0, atol=1e-12))

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.mask, dtype=dtype if dtype is not None else np.int8)

    def __repr__(self) -> str:
        mean = f", mean size {self.sizes.mean():.2f}" if len(self) else ""
        weighted = "" if self.weights is None else ", weighted"
        return f"CandidateSets(n={len(self)}, K={self.n_classes}{mean}{weighted})"

    def contains(self, labels: npt.ArrayLike) -> Mask:
        """Whether each row's set contains the label given for it: [y_i ∈ s_i], shape (n,).

        >>> from amongst import as_candidates
        >>> as_candidates([["a", "b"], ["b"]]).contains(["a", "a"])
        array([ True, False])
        """
        codes = self.encode(labels)
        rows, inside = np.flatnonzero(codes >= 0), np.zeros(len(self), dtype=bool)
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
            problem = "must hold one label for each row, not several."
            raise InputError(problem, code="several-labels", argument="labels") from error
        if len(found) != len(self):
            problem = f"has {len(found)} entries, but there are {len(self)} rows."
            raise InputError(problem, code="lengths", argument="labels")
        return np.array(found, dtype=np.int64)

    def to_mask(self) -> Mask:
        """A writable dense copy of the mask, shape (n, K); refused where it would not fit."""
        if not self.is_sparse:
            return self.mask.copy()
        size = len(self) * self.n_classes
        if size > DENSE_LIMIT_BYTES:
            raise InputError(
                f"these candidate sets are sparse, {len(self)} rows × {self.n_classes} classes; as a "
                f"dense mask they take {size / 2**30:.1f} GiB. Take rows first (sets[rows]).",
                code="memory",
            )
        dense: Mask = self.members.toarray().astype(bool, copy=False)
        return dense

    def to_sparse(self) -> sp.csr_array:
        """The mask as a CSR matrix of bools, shape (n, K)."""
        return sp.csr_array(self.members)

    def to_sets(self) -> list[frozenset[Hashable]]:
        """A list of frozensets of labels."""
        return [frozenset(row) for row in self.to_lists()]

    def to_lists(self) -> list[list[Any]]:
        """A list of lists of labels, in the order of `classes`."""
        members, labels = self._in_order(), self.classes.tolist()
        columns = [labels[code] for code in members.indices.tolist()]
        return [columns[a:b] for a, b in pairwise(members.indptr.tolist())]

    def to_strings(self, separator: str = "|") -> list[str]:
        """One string a row, labels joined by `separator`, as `as_candidates` reads them: with weights
        where a row's candidates differ in them (``kind="votes"``).

        A label that would not be read back, such as ``"a|b"``, is an error.

        >>> from amongst import as_candidates
        >>> as_candidates([{"a": 3, "b": 1}, {"c": 2}]).to_strings()
        ['a:0.75|b:0.25', 'c']
        >>> as_candidates([{"a", "b"}, {"c"}]).to_strings()
        ['a|b', 'c']
        >>> as_candidates([["a|b", "d"], ["c"]]).to_strings(separator=";")
        ['a|b;d', 'c']
        """
        check_separator(separator)
        marked, found = self.weights is not None, []
        for candidates in self.to_dicts():
            row = list(map(str, candidates))
            if not _reads_back(row, separator, marked):
                alone = (one for one in row if not _reads_back([one], separator, marked))
                odd = next(alone, row[0])
                raise InputError(
                    f"the label {odd!r} would not be read back from a string with "
                    f"{named('separator', separator)}.",
                    code="separator",
                    got=odd,
                    remedy=(f"pass another {named('separator')}", "use to_lists()"),
                )
            if len({*candidates.values()}) > 1:
                weights = candidates.values()
                row = [f"{label}:{weight!r}" for label, weight in zip(row, weights, strict=True)]
            found.append(separator.join(row))
        return found

    def to_dicts(self) -> list[dict[Any, float]]:
        """For each row its candidates with their weights, which sum to 1.

        >>> from amongst import as_candidates
        >>> as_candidates(["a:3|b:1", "a|b"], kind="votes").to_dicts()
        [{'a': 0.75, 'b': 0.25}, {'a': 0.5, 'b': 0.5}]
        """
        rows, weights = self.to_lists(), iter(self._shares().tolist())
        return [{label: next(weights) for label in row} for row in rows]

    def to_labels(self) -> npt.NDArray[Any]:
        """The one label of each row; an error if some row has several."""
        several = np.flatnonzero(self.sizes != 1)
        if len(several):
            row = int(several[0])
            problem = f"row {row} has {self.sizes[row]} candidates, so there is no single label."
            remedy = ("use to_sets()", "disambiguate(X, y) of a fitted classifier")
            raise InputError(problem, code="several-labels", remedy=remedy)
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

    def over(self, classes: npt.NDArray[Any]) -> CandidateSets:
        """The same sets over these classes, which must cover every candidate.

        >>> from amongst import as_candidates
        >>> as_candidates(["a|b", "b"]).over(np.array(["b", "c", "a"])).mask.astype(int)
        array([[1, 0, 1],
               [1, 0, 0]])
        """
        if self.classes.tolist() == classes.tolist():
            return self
        position = {label: code for code, label in enumerate(classes.tolist())}
        used = np.flatnonzero(np.asarray(self.members.sum(axis=0)).ravel())
        for label in self.classes[used].tolist():
            if label not in position:
                raise not_in_classes(None, label, classes)
        target = np.array([position.get(label, -1) for label in self.classes.tolist()])
        members = _moved(self.members, target, len(classes))
        weights = None if self.weights is None else _moved(self.weights, target, len(classes))
        answers = None if self.answers is None else self.answers.realigned(target)
        return CandidateSets(members, classes, weights, answers)

    def posterior(self, logs: Floats) -> Floats:
        """P(z | x, s) ∝ π_z exp(logs_z) for z ∈ s, from logarithmic weights (n, K); equal shares where
        all are −∞. A class outside, however likely, takes nothing from the candidates.

        >>> from amongst import as_candidates
        >>> as_candidates(np.array([[1, 1, 0]])).posterior(np.array([[2.0, 2.0, 5000.0]]))
        array([[0.5, 0.5, 0. ]])
        """
        logs = np.maximum(with_prior(logs, self), -LARGEST)
        inside = np.where(self.mask, logs, -np.inf)
        weights = np.exp(inside - inside.max(axis=1, keepdims=True))
        shares: Floats = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def _in_order(self) -> sp.csr_array:
        members = self.to_sparse()
        members.sort_indices()
        return members

    def _shares(self) -> npt.NDArray[np.float64]:
        """The weights of the candidates, row after row."""
        rows = np.repeat(np.arange(len(self)), self.sizes)
        if self.weights is None:
            return np.asarray(1 / self.sizes[rows])
        return np.asarray(self.weights[rows, self._in_order().indices]).ravel()

    def describe(self) -> Description:
        """What these sets look like: see `amongst.candidates.describe`."""
        return describe(self)


def with_prior(logs: Floats, sets: CandidateSets) -> Floats:
    """Logarithmic weights, those of candidates with the weights that came with the sets.

    >>> sets = CandidateSets(np.ones((1, 2), dtype=bool), np.arange(2), np.array([[0.9, 0.1]]))
    >>> np.exp(with_prior(np.zeros((1, 2)), sets)).round(1)
    array([[1.8, 0.2]])
    """
    if sets.weights is None:
        return logs
    shares = np.where(sets.mask, sets.prior * sets.sizes[:, None], 1.0)
    found: Floats = np.maximum(logs, -LARGEST) + np.log(shares)
    return found


def _moved(matrix: Any, target: npt.NDArray[np.int64], k: int) -> Any:
    """The matrix with k columns, its own in other places."""
    coo = sp.coo_array(matrix)
    parts = coo.data, (coo.row, target[coo.col])
    moved = sp.csr_array(parts, shape=(matrix.shape[0], k), dtype=matrix.dtype)
    return moved if sp.issparse(matrix) else moved.toarray()


def _reads_back(labels: list[str], separator: str, marked: bool) -> bool:
    """Whether the labels, joined by the separator, are read as the same labels again; where some have
    weights, none may look like a mark."""
    text = separator.join(labels)
    try:
        if not marked:
            return read_cell(text, separator) == labels
        note = with_marks([read_note(text, separator)], set(), [0], said=True, surely=False)[0]
    except InputError:
        return False
    return note.labels == labels and note.weights is None and not note.excluded


def _as_prior(weights: Any, members: Any) -> Any:
    """The weights of each row divided by their sum, in the form of the members; None where those of
    every row are equal."""
    sparse = sp.issparse(members)
    if sp.issparse(weights):
        check_sparse("weights", weights)
    if getattr(weights, "shape", None) != members.shape or sp.issparse(weights) != sparse:
        problem = "must have the shape of members, and be dense or sparse as they are."
        raise InputError(problem, code="shape", argument="weights")
    made = sp.csr_array(weights, dtype=np.float64) if sparse else np.array(weights, np.float64)
    rows, columns = members.nonzero()
    found = np.asarray(made[rows, columns]).ravel()
    _check_weights(found, rows, members, made)
    bounds = np.searchsorted(rows, np.arange(members.shape[0] + 1))
    filled = np.flatnonzero(np.diff(bounds))
    starts = bounds[filled]
    if (np.minimum.reduceat(found, starts) == np.maximum.reduceat(found, starts)).all():
        return None
    total = np.add.reduceat(found, starts)
    total[np.abs(total - 1) < 1e-12] = 1.0  # so that a slice keeps every digit
    found = found / np.repeat(total, np.diff(bounds)[filled])
    if sparse:
        return sp.csr_array((found, (rows, columns)), shape=members.shape)
    made[rows, columns] = found
    return made


def _check_weights(found: Any, rows: Any, members: Any, made: Any) -> None:
    """Weights are above 0 on the candidates, and nowhere else."""
    bad = ~(np.isfinite(found) & (found >= 0))
    if bad.any():
        weight_of(float(found[bad][0]), int(rows[bad][0]))
    if (found == 0).any():
        raise no_weight(int(rows[found == 0][0]))
    if made.nonzero()[0].size != found.size:
        problem = "must be 0 for every class that is no candidate of its row."
        raise InputError(problem, code="weights-outside", argument="weights")
