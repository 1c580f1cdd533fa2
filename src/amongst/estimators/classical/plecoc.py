"""PL-ECOC: random codes turn candidate sets into binary problems without disambiguation."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from amongst.candidates import CandidateSets
from amongst.checks import as_seed, check_integer, check_number, spawn
from amongst.errors import InputError
from amongst.estimators.classical._machines import MachineClassifier, Machines, Task, fit_map
from amongst.estimators.classical._neighbours import Floats, Mask
from amongst.estimators.classical._scaling import fit_scaler

Codes = npt.NDArray[np.int8]

DRAWS = 100
"""Draws for each wanted column, all at once, before the search ends."""

USUAL = 0.1
"""τ as the method has it."""


@dataclass(kw_only=True, eq=False, repr=False)
class PLECOCClassifier(MachineClassifier):
    """PL-ECOC (Zhang, Yu & Tang 2017): error-correcting output codes for candidate sets.

    Each column of a random code M ∈ {−1, +1}^{K×L} is a binary problem: a row is positive if all
    its candidates have +1, negative if all have −1, and left out otherwise. With G_jl, the share
    of rows with j ∈ s on which machine l agrees with M_jl (summing to 1 over l), the prediction is
    argmin_j Σ_l G_jl exp(−h_l(x) M_jl).

    The other parameters are those of `MachineClassifier`.

    Parameters
    ----------
    code_length : L, columns of the code; None for ⌈10 log₂ K⌉.
    tau : τ, the least share of the rows that a column must have on board; ``"auto"`` for 0.1, or for
        what the candidate sets allow where they are too large for that.

    Attributes
    ----------
    codes_ : (K, L) of ±1.
    competence_ : (K, L), G.
    machines_ : the L trained machines.

    Notes
    -----
    A class that is in no candidate set is never predicted. `decision_function` is
    −log Σ_l G_jl exp(−h_l M_jl).

    Examples
    --------
    >>> X = np.array([[-2.0], [-1.9], [-1.8], [0.0], [0.1], [0.2], [1.9], [2.0], [2.1]])
    >>> y = ["a|b", "a", "a|c", "b", "b|c", "a|b", "c", "b|c", "a|c"]
    >>> model = PLECOCClassifier(random_state=0).fit(X, y)
    >>> model.codes_.shape, model.predict(X[[0, 4, 8]]).tolist()
    ((3, 16), ['a', 'b', 'c'])
    """

    name = "plecoc"
    title = "PL-ECOC"
    grid = MappingProxyType({"C": (1.0, 10.0, 100.0)})
    arrays = ("codes", "competence")
    parts = MappingProxyType({"machines": Machines})

    code_length: int | None = None
    tau: float | str = "auto"

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        auto = isinstance(self.tau, str) and self.tau == "auto"
        tau = USUAL if auto else check_number("tau", self.tau, low=0, high=1)
        code_rng, map_rng = spawn(self.random_state, 2)
        codes = draw_codes(sets.mask, self._length(sets.n_classes), tau, code_rng, less=auto)
        self._learn(X, sets.mask, codes, as_seed(map_rng))

    def _learn(self, X: npt.NDArray[Any], mask: Mask, codes: Codes, seed: int) -> None:
        """Train on given codes."""
        self.scaler_ = fit_scaler(X, self.scaling)
        rows = self.scaler_(X)
        feature_map = fit_map(rows, self.kernel, self.gamma, self.n_components, seed)
        tasks = (_task(mask, column) for column in codes.T)
        self.machines_ = self._machines(rows, tasks, codes.shape[1], feature_map, "PL-ECOC columns")
        self.codes_, self.kernel_ = codes, feature_map.kind
        self.competence_ = competence(self.machines_.decide(rows), mask, codes)

    def _length(self, n_classes: int) -> int:
        if self.code_length is None:
            return int(np.ceil(10 * np.log2(n_classes)))
        return check_integer("code_length", self.code_length, low=1)

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        return decode(self.machines_.decide(self.scaler_(X)), self.codes_, self.competence_)


def on_board(mask: Mask, codes: Codes) -> npt.NDArray[np.int8]:
    """+1 where a row's candidates all have +1 in a column, −1 where all have −1, else 0; (n, L).

    >>> on_board(np.array([[True, True, False], [False, True, True]]), np.array([[1], [1], [-1]]))
    array([[1],
           [0]], dtype=int8)
    """
    inside = mask.astype(np.float32)
    minus = inside @ (codes < 0).astype(np.float32) > 0
    plus = inside @ (codes > 0).astype(np.float32) > 0
    return plus.astype(np.int8) * ~minus - minus.astype(np.int8) * ~plus


def draw_codes(
    mask: Mask, length: int, tau: float, rng: np.random.Generator, less: bool = False
) -> Codes:
    """Random ±1 columns that have rows on either side, and at least τ n of them in all; (K, L). With
    `less` those with the most rows, where too few have as many.

    >>> mask = np.eye(4, dtype=bool)[[0, 1, 2, 3] * 5]
    >>> draw_codes(mask, 6, 0.1, np.random.default_rng(0)).shape
    (4, 6)
    """
    found, others, boards = list[Codes](), list[Codes](), list[int]()
    for _ in range(DRAWS):
        codes = rng.integers(0, 2, size=(mask.shape[1], length), dtype=np.int8) * 2 - 1
        sides = on_board(mask, codes.astype(np.int8))
        boarded = np.abs(sides).sum(axis=0, dtype=np.int64)
        both = (sides > 0).any(axis=0) & (sides < 0).any(axis=0)
        boards.extend(boarded[both].tolist())
        found.extend(codes.T[both & (boarded >= tau * len(mask))])
        others.extend(codes.T[both])
        if len(found) >= length:
            return np.ascontiguousarray(np.array(found[:length], dtype=np.int8).T)
    if less and len(others) >= length:
        fullest = np.argsort(-np.array(boards), kind="stable")[:length]
        return np.ascontiguousarray(np.array(others, dtype=np.int8)[fullest].T)
    if len(boards) < length:
        raise InputError(
            f"has too few rows ({len(mask)}), or too large candidate sets, for PL-ECOC: of "
            f"{DRAWS * length} code columns drawn, {len(boards)} have rows on both sides, and {length} "
            "are wanted.",
            code="no-columns",
            argument="y",
            remedy="Give more rows, or smaller candidate sets.",
        )
    enough = int(sorted(boards)[-length] / len(mask) * 1000) / 1000
    raise InputError(
        "asks for more rows on board of each code column than candidate sets so large allow.",
        code="no-columns",
        argument="tau",
        got=tau,
        remedy=f"Lower tau (to {enough:g}).",
    )


def competence(decisions: Floats, mask: Mask, codes: Codes) -> Floats:
    """G_jl: share of the rows with j ∈ s whose machine l agrees with M_jl, each row summing to 1.

    A class without rows has a row of zeros; one that no machine ever agrees with, equal shares.

    >>> h, mask = np.array([[2.0, -1.0], [1.0, 1.0]]), np.array([[True], [True]])
    >>> competence(h, mask, np.array([[1, 1]]))
    array([[0.66666667, 0.33333333]])
    """
    signs = np.where(decisions > 0, 1.0, -1.0)
    count = mask.sum(axis=0)[:, None]
    agreed = (mask.T.astype(np.float64) @ signs * codes + count) / 2
    agreed = np.where(agreed.sum(axis=1, keepdims=True) > 0, agreed, 1.0) * (count > 0)
    total = agreed.sum(axis=1, keepdims=True)
    shares: Floats = agreed / np.where(total > 0, total, 1.0)
    return shares


def decode(decisions: Floats, codes: Codes, shares: Floats) -> Floats:
    """−log Σ_l G_jl exp(−h_l M_jl), shape (n, K): the higher, the likelier.

    >>> decode(np.array([[1.0, -1.0]]), np.array([[1, 1], [1, -1]]), np.full((2, 2), 0.5)).round(3)
    array([[-0.434,  1.   ]])
    """
    scores = np.empty((len(decisions), len(codes)))
    for label, (code, share) in enumerate(zip(codes, shares, strict=True)):
        scores[:, label] = -logsumexp(-decisions * code, axis=1, b=share)
    known = shares.any(axis=1)
    least = scores[:, known].min(axis=1, keepdims=True)
    return np.where(known, scores, least - 1.0)


def _task(mask: Mask, code: Codes) -> Task:
    sides = on_board(mask, code[:, None])[:, 0]
    rows = np.flatnonzero(sides)
    return rows, sides[rows] > 0
