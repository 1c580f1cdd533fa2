"""Small steps on a CPU are computed by one thread: the numbers are those of one, whatever the machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from amongst.engine import Features, Settings, TrainingData
from amongst.engine.single import SHARED_FROM, Training, train
from amongst.methods import LW
from amongst.models import build_model

ROWS = 64
DATA = TrainingData(
    Features(torch.linspace(-1, 1, ROWS * 20).reshape(ROWS, 20)),
    torch.eye(4, dtype=torch.bool)[torch.arange(ROWS) % 4],
)


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def threads_of(model: torch.nn.Module, batch_size: int) -> int:
    """How many threads there are while it trains."""
    seen: list[int] = []
    settings = Settings(epochs=1, batch_size=batch_size)

    def look(_: Training) -> None:
        seen.append(torch.get_num_threads())

    train(model, DATA, LW(), settings, on_epoch=look)
    return seen[0]


def test_a_small_step_has_one_thread_and_the_machine_gets_its_threads_back() -> None:
    assert threads_of(build_model("mlp", (20,), 4, seed=0), 16) == 1
    assert threads_of(build_model("linear", (20,), 4, seed=0), 16) == 1
    assert torch.get_num_threads() == 2


def test_a_large_step_and_a_network_of_ones_own_are_shared() -> None:
    mlp = build_model("mlp", (20,), 4, seed=0)
    weights = sum(p.numel() for p in mlp.parameters())
    large = -(-SHARED_FROM // weights)
    assert threads_of(mlp, large - 1) == 1
    assert threads_of(mlp, large) == 2
    assert threads_of(torch.nn.Sequential(torch.nn.Linear(20, 4)), 16) == 2


def test_threads_come_back_after_an_error() -> None:
    def fail(_: Training) -> None:
        raise KeyboardInterrupt

    model = build_model("linear", (20,), 4, seed=0)
    with pytest.raises(KeyboardInterrupt):
        train(model, DATA, LW(), Settings(epochs=1, batch_size=16), on_epoch=fail)
    assert torch.get_num_threads() == 2
