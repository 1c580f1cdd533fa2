"""0/1 matrices: a column for each class."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from amongst.candidates.cells import (
    AS_ANNOTATORS,
    distinct,
    plain,
    wrong,
    zeros_and_ones,
)
from amongst.candidates.container import CandidateSets
from amongst.candidates.marks import weight_of
from amongst.errors import InputError

ENOUGH, MOST_COMPARED, BY_CHANCE = 20, 20, 0.05
"""Rows from which counts are told from answers, columns that are compared for that, and the agreement
beyond chance up to which they are counts."""

MOST_CLASSES = 1 << 22
"""Columns of a mask; a sparse one of a damaged file may claim any number."""

Known = npt.NDArray[Any] | None
"""The classes, where they were named."""


def kind_of_table(y: npt.NDArray[Any] | pd.DataFrame) -> str:
    """What a table is read as where nobody says it.

    It is a ``"mask"`` where it holds 0 and 1 alone, ``"votes"`` where it holds fractions, for labels are
    whole, ``"counts"`` where the whole numbers of a row are equal no more often than by chance, as the
    answers of annotators are, else ``"annotators"``.
    """
    values = np.asarray(y)
    kind = values.dtype.kind
    if _are_bits(values).all() if kind in "biuf" else zeros_and_ones(values) is not None:
        return "mask"
    if has_fractions(values):
        return "votes"
    whole = kind in "iu" or (kind == "f" and bool(np.isfinite(values).all()))
    if whole and len(values) >= ENOUGH and values.shape[1] > 2:
        used = values.min() == 0 and values.max() > 1 and np.ptp(values, 0).all()
        if used and _agreement(values[:, :MOST_COMPARED]) <= BY_CHANCE:
            return "counts"
    return "annotators"


def _agreement(values: npt.NDArray[Any]) -> float:
    """(a − c) / (1 − c): a is how often two numbers of a row are equal, c how often any two are."""
    columns = values.T
    equal = np.mean([(a == b).mean() for a, b in combinations(columns, 2)])
    chance = ((np.unique(values, return_counts=True)[1] / values.size) ** 2).sum()
    return float((equal - chance) / max(1 - chance, 1e-12))


def has_fractions(values: npt.NDArray[Any]) -> bool:
    """Whether some numbers are not whole."""
    return values.dtype.kind == "f" and bool((values[np.isfinite(values)] % 1 != 0).any())


def _are_bits(values: npt.NDArray[Any]) -> Any:
    """Where a table holds 0 or 1; `np.isin` would copy numbers to eight bytes each."""
    if values.dtype.kind in "mM":  # times are no numbers
        return np.zeros(values.shape, bool)
    return (values == 0) | (values == 1) if values.dtype.kind in "biuf" else np.isin(values, (0, 1))


def from_weights(y: Any, known: Known) -> CandidateSets:
    """A matrix of weights, a column for each class: counts of votes, or probabilities; 0 is no candidate."""
    sparse = sp.issparse(y)
    try:
        numbers: Any = y.astype(np.float64) if sparse else np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        remedy = f"For columns of annotators' labels, {AS_ANNOTATORS}."
        raise wrong("weights", "holds labels where weights are expected.", remedy) from error
    rows, columns = numbers.nonzero()  # of what is not finite, too
    cells = np.asarray(numbers[rows, columns]).ravel()
    for bad in np.flatnonzero(~(np.isfinite(cells) & (cells >= 0)))[:1]:
        weight_of(float(cells[bad]), int(rows[bad]))
    mask = numbers > 0
    if isinstance(y, pd.DataFrame):
        mask = pd.DataFrame(mask, columns=y.columns)
    return from_mask(mask, known, numbers)


def from_mask(y: Any, known: Known, weights: Any = None) -> CandidateSets:
    """A 0/1 matrix; where its columns have names that are classes, their order does not matter."""
    try:
        names, mask = known, y if sp.issparse(y) else np.asarray(y)
    except ValueError as error:
        problem = "has rows of different lengths; a mask has shape (n, K)."
        raise wrong("shape", problem) from error
    if isinstance(y, pd.DataFrame):
        own = y.columns.tolist()
        named_alike = not isinstance(y.columns, pd.RangeIndex) and known is not None
        if known is None or (named_alike and {*own} & {*known.tolist()}):
            names = distinct(own)
    if mask.ndim != 2:
        raise wrong("shape", f"is a mask of {mask.ndim} dimensions; a mask has shape (n, K).")
    if mask.shape[1] > MOST_CLASSES:
        problem = f"is a mask of {mask.shape[1]:,} columns, more than {MOST_CLASSES:,} classes."
        raise wrong("shape", problem)
    members = _members(mask)
    names = np.arange(mask.shape[1]) if names is None else names
    if len(names) != mask.shape[1]:
        problem = f"has {len(names)} labels, but the mask y has {mask.shape[1]} columns."
        raise InputError(problem, code="shape", argument="classes")
    sets = CandidateSets(members, names, weights)
    return sets if known is None else sets.over(known)


def _members(mask: Any) -> Any:
    values = mask.data if sp.issparse(mask) else mask
    if values.dtype.kind in "OU":  # 0 and 1 may be text
        found = zeros_and_ones(values)
        values = values if found is None else found
    odd = ~_are_bits(values)
    if odd.any():
        problem = f"is a mask, but holds {plain(values[odd].flat[0])!r}; a mask holds 0 and 1 only."
        raise wrong("not-binary", problem, f"For columns of annotators' labels, {AS_ANNOTATORS}.")
    if not sp.issparse(mask):
        return np.array(values, dtype=bool, order="C")
    members = mask.astype(bool)
    members.sum_duplicates()  # an entry may be stated twice
    members.eliminate_zeros()
    return members
