"""Generation processes: true labels in, candidate sets out, by a law that is stated and tested.

Every process keeps the true label y and admits each other label z with probability q_z,
independently (paper, section 3.3.1). With `exclude_full` the set of all K labels is drawn
again, which divides the law by 1 − Π_{z≠y} q_z. In noisy sets the true label may be missing. What
people said of each row is no process: see `as_candidates` with ``kind="annotators"``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.candidates.cells import unmasked
from amongst.candidates.container import CandidateSets, Mask
from amongst.candidates.convert import as_candidates
from amongst.checks import Seed, as_seed, check_choice, check_integer, check_number, on_host
from amongst.errors import InputError

Classes = Iterable[Hashable] | None
Rates = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float32]]
"""Of some rows, shape (rows, K), or (1, 1) where all are alike."""

CELLS_AT_ONCE = 2**22
"""So many numbers are drawn at a time: of all cells at once they take four times the mask's room."""


def uniform(
    y: npt.ArrayLike,
    q: float,
    *,
    classes: Classes = None,
    exclude_full: bool = False,
    seed: Seed = None,
    eta: float = 0.0,
) -> CandidateSets:
    """Each wrong label is a candidate with probability q, the true one with probability 1 − η.

    P(s | y) = q^{|s|−1} (1−q)^{K−|s|} for y ∈ s with η = 0. With η > 0, as papers on noisy partial
    labels have it, an empty set is drawn again, so that P(y ∉ s) is slightly below η; `noisy` has
    P(y ∉ s) = η, and keeps sizes.

    Parameters
    ----------
    y : true labels, shape (n,).
    q, eta : in [0, 1].
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
    check_number("eta", eta, low=0, high=1)
    codes, known = _true_codes(y, classes)
    if len(codes) and (len(known) == 1 or q == 0) and eta == 1:
        problem = "leaves nothing to draw: no label can become a candidate."
        remedy = "Lower eta, or raise q."
        raise InputError(problem, code="empty-sets", argument="eta", got=eta, remedy=remedy)
    rates = np.full((1, 1), q, dtype=np.float32)
    return _draw(codes, known, lambda rows: rates, exclude_full, seed, 1 - eta)


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
    values = np.asarray(on_host(y))
    if classes is None and values.dtype.kind in "iu" and values.size:
        # labels 0..K−1, so that a class that did not occur still counts
        classes = range(len(matrix)) if 0 <= values.min() <= values.max() < len(matrix) else None
    codes, known = _true_codes(y, classes)
    if matrix.shape != (shape := (len(known), len(known))):
        raise InputError(f"Q has shape {matrix.shape}; with these classes it must be {shape}.")
    if not ((matrix >= 0) & (matrix <= 1)).all():
        raise InputError("Q must hold probabilities between 0 and 1.")
    if not np.allclose(np.diag(matrix), 1):
        raise InputError("Q must have ones on its diagonal: the true label is always a candidate.")
    rates = matrix.astype(np.float32)
    return _draw(codes, known, lambda rows: rates[codes[rows]], exclude_full, seed)


def case(number: int, K: int) -> npt.NDArray[np.float64]:
    """The paper's three class-dependent matrices, cyclic, for any K (supplement B.4).

    Case 1: 0.5 to the next class. Case 2: 0.3 to both neighbours. Case 3: 0.5 / 0.3 / 0.1 at
    cyclic distance 1 / 2 / 3 on both sides; where two of these fall on one class (small K) the
    larger counts.

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
    relative_to: str = "largest",
) -> CandidateSets:
    """Labels that look plausible for a row are likelier candidates of it.

    q_z(x) = rate · p_z(x) / max_{j≠y} p_j(x), with p the probabilities of some classifier: the
    most plausible wrong label is a candidate with probability `rate`. With ``relative_to="mean"``
    q_z(x) = min(1, rate · p_z(x) / mean_j p_j(x)), the mean over all K labels with p_y = 0: so the
    authors' code of POP and PaPi has it, with rate 0.4, and that of DIRK, with rate 1; VALEN's text
    has the largest.

    Parameters
    ----------
    y : true labels, shape (n,).
    proba : shape (n, K), non-negative.
    rate : in [0, 1].
    classes, exclude_full, seed : as for `uniform`.
    relative_to : ``"largest"`` or ``"mean"``.

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
    largest = check_choice("relative_to", relative_to, ("largest", "mean")) == "largest"
    size = p.max(axis=1, keepdims=True) if largest else p.mean(axis=1, keepdims=True)
    np.divide(p, size, out=p, where=size > 0)
    rates = np.minimum(rate * p, 1).astype(np.float32)
    return _draw(codes, known, lambda rows: rates[rows], exclude_full, seed)


def noisy(sets: CandidateSets, y: npt.ArrayLike, eta: float, *, seed: Seed = None) -> CandidateSets:
    """With probability η a row loses its true label: P(y ∉ s) = η.

    The true label is exchanged for a non-candidate drawn uniformly, so that sizes stay as they
    are and no set becomes empty; a full set just loses it.

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


def long_tailed(
    y: npt.ArrayLike,
    rho: float,
    *,
    classes: Classes = None,
    shuffle: bool = False,
    seed: Seed = None,
) -> npt.NDArray[np.int64]:
    """Rows of a long-tailed part: of the k-th of K classes n₁ ρ^{−k/(K−1)} rows, k = 0 … K−1.

    Which rows is drawn; n₁ is the size of the largest class, and a class that has fewer rows keeps
    them all.

    Parameters
    ----------
    y : true labels, shape (n,).
    rho : 1 or more, how many times as large the first class is as the last.
    classes : the K classes, the largest first; those of `y` in their order if None.
    shuffle : draw the order of the classes too.
    seed : int, NumPy generator or None.

    Returns
    -------
    Row numbers in rising order, to subsample features and labels with.

    Examples
    --------
    >>> y = np.repeat([0, 1, 2], 100)
    >>> np.bincount(y[long_tailed(y, rho=100, seed=0)])
    array([100,  10,   1])
    """
    check_number("rho", rho, low=1)
    codes, known = _true_codes(y, classes)
    rng = np.random.default_rng(as_seed(seed, "seed"))
    k = len(known)
    order = rng.permutation(k) if shuffle else np.arange(k)
    largest = np.bincount(codes, minlength=k).max(initial=0)
    kept = []
    for place, code in enumerate(order):
        number = int(largest * rho ** (-place / max(1, k - 1)) + 1e-9)
        kept.append(rng.permutation(np.flatnonzero(codes == code))[:number])
    return np.sort(np.concatenate(kept)).astype(np.int64)


def _draw(
    codes: npt.NDArray[np.int64],
    classes: npt.NDArray[Any],
    rates: Rates,
    exclude_full: bool,
    seed: Seed,
    kept: float = 1.0,
) -> CandidateSets:
    """Each label by itself, the true one with probability `kept`; what is empty, or is full and must
    not be, is drawn again."""
    rng = np.random.default_rng(as_seed(seed, "seed"))
    n, k = len(codes), len(classes)
    mask: Mask = np.empty((n, k), dtype=bool)

    def drawn(rows: npt.NDArray[np.int64]) -> Mask:
        chance = rng.random((len(rows), k), dtype=np.float32)
        found: Mask = chance < rates(rows)
        own = np.arange(len(rows)), codes[rows]
        found[own] = chance[own] < kept
        return found

    for rows in np.array_split(np.arange(n), -(-n * k // CELLS_AT_ONCE) or 1):
        mask[rows] = drawn(rows)
    again = np.arange(n)
    while len(again := again[~mask[again].any(axis=1) | (mask[again].all(axis=1) & exclude_full)]):
        always = (rates(again) >= 1) | (np.arange(k) == codes[again, None])
        for row in again[always.all(axis=1) & exclude_full & (kept == 1 or k == 1)][:1]:
            raise InputError(
                f"exclude_full: row {row} can only draw the full set (every rate is 1). Lower a rate, "
                "or pass exclude_full=False."
            )
        mask[again] = drawn(again)
    return CandidateSets(mask, classes)


def _true_codes(
    y: npt.ArrayLike, classes: Classes
) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    values = np.asarray(unmasked(on_host(y)))
    if classes is None and values.ndim == 1 and values.dtype.kind in "iu":
        known, codes = np.unique(values, return_inverse=True)
        return codes, known
    singletons = as_candidates(values, classes, kind="labels")
    return singletons.to_sparse().indices.astype(np.int64), singletons.classes


def _matrix(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """A copy of the values as a matrix of floats."""
    try:
        matrix = np.asarray(on_host(values)).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a matrix of numbers, with rows of one length.") from error
    if matrix.ndim != 2:
        raise InputError(f"{name} has shape {matrix.shape}; it must be a matrix of numbers.")
    return matrix
