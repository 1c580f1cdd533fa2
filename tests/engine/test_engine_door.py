"""What people hand to the engines, nearly right: it works, or one sentence says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from amongst import devices
from amongst.accel.population import Member, train_population
from amongst.algorithms import CC, LW
from amongst.errors import AmongstWarning, InputError
from amongst.train import (
    Features,
    Settings,
    as_device,
    predict_scores,
    split_seed,
    train,
    training_data,
)
from amongst.train.checkpoint import fingerprint

N, D, K = 12, 3, 3
X = np.random.default_rng(0).normal(size=(N, D))
SETS = [{i % K, (i + 1) % K} if i % 2 else {i % K} for i in range(N)]
INSIDE = torch.from_numpy(training_data(Features.of(X), SETS).inside.numpy())


def test_settings_may_hold_numbers_of_numpy() -> None:
    """A grid from np.logspace and np.arange: the checkpoint could not be written."""
    ours = Settings(epochs=np.int64(3), lr=np.float32(0.5), seed=np.uint8(1))
    assert ours == Settings(epochs=3, lr=0.5, seed=1)
    data = training_data(Features.of(X), SETS)
    assert fingerprint(data, LW(), ours) == fingerprint(
        data, LW(), Settings(epochs=3, lr=0.5, seed=1)
    )


@pytest.mark.parametrize("kind", [np.float64, np.uint8])
@pytest.mark.parametrize("shape", [(N, 1), (N,), (2,), (2, D)])
@pytest.mark.parametrize("name", ["shift", "scale"])
def test_a_shift_or_scale_for_rows_is_refused(
    name: str, shape: tuple[int, ...], kind: type[Any]
) -> None:
    """That of one column, shape (n,), made n columns of it."""
    for values in (np.ones((N, D), kind), np.ones((N, 1), kind)):
        with pytest.raises(InputError, match=rf"{name} has shape .*one example has shape \("):
            Features.of(values, **{name: np.ones(shape)})


@pytest.mark.parametrize("shape", [(), (1,), (D,), (1, D)])
def test_a_shift_and_scale_for_one_example(shape: tuple[int, ...]) -> None:
    seen = Features.of(X, shift=np.full(shape, 2.0), scale=np.full(shape, 4.0))
    torch.testing.assert_close(seen.values, torch.tensor((X - 2) / 4, dtype=torch.float32))


@pytest.mark.parametrize(("there", "kind"), [(True, "cuda"), (False, "cpu")])
def test_auto_is_a_gpu_where_there_is_one(
    there: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    monkeypatch.setattr(devices, "_tried", torch.device)
    assert as_device("auto") == torch.device(kind)


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "meta", None])
def test_a_device_that_does_not_compute_is_refused_in_a_sentence(device: Any) -> None:
    with pytest.raises(InputError, match=rf"device={device!r} cannot be used here \(.+\)\. Use"):
        as_device(device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_fails_is_told_of_and_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that was forked from one that has used it."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.warns(
        AmongstWarning, match=r"the GPU cannot be used \(.+\); this goes on on the CPU"
    ):
        assert as_device("auto") == torch.device("cpu")


def test_a_model_in_float64_scores_features_in_float32() -> None:
    features = Features.of(X)
    run = train(
        nn.Linear(D, K),
        training_data(features, SETS),
        LW(),
        Settings(epochs=1, precision="float64"),
    )
    expected = run.model(torch.tensor(X, dtype=torch.float32).double())
    torch.testing.assert_close(predict_scores(run.model, features), expected)


class Fussy(nn.Linear):
    """Wants more than it is given."""

    def forward(self, x: torch.Tensor, more: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return super().forward(x) + more


@pytest.mark.parametrize(
    "model", [nn.Sequential(nn.Linear(D, K), nn.BatchNorm2d(K)), Fussy(D, K), nn.Linear(2, K)]
)
def test_a_model_that_cannot_take_a_batch_is_one_sentence(model: nn.Module) -> None:
    with pytest.raises(InputError, match=r"the model cannot score a batch of shape \(12, 3\)"):
        train(model, training_data(Features.of(X), SETS), LW(), Settings(epochs=1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda result: result.history(-1), "no member -1; they are 0 to 0"),
        (lambda result: result.model(1), "no member 1"),
    ],
)
def test_what_a_population_does_not_have(make: Callable[[Any], object], words: str) -> None:
    members = [Member(LW(), INSIDE, Settings(epochs=1))]
    result = train_population(Features.of(X), members, model="linear", device="cpu")
    with pytest.raises(InputError, match=words):
        make(result)


class Seen(nn.Linear):
    """Notes the seed of the generator that dropout would draw from."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seeds = [*getattr(self, "seeds", []), torch.initial_seed()]
        return super().forward(x)


def test_dropout_has_a_seed_of_its_own_for_each_epoch() -> None:
    model, settings = Seen(D, K), Settings(epochs=3, batch_size=N, seed=5)
    train(model, training_data(Features.of(X), SETS), CC(), settings)
    assert model.seeds == [split_seed(5)[2] + epoch for epoch in range(3)]
