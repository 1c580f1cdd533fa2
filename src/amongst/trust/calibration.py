"""Confidences that mean what they say: a temperature, from the candidate sets of held-out rows alone.

With P(s | x, y) = 0 unless y ∈ s, the probability of a set is P(s | x) = Σ_{y∈s} P(s | y) p_y(x).
Two laws are known here, each up to a factor that does not depend on y:

- every candidate is as likely to be the true one as P(s | y) says nothing: it is equal for all y ∈ s.
  So it is where each false label joins by itself at one rate, where sets are drawn at random among
  those that hold y, and where s is what a person could not exclude by chance;
- label z joins by itself at its own rate q_z, so that P(s | y) ∝ 1 / q_y for y ∈ s.

Either likelihood is greatest, on average, at the true probabilities. Where wrong labels come along with
those rows that look like them, neither holds, and confidences come out too high.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

Floats = npt.NDArray[np.floating[Any]]
Mask = npt.NDArray[np.bool_]

FLOOR = 0.01
"""Share of a forecast that is spread over all classes before its logarithm is taken: trees say 0."""

COLDEST, HOTTEST = 1e-3, 1e3
"""Bounds of a temperature, in units of the spread of the scores."""

RAREST = 1e-3
"""A rate below this counts as this."""


def fit_temperature(scores: Floats, sets: Any, rates: npt.ArrayLike | None = None) -> float:
    """The t > 0 whose softmax(scores / t) gives candidate sets the greatest likelihood.

    Parameters
    ----------
    scores : of rows that did not train, shape (n, K); logarithms of probabilities are scores, too.
    sets : their candidate sets, a bool mask of shape (n, K) or `CandidateSets`.
    rates : the law: None where all y ∈ s give a set the same probability P(s | y), so that
        P(s | x) ∝ Σ_{z∈s} p_z; or q_z = P(z ∈ s | y ≠ z), shape (K,), where labels join by themselves
        at rates of their own, so that P(s | x) ∝ Σ_{z∈s} p_z / q_z. `estimate_label_q` finds these.

    Examples
    --------
    >>> sure, mask = np.array([[9.0, 0.0]] * 4), np.eye(2, dtype=bool)[[0, 0, 0, 1]]
    >>> tempered(sure, fit_temperature(sure, mask))[0].round(2)
    array([0.75, 0.25])
    """
    mask = np.asarray(getattr(sets, "mask", sets), dtype=bool)
    scores = _finite(np.asarray(scores))
    spread = float(np.ptp(scores, axis=1).mean()) if len(scores) else 0.0
    if spread == 0:
        return 1.0

    def risk(log_t: float) -> float:
        whole = log_softmax(scores / (spread * np.exp(log_t)), axis=1)
        return float(set_risk(np.exp(whole), mask, rates).mean())

    bounds = (np.log(COLDEST), np.log(HOTTEST))
    grid = np.linspace(*bounds, 29)
    at = int(np.argmin([risk(t) for t in grid]))
    near = (grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)])
    return spread * float(np.exp(minimize_scalar(risk, bounds=near, method="bounded").x))


def tempered(scores: Floats, temperature: float) -> Floats:
    """softmax(scores / temperature), shape (n, K).

    >>> tempered(np.array([[0.0, 2.0]]), 2.0).round(2)
    array([[0.27, 0.73]])
    """
    found: Floats = softmax(_finite(scores) / temperature, axis=1)
    return found


def log_beliefs(scores: Floats) -> Floats:
    """log softmax(scores), shape (n, K), finite even where a score is −∞.

    >>> log_beliefs(np.array([[0.0, 0.0], [0.0, -np.inf]])).round(2).max(axis=1)
    array([-0.69,  0.  ])
    """
    found: Floats = log_softmax(_finite(scores), axis=1)
    return found


def set_risk(proba: Floats, mask: Mask, rates: npt.ArrayLike | None = None) -> Floats:
    """−log Σ_{z∈s} p_z of each row, shape (n,), a hundredth of p being spread over all classes.

    Its mean falls with better probabilities, and needs no true label. With `rates`, p_z counts
    q_min / q_z; see `fit_temperature`.

    >>> set_risk(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[True, True], [False, True]])).round(2)
    array([0. , 5.3])
    """
    weights: Any = mask
    if rates is not None:
        q = np.maximum(np.asarray(rates, dtype=float), RAREST)
        weights = mask * (q.min() / q)
    inside = (proba * weights).sum(axis=1) / proba.sum(axis=1)
    risk: Floats = -np.log((1 - FLOOR) * inside + FLOOR * weights.mean(axis=1))
    return np.maximum(risk, 0.0)


def reliability(confidence: Floats, right: npt.ArrayLike, bins: int = 10) -> pd.DataFrame:
    """How often rows were right, by how sure they were: bins of equal width of the confidence.

    Parameters
    ----------
    confidence : shape (n,), from 0 to 1.
    right : whether each row was right, shape (n,); the truth, for tests alone.

    Returns
    -------
    DataFrame with a row for each bin that holds any: ``rows``, ``confidence`` (its mean), ``right``
    (the share). The mean of |confidence − right|, weighted by the rows, is the calibration error.

    Examples
    --------
    >>> reliability(np.array([0.91, 0.99, 0.55]), [True, True, False])
       rows  confidence  right
    0     1        0.55    0.0
    1     2        0.95    1.0
    """
    at = np.minimum((np.asarray(confidence) * bins).astype(int), bins - 1)
    frame = pd.DataFrame({"confidence": confidence, "right": np.asarray(right, dtype=float)})
    groups = frame.groupby(at)
    found = groups.mean()
    found.insert(0, "rows", groups.size())
    return found.reset_index(drop=True)


def _finite(scores: Floats) -> Floats:
    """−∞ far below the others; a row of nothing else knows nothing."""
    if np.isfinite(scores).all():
        return scores
    kept = np.where(np.isfinite(scores), scores, np.inf).min(axis=1, keepdims=True)
    kept = np.where(np.isfinite(kept), kept, 0.0)
    return np.where(np.isfinite(scores), scores, np.minimum(kept, 0.0) - 1e4)
