"""PALOC against loops written from its definition, and the properties it must have."""

from __future__ import annotations

import warnings
from itertools import combinations, count
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from amongst import as_candidates
from amongst.candidates import CandidateSets, uniform
from amongst.errors import AmongstWarning, InputError
from amongst.estimators import PALOCClassifier
from amongst.estimators.classical import _machines as machines
from amongst.estimators.classical import paloc


def problem(seed: int, n: int = 80, K: int = 4) -> tuple[np.ndarray, Any, CandidateSets]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, 5)) + 1.5 * np.eye(K, 5)[y]
    return X, y, uniform(y, 0.3, classes=range(K), seed=seed)


def machine(kernel: str, X: np.ndarray) -> Any:
    if kernel == "linear":
        return LinearSVC(C=0.1, dual="auto", max_iter=2000, random_state=0)
    return SVC(C=10.0, gamma=1 / X.var(axis=0).sum())


def slow_paloc(
    X: np.ndarray, sets: CandidateSets, new: np.ndarray, kernel: str, mu: float
) -> tuple[np.ndarray, np.ndarray]:
    """The definition, pair by pair: refined sets, and scores of the new rows (ties apart)."""
    shift, scale = X.mean(0), X.std(0)
    X, new = (X - shift) / scale, (new - shift) / scale
    K, inside = sets.n_classes, sets.mask.copy()
    pairs = list(combinations(range(K), 2))
    both = [np.empty((len(X), len(pairs))), np.empty((len(new), len(pairs)))]
    for p, (j, k) in enumerate(pairs):
        rows = [i for i in range(len(X)) if int(inside[i, j]) + int(inside[i, k]) == 1]
        fitted = machine(kernel, X).fit(X[rows], inside[rows, j])
        both[0][:, p], both[1][:, p] = fitted.decision_function(X), fitted.decision_function(new)
    for i in range(len(X)):
        votes = [0.0] * K
        for h, (j, k) in zip(both[0][i], pairs, strict=True):
            votes[j if h > 0 else k] += 1
        best = [c for c in range(K) if votes[c] == max(votes)]
        strength = [
            sum(h * ((j == c) - (k == c)) for h, (j, k) in zip(both[0][i], pairs, strict=True))
            for c in best
        ]
        winner = best[int(np.argmax(strength))]
        if inside[i, winner]:
            inside[i] = [c == winner for c in range(K)]
    stack, new_stack = np.hstack([X, both[0]]), np.hstack([new, both[1]])
    scores = np.zeros((len(new), K))
    for h, row in zip(both[1], scores, strict=True):
        for value, (j, k) in zip(h, pairs, strict=True):
            row[j if value > 0 else k] += 1
    for c in range(K):
        fitted = machine(kernel, stack).fit(stack, inside[:, c])
        scores[:, c] += mu * (fitted.decision_function(new_stack) > 0)
    return inside, scores


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("mu", [10.0, 2.0])
def test_equals_the_definition(seed: int, kernel: str, mu: float) -> None:
    X, _, sets = problem(seed)
    new = problem(seed + 100)[0]
    refined, scores = slow_paloc(X, sets, new, kernel, mu)
    model = PALOCClassifier(mu=mu, kernel=kernel).fit(X, sets)
    assert np.array_equal(model.refined_, refined)
    np.testing.assert_allclose(model.decision_function(new), scores, atol=2e-3)


def test_singletons_and_no_stack_are_the_one_against_one_machines() -> None:
    X, y, _ = problem(3)
    model = PALOCClassifier(mu=0, scaling=None).fit(X, y)
    svc = SVC(C=10, gamma=1 / X.var(axis=0).sum(), decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(model.pairs_.decide(X), svc.decision_function(X), atol=5e-3)
    score = model.decision_function(X)
    alone = np.sort(score.round(), axis=1)[:, -1] > np.sort(score.round(), axis=1)[:, -2]
    assert alone.mean() > 0.9
    assert np.array_equal(model.predict(X)[alone], svc.predict(X)[alone])
    assert np.array_equal(model.refined_, np.eye(4, dtype=bool)[y])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_relabelling_permutes_the_answer(kernel: str) -> None:
    X, _, sets = problem(4)
    order = np.array([2, 0, 3, 1])
    a = PALOCClassifier(kernel=kernel).fit(X, sets)
    b = PALOCClassifier(kernel=kernel).fit(X, as_candidates(sets.mask[:, order]))
    assert np.array_equal(b.refined_, a.refined_[:, order])
    np.testing.assert_allclose(b.decision_function(X), a.decision_function(X)[:, order], atol=2e-3)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_copies_of_all_rows_at_half_the_cost_change_nothing(kernel: str) -> None:
    X, _, sets = problem(5)
    cost = 1.0
    twice = as_candidates(np.vstack([sets.mask, sets.mask]))
    a = PALOCClassifier(kernel=kernel, C=cost).fit(X, sets)
    b = PALOCClassifier(kernel=kernel, C=cost / 2).fit(np.vstack([X, X]), twice)
    assert np.array_equal(b.refined_[:80], a.refined_)
    assert (a.predict(X) == b.predict(X)).mean() > 0.98


def test_a_pair_without_rows_on_one_side_or_on_either() -> None:
    X, _, sets = problem(6)
    mask = np.pad(sets.mask, ((0, 0), (0, 3)))
    mask[:, 4] = mask[:, 0]  # never without class 0, so that (0, 4) has no rows
    model = PALOCClassifier().fit(X, as_candidates(mask))
    names = list(combinations(range(7), 2))
    decided = dict(zip(names, model.pairs_.decide(X).T, strict=True))
    assert (decided[0, 4] == 0).all()
    assert (decided[5, 6] == 0).all()
    assert (decided[1, 5] == 1).all()
    assert set(model.predict(X)) <= {0, 1, 2, 3, 4}
    assert np.isfinite(model.decision_function(X)).all()


def test_a_warning_says_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still but for 2 s between two looks at the clock: one for each machine."""
    X, _, sets = problem(0)
    clock = count(0, 2)
    monkeypatch.setattr(machines.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(machines, "LONG", 11.0)
    with pytest.warns(AmongstWarning, match="6 PALOC pairs take about 12 s"):
        PALOCClassifier().fit(X, sets)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setattr(machines, "LONG", 13.0)
        PALOCClassifier().fit(X, sets)


def test_progress_bars(capsys: pytest.CaptureFixture[str]) -> None:
    X, _, sets = problem(7)
    PALOCClassifier(verbose=True).fit(X, sets)
    shown = capsys.readouterr()
    assert "PALOC pairs" in shown.err
    assert "6/6" in shown.err
    assert "PALOC classes" in shown.err
    assert "4/4" in shown.err
    assert shown.out == ""
    PALOCClassifier().fit(X, sets)
    assert capsys.readouterr() == ("", "")


def test_a_candidate_is_as_likely_as_its_share_of_the_votes() -> None:
    X, _, sets = problem(3)
    model = PALOCClassifier().fit(X, sets)
    votes = np.where(sets.mask, np.maximum(model.decision_function(X), 0.0), 0.0)
    likely = votes.max(1) / votes.sum(1)
    np.testing.assert_allclose(model.disambiguate(X, sets)["confidence"], likely)
    assert likely.min() < 0.99


def test_workers_change_nothing() -> None:
    X, _, sets = problem(8)
    one, two = (PALOCClassifier(n_jobs=n).fit(X, sets).decision_function(X) for n in (1, 2))
    assert np.array_equal(one, two)


def test_a_stack_that_would_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, sets = problem(9)
    monkeypatch.setattr(paloc, "STACK_LIMIT_BYTES", 1000)
    with pytest.raises(InputError, match='use kernel="linear" or "nystroem"'):
        PALOCClassifier(kernel="rbf").fit(X, sets)
    PALOCClassifier(kernel="linear").fit(X, sets)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"mu": -1}, "mu=-1 must be a number of at least 0"),
        ({"C": 0}, "C=0 must be a number above 0"),
        ({"kernel": "rfb"}, "did you mean 'rbf'"),
        ({"gamma": 0}, "gamma=0 must be a number above 0"),
        ({"n_components": 0, "kernel": "nystroem"}, "n_components=0"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    X, _, sets = problem(0)
    with pytest.raises(InputError, match=message):
        PALOCClassifier(**params).fit(X, sets)
