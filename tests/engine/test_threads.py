"""Small steps on a CPU are computed by one thread: the numbers are those of one, whatever the machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
import torch

from amongst.algorithms import LW
from amongst.estimators import ESTIMATORS
from amongst.models import build_model
from amongst.train import Features, Settings, Training, TrainingData
from amongst.train.loop import SHARED_FROM, start, step, train

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


def fits(names: list[str]) -> list[dict[str, torch.Tensor]]:
    """The weights after a fit of each, all at the same time."""
    found: dict[int, dict[str, torch.Tensor]] = {}

    def fit(at: int) -> None:
        features, mask = DATA.features.values.numpy(), DATA.inside.numpy()
        model = ESTIMATORS[names[at]](model="mlp", epochs=3, batch_size=16, random_state=at)
        found[at] = model.fit(features, mask).model_.state_dict()

    threads = [threading.Thread(target=fit, args=(at,)) for at in range(len(names))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[at] for at in range(len(names))]


def test_fits_in_threads_go_side_by_side() -> None:
    """They took turns, an epoch each: the second never came while the first was in its own."""
    meeting = threading.Barrier(2, timeout=60)
    errors: list[BaseException] = []

    def fit(seed: int) -> None:
        model, settings = build_model("mlp", (20,), 4, seed=seed), Settings(epochs=1)
        run = start(model, DATA, LW(), settings)

        def meet(rows: torch.Tensor) -> torch.Tensor:
            meeting.wait()
            return step(run, DATA, rows)

        try:
            train(model, DATA, LW(), settings, training=run, stepper=meet)
        except threading.BrokenBarrierError as error:
            errors.append(error)

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@pytest.mark.parametrize("names", [["LWClassifier", "PRODENClassifier", "CLPLClassifier"]])
def test_fits_in_threads_have_the_digits_of_fits_alone(names: list[str]) -> None:
    before = torch.get_rng_state()
    together = fits(names)
    assert torch.equal(torch.get_rng_state(), before)
    for at, name in enumerate(names):
        features, mask = DATA.features.values.numpy(), DATA.inside.numpy()
        alone = ESTIMATORS[name](model="mlp", epochs=3, batch_size=16, random_state=at)
        weights = alone.fit(features, mask).model_.state_dict()
        assert all(torch.equal(weights[part], together[at][part]) for part in weights)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_predicts_and_fits() -> None:
    """As where a web server loads the model, and then forks: OpenMP waited without end."""
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, check=False)
    assert done.stdout == b"hung: 0\n", done.stderr


FORKING = """
import os, signal, sys, torch, numpy as np
from amongst import LWClassifier
torch.set_num_threads(2)
torch.ones(1_000_000).sum()
X = np.random.default_rng(0).normal(size=(2000, 200))
options = {"model": "linear", "epochs": 1, "batch_size": 2000, "random_state": 0}
model = LWClassifier(**options).fit(X, ["a|b", "b"] * 1000)
found = model.predict(X)
if (child := os.fork()) == 0:
    signal.alarm(60)
    same = (model.predict(X) == found).all()
    model.fit(X, ["a|b", "b"] * 1000)
    os._exit(0 if same else 1)
print("hung:", os.waitpid(child, 0)[1])
"""
