"""`n_init`: several seeds in one population, the best by candidate sets alone is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from torch import nn

from amongst import CCClassifier, LWClassifier, RCClassifier, load
from amongst.candidates import uniform
from amongst.errors import DivergenceError, InputError
from amongst.estimators.several import train_several
from amongst.metrics import approximated_accuracy

X, TRUTH = load_iris(return_X_y=True)
SETS = uniform(TRUTH, 0.3, seed=0)
QUICK = {"epochs": 8, "batch_size": 32, "random_state": 7, "device": "cpu"}


def states(model: nn.Module) -> list[torch.Tensor]:
    return list(model.state_dict().values())


def on_training_rows(fitted: Any) -> float:
    scores = torch.from_numpy(np.log(fitted.predict_proba(X)))
    return float(approximated_accuracy(scores, torch.from_numpy(SETS.to_mask())))


@pytest.mark.parametrize("estimator", [LWClassifier, RCClassifier, CCClassifier])
@pytest.mark.parametrize("model", ["linear", "mlp"])
def test_the_kept_seed_is_the_best_and_equals_that_seed_alone(estimator: Any, model: str) -> None:
    exact = QUICK | {"precision": "float64"}
    several = estimator(model=model, n_init=4, **exact).fit(X, SETS)
    alone = estimator(model=model, **exact | {"random_state": several.settings_.seed}).fit(X, SETS)
    assert several.init_scores_.shape == (4,)
    assert len(np.unique(several.init_scores_)) > 1
    assert on_training_rows(alone) == pytest.approx(several.init_scores_.max(), abs=1e-5)
    for a, b in zip(states(several.model_), states(alone.model_), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert several.history_["loss"].to_numpy() == pytest.approx(alone.history_["loss"].to_numpy())
    assert several.n_iter_ == 8


def test_the_first_seed_is_that_of_one_init() -> None:
    several = LWClassifier(model="linear", n_init=3, **QUICK).fit(X, SETS)
    one = LWClassifier(model="linear", **QUICK).fit(X, SETS)
    assert several.init_scores_[0] == pytest.approx(on_training_rows(one), abs=1e-5)
    assert not hasattr(one, "init_scores_")


def test_a_network_of_ones_own_trains_one_seed_after_another() -> None:
    def network(shape: tuple[int, ...], n_classes: int) -> nn.Module:
        return nn.Sequential(nn.Linear(shape[0], 5), nn.Tanh(), nn.Linear(5, n_classes))

    several = LWClassifier(model=network, n_init=3, **QUICK).fit(X, SETS)
    assert len(np.unique(several.init_scores_)) == 3
    assert on_training_rows(several) == pytest.approx(several.init_scores_.max(), abs=1e-5)


@pytest.mark.parametrize("model", ["linear", "mlp"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_lockstep_and_one_after_another_give_the_same_numbers(model: str, precision: str) -> None:
    points = [
        LWClassifier(model=model, lr=lr, beta=beta, precision=precision, **QUICK)
        for lr, beta in [(0.1, 1.0), (0.01, "auto")]
    ]
    rows, held = np.arange(0, 120), np.arange(120, 150)
    criteria = {"approximated": approximated_accuracy}
    together, alone = (
        train_several(points, X, SETS, rows=rows, held=held, criteria=criteria, lockstep=lockstep)
        for lockstep in (True, False)
    )
    for a, b in zip(together, alone, strict=True):
        for column in ("loss", "covering", "approximated"):
            np.testing.assert_allclose(a.history[column], b.history[column], rtol=1e-4)


def test_divergence_from_every_seed_is_an_error() -> None:
    wild = RCClassifier(model="linear", n_init=2, lr=1e30, optimizer="sgd", **QUICK)
    with pytest.raises(DivergenceError, match="each of n_init=2 seeds"):
        wild.fit(X, SETS)


def test_scores_of_the_seeds_survive_the_file(tmp_path: Path) -> None:
    fitted = LWClassifier(model="linear", n_init=2, **QUICK).fit(X, SETS)
    fitted.save(tmp_path / "model.amongst")
    loaded = load(tmp_path / "model.amongst")
    np.testing.assert_array_equal(loaded.init_scores_, fitted.init_scores_)
    np.testing.assert_allclose(loaded.predict_proba(X), fitted.predict_proba(X))


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="n_init=0 must be a whole number of at least 1"):
        LWClassifier(n_init=0).fit(X, SETS)
    with pytest.raises(InputError, match="keeps one run, but n_init=2"):
        LWClassifier(n_init=2, checkpoint=tmp_path / "run").fit(X, SETS)
