"""Rows whose true label is none of their candidates: how many, and which, from the sets alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from amongst.candidates import CandidateSets
from amongst.trust.calibration import log_beliefs

Floats = npt.NDArray[np.floating[Any]]

TEMPERATURES = 2.0 ** np.arange(-2.0, 5.1, 0.25)
ROUNDS, STILL, TINY = 500, 1e-7, 1e-12


@dataclass(frozen=True, eq=False)
class Outside:
    """What `fit_outside` found.

    Attributes
    ----------
    share : η, of rows whose true label is outside.
    temperature : at which the scores foretell the sets best.
    chances : P(y ∉ s | x, s) of each row, shape (n,).
    belief : P(y = z | x, s), shape (n, K).
    likelihood : mean of log P(s | x) over the rows that have not all classes.

    >>> from amongst import as_candidates
    >>> fit_outside(np.zeros((1, 3)), as_candidates(["a|b"], ["a", "b", "c"]), 0.2).belief
    array([[0.4, 0.4, 0.2]])
    """

    share: float
    temperature: float
    chances: npt.NDArray[np.float64]
    belief: npt.NDArray[np.float64]
    likelihood: float


def fit_outside(scores: Floats, sets: CandidateSets, share: float | None = None) -> Outside:
    """The share η of rows whose true label is outside, and how likely each row is one of them.

    With probability 1 − η the true label z is a candidate, by the prior π_z of the row (1/|s|); else it
    is one of the K − |s| others, each alike. So a row has the likelihood
    (1 − η) Σ_{z∈s} π_z p_z + η Σ_{z∉s} p_z / (K − |s|), p = softmax(scores / t), and η and t are those
    of the greatest. Scores must be of rows that did not train: a network that has learnt a wrong set
    by heart finds nothing wrong with it. Scores that are too sure, at t = 1, leave η near 0.

    Parameters
    ----------
    scores : shape (n, K), of rows that did not train; logarithms of probabilities are scores, too.
    sets : their candidate sets; of rows with all classes nothing is outside.
    share : η, where it is known; None to find it.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> truth = np.arange(100) % 4
    >>> told = np.where(np.arange(100) < 20, (truth + 1) % 4, truth)
    >>> found = fit_outside(3.0 * np.eye(4)[truth], as_candidates(told, range(4)))
    >>> round(found.share, 2), np.flatnonzero(found.chances > 0.5).max()
    (0.17, np.int64(19))
    """
    logs = log_beliefs(scores)
    tried = [_at(softmax(logs / t, axis=1), sets, share) for t in TEMPERATURES]
    best = int(np.argmax([likelihood for likelihood, _, _ in tried]))
    likelihood, found, chances = tried[best]
    belief = _belief(softmax(logs / TEMPERATURES[best], axis=1), sets, found)
    return Outside(found, float(TEMPERATURES[best]), chances, belief, likelihood)


def chance_outside(proba: Floats, sets: CandidateSets, share: float) -> npt.NDArray[np.float64]:
    """P(y ∉ s | x, s) of each row, shape (n,), at this share η; see `fit_outside`.

    >>> from amongst import as_candidates
    >>> sets = as_candidates([["a"], ["a"]], ["a", "b", "c"])
    >>> chance_outside(np.array([[0.1, 0.8, 0.1], [0.9, 0.1, 0.0]]), sets, 0.1).round(2)
    array([0.33, 0.01])
    """
    return _chances(*_parts(proba, sets), share)


def _parts(proba: Floats, sets: CandidateSets) -> tuple[Floats, Floats]:
    """Σ_{z∈s} π_z p_z and Σ_{z∉s} p_z / (K − |s|), 0 for a full set: each (n,)."""
    others = sets.n_classes - sets.sizes
    inside = (proba * sets.prior).sum(axis=1)
    outside = (proba * ~sets.mask).sum(axis=1) / np.maximum(others, 1)
    return np.maximum(inside, TINY), outside


def _belief(proba: Floats, sets: CandidateSets, share: float) -> npt.NDArray[np.float64]:
    """∝ p_z (1 − η) π_z on s, and p_z η / (K − |s|) elsewhere: shape (n, K)."""
    others = np.maximum(sets.n_classes - sets.sizes, 1)[:, None]
    law = np.where(sets.mask, (1 - share) * sets.prior, share / others)
    joint = proba * law + TINY * sets.mask
    found: npt.NDArray[np.float64] = joint / joint.sum(axis=1, keepdims=True)
    return found


def _chances(inside: Floats, outside: Floats, share: float) -> npt.NDArray[np.float64]:
    beyond = share * outside
    found: npt.NDArray[np.float64] = beyond / (beyond + (1 - share) * inside + TINY)
    return found


def _at(
    proba: Floats, sets: CandidateSets, share: float | None
) -> tuple[float, float, npt.NDArray[np.float64]]:
    """The likelihood, η and each row's chance for these probabilities; EM in η, which has one optimum."""
    inside, outside = _parts(proba, sets)
    partial = sets.sizes < sets.n_classes
    eta = 0.1 if share is None else share
    for _ in range(ROUNDS if share is None and partial.any() else 0):
        before, eta = eta, float(_chances(inside, outside, eta)[partial].mean())
        if abs(eta - before) < STILL:
            break
    likelihood = np.log((1 - eta) * inside + eta * outside)[partial].mean() if partial.any() else 0
    return float(likelihood), eta, _chances(inside, outside, eta)
