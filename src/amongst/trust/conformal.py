"""Sets that hold the true label as often as asked, and which rows to leave to a person: from held-out
rows whose true labels nobody knows.

A label z costs E(x, z) = −log p_z(x). The set C(x) of a row holds what costs τ at most, and the
likeliest label; τ comes from n held-out rows with candidate sets. Two laws are known here:

- ``"chance"``: each false label z joins by itself, at its own rate q_z. Then the miss
  [s ∩ C = ∅] / Π_{z∈C} (1 − q_z) is on average [y ∉ C], as no label of C but the true one is in s for
  certain. τ is the least cost from which on the mean miss stays at 1 − c or less, the next row being
  counted as a miss of mean weight. The share of new rows that is covered goes to c as n grows; with
  few rows or large q it is above c. Where wrong labels come along with rows that look like them, it
  is below c;
- ``"any"``: the true label is a candidate, whatever brings the others. The dearest candidate
  max_{z∈s} E(x, z) costs no less than the true label, so the ⌈(n + 1) c⌉-th smallest of these covers
  the share c of new rows at least, at every n (Javanmardi et al., 2023). The price is large sets. Where
  a share η of the held-out sets lacks the truth, up to η of the coverage is lost.

Where no row has a false candidate, both are the usual split conformal prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets
from amongst.checks import check_choice, check_number
from amongst.files import Arrays
from amongst.trust.calibration import fit_temperature, log_beliefs
from amongst.trust.rates import estimate_label_q

Floats = npt.NDArray[np.floating[Any]]
Mask = npt.NDArray[np.bool_]
Law = Literal["chance", "any"]

LARGEST_RATE = 0.99
"""A false candidate of nearly every set tells nothing: 1 / (1 − q) stays below 100."""

ROUNDING = 1e-6
"""Of a coverage."""

CURVE = ("confidence", "answered", "error", "error_se")


@dataclass(frozen=True, eq=False)
class Calibration:
    """What held-out rows with candidate sets say of a model.

    Attributes
    ----------
    temperature : see `fit_temperature`.
    chance, any : for each law the coverage that a cost τ gives, and τ, both rising, shape (2, m).
    curve : how often the surest rows are wrong; see `error_curve`.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> scores = np.log([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> found = calibration_of(scores, as_candidates(["a", "b", "a|b"]))
    >>> round(found.threshold(0.5, "any"), 2), found.threshold(0.9, "any")
    (0.22, inf)
    """

    temperature: float
    chance: Floats
    any: Floats
    curve: pd.DataFrame

    def threshold(self, coverage: float, law: Law = "chance") -> float:
        """The least τ that covers so much; ∞ where the held-out rows are too few to say."""
        check_number("coverage", coverage, low=0, high=1)
        by_name = {"chance": self.chance, "any": self.any}
        levels, costs = by_name[check_choice("law", law, get_args(Law))]
        at = int(np.searchsorted(levels, coverage - ROUNDING))
        return float(costs[at]) if at < len(costs) else float("inf")

    def surest(self, error: float) -> float:
        """The least confidence down to which rows are wrong in a share `error` of cases at most,
        one standard error being added; ∞ where there is none."""
        check_number("error", error, low=0, high=1)
        good = self.curve[self.curve["error"] + self.curve["error_se"] <= error]
        return float(good["confidence"].min()) if len(good) else float("inf")

    def to_state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, float]]:
        """Arrays and facts that `from_state` reads."""
        arrays = {"chance": self.chance, "any": self.any, "curve": self.curve.to_numpy()}
        return arrays, {"temperature": self.temperature}

    @classmethod
    def from_state(cls, arrays: Arrays, facts: dict[str, float]) -> Calibration:
        """The inverse of `to_state`."""
        curve = pd.DataFrame(np.asarray(arrays["curve"]), columns=list(CURVE))
        return cls(facts["temperature"], arrays["chance"], arrays["any"], curve)


def calibration_of(scores: Floats, sets: CandidateSets) -> Calibration:
    """What rows that did not train, by their scores (n, K) and candidate sets, say of a model.

    >>> from amongst import as_candidates
    >>> scores = np.log([[0.9, 0.1], [0.2, 0.8]])
    >>> calibration_of(scores, as_candidates(["a", "b"])).any.round(2)
    array([[0.  , 0.33, 0.67],
           [0.  , 0.11, 0.22]])
    """
    mask, temperature = sets.mask, fit_temperature(scores, sets)
    rates = np.minimum(estimate_label_q(sets).rates, LARGEST_RATE)
    costs = -log_beliefs(scores)
    return Calibration(
        temperature,
        _levels(*_chance_misses(costs, mask, rates), len(mask)),
        _levels(*_dearest_misses(costs, mask), len(mask)),
        error_curve(np.exp(log_beliefs(scores / temperature)), mask, rates),
    )


def prediction_sets(scores: Floats, threshold: float) -> Mask:
    """The labels that cost τ at most, and the likeliest one, shape (n, K).

    >>> prediction_sets(np.log([[0.6, 0.3, 0.1]]), -np.log(0.2))
    array([[ True,  True, False]])
    """
    logs = log_beliefs(scores)
    found: Mask = -logs <= threshold
    found[np.arange(len(logs)), logs.argmax(axis=1)] = True
    return found


def error_curve(proba: Floats, mask: Mask, rates: Floats) -> pd.DataFrame:
    """How often the surest rows are wrong, from the surest one down.

    A row of the likeliest label ŷ counts [ŷ ∉ s] / (1 − q_ŷ), which is on average [ŷ ≠ y] where labels
    join by chance.

    Returns
    -------
    DataFrame with the columns ``confidence``, the least of these rows; ``answered``, their share;
    ``error``, the estimated share of wrong ones; and ``error_se``, its standard error, for which one
    miss more is counted, as no miss is not yet no error.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> mask = np.array([[True, False], [True, True], [False, True], [False, True]])
    >>> error_curve(p, mask, np.zeros(2))["error"].tolist()
    [0.0, 0.0, 0.0, 0.25]
    """
    sure, said = proba.max(axis=1), proba.argmax(axis=1)
    order = np.argsort(-sure, kind="stable")
    caught = 1 / (1 - rates[said])[order]
    missed = ~mask[np.arange(len(mask)), said][order] * caught
    count = np.arange(1, len(mask) + 1)
    error = np.minimum(np.cumsum(missed) / count, 1.0)
    spread = np.sqrt(np.cumsum(missed**2) + np.maximum.accumulate(caught) ** 2) / count
    last = np.append(np.diff(sure[order]) != 0, True)  # of equal ones all or none
    parts = (sure[order], count / len(mask), error, spread)
    return pd.DataFrame(dict(zip(CURVE, (part[last] for part in parts), strict=True)))


def _chance_misses(costs: Floats, mask: Mask, rates: Floats) -> tuple[Floats, Floats, Floats]:
    """The costs at which C grows, and how the sum of misses and the mean weight of a miss change."""
    order = np.argsort(costs, axis=1, kind="stable")
    empty = ~np.logical_or.accumulate(np.take_along_axis(mask, order, 1), axis=1)
    weight = np.cumprod(1 / (1 - rates[order]), axis=1)
    missed, more = (np.diff(w, axis=1, prepend=0.0) for w in (empty * weight, weight))
    at = np.take_along_axis(costs, order, 1)
    at[:, 0] = 0.0  # C always holds the likeliest label
    return at.ravel(), missed.ravel(), more.ravel() / len(mask)


def _dearest_misses(costs: Floats, mask: Mask) -> tuple[Floats, Floats, Floats]:
    """The same: every row is a miss, of weight 1, until C holds its dearest candidate."""
    n = len(mask)
    dearest = np.where(mask, costs, 0.0).max(axis=1)
    ones, none = np.ones(n), np.zeros(n)
    return np.append(none, dearest), np.append(ones, -ones), np.append(ones / n, none)


def _levels(costs: Floats, missed: Floats, weight: Floats, n: int) -> Floats:
    """The coverage that each τ gives, and τ, shape (2, m); the next row is counted as a miss."""
    order = np.argsort(costs, kind="stable")
    at, missed, weight = costs[order], np.cumsum(missed[order]), np.cumsum(weight[order])
    last = np.append(at[1:] != at[:-1], True)
    at, missed, weight = at[last], missed[last], weight[last]
    from_here = np.maximum.accumulate(missed[::-1])[::-1]
    levels = np.maximum.accumulate(1 - (from_here + weight) / (n + 1))
    rising = np.append(True, np.diff(levels) > 0)
    return np.stack([levels[rising], at[rising]])
