"""`n_init`: several seeds in one population, the best by candidate sets alone is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from torch import Tensor, nn

from amongst import CCClassifier, LWClassifier, RCClassifier, load
from amongst.algorithms import Algorithm, Batch
from amongst.candidates import uniform
from amongst.errors import DivergenceError, InputError
from amongst.estimators import ensemble as several
from amongst.estimators.by_algorithm import estimator_of
from amongst.estimators.ensemble import Trained, train_several
from amongst.losses import classifier_consistent
from amongst.metrics import approximated_accuracy
from amongst.models import Linear
from amongst.selection import PartialLabelSearchCV

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
    kept = estimator(model=model, n_init=4, **exact).fit(X, SETS)
    alone = estimator(model=model, **exact | {"random_state": kept.settings_.seed}).fit(X, SETS)
    assert kept.init_scores_.shape == (4,)
    assert len(np.unique(kept.init_scores_)) > 1
    assert on_training_rows(alone) == pytest.approx(kept.init_scores_.max(), abs=1e-5)
    for a, b in zip(states(kept.model_), states(alone.model_), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert kept.history_["loss"].to_numpy() == pytest.approx(alone.history_["loss"].to_numpy())
    assert kept.n_iter_ == 8


def test_the_first_seed_is_that_of_one_init() -> None:
    kept = LWClassifier(model="linear", n_init=3, **QUICK).fit(X, SETS)
    one = LWClassifier(model="linear", **QUICK).fit(X, SETS)
    assert kept.init_scores_[0] == pytest.approx(on_training_rows(one), abs=1e-5)
    assert not hasattr(one, "init_scores_")


def test_a_network_of_ones_own_trains_one_seed_after_another() -> None:
    def network(shape: tuple[int, ...], n_classes: int) -> nn.Module:
        return nn.Sequential(nn.Linear(shape[0], 5), nn.Tanh(), nn.Linear(5, n_classes))

    kept = LWClassifier(model=network, n_init=3, **QUICK).fit(X, SETS)
    assert len(np.unique(kept.init_scores_)) == 3
    assert on_training_rows(kept) == pytest.approx(kept.init_scores_.max(), abs=1e-5)


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


@pytest.mark.parametrize("lockstep", [True, False])
def test_every_network_reports_every_epoch(lockstep: bool) -> None:
    heard: list[tuple[int, int, float]] = []

    def report(which: int, epoch: int, values: Mapping[str, float]) -> bool:
        heard.append((which, epoch, values["loss"]))
        return False

    points = [LWClassifier(model="linear", lr=lr, **QUICK) for lr in (0.1, 0.01)]
    trained = train_several(points, X, SETS, lockstep=lockstep, report=report)
    told = [(i, j + 1, x) for i, one in enumerate(trained) for j, x in enumerate(one.history.loss)]
    assert sorted(heard) == told
    assert all(one.model is not None and not one.model.training for one in trained)


@pytest.mark.parametrize(("lockstep", "epochs"), [(True, [3, 3]), (False, [3, 1])])
def test_training_stops_once_no_report_asks_for_more(lockstep: bool, epochs: list[int]) -> None:
    """The second is enough after one epoch, the first after three: a population waits for both."""
    last = [0, 0]

    def report(which: int, epoch: int, values: Mapping[str, float]) -> bool:
        last[which] = epoch
        return epoch == (3, 1)[which]

    points = [LWClassifier(model="linear", lr=lr, **QUICK) for lr in (0.1, 0.01)]
    trained = train_several(points, X, SETS, lockstep=lockstep, report=report)
    assert last == epochs
    assert all(one.model is None and one.history.empty for one in trained)


@pytest.mark.parametrize("lockstep", [True, False])
def test_a_network_that_diverges_says_when(lockstep: bool) -> None:
    points = [RCClassifier(model="linear", lr=lr, optimizer="sgd", **QUICK) for lr in (0.01, 1e30)]
    good, bad = train_several(points, X, SETS, lockstep=lockstep)
    assert (good.diverged, bad.diverged) == (None, 1)


@dataclass(eq=False)
class Counting(Algorithm):
    """CC, with a bias of its own beside the network; it notes every step."""

    name, title = "counting", "Counting"
    steps: ClassVar[list[type[nn.Module]]] = []

    factor: float = 1.0

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        self.network, self.bias = network, nn.Parameter(torch.zeros(inside.shape[1], dtype=dtype))

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        self.steps.append(type(self.network))
        scores = self.network(batch.x) + self.bias
        return self.factor * classifier_consistent(scores, batch.inside), scores


def own_network(shape: tuple[int, ...], n_classes: int) -> nn.Module:
    return nn.Sequential(nn.Linear(shape[0], 5), nn.Tanh(), nn.Linear(5, n_classes))


@pytest.mark.parametrize(("model", "kind"), [("linear", Linear), (own_network, nn.Sequential)])
@pytest.mark.parametrize("searched", [False, True])
def test_several_trainings_are_of_this_algorithm_and_this_network(
    searched: bool, model: Any, kind: type[nn.Module]
) -> None:
    """No other one in silence: each step is counted, and the best equals it trained by hand."""
    made = estimator_of(Counting)
    Counting.steps.clear()
    if searched:
        search = PartialLabelSearchCV(
            made(model=model, **QUICK), {"lr": [0.1, 1e-6]}, validation=0.2
        )
        kept = search.fit(X, SETS).best_estimator_
        steps = 8 * (2 * math.ceil(120 / 32) + math.ceil(150 / 32))
    else:
        kept = made(model=model, n_init=2, **QUICK).fit(X, SETS)
        steps = 8 * 2 * math.ceil(150 / 32)
    assert Counting.steps == [kind] * steps
    alone = made(model=model, **QUICK | {"random_state": kept.settings_.seed, "lr": kept.lr})
    for a, b in zip(states(alone.fit(X, SETS).model_), states(kept.model_), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    "other",
    [
        {"epochs": 9},
        {"batch_size": 31},
        {"precision": "float64"},
        {"scaling": None},
        {"model": "mlp"},
        {"device": "auto"},
    ],
    ids=str,
)
def test_networks_of_another_shape_or_pace_do_not_train_together(other: dict[str, Any]) -> None:
    points = [LWClassifier(**{"model": "linear"} | QUICK | own) for own in ({}, other)]
    with pytest.raises(InputError, match="train them in groups"):
        train_several(points, X, SETS)


def test_a_seed_that_diverges_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_of_three(*given: Any, **options: Any) -> list[Trained]:
        return [replace(one, diverged=(1, None, 2)[i]) for i, one in enumerate(ours(*given))]

    ours = several.train_several
    monkeypatch.setattr(several, "train_several", two_of_three)
    fitted = LWClassifier(model="linear", n_init=3, **QUICK).fit(X, SETS)
    assert np.isnan(fitted.init_scores_).tolist() == [True, False, True]
    assert on_training_rows(fitted) == pytest.approx(fitted.init_scores_[1], abs=1e-5)


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
