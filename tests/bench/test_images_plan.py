"""The plan of images: laws of sets, cells, and trials of deep algorithms from beginning to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from amongst.algorithms._base import hyper_parameters
from amongst.bench import read_records, sources, underway
from amongst.bench import sources as plausible_module
from amongst.bench import trial as trial_module
from amongst.bench.conditions import check_condition
from amongst.bench.estimate import dataset_facts, trial_seconds
from amongst.bench.execute_population import group_trials, run_together
from amongst.bench.paper import IMAGE_PLANS, PLAN_TITLES
from amongst.bench.places import Place, lay_out
from amongst.bench.plans import Request, make_plan
from amongst.bench.points import TRAINING, method_class, published_point
from amongst.bench.record import Trial
from amongst.bench.sources import plausible, trial_data
from amongst.bench.trial import run_trial
from amongst.cli.app import app
from amongst.cli.bench import PlanName
from amongst.data import Dataset
from amongst.errors import InputError
from amongst.models import MODELS
from amongst.train import Checkpoint, Features, Watch

PLANS = sorted(IMAGE_PLANS)


@pytest.mark.parametrize(
    ("typed", "spelt"),
    [
        ("Q=.50", "q=0.5"),
        ("q=1e-3", "q=0.001"),
        ("q=.5 eta=.20 rho=1e2", "q=0.5 eta=0.2 rho=100"),
        ("q=0.5 eta=0 rho=1", "q=0.5"),
        ("case2rho=10", "case 2 rho=10"),
        ("instance .4", "instance=0.4"),
        ("real", "real"),
    ],
)
def test_a_condition_has_one_spelling(typed: str, spelt: str) -> None:
    assert check_condition(typed) == spelt == check_condition(spelt)


@pytest.mark.parametrize(
    "typed",
    ["", "q=", "q=1.5", "q=-1", "q=nan", "q=.5 rho=.5", "q=0 eta=1", "case 4", "case 1 eta=.1",
     "instance=2", "real rho=10", "eta=.1"],
)  # fmt: skip
def test_what_is_no_condition_is_refused(typed: str) -> None:
    with pytest.raises(InputError) as refused:
        check_condition(typed)
    assert (refused.value.argument, refused.value.code) == ("condition", "unknown")


def test_a_long_tail_leaves_rows_of_the_training_part_alone() -> None:
    whole, few = (trial_data(Trial("digits", c, "cc", "mlp", 0)) for c in ("q=0.5", "q=0.5 rho=10"))
    assert few.truth is not None
    counts = np.bincount(few.truth)
    assert (np.diff(counts) <= 0).all()
    assert counts[0] / counts[-1] == pytest.approx(10, rel=0.1)
    assert len(few.features) == len(few.sets) == len(few.truth) == len(few.kept)
    assert few.sets.contains(few.truth).all()
    assert torch.equal(few.test.values, whole.test.values)
    rows = {tuple(row) for row in whole.features.values.flatten(1).tolist()}
    assert {tuple(row) for row in few.features.values.flatten(1).tolist()} <= rows


def test_sets_by_what_a_classifier_finds_plausible_are_those_of_its_law(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn 50 times, each label is a candidate as often as min(1, 0.4 p / mean p) says."""
    monkeypatch.setenv("AMONGST_CACHE", str(tmp_path))
    data = [trial_data(Trial("digits", "instance=0.4", "cc", "mlp", s)) for s in range(50)]
    truth = data[0].truth
    assert truth is not None
    p = plausible(data[0].features, truth, 10, key="").copy()
    p[np.arange(len(p)), truth] = 0
    rates = np.minimum(1, 0.4 * p / p.mean(1, keepdims=True))
    rates[np.arange(len(p)), truth] = 1
    seen = np.mean([d.sets.to_mask() for d in data], axis=0)
    assert np.abs(seen - rates).mean() < 0.04
    assert np.abs(seen - rates).max() < 0.4  # 6 standard deviations


def test_what_is_plausible_is_kept_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMONGST_CACHE", str(tmp_path))
    features, labels = Features(torch.eye(4)), np.array([0, 1, 0, 1])
    first = plausible(features, labels, 2, key="k")
    monkeypatch.setattr(plausible_module, "_trained", lambda *_: pytest.fail("trained again"))
    np.testing.assert_array_equal(plausible(features, labels, 2, key="k"), first)


def test_every_condition_has_a_column_and_a_nearest_setting() -> None:
    typed = ("q=0.5 rho=100", "q=0.5 eta=0.2", "real", "q=0.7", "q=0.1")
    layout = lay_out(Place("cifar10", c, "cc", "fastnet") for c in typed)
    assert layout.columns == ("q=0.1", "q=0.7", "q=0.5 eta=0.2", "q=0.5 rho=100", "real")
    near = published_point("cifar10", "q=0.5 eta=0.2", "lw-sigmoid", "convnet")
    assert near is not None
    assert "q=0.5" in near.note


@pytest.mark.parametrize("name", PLANS)
def test_every_cell_of_an_image_plan_is_there_once_with_three_seeds(name: str) -> None:
    plan = make_plan(Request(name))
    assert set(Counter(plan.places).values()) == {1}
    assert {cell.repeats for cell in plan.cells} == {3}
    assert len(plan.trials) == 3 * len(plan.cells)
    assert plan.report == "accuracy_final"


@pytest.mark.parametrize("name", PLANS)
def test_every_setting_of_an_image_plan_is_read_by_something(name: str) -> None:
    for trial in make_plan(Request(name)).trials:
        kind = method_class(trial.method)
        assert kind is not None
        read = {*TRAINING, *hyper_parameters(kind), "augment", "tta", "validation", "widths"}
        assert set(trial.settings) <= read
        assert trial.settings["validation"] == 0
        assert trial.model in MODELS


def test_all_are_trained_alike_but_for_what_is_their_own() -> None:
    shared = {
        tuple((n, v) for n, v in trial.settings.items() if n in (*TRAINING, "augment", "tta"))
        for trial in make_plan(Request("images")).trials
    }
    assert len(shared) == 1


def test_a_command_may_shorten_an_image_plan_and_name_its_precision() -> None:
    asked = Request("images", conditions=("q=.5",), methods=("pico",), epochs=4, precision="bf16")
    (cell,) = make_plan(asked).cells
    assert {(t.settings["epochs"], t.settings["precision"]) for t in cell.trials} == {(4, "bf16")}
    assert cell.note == ""


@pytest.mark.parametrize("option", [{"search": "grid"}, {"search": "equal"}, {"refit": True}])
def test_a_search_of_what_an_image_plan_fixes_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(InputError) as refused:
        Request("images", **option)
    assert (refused.value.argument, refused.value.code) == (*option, "no-sense")


def test_an_image_plan_takes_about_as_long_as_was_measured() -> None:
    """80 epochs of two views took a minute on one H200, by the script that the recipe is from."""
    (trial, *_) = make_plan(Request("images", conditions=("q=0.5",), methods=("lw-views",))).trials
    assert 30 < trial_seconds(trial, dataset_facts("cifar10"), "population") < 120


@pytest.fixture
def few_images(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In place of CIFAR-10: 120 small images in three colours of noise, 60 of them to train on."""
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 3
    x = rng.integers(0, 120, (120, 3, 8, 8)) + 100 * np.eye(3, dtype=int)[labels][..., None, None]
    made = Dataset("cifar10", x.astype(np.uint8), labels, None, 60, ("r", "g", "b"), "channel")
    monkeypatch.setattr(sources, "_opened", lambda source: made)
    caches = (sources._scaled, sources._trial_data)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def small(method: str, **settings: object) -> Trial:
    asked = Request("images", conditions=("q=0.5",), methods=(method,), epochs=3, seeds=1)
    (trial,) = make_plan(asked).trials
    less = {"widths": "4-8-8", "batch_size": 30, "lr": 0.3} | settings
    return replace(trial, settings=dict(trial.settings) | less)


@pytest.mark.parametrize("method", ["lw-views", "cc", "mean-teacher"])
def test_an_image_trial_tells_accuracy_rows_found_and_seconds(
    few_images: None, method: str
) -> None:
    record = run_trial(small(method))
    assert not record.failed
    assert {"accuracy_final", "accuracy_plain", "accuracy_train", "training_seconds"} <= set(
        record.metrics
    )
    assert len(record.curves["accuracy_test"]) == 3
    assert (
        record.metrics["accuracy_train"] > 0.5
    )  # a candidate at random is right in half of the rows
    assert 0 < record.metrics["training_seconds"] <= record.seconds


def test_views_are_made_of_pixels_from_0_to_1(few_images: None) -> None:
    views, plain = (trial_data(t) for t in (small("cc"), Trial("cifar10", "q=0.5", "cc", "mlp", 0)))
    seen = views.features.batch(slice(None))
    assert (float(seen.min()), float(seen.max())) == (0.0, pytest.approx(219 / 255))
    assert plain.features.batch(slice(None)).mean().abs() < 1e-5


def test_an_engine_of_populations_leaves_an_image_trial_to_itself(few_images: None) -> None:
    trials = [small("lw-views"), small("cc")]
    assert group_trials(trials) == [[trial] for trial in trials]
    (together,) = run_together([trials[0]])
    alone = run_trial(trials[0])
    assert together.engine == "local"
    assert together.curves == alone.curves


def test_an_image_trial_that_was_killed_goes_on_bit_for_bit(
    few_images: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = small("lw-views", belief="teacher", averaged=0.5)
    whole = run_trial(chosen)
    monkeypatch.setattr(underway, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(underway, "Checkpoint", partial(Checkpoint, share=1.0))
    real, seen = trial_module.watch_test, []

    def stops(*given: object) -> list[Watch]:
        (watch,) = real(*given)  # type: ignore[arg-type]

        def measure(scores: torch.Tensor) -> object:
            seen.append(1)
            if len(seen) == 3:
                raise KeyboardInterrupt
            return watch.measure(scores)

        return [replace(watch, measure=measure)]

    with monkeypatch.context() as once:
        once.setattr(trial_module, "watch_test", stops)
        with pytest.raises(KeyboardInterrupt):
            run_trial(chosen, scratch=tmp_path)
    assert list(tmp_path.glob("*.amongst"))
    again = run_trial(chosen, scratch=tmp_path)
    assert again.curves == whole.curves
    timeless = [
        {n: v for n, v in r.metrics.items() if n != "training_seconds"} for r in (again, whole)
    ]
    assert timeless[0] == timeless[1]
    assert not list(tmp_path.iterdir())


def test_the_command_runs_a_miniature_of_an_image_plan(tmp_path: Path) -> None:
    store = str(tmp_path / "s.sqlite")
    words = ["--quick", "--methods", "lw-views", "--conditions", "q=0.5 rho=100", "--epochs", "1"]
    assert {plan.value for plan in PlanName} == set(PLAN_TITLES)
    done = CliRunner().invoke(
        app, ["reproduce", "images", *words, "--store", store, "--seeds", "1"]
    )
    assert done.exit_code == 0, done.output
    assert "LW with views" in done.output
    assert "those of the plan" in done.output
    (record,) = read_records(store)
    assert record.trial.condition == "q=0.5 rho=100"
