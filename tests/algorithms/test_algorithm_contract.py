"""What every algorithm of the registry keeps that owns more than a loss; a new one is picked up."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from torch import Tensor, nn

from amongst.accel.population import Member, train_population
from amongst.algorithms import METHODS, Algorithm, Batch, Method
from amongst.candidates import uniform
from amongst.errors import AmongstWarning, InputError
from amongst.estimators import estimator_for, load
from amongst.models import build_model
from amongst.train import Checkpoint, Features, Settings, train, training_data
from amongst.train.checkpoint import fingerprint

NAMES = [name for name, kind in METHODS.items() if not issubclass(kind, Method)]
every = pytest.mark.parametrize("name", NAMES)

X, Y = load_digits(return_X_y=True)
X, Y = X[:150] / 16, Y[:150]
SETS = uniform(Y, 0.3, seed=0)
DATA = training_data(Features.of(X), SETS)
SETTINGS = Settings(epochs=4, batch_size=32, lr=0.05, seed=1)


def network(seed: int = 0) -> nn.Module:
    return build_model("mlp", (64,), 10, seed=seed, widths=(32,))


def small(name: str) -> Algorithm:
    """As it is by default, but for what is large by default."""
    kind = METHODS[name]
    large = {"queue": 64, "width": 16, "start": 0.5}
    made = kind()
    for option, value in large.items():
        if hasattr(made, option):
            setattr(made, option, value)
    return made  # type: ignore[no-any-return]


def begun(name: str) -> Algorithm:
    torch.manual_seed(0)
    return small(name).begin(network(), DATA.inside, torch.float32)


def batch(progress: float = 0.75, views: int = 1) -> Batch:
    rows = torch.arange(20)
    return Batch((DATA.features.batch(rows),) * views, DATA.inside[rows], rows, progress)


def one_step(algorithm: Algorithm, progress: float = 0.75) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    optimizer = torch.optim.SGD([p for p in algorithm.parameters() if p.requires_grad], lr=0.1)
    losses, scores = algorithm.train().training_step(batch(progress, algorithm.views))
    optimizer.zero_grad()
    torch.autograd.backward(losses.mean())
    optimizer.step()
    with torch.no_grad():
        algorithm.after_step(batch(progress), scores.detach())
    return losses, scores


@every
@pytest.mark.parametrize("progress", [0.0, 0.9])
def test_a_step_gives_a_loss_and_scores_for_each_row(name: str, progress: float) -> None:
    algorithm = begun(name)
    losses, scores = one_step(algorithm, progress)
    assert (losses.shape, scores.shape) == ((20,), (20, 10))
    assert torch.isfinite(losses).all()
    assert all(p.grad is not None for p in algorithm.network.parameters()), "the network learns"
    assert algorithm.eval()(DATA.features.batch(slice(7))).shape == (7, 10)


@every
def test_state_dict_is_everything(name: str) -> None:
    one, other = begun(name), begun(name)
    one_step(one)
    other.load_state_dict(one.state_dict())
    again = [one_step(algorithm) for algorithm in (one, other)]
    for left, right in zip(*again, strict=True):
        assert torch.equal(left, right)
    for key, value in one.state_dict().items():
        assert torch.equal(value, other.state_dict()[key]), key


@every
def test_every_tensor_moves_with_the_algorithm(name: str) -> None:
    algorithm = begun(name)
    one_step(algorithm)
    algorithm.to("meta")
    held = [
        (key, value)
        for module in algorithm.modules()
        for key, value in {**vars(module), **module._parameters, **module._buffers}.items()
        if isinstance(value, Tensor)
    ]
    assert held
    assert [key for key, value in held if not value.is_meta] == []


@every
@pytest.mark.parametrize("progress", [0.0, 0.75])
def test_a_step_asks_for_no_value(name: str, progress: float) -> None:
    """On a device without values whatever a host would wait for is an error: `.item()`, a branch on a
    tensor, a shape that depends on the data."""
    algorithm, given = begun(name).to("meta").train(), batch(progress)
    views, rows = (given.x.to("meta"),) * algorithm.views, given.index.to("meta")
    there = Batch(views, given.inside.to("meta"), rows, progress)
    losses, scores = algorithm.training_step(there)
    with torch.no_grad():
        algorithm.after_step(there, scores.detach())
    assert losses.is_meta


@every
@pytest.mark.parametrize("progress", [0.0, 0.75])
def test_it_trains_under_autocast(name: str, progress: float) -> None:
    algorithm = begun(name)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses, _ = one_step(algorithm, progress)
    assert torch.isfinite(losses).all()
    assert losses.dtype == torch.float32


@every
def test_it_goes_on_bit_for_bit_from_a_file(name: str, tmp_path: Path) -> None:
    def trained(epochs: int, path: Path | None = None) -> Any:
        settings = Settings(epochs=4, batch_size=32, lr=0.05, seed=1)
        stopping = StopAt(epochs)
        mark = fingerprint(DATA, small(name), settings)
        callbacks = [Checkpoint(path, mark, every=0.0, share=1.0), stopping]
        return train(network(), DATA, small(name), settings, callbacks=callbacks)

    whole = trained(4)
    half = trained(2, tmp_path / "run")
    assert half.epoch == 2
    resumed = trained(4, tmp_path / "run")
    for key, value in whole.algorithm.state_dict().items():
        assert torch.equal(value, resumed.algorithm.state_dict()[key]), key
    assert [r["loss"] for r in resumed.records] == [r["loss"] for r in whole.records]


class StopAt(Checkpoint):
    """Ends the training after so many epochs."""

    def __init__(self, epoch: int) -> None:
        super().__init__(keeps=False)
        self.epoch = epoch

    def after_epoch(self, run: Any) -> None:
        run.stopped = run.epoch == self.epoch


@every
def test_a_copy_is_another_one(name: str) -> None:
    one = begun(name)
    other = copy.deepcopy(one)
    one_step(one)
    fresh = begun(name)
    for key, value in other.state_dict().items():
        assert torch.equal(value, fresh.state_dict()[key]), f"{key} is shared with the original"
    one_step(other)
    for key, value in other.state_dict().items():
        assert torch.equal(value, one.state_dict()[key]), key


@every
def test_importance_multiplies_the_losses(name: str) -> None:
    weights = torch.zeros(150)
    weights[:20] = 1.0
    data = training_data(Features.of(X), SETS, importance=weights)
    run = train(network(), data, small(name), SETTINGS)
    assert run.history["loss"].iloc[0] < 0.5 * _first_loss(name)


def _first_loss(name: str) -> float:
    return float(train(network(), DATA, small(name), SETTINGS).history["loss"].iloc[0])


@every
def test_it_is_an_estimator(name: str, tmp_path: Path) -> None:
    options = {k: v for k, v in {"queue": 64, "width": 16}.items() if hasattr(METHODS[name](), k)}
    settings = {"model": "linear", "epochs": 20, "batch_size": 32, "lr": 0.05, "device": "cpu"}
    estimator = estimator_for(name)(random_state=0, **settings, **options)
    short = [clone(estimator).set_params(epochs=2).fit(X, SETS) for _ in range(2)]
    np.testing.assert_array_equal(*(one.predict_proba(X) for one in short))
    fitted = estimator.fit(X, SETS)
    assert fitted.score(X, Y) > 0.6
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.get_params() == fitted.get_params()


@every
def test_a_population_trains_it_alone_and_says_so(name: str) -> None:
    members = [Member(small(name), DATA.inside, SETTINGS) for _ in range(2)]
    options = {"widths": (32,)}
    with pytest.warns(AmongstWarning, match="train one after another"):
        result = train_population(
            DATA.features, members, model="mlp", options=options, device="cpu"
        )
    alone = train(build_model("mlp", (64,), 10, members[0].initial_seed, widths=(32,)), DATA,
                  small(name), SETTINGS)  # fmt: skip
    x = DATA.features.batch(slice(9))
    assert torch.equal(result.model(1)(x), alone.model.eval()(x))
    with pytest.raises(InputError, match="owns more than a loss"):
        train_population(DATA.features, members, model="mlp", device="cpu", backend="eager")
