"""Generation processes: true labels in, candidate sets out, by a law that is stated and tested.

Every process keeps the true label y and admits each other label z with probability q_z,
independently (paper, section 3.3.1). With `exclude_full` the set of all K labels is drawn
again, which divides the law by 1 − Π_{z≠y} q_z.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.candidates.container import CandidateSets, Mask
from amongst.candidates.convert import as_candidates
from amongst.candidates.labels import unmasked
from amongst.checks import check_integer, check_number
from amongst.errors import InputError
from amongst.rng import Seed, as_seed
from amongst.tensors import on_host

__all__ = ["case", "class_dependent", "instance_dependent", "noisy", "uniform"]

Classes = Iterable[Hashable] | None

CELLS_AT_ONCE = 2**22
"""So many numbers are drawn at a time: of all cells at once they take four times the mask's room."""


def uniform(
    y: npt.ArrayLike,
    q: float,
    *,
    classes: Classes = None,
    exclude_full: bool = False,
    seed: Seed = None,
) -> CandidateSets:
    """Each wrong label is a candidate with probability q.

    P(s | y) = q^{|s|−1} (1−q)^{K−|s|} for y ∈ s.

    Parameters
    ----------
    y : true labels, shape (n,).
    q : in [0, 1].
    classes : the K classes; those of `y` if None.
    exclude_full : draw again where s = [K] came out.
    seed : int, NumPy generator or None.

    Examples
    --------
    >>> sets = uniform([0, 1, 2, 1], q=0.5, seed=0)
    >>> bool(sets.contains([0, 1, 2, 1]).all())
    True
    """
    check_number("q", q, low=0, high=1)
    codes, known = _true_codes(y, classes)
    rates = _Rates(np.full((1, 1), q, dtype=np.float32), np.zeros_like(codes))
    return _draw(codes, known, rates, exclude_full, seed)


def class_dependent(
    y: npt.ArrayLike,
    Q: npt.ArrayLike,
    *,
    classes: Classes = None,
    exclude_full: bool = False,
    seed: Seed = None,
) -> CandidateSets:
    """Label z is a candidate of true label y with probability Q[y, z].

    Parameters
    ----------
    y : true labels, shape (n,).
    Q : shape (K, K), entries in [0, 1], unit diagonal; `case` makes the paper's three.
    classes, exclude_full, seed : as for `uniform`.

    Examples
    --------
    >>> sets = class_dependent([0, 1, 2, 3], case(1, 4), seed=0)
    >>> int(sets.sizes.max()) <= 2
    True
    """
    matrix = _matrix("Q", Q)
    if classes is None:
        classes = _numbered_classes(y, len(matrix))
    codes, known = _true_codes(y, classes)
    _check_rates(matrix, (len(known), len(known)), "Q")
    if not np.allclose(np.diag(matrix), 1):
        raise InputError("Q must have ones on its diagonal: the true label is always a candidate.")
    return _draw(codes, known, _Rates(matrix.astype(np.float32), codes), exclude_full, seed)


def case(number: int, K: int) -> npt.NDArray[np.float64]:
    """The paper's three class-dependent matrices, cyclic, for any K (supplement B.4).

    Case 1: 0.5 to the next class. Case 2: 0.3 to both neighbours. Case 3: 0.5 / 0.3 / 0.1 at
    cyclic distance 1 / 2 / 3 on both sides; where two of these fall on one class (small K) the
    larger counts.

    Examples
    --------
    >>> case(2, 5)
    array([[1. , 0.3, 0. , 0. , 0.3],
           [0.3, 1. , 0.3, 0. , 0. ],
           [0. , 0.3, 1. , 0.3, 0. ],
           [0. , 0. , 0.3, 1. , 0.3],
           [0.3, 0. , 0. , 0.3, 1. ]])
    """
    check_integer("K", K, low=2)
    steps = {
        1: {1: 0.5},
        2: {1: 0.3, -1: 0.3},
        3: {1: 0.5, -1: 0.5, 2: 0.3, -2: 0.3, 3: 0.1, -3: 0.1},
    }
    if number not in steps:
        raise InputError(f"case={number!r} is unknown; the paper has cases 1, 2 and 3.")
    Q = np.eye(K)
    rows = np.arange(K)
    for step, rate in steps[number].items():
        columns = (rows + step) % K
        Q[rows, columns] = np.maximum(Q[rows, columns], rate)
    return Q


def instance_dependent(
    y: npt.ArrayLike,
    proba: npt.ArrayLike,
    *,
    rate: float = 1.0,
    classes: Classes = None,
    exclude_full: bool = False,
    seed: Seed = None,
) -> CandidateSets:
    """Labels that look plausible for a row are likelier candidates of it.

    q_z(x) = rate · p_z(x) / max_{j≠y} p_j(x), with p the probabilities of some classifier: the
    most plausible wrong label is a candidate with probability `rate`.

    Parameters
    ----------
    y : true labels, shape (n,).
    proba : shape (n, K), non-negative.
    rate : in [0, 1].
    classes, exclude_full, seed : as for `uniform`.

    Examples
    --------
    >>> sets = instance_dependent([0, 1], [[.8, .2, .0], [.3, .4, .3]], seed=0)
    >>> sets.to_lists()[0]
    [0, 1]
    """
    check_number("rate", rate, low=0, high=1)
    p = _matrix("proba", proba)
    codes, known = _true_codes(y, range(p.shape[-1]) if classes is None else classes)
    if p.shape != (len(codes), len(known)) or not np.isfinite(p).all() or (p < 0).any():
        raise InputError(
            f"proba has shape {p.shape}; it must be {(len(codes), len(known))}, finite and "
            "non-negative: one row for each label, one column for each class."
        )
    p[np.arange(len(codes)), codes] = 0
    largest = p.max(axis=1, keepdims=True)
    np.divide(p, largest, out=p, where=largest > 0)
    rates = _Rates((rate * p).astype(np.float32), np.arange(len(codes)))
    return _draw(codes, known, rates, exclude_full, seed)


def noisy(sets: CandidateSets, y: npt.ArrayLike, eta: float, *, seed: Seed = None) -> CandidateSets:
    """With probability η a row loses its true label: P(y ∉ s) = η.

    The true label is exchanged for a non-candidate drawn uniformly, so that sizes stay as they
    are and no set becomes empty; a full set just loses it.

    Parameters
    ----------
    sets : candidate sets that contain the true labels.
    y : true labels, shape (n,).
    eta : in [0, 1].

    Examples
    --------
    >>> y = [0, 1, 2, 0]
    >>> noisy(uniform(y, 0.3, seed=0), y, eta=1.0, seed=0).contains(y).any()
    np.False_
    """
    check_number("eta", eta, low=0, high=1)
    if not isinstance(sets, CandidateSets):
        raise InputError(
            f"sets is {type(sets).__name__}; noisy takes CandidateSets. Use as_candidates(y)."
        )
    if sets.n_classes < 2:
        raise InputError("noisy needs at least two classes: there is nothing to exchange.")
    rng = np.random.default_rng(as_seed(seed, "seed"))
    codes = sets.encode(y)
    if (codes < 0).any():
        raise InputError(f"y[{int(np.argmax(codes < 0))}] is not one of the classes of sets.")
    mask = sets.to_mask()
    hit = np.flatnonzero(rng.random(len(sets)) < eta)
    keys = rng.random((len(hit), sets.n_classes))
    keys[mask[hit]] = -1.0
    substitute = keys.argmax(axis=1)
    has_room = ~mask[hit].all(axis=1)
    mask[hit[has_room], substitute[has_room]] = True
    mask[hit, codes[hit]] = False
    return CandidateSets(mask, sets.classes)


@dataclass(frozen=True)
class _Rates:
    """Row i of the data has the rates table[row_of[i]], shape (K,), or (1,) if all are alike."""

    table: npt.NDArray[np.float32]
    row_of: npt.NDArray[np.int64]

    def __getitem__(self, rows: Any) -> npt.NDArray[np.float32]:
        found: npt.NDArray[np.float32] = self.table[self.row_of[rows]]
        return found


def _draw(
    codes: npt.NDArray[np.int64],
    classes: npt.NDArray[Any],
    rates: _Rates,
    exclude_full: bool,
    seed: Seed,
) -> CandidateSets:
    rng = np.random.default_rng(as_seed(seed, "seed"))
    n, k = len(codes), len(classes)
    mask: Mask = np.empty((n, k), dtype=bool)
    step = max(1, CELLS_AT_ONCE // max(1, k))
    for first in range(0, n, step):
        part = mask[first : first + step]
        part[:] = rng.random(part.shape, dtype=np.float32) < rates[first : first + step]
    mask[np.arange(n), codes] = True
    if exclude_full:
        _redraw_full(mask, codes, rates, rng)
    return CandidateSets(mask, classes)


def _redraw_full(
    mask: Mask, codes: npt.NDArray[np.int64], rates: _Rates, rng: np.random.Generator
) -> None:
    full = np.flatnonzero(mask.all(axis=1))
    _check_not_certain(full, codes[full], rates[full], mask.shape[1])
    while len(full):
        drawn = rng.random((len(full), mask.shape[1]), dtype=np.float32) < rates[full]
        drawn[np.arange(len(full)), codes[full]] = True
        mask[full] = drawn
        full = full[drawn.all(axis=1)]


def _check_not_certain(
    rows: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int64],
    rates: npt.NDArray[np.float32],
    k: int,
) -> None:
    """An error where one of the rows cannot draw any other set than the full one."""
    always = np.zeros((len(rows), k), dtype=bool) | (rates >= 1)
    always[np.arange(len(rows)), codes] = True
    certain = rows[always.all(axis=1)]
    if len(certain):
        raise InputError(
            f"exclude_full: row {certain[0]} can only draw the full set (every rate is 1). Lower a "
            "rate, or pass exclude_full=False."
        )


def _true_codes(
    y: npt.ArrayLike, classes: Classes
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    values = np.asarray(unmasked(on_host(y)))
    if classes is None and values.ndim == 1 and values.dtype.kind in "iu":
        known, codes = np.unique(values, return_inverse=True)
        return codes, known
    singletons = as_candidates(values, classes, kind="labels")
    return singletons.to_sparse().indices.astype(np.int64), singletons.classes


def _numbered_classes(y: npt.ArrayLike, k: int) -> Classes:
    """0..K−1 where the labels are such numbers, so that a class that did not occur still counts."""
    values = np.asarray(on_host(y))
    numbered = values.dtype.kind in "iu" and values.size and 0 <= values.min() <= values.max() < k
    return range(k) if numbered else None


def _matrix(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """A copy of the values as a matrix of floats."""
    try:
        matrix = np.asarray(on_host(values)).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a matrix of numbers, with rows of one length.") from error
    if matrix.ndim != 2:
        raise InputError(f"{name} has shape {matrix.shape}; it must be a matrix of numbers.")
    return matrix


def _check_rates(rates: npt.NDArray[np.float64], shape: tuple[int, int], name: str) -> None:
    if rates.shape != shape:
        raise InputError(f"{name} has shape {rates.shape}; with these classes it must be {shape}.")
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InputError(f"{name} must hold probabilities between 0 and 1.")
