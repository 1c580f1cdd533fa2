"""Tables and maps that the command and the page both show: computed here, drawn elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from amongst.theory import balance, beta_threshold, ova_beta, reversal_beta, size_law
from amongst.theory.auto import beta_from_sizes
from amongst.theory.bayes import bayes_map, peaked

__all__ = ["TOPS", "RegionMap", "ThresholdRow", "region_map", "threshold_table"]

Array = npt.NDArray[np.float64]

TOPS = (1.0, 0.8, 0.6, 0.4)
"""The largest posterior of the problems on which a region is mapped, from certain to vague."""


@dataclass(frozen=True)
class ThresholdRow:
    """What the theory says of β at one uniform q and K.

    Attributes
    ----------
    q : the rate.
    odds, ova : fixed equal weights: q/(1−q), and the β of one-versus-all.
    early, neutral, one_vs_all : normalised weights before any score, see `Balance`.
    reversal : cross-entropy form, see `reversal_beta`.
    sigmoid, cross_entropy : `auto_beta` for either ψ.
    """

    q: float
    odds: float
    ova: float
    early: float
    neutral: float
    one_vs_all: float
    reversal: float
    sigmoid: float
    cross_entropy: float


def threshold_table(
    K: int = 10, qs: Sequence[float] = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
) -> list[ThresholdRow]:
    """One row of thresholds for each q.

    >>> [round(row.odds, 2) for row in threshold_table(10, (0.1, 0.9))]
    [0.11, 9.0]
    """
    return [_row(K, float(q)) for q in qs]


def _row(K: int, q: float) -> ThresholdRow:
    sizes = size_law(K, q)
    early = balance(sizes)
    return ThresholdRow(
        q=q,
        odds=beta_threshold(q),
        ova=ova_beta(q),
        early=early.threshold,
        neutral=early.neutral,
        one_vs_all=early.one_vs_all,
        reversal=reversal_beta(sizes),
        sigmoid=beta_from_sizes(sizes, "sigmoid"),
        cross_entropy=beta_from_sizes(sizes, "cross_entropy"),
    )


@dataclass(frozen=True, eq=False)
class RegionMap:
    """On how many of the posteriors `TOPS` the top score is the Bayes label.

    Attributes
    ----------
    psi, weights : see `bayes_map`.
    betas, qs : (B,), (Q,).
    counts : (B, Q), 0 to len(TOPS).
    """

    psi: str
    weights: str
    betas: Array
    qs: Array
    counts: npt.NDArray[np.int64]


def region_map(psi: str, weights: str, betas: Array, qs: Array, K: int = 5) -> RegionMap:
    """`bayes_map` for each posterior `peaked(K, top)`, top in `TOPS`, counted.

    >>> region_map("sigmoid", "equal", np.array([1.0]), np.array([0.1, 0.9])).counts
    array([[3, 0]])
    """
    posteriors = torch.stack([peaked(K, top) for top in TOPS])
    agrees = bayes_map(betas, qs, posteriors, psi, weights).agrees
    return RegionMap(psi, weights, betas, qs, agrees.sum(0).numpy())
