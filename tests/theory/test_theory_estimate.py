"""q from the candidate sets alone, where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from amongst.candidates import as_candidates, case, class_dependent, uniform
from amongst.errors import AmongstWarning, InputError
from amongst.theory import estimate, estimate_class_q, estimate_uniform_q

K = 6


def flat(q, k=K):
    return np.where(np.eye(k, dtype=bool), 1.0, q)


def drawn(Q, n=15_000, *, seed=0, concentration=0.2, exclude_full=False):
    """Sets and the calibrated posterior of their labels: y is drawn from p."""
    rng = np.random.default_rng(seed)
    k = len(Q)
    p = rng.dirichlet(np.full(k, concentration), size=n)
    y = (rng.random((n, 1)) > p.cumsum(1)).sum(1).clip(max=k - 1)
    sets = class_dependent(y, Q, classes=range(k), exclude_full=exclude_full, seed=rng)
    return sets, p, y


@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("exclude_full", [False, True])
def test_uniform_moment_covers_the_truth(q, exclude_full):
    y = np.random.default_rng(0).integers(10, size=5000)
    hits = [
        q in estimate_uniform_q(uniform(y, q, exclude_full=exclude_full, seed=seed), exclude_full=exclude_full)
        for seed in range(30)
    ]  # fmt: skip
    assert sum(hits) >= 25


def test_uniform_standard_error_is_that_of_repeated_draws():
    y = np.random.default_rng(0).integers(10, size=2000)
    for exclude_full in (False, True):
        runs = [
            estimate_uniform_q(uniform(y, 0.9, exclude_full=exclude_full, seed=s), exclude_full=exclude_full)
            for s in range(200)
        ]  # fmt: skip
        spread = np.std([run.value for run in runs])
        assert np.mean([run.standard_error for run in runs]) == pytest.approx(spread, rel=0.2)


def test_uniform_moment_by_hand():
    """Sizes 1, 2, 3 of K = 4: (2 − 1)/3, and sd 1 over √3 · 3."""
    found = estimate_uniform_q(as_candidates([{0}, {1, 2}, {0, 1, 3}]))
    assert found.value == pytest.approx(1 / 3)
    assert found.standard_error == pytest.approx(1 / (3 * 3**0.5))
    assert estimate_uniform_q([{0}, {0, 1}]).value == 0.5  # two rows and two classes are enough
    for too_few in ([{0}, {0}], [{0, 1}]):
        with pytest.raises(InputError, match="at least two"):
            estimate_uniform_q(too_few)


def test_ignoring_the_exclusion_biases_the_estimate():
    y = np.random.default_rng(0).integers(5, size=20_000)
    sets = uniform(y, 0.9, exclude_full=True, seed=0)
    assert 0.9 not in estimate_uniform_q(sets)
    assert estimate_uniform_q(sets, exclude_full=True).value == pytest.approx(0.9, abs=0.02)


MATRICES = {
    "case 1": case(1, K),
    "case 2": case(2, K),
    "case 3": case(3, K),
    "q = 0.1": flat(0.1),
    "q = 0.9": flat(0.9),
    "random": flat(np.random.default_rng(5).random((K, K))),
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("exclude_full", [False, True])
def test_class_rates_are_found(name, exclude_full):
    Q = MATRICES[name]
    sets, p, _ = drawn(Q, exclude_full=exclude_full)
    found = estimate_class_q(sets, p, exclude_full=exclude_full)
    assert np.abs(found.matrix - Q).max() < 0.06
    off = ~np.eye(K, dtype=bool)
    assert (found.standard_error[off] > 0).all()
    assert (np.abs(found.matrix - Q)[off] < 5 * found.standard_error[off] + 0.01).all()


def test_class_standard_errors_are_those_of_repeated_draws():
    Q = flat(0.9)
    runs = [estimate_class_q(*drawn(Q, 3000, seed=seed)[:2]) for seed in range(40)]
    off = ~np.eye(K, dtype=bool)
    z = np.array([(run.matrix - Q)[off] / run.standard_error[off] for run in runs])
    assert 0.85 < z.std() < 1.15
    assert abs(z.mean()) < 0.3


def log_likelihoods(Q, p, inside, exclude_full):
    """log P(s_i | x_i) = log Σ_{y∈s_i} p_iy Π_{z≠y} …, one row and one label at a time."""
    found = []
    for row, mask in zip(p, inside, strict=True):
        total = 0.0
        for y in np.flatnonzero(mask):
            wrong = np.arange(len(Q)) != y
            law = np.where(mask, Q[y], 1 - Q[y])[wrong].prod()
            total += row[y] * law / (1 - Q[y][wrong].prod() if exclude_full else 1)
        found.append(np.log(total))
    return np.array(found)


@pytest.mark.parametrize("exclude_full", [False, True])
def test_class_standard_errors_are_from_the_slopes_of_the_likelihood(exclude_full):
    """(Σ_i u_i u_iᵀ)⁻¹ with u_i by differences, in all six rates of three classes."""
    sets, p, _ = drawn(flat(0.7, 3), 600, exclude_full=exclude_full)
    found = estimate_class_q(sets, p, exclude_full=exclude_full)
    off, slopes = ~np.eye(3, dtype=bool), []
    for y, z in np.argwhere(off):
        step = np.zeros((3, 3))
        step[y, z] = 1e-5
        above, below = (
            log_likelihoods(found.matrix + sign * step, p, sets.mask, exclude_full)
            for sign in (1, -1)
        )
        slopes.append((above - below) / 2e-5)
    expected = np.sqrt(np.diag(np.linalg.inv(np.array(slopes) @ np.array(slopes).T)))
    np.testing.assert_allclose(found.standard_error[off], expected, rtol=1e-5)
    at_end = log_likelihoods(found.matrix, p, sets.mask, exclude_full)
    assert found.log_likelihood == pytest.approx(at_end.mean())
    assert np.abs(np.array(slopes).mean(1)).max() < 1e-6  # EM has found the top


def test_blockwise_standard_errors_are_close_to_the_joint_ones(monkeypatch):
    sets, p, _ = drawn(flat(0.5))
    joint = estimate_class_q(sets, p).standard_error
    monkeypatch.setattr(estimate, "MAX_JOINT_PARAMETERS", 0)
    blocks = estimate_class_q(sets, p).standard_error
    off = ~np.eye(K, dtype=bool)
    assert (blocks[off] <= joint[off] + 1e-12).all()
    assert (blocks[off] > 0.7 * joint[off]).all()


def test_em_raises_the_likelihood_and_disambiguates():
    sets, p, y = drawn(case(3, K), concentration=1.0)
    with pytest.warns(AmongstWarning, match="has not settled"):
        early = estimate_class_q(sets, p, max_iterations=1)
    late = estimate_class_q(sets, p)
    assert late.log_likelihood >= early.log_likelihood
    np.testing.assert_allclose(late.responsibilities.sum(1), 1)
    assert not late.responsibilities[~sets.mask].any()
    alone = np.where(sets.mask, p, 0)
    assert (late.responsibilities.argmax(1) == y).mean() > (alone.argmax(1) == y).mean()


def test_sharp_posterior_gives_the_plain_frequencies():
    sets, _, y = drawn(case(3, K))
    found = estimate_class_q(sets, np.eye(K)[y])
    counts = np.array([sets.mask[y == label].mean(0) for label in range(K)])
    np.testing.assert_allclose(found.matrix, counts, atol=1e-9)
    n = np.bincount(y)[:, None]
    inner = (counts > 0) & (counts < 1)
    binomial = np.sqrt(counts * (1 - counts) / n)
    np.testing.assert_allclose(found.standard_error[inner], binomial[inner], rtol=0.05)


def test_a_rate_on_the_edge_has_the_error_of_one_more_half_count():
    sets, _, y = drawn(case(1, K))
    found = estimate_class_q(sets, np.eye(K)[y])
    n = np.bincount(y)[:, None]
    never = case(1, K) == 0
    assert never.any()
    pulled = 0.5 / (n + 1)
    expected = np.broadcast_to(np.sqrt(pulled * (1 - pulled) / n), (K, K))
    np.testing.assert_allclose(found.standard_error[never], expected[never])


def test_absent_labels_are_nan_and_a_prior_may_stand_for_the_posterior():
    sets, _, y = drawn(flat(0.4), n=2000)
    posterior = np.eye(K)[y]
    keep = y != 2
    found = estimate_class_q(sets[keep], posterior[keep])
    assert np.isnan(found.matrix[2]).all()
    assert not np.isnan(np.delete(found.matrix, 2, axis=0)).any()
    prior = estimate_class_q(sets, np.bincount(y) / len(y), tolerance=1e-4)
    assert prior.matrix.shape == (K, K)


def test_bad_arguments_get_one_clear_sentence():
    sets, p, _ = drawn(flat(0.2), n=50)
    with pytest.raises(InputError, match="posterior has shape"):
        estimate_class_q(sets, p[:10])
    with pytest.raises(InputError, match="must hold probabilities"):
        estimate_class_q(sets, p - 1)
    with pytest.raises(InputError, match="no probability to any candidate"):
        estimate_class_q([{0}, {1}], [[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(InputError, match="at least two"):
        estimate_uniform_q([{0}])
    with pytest.raises(InputError, match="exactly one label"):
        estimate_uniform_q([{0, 1}, {1, 2}], exclude_full=True)


def test_a_posterior_that_does_not_sum_to_one_is_refused():
    """The rates did not mind, but the likelihood was off by the logarithm of the sum."""
    sets = uniform(np.arange(30) % 3, 0.3, seed=0)
    with pytest.raises(InputError, match="a row sums to 3"):
        estimate_class_q(sets, np.ones(3))
