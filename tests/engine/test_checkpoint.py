"""When a run is written, what marks it, and what it refuses to go on from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from amongst.algorithms import CC, LW
from amongst.errors import InputError
from amongst.estimators import CCClassifier, load
from amongst.train import Features, Settings, Training, start, train, training_data
from amongst.train import checkpoint as module
from amongst.train.checkpoint import (
    Keeper,
    Pause,
    fingerprint,
    kept_seed,
    load_checkpoint,
    save_checkpoint,
)

SETS = [{0, 1}, {1}, {2}, {0, 2}]
SETTINGS = Settings(epochs=2, batch_size=4, schedule="constant")
DATA = training_data(Features.of(np.eye(4)), SETS)


class Clock:
    """In place of the module `time`."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def fresh(method: CC | LW | None = None) -> Training:
    torch.manual_seed(0)
    return start(nn.Linear(4, 3), DATA, method or CC(), SETTINGS)


def test_a_pause_is_as_long_as_the_share_asks(clock: Clock) -> None:
    """Saving took 2 s; at a twentieth of the time 38 s of work belong to it."""
    pause = Pause()
    assert pause.over()
    with pause:
        clock.now += 2
    for seconds, over in ((0, False), (37, False), (39, True)):
        clock.now = 102.0 + seconds
        assert pause.over() is over


def test_a_keeper_writes_every_few_seconds(clock: Clock, tmp_path: Path) -> None:
    path = tmp_path / "run"
    keeper = Keeper(path, every=2.0, share=1.0)
    for now, written in ((101.5, False), (102.0, True), (103.5, False), (104.0, True)):
        clock.now = now
        keeper(fresh())
        assert path.exists() is written
        path.unlink(missing_ok=True)


def test_a_keeper_that_writes_slowly_writes_less_often(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def slow(*_: object) -> None:
        written.append(clock.now)
        clock.now += 10

    monkeypatch.setattr(module, "save_checkpoint", slow)
    keeper = Keeper(tmp_path / "run", share=0.25)
    for now in (103.0, 142.0, 144.0):  # 10 s of writing to 30 s of work
        clock.now = now
        keeper(fresh())
    assert written == [103.0, 144.0]


def test_a_keeper_of_memory_writes_nothing_and_has_nothing_at_first(clock: Clock) -> None:
    keeper, state = Keeper(), fresh()
    assert not keeper.restore(state)
    clock.now += 1000
    keeper(state)
    keeper.write(state)
    assert keeper.restore(state)


def test_what_a_run_depends_on_marks_it() -> None:
    torch.manual_seed(0)
    model, other = nn.Linear(4, 3), nn.Linear(4, 3)
    values = DATA.features.values
    moved = [Features(values, shift=torch.ones(1)), Features(values, scale=torch.ones(1))]
    marks = [
        fingerprint(DATA, CC(), SETTINGS),
        fingerprint(DATA, CC(), SETTINGS, model),
        fingerprint(DATA, CC(), SETTINGS, other),
        fingerprint(DATA, LW(), SETTINGS),
        fingerprint(DATA, CC(), replace(SETTINGS, lr=1.0)),
        fingerprint(training_data(DATA.features, [{0}, {1}, {2}, {0, 2}]), CC(), SETTINGS),
        *(fingerprint(training_data(features, SETS), CC(), SETTINGS) for features in moved),
    ]
    assert len(set(marks)) == len(marks)
    assert {mark.partition("-")[0] for mark in marks} == {"0"}
    assert fingerprint(DATA, CC(), replace(SETTINGS, seed=7)).startswith("7-")
    assert fingerprint(DATA, CC(), SETTINGS, model) == marks[1]


@pytest.mark.parametrize(
    ("method", "schedule", "counts"),
    [
        (CC(), "constant", False),
        (CC(), "cosine", True),
        (LW(fade=0.5), "constant", True),
        (LW(fade=0.5), "cosine", True),
    ],
)
def test_the_number_of_epochs_counts_where_it_changes_the_first(
    method: CC | LW, schedule: str, counts: bool
) -> None:
    settings = replace(SETTINGS, schedule=schedule)
    longer = replace(settings, epochs=9)
    assert (fingerprint(DATA, method, settings) != fingerprint(DATA, method, longer)) is counts


def test_fewer_epochs_than_are_done_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    done = fresh()
    save_checkpoint(path, train(done.model, DATA, CC(), SETTINGS, training=done), "3-a")
    with pytest.raises(InputError, match="has 2 epochs, and epochs=1 asks for fewer"):
        load_checkpoint(path, fresh(), "3-a", epochs=1)
    for epochs in (2, 3, None):
        state = fresh()
        load_checkpoint(path, state, "3-a", epochs=epochs)
        assert (state.epoch, len(state.records)) == (2, 2)
        assert torch.equal(state.model.weight, done.model.weight)  # type: ignore[arg-type]


@pytest.mark.parametrize(("mark", "seed"), [("12-a", 12), ("", None), ("a-1", None)])
def test_the_seed_of_a_kept_run_is_read_from_its_mark(
    tmp_path: Path, mark: str, seed: int | None
) -> None:
    assert kept_seed(tmp_path / "run") is None
    save_checkpoint(tmp_path / "run", fresh(), mark)
    assert kept_seed(tmp_path / "run") == seed


def test_weights_come_back_as_they_were(tmp_path: Path) -> None:
    state = fresh(LW())
    assert state.weights is not None
    state.weights.add_(torch.arange(12.0).view(4, 3))
    save_checkpoint(tmp_path / "run", state)
    again = fresh(LW())
    load_checkpoint(tmp_path / "run", again)
    assert torch.equal(again.weights, state.weights)  # type: ignore[arg-type]
    assert again.epoch == 0


@pytest.mark.parametrize("random_state", [None, 0])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere/run", "the folder '.*nowhere' does not exist; make it first"),
        ("", "is a folder; name a file in it"),
        (3, "checkpoint=3 must be the path of a file, or None"),
    ],
)
def test_a_mistake_in_the_path_does_not_cost_the_training(
    tmp_path: Path, name: str | int, said: str, random_state: int | None
) -> None:
    """It was found out when the run was to be written, and a folder was no file."""
    place = tmp_path / name if isinstance(name, str) else name
    network: list[nn.Module] = []

    def build(shape: tuple[int, ...], k: int) -> nn.Module:
        network.append(nn.Linear(*shape, k))
        network[-1].register_forward_hook(lambda *_: pytest.fail("it trains"))
        return network[-1]

    model = CCClassifier(model=build, checkpoint=place, random_state=random_state, epochs=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=said):
        model.fit(np.eye(4), SETS)


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; name a file"):
        load(tmp_path)
