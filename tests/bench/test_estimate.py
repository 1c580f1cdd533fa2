"""What a plan will cost, multiplied out by hand from the measured rates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from amongst.bench import Record, Trial
from amongst.bench.estimate import RATES, Estimate, Facts, dataset_facts, estimate, trial_seconds

FACTS = Facts(rows=1050, shape=(10,), classes=3, size=84_000)
SETTINGS: dict[str, Any] = {"epochs": 10, "batch_size": 100, "widths": "20-5"}
TRIAL = Trial("lost", "real", "cc", "mlp", 0, 0, SETTINGS)
FLOPS = 6 * (10 * 20 + 20 * 5 + 5 * 3)


@pytest.mark.parametrize("way", ["cpu", "cuda", "population"])
def test_seconds_are_steps_and_operations(way: str) -> None:
    step, speed = RATES[way, "mlp"]
    steps, work = 11 * step, 1050 * FLOPS / speed
    assert trial_seconds(TRIAL, FACTS, way) == pytest.approx(10 * (steps + work), rel=1e-12)
    longer = 10 * (steps + work * 4 / 3)
    assert trial_seconds(replace(TRIAL, method="rc"), FACTS, way) == pytest.approx(
        longer, rel=1e-12
    )
    post = replace(TRIAL, settings=SETTINGS | {"refresh": "post"})
    assert trial_seconds(post, FACTS, way) == pytest.approx(longer, rel=1e-12)


def test_a_linear_model_has_no_widths_and_a_convnet_no_population() -> None:
    step, speed = RATES["cpu", "linear"]
    expected = 10 * (11 * step + 1050 * 6 * 30 / speed)
    assert trial_seconds(replace(TRIAL, model="linear"), FACTS, "cpu") == pytest.approx(expected)
    conv = replace(TRIAL, model="convnet")
    assert trial_seconds(conv, FACTS, "population") == trial_seconds(conv, FACTS, "cuda")


def test_without_settings_250_epochs_in_batches_of_256_are_meant() -> None:
    bare = replace(TRIAL, settings={"widths": "20-5"})
    said = replace(TRIAL, settings=SETTINGS | {"epochs": 250, "batch_size": 256})
    assert trial_seconds(bare, FACTS, "cpu") == trial_seconds(said, FACTS, "cpu")


def test_methods_without_a_network_grow_with_the_rows_alone() -> None:
    ipal = Trial("lost", "real", "ipal", "-", 0, 0)
    assert trial_seconds(ipal, replace(FACTS, rows=4000), "cpu") == 24.0


def test_facts_of_the_catalogue() -> None:
    """Images are bytes, with test rows of their own; numbers of a table take eight, and a fold tests."""
    assert dataset_facts("mnist") == Facts(60_000, (28, 28), 10, 70_000 * 784)
    lost = dataset_facts("lost")
    assert (lost.kept, lost.classes) == (1122 - 1122 // 5, 16)
    assert lost.size == 1122 * lost.inputs * 8


def timed(seconds: float, **more: Any) -> Record:
    return Record(replace(TRIAL, seed=9), seconds=seconds, **({"device": "cpu"} | more))


def test_like_trials_of_the_store_give_the_time_of_an_epoch() -> None:
    other = [timed(1e6, device="NVIDIA H200"), timed(1e6, engine="population"),
             timed(1e6, error="diverged"), replace(timed(1e6), trial=replace(TRIAL, method="rc"))]  # fmt: skip
    found = estimate([TRIAL], [timed(20.0), timed(40.0), *other])
    assert found.seconds == 10 * (2.0 + 4.0) / 2
    assert (found.trials, found.done, found.measured, found.later) == (1, 0, 1, 0)
    assert estimate([TRIAL], other).measured == 0


def test_workers_share_the_work_but_not_a_trial() -> None:
    trials = [replace(TRIAL, seed=seed) for seed in range(3)]
    slow = replace(TRIAL, seed=3, settings=SETTINGS | {"epochs": 100})
    known = [timed(20.0)]
    assert estimate(trials, known, workers=2).seconds == 30.0
    assert estimate([*trials, slow], known, workers=4).seconds == 200.0
    done = replace(known[0], trial=trials[0])
    found = estimate(trials, [*known, done], later=[slow])
    assert (found.trials, found.done, found.later, found.measured) == (4, 1, 1, 3)
    assert found.seconds == 20 + 20 + 200
    assert estimate([trials[0]], [done]) == Estimate(1, 1, 0.0, 0, 0, 0)


def test_memory_is_data_and_networks_for_each_worker_or_member() -> None:
    facts = dataset_facts("lost")
    parameters = facts.inputs * 20 + 20 * 5 + 5 * 16
    own = 16 * parameters + facts.kept * (4 * 16 + 12)
    assert estimate([TRIAL], members=7).memory == 3 * facts.size + 7 * own
    assert estimate([TRIAL], workers=2).memory == 2 * (3 * facts.size + own)
    conv = replace(TRIAL, model="convnet")
    single = 3 * facts.size + 16 * 4_400_000 + facts.kept * 76
    assert estimate([conv], way="cuda", members=7).memory == single
    ipal = Trial("lost", "real", "ipal", "-", 0, 0)
    assert estimate([ipal]).memory == 2 * facts.size + 8 * facts.kept**2


def test_an_estimate_says_what_is_known_and_what_may_come() -> None:
    plain = Estimate(5, 2, 600.0, 3 * 2**29, 1)
    assert str(plain) == (
        "5 trials, 2 in the store, 3 to run, 1 of them timed by like ones in the store; about "
        "10.0 min and 1.5 GiB"
    )
    assert str(replace(plain, measured=0, later=3)) == (
        "2 trials known by now, then at most 3 more; 2 in the store, at most 3 to run; at most about "
        "10.0 min and 1.5 GiB"
    )


def test_what_tries_methods_takes_its_budget() -> None:
    trial = replace(TRIAL, method="auto", settings={"budget": "1min"})
    assert trial_seconds(trial, FACTS, "cpu") == 60
