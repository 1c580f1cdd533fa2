"""PL-SVM against its objective written out, and against solvers of its convex cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.svm import LinearSVC

from amongst import as_candidates
from amongst.candidates import CandidateSets, uniform
from amongst.errors import InputError
from amongst.estimators import PLSVMClassifier
from amongst.estimators.classical.plsvm import margin_loss


def problem(seed: int, n: int = 60, K: int = 4) -> tuple[np.ndarray, Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, 4)) + np.eye(K, 4)[y]
    return X, y, uniform(y, 0.4, classes=range(K), seed=seed)


def slow_objective(W: np.ndarray, X: np.ndarray, sets: CandidateSets, C: float) -> float:
    """½‖W‖² + C Σ max(0, 1 − (best candidate − best other))², by loops; W has b as last column."""
    total = 0.5 * sum(float(w) ** 2 for w in W.ravel())
    for x, inside in zip(X, sets.mask, strict=True):
        f = [float(w[:-1] @ x + w[-1]) for w in W]
        candidates = [f[z] for z in range(len(f)) if inside[z]]
        others = [f[z] for z in range(len(f)) if not inside[z]]
        if others:
            total += C * max(0.0, 1 - (max(candidates) - max(others))) ** 2
    return total


def whole(model: PLSVMClassifier) -> np.ndarray:
    return np.hstack([model.coef_, model.intercept_[:, None]])


def with_one(X: np.ndarray) -> np.ndarray:
    return np.hstack([X, np.ones((len(X), 1))])


def test_cold_objective_is_the_definition() -> None:
    X, _, sets = problem(0)
    full = as_candidates(np.vstack([sets.mask[:-1], np.ones((1, 4), bool)]))
    W = np.random.default_rng(1).normal(size=(4, 5))
    for given in (sets, full):
        loss, _ = margin_loss(W, with_one(X), given.mask, 0.7, 1e-6)
        assert loss == pytest.approx(slow_objective(W, X, given, 0.7), rel=1e-4)


@pytest.mark.parametrize("temperature", [1.0, 0.05])
def test_gradient(temperature: float) -> None:
    X, _, sets = problem(2, n=12)
    W = np.random.default_rng(3).normal(size=20)
    numeric = approx_fprime(
        W, lambda w: margin_loss(w.reshape(4, 5), with_one(X), sets.mask, 0.5, temperature)[0]
    )
    _, gradient = margin_loss(W.reshape(4, 5), with_one(X), sets.mask, 0.5, temperature)
    np.testing.assert_allclose(gradient.ravel(), numeric, rtol=1e-4, atol=1e-4)


def test_two_classes_and_singletons_are_the_linear_svm() -> None:
    """f₁ − f₀ = v·x with ‖W‖² = ‖v‖²/2, so that C here is 2C there."""
    X, y, _ = problem(4, K=2)
    ours = PLSVMClassifier(C=0.3, scaling=None).fit(X, y)
    theirs = LinearSVC(C=0.6, dual=False, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-3
    )


def test_singletons_reach_the_optimum_of_the_supervised_machine() -> None:
    """With slack variables it is a quadratic programme, which SLSQP solves."""
    X, y, _ = problem(5, n=40)
    C, F, size = 0.5, with_one(X), 20
    lines = []
    for i, label in enumerate(y):
        for other in set(range(4)) - {label}:
            line = np.zeros((4, 5))
            line[label] += F[i]
            line[other] -= F[i]
            lines.append(np.concatenate([line.ravel(), np.eye(40)[i]]))
    A = np.array(lines)
    exact = minimize(
        lambda v: 0.5 * (v[:size] ** 2).sum() + C * (v[size:] ** 2).sum(),
        np.concatenate([np.zeros(size), np.ones(40)]),
        jac=lambda v: np.concatenate([v[:size], 2 * C * v[size:]]),
        constraints={"type": "ineq", "fun": lambda v: A @ v - 1, "jac": lambda v: A},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert exact.success
    model = PLSVMClassifier(C=C, scaling=None).fit(X, y)
    reached = slow_objective(whole(model), X, as_candidates(y), C)
    assert exact.fun <= reached * (1 + 1e-6)
    assert reached <= exact.fun * (1 + 1e-2)
    assert model.objective_ == pytest.approx(reached, rel=1e-2)


def test_the_minimum_is_below_its_neighbourhood_and_the_truth_helps_nothing() -> None:
    X, y, sets = problem(6)
    model = PLSVMClassifier(C=0.5, scaling=None).fit(X, sets)
    found = slow_objective(whole(model), X, sets, 0.5)
    rng = np.random.default_rng(0)
    for _ in range(50):
        near = whole(model) + 0.05 * rng.normal(size=(4, 5))
        assert slow_objective(near, X, sets, 0.5) > found * (1 - 1e-3)
    supervised = PLSVMClassifier(C=0.5, scaling=None).fit(X, y)
    assert found < slow_objective(whole(supervised), X, sets, 0.5)


def test_relabelling_permutes_the_answer() -> None:
    X, _, sets = problem(7)
    order = np.array([2, 0, 3, 1])
    a = PLSVMClassifier().fit(X, sets).decision_function(X)
    b = PLSVMClassifier().fit(X, as_candidates(sets.mask[:, order])).decision_function(X)
    np.testing.assert_allclose(b, a[:, order], atol=1e-3)


def test_copies_of_all_rows_at_half_the_cost_change_nothing() -> None:
    X, _, sets = problem(8)
    twice = as_candidates(np.vstack([sets.mask, sets.mask]))
    a = PLSVMClassifier(C=0.2).fit(X, sets).decision_function(X)
    b = PLSVMClassifier(C=0.1).fit(np.vstack([X, X]), twice).decision_function(X)
    np.testing.assert_allclose(a, b, atol=1e-2)


def test_a_kernel_bends_the_boundary() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (np.linalg.norm(X, axis=1) > 1.2).astype(int) + 2 * (X[:, 0] > 0)
    sets = uniform(y, 0.3, classes=range(4), seed=0)
    score = {
        kernel: PLSVMClassifier(kernel=kernel, C=10, gamma=0.5, random_state=0)
        .fit(X, sets)
        .score(X, y)
        for kernel in ("linear", "nystroem", "fourier")
    }
    assert min(score["nystroem"], score["fourier"]) > 0.9 > score["linear"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "C=0 must be a number above 0"),
        ({"kernel": "rbf"}, "kernel='rbf' is unknown"),
        ({"gamma": -1, "kernel": "fourier"}, "gamma=-1"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    X, _, sets = problem(0)
    with pytest.raises(InputError, match=message):
        PLSVMClassifier(**params).fit(X, sets)
