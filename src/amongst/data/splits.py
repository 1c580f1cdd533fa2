"""Splits: stratified folds for evaluation, and a validation share that knows candidates only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from amongst.candidates import CandidateSets
from amongst.checks import Seed, as_seed, check_integer, check_share
from amongst.data.dataset import Part
from amongst.errors import InputError

Rows = npt.NDArray[np.int64]


def stratified_folds(
    labels: npt.ArrayLike | CandidateSets, k: int = 10, seed: Seed = 0
) -> list[tuple[Rows, Rows]]:
    """k pairs (training rows, test rows); every row is in one test part.

    Sizes of test parts differ by one at most, and so do the counts of each class in them, however
    rare the class is.

    Parameters
    ----------
    labels : true labels, shape (n,), where they exist; or CandidateSets, where a row's stratum is
        the rarest of its candidates.
    k : number of folds, at least 2 and at most n.
    seed : int, NumPy generator or None.

    Examples
    --------
    >>> train, test = stratified_folds([0, 0, 0, 1, 1, 1], k=3, seed=0)[0]
    >>> len(train), sorted(np.array([0, 0, 0, 1, 1, 1])[test].tolist())
    (4, [0, 1])
    """
    strata = _strata(labels)
    check_integer("k", k, low=2)
    if k > len(strata):
        raise InputError(f"k={k} is more than there are rows ({len(strata)}); lower it.")
    fold = np.empty(len(strata), dtype=np.int64)
    fold[_dealt(strata, seed)] = np.arange(len(strata)) % k
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(k)]


def hold_out(sets: CandidateSets, share: float = 0.1, seed: Seed = 0) -> tuple[Rows, Rows]:
    """Rows to train on and rows to validate on, from candidate labels alone.

    Parameters
    ----------
    sets : CandidateSets; true labels are refused, so that none can slip in.
    share : of the rows that is held out, in (0, 1); at least one row on either side.
    seed : int, NumPy generator or None.

    Returns
    -------
    (kept, held) : sorted row numbers.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> kept, held = hold_out(as_candidates(["a|b", "a", "b", "b|c", "c"] * 4), 0.25, seed=0)
    >>> len(kept), len(held)
    (15, 5)
    """
    if not isinstance(sets, CandidateSets):
        raise InputError(
            f"sets is {type(sets).__name__}; hold_out takes CandidateSets, because a validation "
            "part carries candidate labels only. Use as_candidates(y)."
        )
    check_share("share", share)
    n = len(sets)
    count = min(max(round(share * n), 1), n - 1)
    if n < 2:
        raise InputError(f"sets has {n} rows; a validation part needs at least 2.")
    places = ((np.arange(count) + 0.5) * n / count).astype(np.int64)
    held = np.zeros(n, dtype=bool)
    held[_dealt(_rarest(sets), seed)[places]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def validation_split(part: Part, share: float = 0.1, seed: Seed = 0) -> tuple[Part, Part]:
    """Split a training part in two, of which neither carries true labels.

    Examples
    --------
    >>> from amongst.candidates import uniform
    >>> labels = np.arange(20) % 4
    >>> part = Part(np.eye(20), labels, uniform(labels, 0.3, seed=0))
    >>> kept, held = validation_split(part, 0.2)
    >>> len(kept), len(held), held.labels is None
    (16, 4, True)
    """
    if part.candidates is None:
        raise InputError("part has no candidates; generate them, and put them in with replace().")
    sets = part.candidates
    kept, held = hold_out(sets, share, seed)
    bare = part.without_truth()
    first, second = (
        replace(bare, features=part.features[rows], candidates=sets[rows]) for rows in (kept, held)
    )
    return first, second


def _strata(labels: npt.ArrayLike | CandidateSets) -> Rows:
    if isinstance(labels, CandidateSets):
        return _rarest(labels)
    try:
        values = np.asarray(labels)
        codes: Rows = np.unique(values, return_inverse=True)[1].astype(np.int64)
    except (ValueError, TypeError) as error:
        raise InputError(
            "labels must hold one label of one type for each row; for candidate labels pass "
            "as_candidates(y)."
        ) from error
    if values.ndim != 1 or not len(values):
        raise InputError(f"labels has shape {values.shape}; give one label for each row.")
    return codes


def _rarest(sets: CandidateSets) -> Rows:
    """For each row the candidate that the fewest rows have: it is the hardest to spread."""
    members = sets.to_sparse().tocsr()
    counts = np.asarray(members.sum(axis=0)).ravel()
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    stratum: Rows = np.minimum.reduceat(rank[members.indices], members.indptr[:-1])
    return stratum


def _dealt(strata: Rows, seed: Seed) -> Rows:
    """Rows in random order, gathered by stratum: dealing them out in turn spreads every stratum."""
    order = np.random.default_rng(as_seed(seed, "seed")).permutation(len(strata))
    dealt: Rows = order[np.argsort(strata[order], kind="stable")]
    return dealt
