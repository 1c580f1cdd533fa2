"""Coverage of predicted sets and the error of answered rows, against truth that no calibration saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax

from amongst import LWClassifier, PLKNNClassifier, load
from amongst.candidates import CandidateSets, uniform
from amongst.errors import InputError
from amongst.trust import calibration_of, error_curve, prediction_sets
from amongst.trust.conformal import _chance_misses, _dearest_misses, _levels

K, N, DRAWS = 5, 200, 200
RATES = np.array([0.6, 0.1, 0.3, 0.2, 0.5])


def drawn(n: int, seed: int, spread: float = 3.0) -> tuple[Any, Any]:
    """True log-probabilities of n rows, and a label drawn from each."""
    rng = np.random.default_rng(seed)
    logs = log_softmax(rng.normal(0, spread, (n, K)), axis=1)
    return logs, (logs + rng.gumbel(size=(n, K))).argmax(axis=1)


def joined(true: Any, rates: Any, seed: int) -> Any:
    mask = np.random.default_rng(seed).random((len(true), K)) < rates
    mask[np.arange(len(true)), true] = True
    return mask


def look_alike(logs: Any, true: Any) -> Any:
    """The two likeliest labels and the true one: wrong labels come along with rows like them."""
    mask = logs >= np.sort(logs, axis=1)[:, -2:-1]
    mask[np.arange(len(true)), true] = True
    return mask


def coverage(law: str, how: str, level: float = 0.9) -> tuple[float, float]:
    """Mean share of covered rows over the draws, and its standard error."""
    shares = []
    for seed in range(DRAWS):
        logs, true = drawn(2 * N, seed)
        mask = look_alike(logs, true) if how == "alike" else joined(true, RATES, seed + 1)
        costs, held = -logs[:N], mask[:N]
        rates = np.full(K, (held.sum() / N - 1) / (K - 1)) if how == "alike" else RATES
        misses = (
            _chance_misses(costs, held, rates) if law == "chance" else _dearest_misses(costs, held)
        )
        levels, at = _levels(*misses, N)
        found = np.searchsorted(levels, level)
        sets = prediction_sets(logs[N:], at[found] if found < len(at) else np.inf)
        shares.append(sets[np.arange(N), true[N:]].mean())
    return float(np.mean(shares)), float(np.std(shares) / DRAWS**0.5)


def test_by_chance_the_sets_cover_what_is_asked() -> None:
    share, se = coverage("chance", "chance")
    assert abs(share - 0.9) < 0.01 + 3 * se
    assert share > 0.9 - 3 * np.hypot(se, (0.09 / (N * DRAWS)) ** 0.5)


@pytest.mark.parametrize("how", ["chance", "alike"])
def test_with_the_truth_inside_the_sets_cover_at_least_that(how: str) -> None:
    share, se = coverage("any", how)
    assert share > 0.9 - 3 * se


def test_where_wrong_labels_look_alike_chance_covers_less() -> None:
    """The law is needed: this is what happens without it."""
    share, se = coverage("chance", "alike")
    assert share < 0.9 - 10 * se


def test_certain_rows_make_the_usual_split_conformal_prediction() -> None:
    logs, true = drawn(99, 0)
    found = calibration_of(logs, CandidateSets(np.eye(K, dtype=bool)[true], np.arange(K)))
    own = np.sort(-logs[np.arange(99), true])
    for level in (0.5, 0.8, 0.9, 0.99):
        kth = own[int(np.ceil(100 * level - 1e-9)) - 1]
        assert found.threshold(level, "any") == pytest.approx(kth)
        wrong = logs.argmax(axis=1) != true
        assert found.threshold(level, "chance") <= kth + 1e-9  # C always holds the likeliest label
        if wrong[-logs[np.arange(99), true] >= kth].all():
            assert found.threshold(level, "chance") == pytest.approx(kth)
    assert found.threshold(0.995, "any") == found.threshold(0.995, "chance") == np.inf


def test_misses_against_the_formula_row_by_row() -> None:
    logs, true = drawn(40, 1, spread=1.0)
    mask, costs = joined(true, RATES, 2), -logs
    levels, at = _levels(*_chance_misses(costs, mask, RATES), 40)
    totals, weights = [], []
    every = np.unique(np.append(costs, 0.0))
    for threshold in every:
        total = weight = 0.0
        for i in range(40):
            held = set(np.flatnonzero(costs[i] <= threshold)) | {int(costs[i].argmin())}
            own = np.prod([1 / (1 - RATES[z]) for z in held])
            weight += own / 40
            total += 0.0 if held & set(np.flatnonzero(mask[i])) else own
        totals.append(total)
        weights.append(weight)
    worst = np.maximum.accumulate(totals[::-1])[::-1]
    covered = 1 - (worst + weights) / 41
    assert len(at) > 5
    for threshold, level in zip(at, levels, strict=True):
        place = int(np.argmin(np.abs(every - threshold)))
        assert covered[place] == pytest.approx(level)
        assert (covered[:place] < level).all()


def test_the_miss_is_unbiased_by_enumeration() -> None:
    """Over every set that a true label can come with, and every C."""
    sets = [np.array(list(f"{code:05b}")) == "1" for code in range(2**K)]
    for held in sets[1:]:
        for y in range(K):
            whole = 0.0
            for s in sets:
                others = np.arange(K) != y
                chance = np.prod(np.where(s, RATES, 1 - RATES)[others]) * s[y]
                whole += chance * (not (s & held).any()) / np.prod(1 - RATES[held])
            assert whole == pytest.approx(0.0 if held[y] else 1.0)


def test_the_error_of_the_surest_rows_is_what_is_estimated() -> None:
    logs, true = drawn(20_000, 3)
    proba, wrong = np.exp(logs), logs.argmax(axis=1) != true
    curve = error_curve(proba, joined(true, RATES, 4), RATES)
    order = np.argsort(-proba.max(axis=1), kind="stable")
    real = np.cumsum(wrong[order]) / np.arange(1, len(true) + 1)
    for share in (0.3, 0.6, 1.0):
        row = curve.iloc[(curve["answered"] - share).abs().argmin()]
        assert abs(row["error"] - real[round(share * len(true)) - 1]) < 4 * row["error_se"]
    assert (np.diff(curve["confidence"]) < 0).all()


CODES = np.arange(1600) % 3
TRUE = np.array(["a", "b", "c"])[CODES]
X = np.eye(3)[CODES] * 2.5 + np.random.default_rng(0).normal(0, 1.3, (1600, 3))
SETS = uniform(TRUE, 0.4, seed=0)
FIT, HELD, NEW = slice(0, 200), slice(200, 1200), slice(1200, 1600)


@pytest.fixture(params=[LWClassifier(model="linear", epochs=5, random_state=0), PLKNNClassifier()])
def model(request: pytest.FixtureRequest) -> Any:
    return request.param.fit(X[FIT], SETS[FIT])


def test_an_estimator_answers_with_sets_and_leaves_rows(model: Any) -> None:
    with pytest.raises(InputError) as caught:
        model.predict_set(X[NEW])
    assert caught.value.code == "not-calibrated"
    before = model.predict(X[NEW])
    model.calibrate(X[HELD], SETS[HELD])
    assert (model.predict(X[NEW]) == before).all()
    narrow, wide = (model.predict_set(X[NEW], coverage=c) for c in (0.6, 0.95))
    assert narrow.contains(before).all()
    assert (narrow.mask <= wide.mask).all()
    truth = TRUE[NEW]
    assert wide.contains(truth).mean() > 0.95 - 4 * (0.05 * 0.95 * (1 / 200 + 1 / 400)) ** 0.5
    left = model.reject(X[NEW], error=0.1)
    assert 0 < left.sum() < 400
    assert (before != truth)[~left].mean() < 0.1 + 3 * (0.09 / (~left).sum()) ** 0.5
    assert model.reject(X[NEW], error=0.0).all()


def test_confidences_are_those_of_the_temperature(model: Any) -> None:
    with np.errstate(divide="ignore"):
        raw = np.maximum(np.log(model.predict_proba(X[NEW])), -1e4)
    assert model.calibrate(X[HELD], SETS[HELD]) is model
    t = model.calibration_.temperature
    expected = np.exp(log_softmax(raw / t, axis=1))
    assert model.predict_proba(X[NEW]) == pytest.approx(expected)
    inside = np.where(SETS[NEW].mask, expected, 0)
    share = (inside / inside.sum(axis=1, keepdims=True)).max(axis=1)
    assert model.disambiguate(X[NEW], SETS[NEW])["confidence"].to_numpy() == pytest.approx(share)
    assert model.explain(X[NEW], SETS[NEW], ensemble=0)["confidence"].to_numpy() == pytest.approx(
        share
    )


def test_it_is_saved_and_a_new_fit_forgets_it(model: Any, tmp_path: Path) -> None:
    model.calibrate(X[HELD], SETS[HELD]).save(tmp_path / "model.amongst")
    again: Any = load(tmp_path / "model.amongst")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    for law in ("chance", "any"):
        sets = [one.predict_set(X, 0.9, law).mask for one in (model, again)]
        assert (sets[0] == sets[1]).all()
    assert (again.reject(X) == model.reject(X)).all()
    assert model.fit(X[FIT], SETS[FIT]).calibration_ is None


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda m: m.predict_set(X, coverage=2), "coverage"),
        (lambda m: m.predict_set(X, law="none"), "law"),
        (lambda m: m.reject(X, error=-1), "error"),
    ],
)
def test_what_cannot_be_asked_is_named(call: Any, argument: str) -> None:
    model = PLKNNClassifier().fit(X[FIT], SETS[FIT]).calibrate(X[HELD], SETS[HELD])
    with pytest.raises(InputError) as caught:
        call(model)
    assert caught.value.argument == argument
