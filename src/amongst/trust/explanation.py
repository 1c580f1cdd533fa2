"""What happened to labels: which candidate won and how surely, what asking a person would gain, who is
confused with whom, and how much of it is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets
from amongst.candidates.container import with_prior
from amongst.trust.calibration import fit_temperature, set_risk, tempered
from amongst.trust.rates import estimate_label_q

Floats = npt.NDArray[np.floating[Any]]
Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

STEP = 0.05
"""Of log t, for differences."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What is known of the rows of a file, true labels aside.

    Attributes
    ----------
    rows : a line for each row; see `explain_rows`.
    sets : the candidate sets.
    right, right_se : the expected share of rows whose label is right, and its standard error.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> logs, sets = np.log([[0.9, 0.1], [0.2, 0.8]]), as_candidates(["a|b", "b"])
    >>> found = Explanation.of(logs, sets, np.array([0, 1]), temperature=1.0)
    >>> round(found.right, 2), found.rows["label"].tolist()
    (0.95, ['a', 'b'])
    >>> found.flows().loc["b"].tolist()
    [1, 1]
    """

    rows: pd.DataFrame
    sets: CandidateSets
    right: float
    right_se: float

    @classmethod
    def of(
        cls,
        logs: Floats,
        sets: CandidateSets,
        chosen: Codes,
        temperature: float | None = None,
        agreement: Floats | None = None,
        index: Any = None,
    ) -> Explanation:
        """From logarithmic weights (n, K) and the column of each row's label (n,); the temperature is
        fitted to these rows, which must not have trained, where none is given."""
        t = fit_temperature(logs, sets) if temperature is None else temperature
        right, right_se = expected_right(logs, sets, chosen, t, fitted=temperature is None)
        classes = sets.classes
        proba = tempered(with_prior(logs / t, sets), 1.0)
        rows = explain_rows(proba, sets.mask, chosen, classes, agreement, index)
        return cls(rows, sets, right, right_se)

    def classes(self) -> pd.DataFrame:
        """A line for each class.

        Returns
        -------
        DataFrame with the columns ``candidate``, the rows that may have it; ``only``, those with no
        other; ``label``, those that got it; ``confidence``, their mean; ``false_rate`` and ``share``,
        how often it is a false candidate and a true label, from the sets alone (`estimate_label_q`);
        and ``taken_for``, the label that rows of this class most likely got by mistake.
        """
        mask, others = self.sets.mask, self.confusions().to_numpy()
        rates, got = estimate_label_q(self.sets), self._codes()
        names = self.sets.classes.astype(object)
        sums = np.bincount(got, self.rows["confidence"], len(names))
        counts = np.bincount(got, minlength=len(names))
        return pd.DataFrame(
            {
                "candidate": mask.sum(axis=0),
                "only": (mask & (mask.sum(axis=1, keepdims=True) == 1)).sum(axis=0),
                "label": counts,
                "confidence": np.where(counts, sums / np.maximum(counts, 1), np.nan),
                "false_rate": rates.rates,
                "share": rates.prior,
                "taken_for": np.where(others.any(axis=1), names[others.argmax(axis=1)], None),
            },
            index=pd.Index(self.sets.classes, name="class"),
        )

    def flows(self) -> pd.DataFrame:
        """Rows with the candidate of the line that got the label of the column, shape (K, K)."""
        names, got = self.sets.classes, self._codes()
        counts = [self.sets.mask[got == code].sum(axis=0) for code in range(len(names))]
        return pd.DataFrame(np.stack(counts, axis=1), index=names, columns=names)

    def confusions(self) -> pd.DataFrame:
        """The expected number of rows of the class of the line that got the label of the column, by
        mistake, shape (K, K): the sum of the shares of the candidates that did not become labels.

        >>> from amongst import as_candidates
        >>> logs, sets = np.log([[0.9, 0.1], [0.2, 0.8]]), as_candidates(["a|b", "b"])
        >>> found = Explanation.of(logs, sets, np.array([0, 1]), temperature=1.0)
        >>> found.confusions().loc["b"].round(2).tolist()
        [0.1, 0.0]
        """
        names, got = pd.Index(self.sets.classes), self._codes()
        found = np.zeros((len(names), len(names)))
        for code, shares in zip(got, self.rows["candidates"], strict=True):
            found[names.get_indexer(list(shares)), code] += list(shares.values())
        np.fill_diagonal(found, 0.0)
        return pd.DataFrame(found, index=names, columns=names)

    def _codes(self) -> Codes:
        return np.asarray(pd.Index(self.sets.classes).get_indexer(self.rows["label"]))


def expected_right(
    logs: Floats, sets: CandidateSets, chosen: Codes, temperature: float, *, fitted: bool
) -> tuple[float, float]:
    """The expected share of rows whose label is right, and its standard error.

    With c_i the confidence of row i, the share is Σ c_i / n. Its variance is Σ c_i (1 − c_i) / n², the
    chance in the rows themselves; and, where the temperature is fitted to them, (d/dλ Σ c_i / n)² V, with
    λ = log t, and V the variance of λ: Σ g_i² / (Σ h_i)², from the slopes g_i and bends h_i of −log P(s_i).

    Examples
    --------
    >>> from amongst import as_candidates
    >>> logs, sets = np.log([[0.8, 0.2]] * 4), as_candidates(["a|b"] * 4)
    >>> share, se = expected_right(logs, sets, np.zeros(4, dtype=int), 1.0, fitted=False)
    >>> round(share, 2), round(se, 2)
    (0.8, 0.2)
    """
    mask, n = sets.mask, len(logs)

    def confidence(factor: float) -> Floats:
        return sets.posterior(logs / (temperature * factor))[np.arange(n), chosen]

    own = confidence(1.0)
    variance = float((own * (1 - own)).sum()) / n**2
    if fitted:
        steps = np.exp([-STEP, 0.0, STEP])
        below, here, above = (set_risk(tempered(logs, temperature * f), mask) for f in steps)
        slope, bend = (above - below) / (2 * STEP), (above - 2 * here + below).sum() / STEP**2
        change = (confidence(steps[2]) - confidence(steps[0])).mean() / (2 * STEP)
        if bend > 0:
            variance += float(change**2 * (slope**2).sum() / bend**2)
    return float(own.mean()), variance**0.5


def explain_rows(
    proba: Floats,
    mask: Mask,
    chosen: Codes,
    classes: npt.NDArray[Any],
    agreement: Floats | None = None,
    index: Any = None,
) -> pd.DataFrame:
    """A row of the table for each row of data.

    With p the probabilities of all classes, the confidence in the label c is P(y = c | x, s) =
    p_c / Σ_{z∈s} p_z, which holds where a set tells no more than that the true label is in it:
    P(s | x, y) is the same for every y ∈ s. A person who names the true label puts a wrong one
    right; the expected gain of asking is the expected number of these, 1 − confidence.

    Parameters
    ----------
    proba : p, shape (n, K).
    mask : candidate sets, bool, shape (n, K).
    chosen : the column of each row's label, shape (n,); it is a candidate.
    classes : labels of the columns.
    agreement : share of an ensemble that chooses the same label, shape (n,); None if there is none.
    index : of the table.

    Returns
    -------
    DataFrame with the columns ``label``, ``confidence``, ``runner_up`` (None for a single
    candidate), ``margin`` (confidence less that of the runner-up; below 0 where the probabilities
    prefer the runner-up), ``agreement``, ``outside`` (the likeliest class where it is no candidate,
    else None), ``gain``, ``rank`` (1 is to be asked first) and ``candidates`` (a dict of each
    candidate and its probability, likeliest first).

    Examples
    --------
    >>> p = np.array([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])
    >>> mask = np.array([[True, True, False]] * 2)
    >>> table = explain_rows(p, mask, np.array([0, 0]), np.array(["cat", "dog", "emu"]))
    >>> table[["label", "confidence", "runner_up", "margin", "outside", "rank"]].round(2)
      label  confidence runner_up  margin outside  rank
    0   cat        0.67       dog    0.33    None     2
    1   cat        0.50       dog    0.00     emu     1
    """
    inside = _amongst(proba, mask)
    at = np.arange(len(mask))
    others = np.where(mask, inside, -1.0)
    others[at, chosen] = -1.0
    second, several = others.argmax(axis=1), mask.sum(axis=1) > 1
    confidence = inside[at, chosen]
    gain = np.maximum(1.0 - confidence, 0.0)
    best = proba.argmax(axis=1)
    table = pd.DataFrame(
        {
            "label": classes[chosen],
            "confidence": confidence,
            "runner_up": _labels(classes, second, several),
            "margin": confidence - np.where(several, inside[at, second], 0.0),
            "agreement": np.nan if agreement is None else agreement,
            "outside": _labels(classes, best, ~mask[at, best]),
            "gain": gain,
            "rank": ask_order(gain).argsort() + 1,
            "candidates": _shares(inside, mask, classes),
        }
    )
    return table if index is None else table.set_axis(index)


def ask_order(gain: Floats) -> Codes:
    """The rows to ask a person about, the largest gain first; equal ones as they come.

    >>> ask_order(np.array([0.1, 0.4, 0.4])).tolist()
    [1, 2, 0]
    """
    order: Codes = np.argsort(-np.asarray(gain), kind="stable")
    return order


def _amongst(proba: Floats, mask: Mask) -> Floats:
    """p over the candidates, summing to 1; equal where all of them have 0."""
    kept = np.where(mask, proba, 0.0)
    kept = np.where(kept.sum(axis=1, keepdims=True) > 0, kept, mask)
    shares: Floats = kept / kept.sum(axis=1, keepdims=True)
    return shares


def _labels(classes: npt.NDArray[Any], codes: Codes, shown: Mask) -> pd.Series:
    """Labels as objects, None where there is none to show."""
    pairs = zip(classes[codes].tolist(), shown.tolist(), strict=True)
    return pd.Series([label if is_shown else None for label, is_shown in pairs], dtype=object)


def _shares(inside: Floats, mask: Mask, classes: npt.NDArray[Any]) -> list[dict[Any, float]]:
    """Each row's candidates with their probabilities, likeliest first."""
    labels = classes.tolist()
    order = np.argsort(np.where(mask, -inside, np.inf), axis=1, kind="stable")
    sizes = mask.sum(axis=1).tolist()
    return [
        {labels[code]: float(row[code]) for code in codes[:size]}
        for row, codes, size in zip(inside, order, sizes, strict=True)
    ]
