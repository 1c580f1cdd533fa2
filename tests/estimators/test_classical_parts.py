"""What the classical estimators are made of: NNLS, feature maps, machines, stack, scaling."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from amongst.errors import AmongstWarning
from amongst.estimators import kernels, machines
from amongst.estimators.kernels import FeatureMap, fit_map
from amongst.estimators.machines import fit_machines
from amongst.estimators.nnls import batched_nnls
from amongst.estimators.pairs import class_pairs, pair_sizes, pair_task
from amongst.estimators.scaling import fit_scaler
from amongst.estimators.stacking import fit_stack


def normal_equations(A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.einsum("ndi,ndj->nij", A, A), np.einsum("ndi,nd->ni", A, b)


@pytest.mark.parametrize(
    ("d", "k", "shift"), [(20, 10, 0.0), (20, 10, 3.0), (4, 10, 0.0), (5, 1, 0)]
)
def test_nnls_equals_scipys(d: int, k: int, shift: float) -> None:
    rng = np.random.default_rng(0)
    A, b = rng.normal(shift, 1, (200, d, k)), rng.normal(shift, 1, (200, d))
    weights = batched_nnls(*normal_equations(A, b))
    residual = np.linalg.norm(np.einsum("ndk,nk->nd", A, weights) - b, axis=1)
    expected = [nnls(a, target)[1] for a, target in zip(A, b, strict=True)]
    assert (weights >= 0).all()
    np.testing.assert_allclose(residual, expected, atol=1e-6)


@given(seed=st.integers(0, 10_000), copies=st.integers(0, 4), scale=st.sampled_from([1e-3, 1, 1e3]))
@settings(max_examples=40, deadline=None)
def test_nnls_meets_its_optimality_conditions_with_copies(
    seed: int, copies: int, scale: float
) -> None:
    """w ≥ 0, slope ≤ 0, and slope = 0 where w > 0; also where columns are copies or zero."""
    rng = np.random.default_rng(seed)
    A, b = scale * rng.normal(1, 1, (5, 6, 5)), scale * rng.normal(1, 1, (5, 6))
    A[:, :, :copies] = A[:, :, -copies or 5 :][:, :, :copies]
    A[0] = 0
    gram, moments = normal_equations(A, b)
    weights = batched_nnls(gram, moments)
    slope = (moments - np.einsum("nij,nj->ni", gram, weights)) / scale**2
    assert (weights >= 0).all()
    assert slope.max() < 1e-6
    assert np.abs(slope * weights).max() < 1e-6
    assert (weights[0] == 0).all()


def test_nnls_solves_each_problem_in_its_own_unit() -> None:
    """Problems whose b are 2^±60 apart, in one batch: each w has the unit of its b."""
    rng = np.random.default_rng(2)
    A, b = rng.normal(0, 1, (9, 12, 6)), rng.normal(0, 1, (9, 12))
    units = 2.0 ** np.linspace(-60, 60, 9)[:, None]
    plain = batched_nnls(*normal_equations(A, b))
    scaled = batched_nnls(*normal_equations(A, b * units))
    assert (plain > 0).any(axis=1).all()
    np.testing.assert_allclose(scaled / units, plain, rtol=1e-9)


def rows_and_task(n: int = 80) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    rows = np.flatnonzero(rng.random(n) < 0.7)
    return X, (rows, X[rows, 0] + 0.5 * rng.normal(size=len(rows)) > 0)


def test_kernel_machines_are_scikit_learns() -> None:
    X, (rows, positive) = rows_and_task()
    feature_map = fit_map(X, "rbf", 0.3, 10, seed=0)
    found = fit_machines(X, [(rows, positive), (rows, ~positive)], 2, feature_map, C=2.0)
    expected = SVC(C=2.0, gamma=0.3).fit(X[rows], positive).decision_function(X)
    np.testing.assert_allclose(found.decide(X)[:, 0], expected, atol=1e-10)
    np.testing.assert_allclose(found.decide(X)[:, 1], -expected, atol=1e-2)


@pytest.mark.parametrize("kernel", ["linear", "nystroem", "fourier"])
def test_linear_machines_are_scikit_learns(kernel: str) -> None:
    X, (rows, positive) = rows_and_task()
    feature_map = fit_map(X, kernel, 0.3, 10, seed=0)
    found = fit_machines(X, [(rows, positive)], 1, feature_map, C=2.0)
    features = feature_map(X)
    expected = LinearSVC(C=2.0, dual=False).fit(features[rows], positive)
    np.testing.assert_allclose(
        found.decide(X)[:, 0], expected.decision_function(features), atol=1e-8
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_sided_tasks_give_constants(kernel: str) -> None:
    X, (rows, _) = rows_and_task()
    ones, none = np.ones(len(rows), bool), np.empty(0, bool)
    tasks = [(rows, ones), (rows, ~ones), (rows[:0], none)]
    found = fit_machines(X, tasks, 3, fit_map(X, kernel, None, 10, 0), C=1.0)
    assert np.array_equal(found.decide(X), np.repeat([[1.0, -1.0, 0.0]], len(X), axis=0))


def test_decisions_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X, task = rows_and_task()
    found = fit_machines(X, [task], 1, fit_map(X, "rbf", None, 10, 0), C=1.0)
    whole = found.decide(X)
    monkeypatch.setattr("amongst.estimators.neighbours.CHUNK_BYTES", 2000)
    assert len(list(found.blocks(X))) > 10
    np.testing.assert_allclose(found.decide(X), whole, atol=1e-12)


def test_machines_that_do_not_converge_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    X, task = rows_and_task()
    monkeypatch.setattr(machines, "MAX_ITER", 1)
    with pytest.warns(AmongstWarning, match="2 of 2 columns stopped at 1 steps.*lower C"):
        fit_machines(X, [task, task], 2, FeatureMap("linear"), C=1e6, title="columns")


def test_nystroem_with_all_rows_is_the_kernel() -> None:
    X, _ = rows_and_task()
    features = fit_map(X, "nystroem", 0.3, 1000, seed=0)(X)
    np.testing.assert_allclose(features @ features.T, rbf_kernel(X, gamma=0.3), atol=1e-6)


def test_random_features_come_near_the_kernel() -> None:
    X, _ = rows_and_task(30)
    features = fit_map(X, "fourier", 0.3, 20_000, seed=0)(X)
    np.testing.assert_allclose(features @ features.T, rbf_kernel(X, gamma=0.3), atol=0.05)


def test_auto_is_exact_up_to_a_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = rows_and_task()
    assert fit_map(X, "auto", None, 10, 0).kind == "rbf"
    monkeypatch.setattr(kernels, "EXACT_ROWS", 79)
    assert fit_map(X, "auto", None, 10, 0).kind == "nystroem"


def test_default_width_is_one_over_the_variance() -> None:
    X, _ = rows_and_task()
    for rows in (X, X / 100):
        width = fit_map(rows, "rbf", None, 10, 0).gamma
        assert width == pytest.approx(1 / rows.var(axis=0).sum())
    assert fit_map(fit_scaler(X, "standard")(X), "rbf", None, 10, 0).gamma == pytest.approx(1 / 4)
    assert fit_map(np.ones((5, 2)), "rbf", None, 10, 0).gamma == 1.0


@pytest.mark.parametrize("kernel", ["linear", "nystroem", "fourier"])
def test_short_stack_keeps_products_and_distances(kernel: str) -> None:
    X, (rows, _) = rows_and_task()
    rng = np.random.default_rng(2)
    tasks = [(rows, rng.random(len(rows)) < 0.5) for _ in range(40)]
    found = fit_machines(X, tasks, 40, fit_map(X, kernel, None, 12, 0), C=1.0)
    long, short = np.hstack([X, found.decide(X)]), fit_stack(found, X.shape[1])(X)
    assert short.shape[1] <= X.shape[1] + 12 + 1 < long.shape[1]
    np.testing.assert_allclose(short @ short.T, long @ long.T, rtol=1e-6, atol=1e-6)
    assert short.var(axis=0).sum() == pytest.approx(long.var(axis=0).sum())


def test_exact_stack_is_the_long_one() -> None:
    X, task = rows_and_task()
    found = fit_machines(X, [task], 1, fit_map(X, "rbf", None, 12, 0), C=1.0)
    np.testing.assert_array_equal(fit_stack(found, X.shape[1])(X), np.hstack([X, found.decide(X)]))


def test_pairs_are_counted_as_they_are_trained() -> None:
    mask = np.random.default_rng(0).random((50, 6)) < 0.4
    sizes = [len(pair_task(mask, j, k)[0]) for j, k in class_pairs(6)]
    assert pair_sizes(mask).tolist() == sizes


def test_scaling() -> None:
    rng = np.random.default_rng(0)
    X = np.hstack(
        [rng.normal(5, 3, (40, 2)), np.full((40, 1), 0.1), rng.normal(size=(40, 1)) * 1e6]
    )
    new = X[:5] + 1
    standard = fit_scaler(X, "standard")
    np.testing.assert_allclose(standard(X).mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(standard(X).std(0), [1, 1, 0, 1], atol=1e-12)
    np.testing.assert_allclose(standard(new)[:, 2], 1.0)
    np.testing.assert_allclose(np.linalg.norm(fit_scaler(X, "standard+unit")(new), axis=1), 1)
    np.testing.assert_allclose(
        fit_scaler(X, "unit")(new), new / np.linalg.norm(new, axis=1)[:, None]
    )
    np.testing.assert_array_equal(fit_scaler(X, None)(new), new)
    assert fit_scaler(X.reshape(40, 2, 2), "standard")(new.reshape(5, 2, 2)).shape == (5, 4)


def test_no_warning_of_a_worker_escapes() -> None:
    X, task = rows_and_task()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_machines(X, iter([task] * 4), 4, FeatureMap("linear"), C=1.0, n_jobs=2)
    assert not caught


def test_hand_over_of_types(tmp_path: Any) -> None:
    """Arrays of every kind of map come back as they were."""
    X, task = rows_and_task()
    for kernel in ("linear", "rbf", "nystroem", "fourier"):
        found = fit_machines(X, [task], 1, fit_map(X, kernel, None, 12, 0), C=1.0)
        back = machines.Machines.from_arrays(found.arrays("m"), "m", kernel)
        np.testing.assert_array_equal(back.decide(X), found.decide(X))
