"""Estimating q from the candidate sets alone: one rate for all, or a K×K matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from amongst.candidates import as_candidates, estimated_q
from amongst.checks import as_numbers, check_integer, check_number, on_host
from amongst.errors import AmongstWarning, DivergenceError, InputError, warn
from amongst.theory.law import as_posterior, no_shape
from amongst.theory.risk import Estimate

MAX_JOINT_PARAMETERS = 1100
"""Up to this many rates K(K−1) the standard errors come from the joint information matrix; beyond,
from that of each true label by itself."""

EDGE = 1e-6
ROWS_AT_ONCE = 4096
Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.intp]


def estimate_uniform_q(sets: Any, *, exclude_full: bool = False) -> Estimate:
    """The rate q at which a wrong label is a candidate, by the method of moments.

    q̂ = (mean |s| − 1)/(K − 1), with standard error sd(|s|) / (√n (K − 1)). Where the full set was
    drawn again (`exclude_full`), mean |s| − 1 = (K−1)(q − q^{K−1})/(1 − q^{K−1}) is solved for q. The
    interval is of 95 %.

    >>> from amongst.candidates import uniform
    >>> sets = uniform(np.arange(10).repeat(1000), q=0.7, seed=0)
    >>> 0.7 in estimate_uniform_q(sets)
    True
    """
    candidates = as_candidates(sets)
    n, k = candidates.shape
    if n < 2 or k < 2:
        problem = f"has {n} rows and {k} classes; at least two of each are needed."
        raise InputError(problem, code="too-few", argument="sets")
    share = estimated_q(candidates)
    error = float(candidates.sizes.std(ddof=1)) / (n**0.5 * (k - 1))
    if exclude_full:
        share, error = _untruncated(share, error, k)
    return Estimate(share, error, max(share - 1.96 * error, 0.0), min(share + 1.96 * error, 1.0), n)


@dataclass(frozen=True, eq=False)
class ClassRates:
    """Class-dependent rates, estimated.

    Attributes
    ----------
    matrix : (K, K), Q[y, z] = P(z ∈ s | Y = y), unit diagonal; NaN in the rows of labels that no
        example seems to have.
    standard_error : (K, K), 0 on the diagonal; the posterior is taken as known.
    responsibilities : (n, K), P(Y = y | x, s) at the end: the disambiguation that fits.
    log_likelihood : mean over rows.
    iterations : of EM.

    >>> found = estimate_class_q(as_candidates(["a|b", "a", "b"]), np.full((3, 2), 0.5))
    >>> found.matrix.shape, found.responsibilities.shape
    ((2, 2), (3, 2))
    """

    matrix: Array
    standard_error: Array
    responsibilities: Array
    log_likelihood: float
    iterations: int


def estimate_class_q(
    sets: Any,
    posterior: npt.ArrayLike,
    *,
    exclude_full: bool = False,
    tolerance: float = 1e-8,
    max_iterations: int = 2000,
) -> ClassRates:
    """Q[y, z] = P(z ∈ s | Y = y) by EM, from the sets and a classifier's P(y | x).

    E: r_iy ∝ P(y | x_i) Π_{z∈s_i, z≠y} Q_yz Π_{z∉s_i} (1 − Q_yz) for y ∈ s_i, else 0.
    M: Q_yz = Σ_i r_iy [z ∈ s_i] / Σ_i r_iy: a co-occurrence weighted by who seems to be true.

    The answer is as good as the posterior is calibrated. Standard errors are from the empirical
    information of the observed sets; a rate on the edge (0 or 1) gets that of one more half count.

    Parameters
    ----------
    sets : anything `as_candidates` takes; n rows, K classes.
    posterior : P(y | x_i), shape (n, K), or a class prior (K,) for all rows.
    exclude_full : whether full sets were excluded when the sets arose.
    tolerance : EM stops when no rate moves by more.
    max_iterations : at most.

    Examples
    --------
    >>> from amongst.candidates import case, class_dependent
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet(np.full(4, 0.3), size=20_000)
    >>> y = (rng.random((len(p), 1)) > p.cumsum(1)).sum(1)
    >>> sets = class_dependent(y, case(2, 4), seed=1)
    >>> found = estimate_class_q(sets, p)
    >>> bool((abs(found.matrix - case(2, 4)) < 0.03).all())
    True
    """
    candidates = as_candidates(sets)
    check_number("tolerance", tolerance, low=0, open_low=True)
    check_integer("max_iterations", max_iterations, low=1)
    if not len(candidates):
        raise InputError("has no rows; at least one is needed.", code="no-rows", argument="sets")
    inside = candidates.mask
    prior = _checked_posterior(posterior, inside)
    rates, iterations = _iterate(prior, inside, exclude_full, tolerance, max_iterations)
    shares, evidence = _expected(rates, prior, inside, exclude_full)
    errors = _standard_errors(rates, shares, inside, exclude_full)
    return ClassRates(rates, errors, shares, float(evidence.mean()), iterations)


def _iterate(
    prior: Array, inside: Mask, exclude_full: bool, tolerance: float, max_iterations: int
) -> tuple[Array, int]:
    """EM from the posterior renormalised on the candidates: the rates, and how many rounds."""
    rates = _matched(prior / prior.sum(1, keepdims=True), inside, exclude_full)
    for iteration in range(1, max_iterations + 1):
        shares, _ = _expected(rates, prior, inside, exclude_full)
        before, rates = rates, _matched(shares, inside, exclude_full)
        if np.nanmax(np.abs(rates - before)) <= tolerance:
            return rates, iteration
    problem = (
        f"EM has not settled after max_iterations={max_iterations}: the rates still move by more "
        f"than tolerance={tolerance:g}. Raise max_iterations, or the tolerance."
    )
    warn(AmongstWarning(problem, code="not-settled"))
    return rates, max_iterations


def _checked_posterior(posterior: npt.ArrayLike, inside: Mask) -> Array:
    """P(y | x) on the candidates, 0 elsewhere, shape (n, K)."""
    p: Array = as_numbers(on_host(posterior), "posterior").numpy()
    if p.shape not in (inside.shape, inside.shape[1:]):
        wanted = f"{inside.shape}, or {inside.shape[1:]} for one prior for all rows"
        raise no_shape("posterior", p, wanted)
    as_posterior(p)
    kept: Array = np.where(inside, p, 0.0)
    lost = kept.sum(1) <= 0
    if lost.any():
        raise InputError(
            "gives no probability to any candidate of its row.",
            code="no-probability",
            argument="posterior",
            at=int(np.argmax(lost)),
            remedy="Smooth it, for instance 0.99 * posterior + 0.01 / K.",
        )
    return kept


def _expected(rates: Array, prior: Array, inside: Mask, exclude_full: bool) -> tuple[Array, Array]:
    """The E step: r of shape (n, K), and log P(s_i | x_i) of shape (n,)."""
    safe = np.where(np.isnan(rates), 0.5, rates).clip(1e-12, 1 - 1e-12)
    np.fill_diagonal(safe, 1.0)
    odds = np.log(safe) - np.log1p(-np.where(safe == 1, 0.0, safe))
    alone = np.log1p(-np.where(np.eye(len(safe), dtype=bool), 0.0, safe)).sum(1)
    if exclude_full:
        alone -= np.log1p(-np.exp(np.log(safe).sum(1)))
    with np.errstate(divide="ignore"):
        logs = np.log(prior) + inside @ odds.T + alone
    top = logs.max(1, keepdims=True)
    weights = np.exp(logs - top)
    total = weights.sum(1, keepdims=True)
    return weights / total, (top + np.log(total)).ravel()


def _matched(shares: Array, inside: Mask, exclude_full: bool) -> Array:
    """The M step: the rates whose expected memberships are the weighted ones, shape (K, K)."""
    mass = shares.sum(0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates: Array = np.where(mass > EDGE, (shares.T @ inside) / mass, np.nan)
    rates = rates.clip(0, 1)
    if exclude_full:
        rates = _without_truncation(rates)
    np.fill_diagonal(rates, np.where(mass.ravel() > EDGE, 1.0, np.nan))
    return rates


def _without_truncation(shares: Array) -> Array:
    """q with (q_z − M)/(1 − M) = share_z and M = Π q_z, by rising from M = 0."""
    off = ~np.eye(len(shares), dtype=bool)
    full = np.zeros((len(shares), 1))
    for _ in range(10_000):
        rates = shares * (1 - full) + full
        risen = np.where(off, rates, 1.0).prod(1, keepdims=True)
        if np.nanmax(np.abs(risen - full)) < 1e-14:
            return rates
        full = risen
    raise DivergenceError(
        "exclude_full: nearly every set is as large as it can be without being full, so that the "
        "rates are not determined.",
        code="undetermined",
        remedy="Pass exclude_full=False.",
    )


def _untruncated(share: float, error: float, k: int) -> tuple[float, float]:
    """q and its standard error from the truncated mean share, by the delta method."""
    top = (k - 2) / (k - 1)
    if share >= top:
        raise InputError(
            "every set lacks exactly one label, so that q cannot be told with exclude_full=True.",
            code="undetermined",
        )

    def mean_share(q: float) -> float:
        return (q - q ** (k - 1)) / (1 - q ** (k - 1))

    q = float(brentq(lambda rate: mean_share(rate) - share, 0.0, 1 - 1e-9))
    low, high = max(q - 1e-6, 0.0), min(q + 1e-6, 1 - 1e-9)
    slope = (mean_share(high) - mean_share(low)) / (high - low)
    return q, error / slope


def _standard_errors(rates: Array, shares: Array, inside: Mask, exclude_full: bool) -> Array:
    k = len(rates)
    labels = np.arange(k)
    joint = k * (k - 1) <= MAX_JOINT_PARAMETERS
    blocks = [labels] if joint else [labels[y : y + 1] for y in labels]
    errors = _edge_errors(rates, shares)
    inner = (rates > EDGE) & (rates < 1 - EDGE)
    for block in blocks:
        if inner[block].any():
            information = _information(rates, shares, inside, exclude_full, block, inner[block])
            found = errors[block]
            found[inner[block]] = _root_variances(information)
            errors[block] = found
    return errors


def _edge_errors(rates: Array, shares: Array) -> Array:
    """Binomial errors with one more half count, 0 on the diagonal, NaN where a label is absent."""
    mass = shares.sum(0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        pulled = (mass * rates + 0.5) / (mass + 1)
        errors: Array = np.sqrt(pulled * (1 - pulled) / mass)
    np.fill_diagonal(errors, np.where(np.isnan(np.diag(rates)), np.nan, 0.0))
    return errors


def _information(
    rates: Array, shares: Array, inside: Mask, exclude_full: bool, block: Labels, inner: Mask
) -> Array:
    """Σ_i u_i u_iᵀ, u_i the gradient of log P(s_i | x_i) in the inner rates of these labels."""
    own = rates[block]
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(inner, 1 / (own * (1 - own)), 0.0)
        full = own.prod(1, keepdims=True)
        shift = np.where(inner, full / own / (1 - full), 0.0) if exclude_full else 0.0
    total = np.zeros((int(inner.sum()),) * 2)
    for rows in np.array_split(np.arange(len(shares)), max(1, len(shares) // ROWS_AT_ONCE)):
        slopes = (inside[rows, None, :] - own) * scale + shift
        score = (shares[rows][:, block, None] * slopes)[:, inner]
        total += score.T @ score
    return total


def _root_variances(information: Array) -> Array:
    """√ of the diagonal of the inverse; infinite where the sets do not determine a rate."""
    values, vectors = np.linalg.eigh(information)
    with np.errstate(divide="ignore"):
        spread = np.where(values > values[-1] * 1e-12, 1 / values, np.inf)
    parts = vectors**2
    parts[parts < 1e-14] = 0
    with np.errstate(invalid="ignore"):
        variances = np.nansum(parts * spread, axis=1)
    roots: Array = np.sqrt(variances)
    return roots
