"""What the classical estimators are made of: reconstruction, feature maps, machines, stack, scaling."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from amongst.errors import AmongstWarning
from amongst.estimators.classical import _machines as machines
from amongst.estimators.classical._machines import FeatureMap, fit_machines, fit_map
from amongst.estimators.classical._neighbours import reconstruction
from amongst.estimators.classical._scaling import fit_scaler
from amongst.estimators.classical.paloc import fit_stack


@given(seed=st.integers(0, 10_000), copies=st.integers(0, 4), scale=st.sampled_from([1e-3, 1, 1e3]))
@settings(max_examples=40, deadline=None)
def test_reconstruction_meets_its_optimality_conditions_with_copies(
    seed: int, copies: int, scale: float
) -> None:
    """w ≥ 0, slope ≤ 0, and slope = 0 where w > 0; also where neighbours are copies or zero."""
    rng = np.random.default_rng(seed)
    rows, X = scale * rng.normal(1, 1, (9, 6)), scale * rng.normal(1, 1, (5, 6))
    neighbours = np.array([rng.permutation(9)[:5] for _ in X])
    neighbours[:, :copies] = neighbours[:, -copies or 5 :][:, :copies]
    rows[neighbours[0]] = 0
    weights = reconstruction(X, rows, neighbours)
    near = rows[neighbours]
    slope = np.einsum("nkd,nd->nk", near, X - np.einsum("nk,nkd->nd", weights, near)) / scale**2
    assert (weights >= 0).all()
    assert slope.max() < 1e-6
    assert np.abs(slope * weights).max() < 1e-6
    assert (weights[0] == 0).all()


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
    monkeypatch.setattr("amongst.estimators.classical._neighbours.CHUNK_BYTES", 2000)
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
    monkeypatch.setattr(machines, "EXACT_ROWS", 79)
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
