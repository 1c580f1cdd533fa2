"""Held-out forecasts to one answer: calibrated, and mixed as the candidate sets of those rows say."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils import get_tags

from amongst.errors import InputError
from amongst.trust import fit_temperature, set_risk
from amongst.trust import tempered as beliefs

__all__ = [
    "MEMBERS",
    "beliefs",
    "fit_temperature",
    "log_scores",
    "mix_shares",
    "mixture",
    "taken_by",
]

Floats = npt.NDArray[np.floating[Any]]
Mask = npt.NDArray[np.bool_]

MEMBERS = 4
"""Forecasts that a mixture has at most: the best ones, since few rows cannot tell shares of many."""

PULL = 0.03
"""Of the rows, so many speak for each forecast before any is seen: few rows leave shares near equal."""

SURELY, NEAR = 3.0, 1.1
"""A forecast is left out if its surprise is above the least one by more than so many standard errors
of the difference, and by more than this factor."""

MOST_DENSE = 2**27
"""Values of a matrix that is made dense, 1 GiB."""

STEPS = 100
"""Of EM."""


def taken_by(estimator: Any, X: Any) -> Any:
    """The features as an estimator takes them: a sparse matrix becomes dense for one that takes none.

    >>> from scipy.sparse import csr_array
    >>> from amongst import PLKNNClassifier
    >>> taken_by(PLKNNClassifier(), csr_array([[0.0, 1.0]]))
    array([[0., 1.]])
    """
    if not issparse(X) or get_tags(estimator).input_tags.sparse:
        return X
    size = X.shape[0] * X.shape[1]
    if size > MOST_DENSE:
        problem = f"takes no sparse matrix, and a dense one would have {size:,} values."
        raise InputError(problem, code="too-large", argument="X")
    return X.toarray()


def log_scores(estimator: Any, X: Any) -> Floats:
    """Scores whose softmax is the estimator's belief, shape (n, K); of scikit-learn's own classifiers
    and of those without probabilities the scores themselves.

    >>> from amongst import PLKNNClassifier
    >>> log_scores(PLKNNClassifier(n_neighbors=1).fit([[0.0], [1.0]], ["a", "b"]), [[1.0]]).argmax(axis=1)
    array([1])
    """
    X = taken_by(estimator, X)
    if hasattr(estimator, "predict_proba") and not hasattr(estimator, "temperature_"):
        return np.asarray(np.log(np.maximum(estimator.predict_proba(X), 1e-12)))
    scores: Floats = estimator._checked_scores(X)
    return scores


def mix_shares(likelihood: Floats, prior: float = 1.0) -> Floats:
    """Shares v of M forecasts with the greatest Σ_i log Σ_m v_m P_im + prior Σ_m log v_m, shape (M,).

    Parameters
    ----------
    likelihood : P_im = Σ_{z∈s_i} p_m(z|x_i), shape (n, M).
    prior : rows that speak for each forecast before any row is seen.

    Examples
    --------
    >>> mix_shares(np.array([[0.9, 0.1]] * 50)).round(2)
    array([0.98, 0.02])
    """
    n, m = likelihood.shape
    shares = np.full(m, 1 / m)
    for _ in range(STEPS):
        joint = shares * likelihood
        counts = (joint / joint.sum(axis=1, keepdims=True)).sum(axis=0)
        shares = (counts + prior) / (n + m * prior)
    return shares


def mixture(proba: Floats, mask: Mask) -> Floats:
    """Shares of M forecasts of the same rows, 0 for those that are surely worse than the best, shape (M,).

    Parameters
    ----------
    proba : calibrated, of rows that did not train, shape (M, n, K).
    mask : the rows' candidate sets, shape (n, K).

    Examples
    --------
    >>> good, bad = np.array([[0.9, 0.1]] * 40), np.array([[0.1, 0.9]] * 40)
    >>> mixture(np.array([good, bad]), np.array([[True, False]] * 40)).tolist()
    [1.0, 0.0]
    """
    risks = np.array([set_risk(p, mask) for p in proba])
    means = risks.mean(axis=1)
    more = risks - risks[means.argmin()]
    unsure = more.std(axis=1) / len(mask) ** 0.5
    wanted = (more.mean(axis=1) <= SURELY * unsure) | (means <= NEAR * means.min())
    shares = np.zeros(len(proba))
    shares[wanted] = mix_shares(np.exp(-risks[wanted]).T, PULL * len(mask))
    return shares
