"""PL-ECOC: codes and decoding by hand, and the whole against loops from its definition."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from amongst import as_candidates
from amongst.candidates import CandidateSets, uniform
from amongst.errors import InputError
from amongst.estimators import PLECOCClassifier
from amongst.estimators.classical.plecoc import (
    DRAWS,
    competence,
    decode,
    draw_codes,
    on_board,
)


def problem(seed: int, n: int = 90, K: int = 4) -> tuple[np.ndarray, Any, CandidateSets]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, 5)) + 1.5 * np.eye(K, 5)[y]
    return X, y, uniform(y, 0.3, classes=range(K), seed=seed)


def test_sides_by_hand() -> None:
    codes = np.array([[1, -1], [1, 1], [-1, 1]], dtype=np.int8)
    mask = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 1, 1]], dtype=bool)
    assert on_board(mask, codes).tolist() == [[1, -1], [1, 0], [0, 1], [-1, 1], [0, 0]]


def test_competence_by_hand() -> None:
    """Class 0 is a candidate of rows 0 and 1, class 1 of rows 1 and 2, class 2 of none."""
    decisions = np.array([[2.0, -1.0], [-0.5, -3.0], [0.1, 0.2]])
    mask = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=bool)
    codes = np.array([[1, 1], [1, -1], [1, 1]], dtype=np.int8)
    # class 0: machine 0 agrees on row 0 alone (1/2), machine 1 never (0): (1, 0)
    # class 1: machine 0 agrees on row 2 (1/2), machine 1 on row 1 (1/2): (1/2, 1/2)
    expected = [[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]]
    np.testing.assert_allclose(competence(decisions, mask, codes), expected)
    never = competence(np.array([[-1.0, -1.0]]), np.array([[True]]), np.array([[1, 1]]))
    np.testing.assert_allclose(never, [[0.5, 0.5]])


def test_decoding_by_hand() -> None:
    codes = np.array([[1, 1, -1], [-1, 1, 1], [1, -1, 1]], dtype=np.int8)
    shares = np.array([[0.5, 0.25, 0.25], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]])
    h = np.array([[1.0, 2.0, -3.0]])
    losses = [
        0.5 * exp(-1) + 0.25 * exp(-2) + 0.25 * exp(-3),
        0.2 * exp(1) + 0.2 * exp(-2) + 0.6 * exp(3),
        0.1 * exp(-1) + 0.8 * exp(2) + 0.1 * exp(3),
    ]
    scores = decode(h, codes, shares)
    np.testing.assert_allclose(scores, [[-log(loss) for loss in losses]])
    assert scores.argmax() == int(np.argmin(losses)) == 0


def test_decoding_is_finite_far_out_and_leaves_unknown_classes_last() -> None:
    codes = np.array([[1, -1], [-1, 1], [1, 1]], dtype=np.int8)
    shares = np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]])
    scores = decode(np.array([[1e4, 1e4], [1e4, -1e4]]), codes, shares)
    assert np.isfinite(scores).all()
    assert (scores.argmin(1) == 2).all()
    assert scores[1].argmax() == 0


def slow_plecoc(
    X: np.ndarray, sets: CandidateSets, new: np.ndarray, codes: np.ndarray, kernel: str
) -> np.ndarray:
    """The definition, column by column: Σ_l G_jl exp(−h_l M_jl) of the new rows."""
    shift, scale = X.mean(0), X.std(0)
    X, new = (X - shift) / scale, (new - shift) / scale
    lists = sets.to_lists()
    K, L = codes.shape
    old_h, new_h = np.empty((len(X), L)), np.empty((len(new), L))
    for column in range(L):
        sides = [{int(codes[c, column]) for c in s} for s in lists]
        rows = [i for i, side in enumerate(sides) if len(side) == 1]
        positive = [sides[i] == {1} for i in rows]
        fitted = (
            LinearSVC(C=0.1, dual="auto", max_iter=2000, random_state=0)
            if kernel == "linear"
            else SVC(C=10, gamma=1 / X.var(axis=0).sum())
        ).fit(X[rows], positive)
        old_h[:, column] = fitted.decision_function(X)
        new_h[:, column] = fitted.decision_function(new)
    G = np.zeros((K, L))
    for j in range(K):
        rows = [i for i, s in enumerate(lists) if j in s]
        for column in range(L):
            agree = [(old_h[i, column] > 0) == (codes[j, column] > 0) for i in rows]
            G[j, column] = sum(agree) / len(agree)
        G[j] /= G[j].sum()
    return np.array(
        [
            [sum(G[j, m] * exp(-h[m] * codes[j, m]) for m in range(L)) for j in range(K)]
            for h in new_h
        ]
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_equals_the_definition(seed: int, kernel: str) -> None:
    X, _, sets = problem(seed)
    new = problem(seed + 100)[0]
    model = PLECOCClassifier(kernel=kernel, random_state=seed).fit(X, sets)
    assert model.codes_.shape == (4, 20)
    losses = slow_plecoc(X, sets, new, model.codes_, kernel)
    np.testing.assert_allclose(model.decision_function(new), -np.log(losses), atol=1e-6)
    assert np.array_equal(model.predict(new), losses.argmin(1))


def test_singletons_put_every_row_on_board() -> None:
    X, y, _ = problem(3)
    model = PLECOCClassifier(random_state=0, tau=1.0, scaling=None).fit(X, y)
    for column, code in enumerate(model.codes_.T):
        supervised = SVC(C=10, gamma=1 / X.var(axis=0).sum()).fit(X, code[y])
        np.testing.assert_allclose(
            model.machines_.decide(X)[:, column], supervised.decision_function(X), atol=1e-6
        )
    assert model.score(X, y) > 0.9


def test_relabelling_permutes_the_answer() -> None:
    X, _, sets = problem(4)
    order = np.array([2, 0, 3, 1])
    a = PLECOCClassifier(random_state=0).fit(X, sets)
    b = PLECOCClassifier(random_state=0).fit(X, as_candidates(sets.mask[:, order]))
    b._learn(X, sets.mask[:, order], a.codes_[order], seed=0)
    np.testing.assert_allclose(b.decision_function(X), a.decision_function(X)[:, order])


def test_copies_of_all_rows_at_half_the_cost_change_nothing() -> None:
    X, _, sets = problem(5)
    twice = as_candidates(np.vstack([sets.mask, sets.mask]))
    a = PLECOCClassifier(C=1.0, random_state=0).fit(X, sets)
    b = PLECOCClassifier(C=0.5, random_state=0).fit(np.vstack([X, X]), twice)
    assert np.array_equal(a.codes_, b.codes_)
    np.testing.assert_allclose(a.competence_, b.competence_, atol=1e-3)
    assert (a.predict(X) == b.predict(X)).mean() > 0.98


@pytest.mark.parametrize(("K", "length"), [(2, 10), (3, 16), (13, 38), (171, 75)])
def test_code_length(K: int, length: int) -> None:
    assert PLECOCClassifier()._length(K) == length
    assert PLECOCClassifier(code_length=7)._length(K) == 7


def test_drawn_columns_have_enough_rows_on_board() -> None:
    sets = problem(6, n=500, K=6)[2]
    codes = draw_codes(sets.mask, 40, 0.5, np.random.default_rng(0))
    sides = on_board(sets.mask, codes)
    assert codes.shape == (6, 40)
    assert set(np.unique(codes)) == {-1, 1}
    assert (np.abs(sides).sum(0) >= 250).all()
    assert (sides.max(0) == 1).all()
    assert (sides.min(0) == -1).all()


def test_lowering_tau_as_the_error_says_helps() -> None:
    X, y, _ = problem(7)
    sets = uniform(y, 0.8, classes=range(4), seed=0)
    with pytest.raises(InputError) as caught:
        PLECOCClassifier(tau=0.9, random_state=0).fit(X, sets)
    assert (caught.value.code, caught.value.argument) == ("no-columns", "tau")
    tau = float(str(caught.value).partition("Lower tau (to ")[2].rstrip(")."))
    assert 0 < tau < 0.9
    assert PLECOCClassifier(tau=tau, random_state=0).fit(X, sets).codes_.shape == (4, 20)
    with pytest.raises(InputError, match="Lower tau"):  # no more than needed
        PLECOCClassifier(tau=tau + 0.001, random_state=0).fit(X, sets)


@pytest.mark.parametrize(
    ("y", "columns"),
    [
        (["a|b", "b"], 0),
        (["a|b", "b|c", "c|a"], 0),
        ([f"a|{z}" for z in "abcd" * 50], 0),
        (["a|b|c|d|e|f", "g|h|i|j|k"], 2),
    ],
    ids=["two rows", "every two share one", "one in all", "two large sets"],
)
def test_where_no_tau_helps_the_rows_are_named(y: list[str], columns: int) -> None:
    X = np.arange(len(y), dtype=float)[:, None]
    length = int(np.ceil(10 * np.log2(len(set("".join(y)) - {"|"}))))
    drawn = f"of {DRAWS * length} code columns drawn, {columns} have .* and {length} are wanted"
    for tau in (0.1, 0.0):
        with pytest.raises(InputError, match=drawn) as caught:
            PLECOCClassifier(tau=tau, random_state=0).fit(X, y)
        assert (caught.value.code, caught.value.argument) == ("no-columns", "y")


def test_two_rows_without_a_common_candidate_suffice() -> None:
    model = PLECOCClassifier(random_state=0).fit([[0.0], [1.0]], ["a|b", "c|d"])
    assert model.score([[0.0], [1.0]], ["a|b", "c|d"]) == 1


def test_a_bar_counts_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    X, _, sets = problem(7)
    PLECOCClassifier(code_length=6, random_state=0, verbose=True).fit(X, sets)
    shown = capsys.readouterr()
    assert "PL-ECOC columns" in shown.err
    assert "6/6" in shown.err
    assert shown.out == ""
    PLECOCClassifier(code_length=6, random_state=0).fit(X, sets)
    assert capsys.readouterr() == ("", "")


def test_same_seed_same_codes() -> None:
    X, _, sets = problem(8)
    a, b, c = (PLECOCClassifier(random_state=s).fit(X, sets).codes_ for s in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"code_length": 0}, "code_length=0 must be a whole number of at least 1"),
        ({"tau": 1.5}, "tau=1.5 must be a number between 0 and 1"),
        ({"C": -1}, "C=-1 must be a number above 0"),
        ({"kernel": "poly"}, "kernel='poly' is unknown"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    X, _, sets = problem(0)
    with pytest.raises(InputError, match=message):
        PLECOCClassifier(**params).fit(X, sets)
