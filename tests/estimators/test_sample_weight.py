"""Weights of rows: a row of weight 2 counts as one that is there twice, one of weight 0 as none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from amongst import LWClassifier, PLKNNClassifier
from amongst.accel.graphs import GraphedStep
from amongst.algorithms import LW, RC, Method
from amongst.candidates import as_candidates, uniform
from amongst.errors import AmongstWarning, InputError
from amongst.estimators import ESTIMATORS, NeuralClassifier
from amongst.estimators.ensemble import train_several
from amongst.models import build_model
from amongst.train import Features, Settings, TrainingData, start, train, training_data
from amongst.train.checkpoint import Keeper
from amongst.train.loop import step

X, Y = load_iris(return_X_y=True)
SETS = uniform(Y, q=0.3, seed=0)
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(Y))
NETWORKS = [
    kind
    for kind in ESTIMATORS.values()
    if issubclass(kind, NeuralClassifier) and issubclass(kind.method, Method)
]
"""Those whose rows do not see each other."""


def in_one_batch(kind: type[NeuralClassifier], **params: Any) -> NeuralClassifier:
    """Whole-batch steps of a linear model on features as they are: the order of rows does not matter."""
    given = {
        "model": "linear",
        "epochs": 20,
        "batch_size": 1000,
        "scaling": None,
        "lr": 0.01,
        "optimizer": "sgd",
    }
    return kind(**given | {"random_state": 0} | params)


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_weight_is_a_number_of_repeats(kind: type[NeuralClassifier]) -> None:
    weighed = in_one_batch(kind).fit(X, SETS, sample_weight=WEIGHTS)
    rows = np.repeat(np.arange(len(Y)), WEIGHTS)
    repeated = in_one_batch(kind).fit(X[rows], SETS[rows])
    expected = repeated.predict_proba(X)
    np.testing.assert_allclose(weighed.predict_proba(X), expected, atol=2e-5)
    plain = in_one_batch(kind).fit(X, SETS).predict_proba(X)
    assert np.abs(plain - expected).max() > 1e-3
    assert weighed.history_["loss"].iloc[-1] == pytest.approx(
        repeated.history_["loss"].iloc[-1], rel=1e-4
    )


def test_a_row_of_weight_zero_is_left_out() -> None:
    """Of batches and of the scaling, too."""
    some = np.arange(len(Y)) % 3 > 0
    wild = np.where(some[:, None], X, 1e6)
    zero = LWClassifier(epochs=3, random_state=0).fit(wild, SETS, sample_weight=some)
    without = LWClassifier(epochs=3, random_state=0).fit(X[some], SETS[some])
    np.testing.assert_array_equal(zero.predict_proba(X), without.predict_proba(X))


@pytest.mark.parametrize(
    "weights", [WEIGHTS * 4, WEIGHTS.tolist(), pd.Series(WEIGHTS), torch.tensor(WEIGHTS)]
)
def test_only_ratios_matter_in_any_form(weights: Any) -> None:
    def fitted(weights: Any) -> NeuralClassifier:
        return LWClassifier(epochs=2, random_state=0).fit(X, SETS, sample_weight=weights)

    np.testing.assert_array_equal(
        fitted(weights).predict_proba(X), fitted(WEIGHTS).predict_proba(X)
    )
    equal, none = fitted(np.full(len(Y), 7.0)), fitted(None)
    np.testing.assert_array_equal(equal.predict_proba(X), none.predict_proba(X))


def test_of_several_seeds_each_is_weighed() -> None:
    several = LWClassifier(epochs=3, n_init=3, random_state=0).fit(X, SETS, sample_weight=WEIGHTS)
    assert len(several.init_scores_) == 3
    one = LWClassifier(epochs=3, random_state=several.settings_.seed)
    expected = one.fit(X, SETS, sample_weight=WEIGHTS).predict_proba(X)
    np.testing.assert_allclose(several.predict_proba(X), expected, atol=1e-6)


@pytest.mark.parametrize("method", [LW(), RC()], ids=str)
def test_captured_steps_weigh_as_plain_ones_do(method: Any) -> None:
    settings = Settings(epochs=2, batch_size=16, lr=0.01)
    data = training_data(Features.of(X), SETS, importance=WEIGHTS)

    def trained(captured: bool) -> torch.Tensor:
        model = build_model("linear", (4,), 3, seed=0)
        state = start(model, data, method, settings)
        stepper: Any = GraphedStep(state, data, settings, compile=False)
        if not captured:
            stepper = lambda rows: step(state, data, rows)  # noqa: E731
        train(model, data, method, settings, training=state, stepper=stepper)
        return next(model.parameters()).detach()

    torch.testing.assert_close(trained(True), trained(False), rtol=1e-5, atol=1e-6)


def test_a_kept_run_knows_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kept(**params: Any) -> LWClassifier:
        return LWClassifier(epochs=4, random_state=0, **params)

    keep = Keeper.after_epoch

    def interrupted(self: Keeper, state: Any) -> None:
        keep(self, state)
        if state.epoch == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Keeper, "after_epoch", interrupted)
    half = kept(checkpoint=tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        half.fit(X, SETS, sample_weight=WEIGHTS)
    monkeypatch.setattr(Keeper, "after_epoch", keep)
    for other in (None, WEIGHTS[::-1]):
        with pytest.raises(InputError, match="of another run"):
            half.fit(X, SETS, sample_weight=other)
    half.fit(X, SETS, sample_weight=WEIGHTS)
    whole = kept().fit(X, SETS, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(half.predict_proba(X), whole.predict_proba(X))


def test_scikit_learn_hands_them_on() -> None:
    estimator = LWClassifier(model="linear", epochs=3, random_state=0)
    pipe = make_pipeline(StandardScaler(), estimator)
    pipe.fit(X, SETS, lwclassifier__sample_weight=WEIGHTS)
    scaled = pipe[0].transform(X)
    direct = clone(estimator).fit(scaled, SETS, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(pipe.predict_proba(X), direct.predict_proba(scaled))
    search = GridSearchCV(estimator, {"lr": [0.1, 0.01]}, cv=KFold(2, shuffle=True, random_state=0))
    search.fit(X, SETS, sample_weight=WEIGHTS)
    best = clone(estimator).set_params(**search.best_params_)
    expected = best.fit(X, SETS, sample_weight=WEIGHTS).predict_proba(X)
    np.testing.assert_array_equal(search.predict_proba(X), expected)
    assert np.abs(best.fit(X, SETS).predict_proba(X) - expected).max() > 1e-3


def test_networks_that_are_weighed_never_train_in_lockstep() -> None:
    """Which does not weigh."""
    pair = [LWClassifier(model="linear", epochs=2, random_state=seed) for seed in (0, 1)]
    found = train_several(pair, X, SETS, importance=WEIGHTS, lockstep=True)
    alone = train_several(pair, X, SETS, importance=WEIGHTS)
    for ours, theirs in zip(found, alone, strict=True):
        pd.testing.assert_series_equal(ours.history["loss"], theirs.history["loss"])


@pytest.mark.parametrize("estimator", [LWClassifier(epochs=5, random_state=0), PLKNNClassifier()])
def test_a_score_is_a_share_of_the_weight(estimator: Any) -> None:
    hits = estimator.fit(X, SETS).predict(X) == Y
    expected = np.average(hits, weights=WEIGHTS)
    assert 0 < expected < 1
    assert estimator.score(X, Y, sample_weight=WEIGHTS) == pytest.approx(expected)
    assert estimator.score(X, Y) == pytest.approx(hits.mean())


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (WEIGHTS[:-1], r"shape \(149,\); expected \(150,\)"),
        (np.ones((150, 1)), r"shape \(150, 1\); expected \(150,\)"),
        (np.where(np.arange(150) == 7, -1.0, 1.0), "has -1 in row 7"),
        (np.where(np.arange(150) == 7, np.nan, 1.0), "has nan in row 7"),
        (np.zeros(150), "zero in every row"),
        (["heavy"] * 150, "list that does not read as numbers"),
    ],
)
def test_weights_that_are_none(weights: Any, said: str) -> None:
    with pytest.raises(InputError, match=f"sample_weight .*{said}"):
        LWClassifier(epochs=1).fit(X, SETS, sample_weight=weights)


def test_an_index_in_another_order_is_told() -> None:
    frame, weights = pd.DataFrame(X), pd.Series(WEIGHTS).sample(frac=1, random_state=0)
    with pytest.warns(
        AmongstWarning, match="X and sample_weight have the same index in another order"
    ):
        LWClassifier(epochs=1).fit(frame, SETS, sample_weight=weights)


def test_the_engine_refuses_what_is_no_importance() -> None:
    data = TrainingData(Features.of(X), torch.from_numpy(as_candidates(SETS).to_mask()))
    for wrong in (torch.ones(3), -torch.ones(150), torch.full((150,), torch.nan)):
        with pytest.raises(
            InputError, match=r"importance has shape .* expected 150 finite numbers"
        ):
            replace(data, importance=wrong)
