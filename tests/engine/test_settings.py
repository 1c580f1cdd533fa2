"""The schedules as they are written down, the defaults of the paper, and the ends of each range."""

from __future__ import annotations

import pytest

from amongst.errors import InputError
from amongst.train import SCHEDULES, Settings, learning_rate
from amongst.train.run import STEPWISE


@pytest.mark.parametrize(
    ("schedule", "epochs", "factors"),
    [
        ("constant", 100, {0: 1.0, 99: 1.0}),
        ("cosine", 100, {0: 1.0, 25: 0.5 + 0.5**1.5, 50: 0.5, 75: 0.5 - 0.5**1.5, 100: 0.0}),
        ("cosine", 300, {100: 0.75, 200: 0.25}),
        ("halving", 250, {0: 1.0, 49: 1.0, 50: 0.5, 99: 0.5, 100: 0.25, 249: 0.0625}),
        ("exponential", 250, {0: 1.0, 25: 0.5**0.5, 50: 0.5, 100: 0.25, 125: 0.5**2.5}),
        ("proden", 500, {0: 1.0, 9: 1.0, 10: 0.9, 19: 0.9, 20: 0.81, 35: 0.729}),
    ],
)
def test_the_learning_rate_at_some_epochs(
    schedule: str, epochs: int, factors: dict[int, float]
) -> None:
    settings = Settings(lr=4.0, schedule=schedule, epochs=epochs)
    found = {epoch: learning_rate(settings, epoch) for epoch in factors}
    assert found == pytest.approx({epoch: 4 * factor for epoch, factor in factors.items()})


def test_every_schedule_starts_from_the_learning_rate() -> None:
    calm = set(SCHEDULES) - set(STEPWISE)
    assert {learning_rate(Settings(lr=0.3, schedule=name), 0) for name in calm} == {0.3}


def test_the_defaults_are_those_of_the_paper() -> None:
    assert Settings().to_dict() == {
        "epochs": 250,
        "batch_size": 256,
        "lr": 0.05,
        "weight_decay": 1e-3,
        "momentum": 0.9,
        "optimizer": "sgd",
        "schedule": "exponential",
        "precision": "float32",
        "seed": 0,
    }


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [
        ("epochs", 0, 1),
        ("batch_size", 0, 1),
        ("lr", 0.0, 1e-9),
        ("weight_decay", -1e-9, 0.0),
        ("momentum", -1e-9, 0.0),
        ("momentum", 1.001, 1.0),
        ("seed", -1, 0),
        ("precision", "float16", "bf16"),
        ("optimizer", "rmsprop", "adam"),
    ],
)
def test_the_ends_of_each_range(name: str, bad: object, good: object) -> None:
    with pytest.raises(InputError, match=name):
        Settings(**{name: bad})  # type: ignore[arg-type]
    assert getattr(Settings(**{name: good}), name) == good  # type: ignore[arg-type]
