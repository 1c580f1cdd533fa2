"""`AutoClassifier`: what it chooses, what it leaves out, and that it keeps to its time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from amongst import (
    AutoClassifier,
    CandidateSets,
    LWClassifier,
    PartialLabel,
    PLKNNClassifier,
    PLSVMClassifier,
    load,
)
from amongst.candidates import uniform
from amongst.errors import InputError
from amongst.estimators.ensemble import crossfit
from amongst.selection.auto import estimated_error
from amongst.selection.blend import beliefs, fit_temperature, mix_shares, mixture
from amongst.selection.portfolio import Contender, portfolio, seconds_to_fit

QUICK = {
    "PL-kNN": PLKNNClassifier(n_neighbors=5),
    "PL-SVM": PLSVMClassifier(),
    "logistic": PartialLabel(LogisticRegression(), rounds=2, folds=2),
}


def iris(q: float = 0.5) -> tuple[npt.NDArray[Any], npt.NDArray[Any], CandidateSets]:
    X, truth = load_iris(return_X_y=True)
    return X, truth, uniform(truth, q, seed=0)


class Slow(PLKNNClassifier):
    """A method whose cost grows with the rows, as one that would hang."""

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        time.sleep(0.002 * len(X))
        super()._fit(X, sets)


class Broken(PLKNNClassifier):
    """A method that fails on any rows."""

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        raise ZeroDivisionError("no luck")


class Stopped(PLKNNClassifier):
    """A person presses Ctrl-C in its first fit on more than a few rows."""

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        raise KeyboardInterrupt


@parametrize_with_checks(
    [AutoClassifier(methods={"PL-kNN": PLKNNClassifier(n_neighbors=3)}, folds=2)]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def test_it_learns_and_says_why() -> None:
    X, truth, sets = iris(0.3)
    rows = np.random.default_rng(0).permutation(150)
    fit, new = rows[:100], rows[100:]
    model = AutoClassifier(methods=QUICK, random_state=0).fit(X[fit], sets[fit])
    assert model.score(X[new], truth[new]) > 0.85
    np.testing.assert_allclose(model.predict_proba(X[new]).sum(axis=1), 1)
    board = model.leaderboard_
    assert set(board["method"]) == set(QUICK)
    assert board["share"].sum() == pytest.approx(1)
    assert (board["share"].diff().dropna() <= 0).all()
    assert 0 <= model.error_ < 0.3


def test_the_same_seed_gives_the_same_answer() -> None:
    X, _, sets = iris()
    first, second = (AutoClassifier(methods=QUICK, random_state=3).fit(X, sets) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_a_useless_method_has_no_share() -> None:
    X, _, sets = iris()
    noise = PLKNNClassifier(n_neighbors=100)
    model = AutoClassifier(methods=QUICK | {"all alike": noise}, random_state=0).fit(X, sets)
    assert "all alike" not in model.shares_
    line = model.leaderboard_.set_index("method").loc["all alike"]
    assert line["note"]


def test_what_would_take_too_long_is_left_out_before_it_runs() -> None:
    X, _, sets = iris()
    X, sets = np.tile(X, (40, 1)), sets[np.tile(np.arange(150), 40)]
    began = time.monotonic()
    methods = {"PL-kNN": PLKNNClassifier(n_neighbors=5), "slow": Slow()}
    model = AutoClassifier(methods=methods, budget="8s", random_state=0).fit(X, sets)
    assert time.monotonic() - began < 60
    line = model.leaderboard_.set_index("method").loc["slow"]
    assert (line["folds"], line["rows"]) == (0, 0)
    assert line["note"].startswith("left out")


def test_a_method_that_fails_is_left_out_with_its_reason() -> None:
    X, _, sets = iris()
    model = AutoClassifier(methods=QUICK | {"broken": Broken()}, random_state=0).fit(X, sets)
    assert "no luck" in model.leaderboard_.set_index("method").loc["broken", "note"]
    with pytest.raises(InputError) as caught:
        AutoClassifier(methods={"broken": Broken()}).fit(X, sets)
    assert caught.value.code == "no-method"


def test_an_interruption_keeps_the_best_so_far() -> None:
    X, _, sets = iris()
    quick = {"PL-kNN": PLKNNClassifier(n_neighbors=5)}
    model = AutoClassifier(methods=quick | {"stopped": Stopped()}, random_state=0).fit(X, sets)
    assert model.shares_ == {"PL-kNN": 1.0}
    assert model.leaderboard_.set_index("method").loc["PL-kNN", "folds"] == 5
    with pytest.raises(KeyboardInterrupt):
        AutoClassifier(methods={"stopped": Stopped()}).fit(X, sets)


class BrokenLater(PLKNNClassifier):
    """A method that fails on some rows."""

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        if len(X) == 120 and X[0, 0] != 5.1:
            raise ZeroDivisionError("no luck")
        super()._fit(X, sets)


def test_a_method_that_fails_later_is_left_out() -> None:
    X, _, sets = iris()
    model = AutoClassifier(methods=QUICK | {"broken": BrokenLater()}, random_state=0).fit(X, sets)
    assert "broken" not in model.shares_
    assert "no luck" in model.leaderboard_.set_index("method").loc["broken", "note"]


class StoppedLate(PLKNNClassifier):
    """A person presses Ctrl-C when what answers is fitted on all rows."""

    def _fit(self, X: npt.NDArray[Any], sets: CandidateSets) -> None:
        if len(X) == 150:
            raise KeyboardInterrupt
        super()._fit(X, sets)


def test_an_interruption_at_last_leaves_the_folds() -> None:
    X, truth, sets = iris()
    methods = {"late": StoppedLate(n_neighbors=5)}
    model = AutoClassifier(methods=methods, folds=2, random_state=0).fit(X, sets)
    assert model.shares_ == {"late": 1.0}
    assert model.score(X, truth) > 0.8


def test_what_answers_was_fitted_on_all_rows() -> None:
    X, _, sets = iris()
    methods = {
        "PL-kNN": PLKNNClassifier(n_neighbors=5),
        "LW": LWClassifier(model="linear", epochs=3),
    }
    model = AutoClassifier(methods=methods, folds=2, random_state=0).fit(X, sets)
    whole = PLKNNClassifier(n_neighbors=5).fit(X, sets)
    fits = {part.name: part.fitted for part in model._parts}
    assert len(fits["PL-kNN"]) == 1
    np.testing.assert_array_equal(fits["PL-kNN"][0].predict_proba(X), whole.predict_proba(X))
    assert len(fits.get("LW", range(3))) == 3


def test_a_saved_model_answers_as_before(tmp_path: Path) -> None:
    X, _, sets = iris()
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["colour"] = np.where(X[:, 2] > 2, "red", "blue")
    frame.loc[3, "a"] = np.nan
    trees = PartialLabel(ExtraTreesClassifier(5), rounds=2, folds=2)
    network = LWClassifier(model="linear", epochs=3)
    methods = QUICK | {"trees": trees, "LW": network}
    model = AutoClassifier(methods=methods, folds=2, random_state=0).fit(frame, sets)
    model.save(tmp_path / "model.amongst", metadata={"who": "me"})
    loaded = load(tmp_path / "model.amongst")
    np.testing.assert_allclose(loaded.predict_proba(frame), model.predict_proba(frame), atol=1e-9)
    pd.testing.assert_frame_equal(loaded.leaderboard_, model.leaderboard_)
    assert (loaded.chosen_, loaded.metadata_) == (model.chosen_, {"who": "me"})
    assert loaded.disambiguate(frame, sets).equals(model.disambiguate(frame, sets))


def test_the_usual_methods_on_a_small_table() -> None:
    X, truth = make_classification(
        60, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0
    )
    sets = uniform(truth, 0.3, seed=0)
    model = AutoClassifier(budget="2s", random_state=0, device="cpu").fit(X, sets)
    names = {c.name for c in portfolio(X.shape, 3, False, "cpu")}
    assert set(model.leaderboard_["method"]) == names
    assert all(model.leaderboard_["note"][model.leaderboard_["folds"] == 0] != "")


def test_every_usual_method_is_saved_without_pickle(tmp_path: Path) -> None:
    X, _, sets = iris()
    for contender in portfolio(X.shape, 3, False, "cpu"):
        small = contender.estimator.set_params(**contender.small)
        small.fit(X, sets).save(tmp_path / "one.amongst")
        np.testing.assert_array_equal(load(tmp_path / "one.amongst").predict(X), small.predict(X))


def test_a_cost_is_scaled_to_all_rows() -> None:
    X, sets = np.random.default_rng(0).random((800, 3)), uniform(np.arange(800) % 4, 0.3, seed=0)
    few = seconds_to_fit(Contender("slow", Slow(), power=1.0), X, sets, np.arange(800), 0)
    assert few >= 0.002 * 800
    assert (
        seconds_to_fit(Contender("none", Slow(), machines=10**6), X, sets, np.arange(800), 0) > 1e9
    )


def test_the_cost_of_a_network_is_that_of_its_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a fit takes to begin does not count once for each epoch."""
    X, _, sets = iris()
    clock = [0.0]

    class Steady(LWClassifier):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            clock[0] += 0.3 + 0.01 * self.epochs
            return self

    monkeypatch.setattr("amongst.selection.portfolio.time.perf_counter", lambda: clock[0])
    contender = Contender("steady", Steady(epochs=100))
    found = seconds_to_fit(contender, X, sets, np.arange(150), 0)
    assert found == pytest.approx(1.3)
    contender = Contender("steady", Steady(epochs=1))
    assert seconds_to_fit(contender, X, sets, np.arange(150), 0) == pytest.approx(0.31)


def test_shares_have_the_greatest_likelihood() -> None:
    likelihood = np.random.default_rng(0).random((300, 3)) ** 2
    found = mix_shares(likelihood, prior=0.0)

    def surprise(logits: npt.NDArray[Any]) -> float:
        shares = np.exp(logits) / np.exp(logits).sum()
        return float(-np.log(likelihood @ shares).sum())

    best = minimize(surprise, np.zeros(3)).fun
    assert surprise(np.log(found)) == pytest.approx(best, rel=1e-4)


def test_a_mixture_only_where_it_surprises_less() -> None:
    rng = np.random.default_rng(0)
    mask = np.eye(2, dtype=bool)[rng.integers(0, 2, 400)]
    right = np.where(mask, 0.99, 0.01)
    half = np.where((np.arange(400) % 2 == 0)[:, None], right, 0.5)
    other = np.where((np.arange(400) % 2 == 1)[:, None], right, 0.5)
    assert mixture(np.array([right, half]), mask).tolist() == [1.0, 0.0]
    np.testing.assert_allclose(mixture(np.array([half, other]), mask), 0.5, atol=0.05)


def test_temperature_undoes_a_factor() -> None:
    rng = np.random.default_rng(0)
    logs = rng.normal(0, 2, (4000, 3))
    proba = beliefs(logs, 1.0)
    mask = np.eye(3, dtype=bool)[[rng.choice(3, p=p) for p in proba]]
    for factor in (0.1, 1.0, 50.0):
        assert fit_temperature(logs * factor, mask) == pytest.approx(factor, rel=0.1)


def test_the_estimated_error_is_that_of_the_formula() -> None:
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 4, (2, 20000))
    predicted = np.where(rng.random(20000) < 0.7, truth, predicted)
    sets = uniform(truth, 0.4, seed=0)
    error, wide = estimated_error(np.eye(4)[predicted], sets.to_mask(), np.full(4, 0.4))
    assert error == pytest.approx((predicted != truth).mean(), abs=3 * wide)
    assert wide < 0.01


@pytest.mark.parametrize("budget", ["soon", "-3s", 0, True, "1.2.3s", None])
def test_a_budget_that_is_no_time(budget: Any) -> None:
    X, _, sets = iris()
    with pytest.raises(InputError) as caught:
        AutoClassifier(budget=budget).fit(X, sets)
    assert caught.value.argument == "budget"


def test_an_ensemble_tries_only_what_answers(tmp_path: Path, capsys: Any) -> None:
    """A search for every clone would take its budget again, and might explain another method."""
    X, _, sets = iris()
    model = AutoClassifier(methods=QUICK | {"broken": Broken()}, verbose=True, random_state=0)
    model.fit(X, sets).save(tmp_path / "auto")
    capsys.readouterr()
    loaded = load(tmp_path / "auto")
    tried = [set(one.methods) for one, _ in crossfit(loaded, X, sets, folds=2)]
    assert tried == [set(model.shares_)] * 2
    assert capsys.readouterr().err == ""
