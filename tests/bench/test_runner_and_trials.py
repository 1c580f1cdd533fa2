"""Trials and runners: one answer in every engine, true labels only where they may be."""

from __future__ import annotations

import os
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from rich.console import Console

import amongst
from amongst.accel.population import alone
from amongst.bench import execute_population
from amongst.bench import runner as runner_module
from amongst.bench.execute import LocalExecutor
from amongst.bench.execute_population import PopulationExecutor, group_trials, run_together
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.points import CLASSICAL
from amongst.bench.record import Record, Trial
from amongst.bench.runner import _Bar, bind_plan, run_plan
from amongst.bench.sources import OwnFile, open_dataset, trial_data
from amongst.bench.store import Store
from amongst.bench.trial import _revision, run_trial
from amongst.candidates import uniform
from amongst.errors import InputError
from amongst.theory import auto_beta
from amongst.train import Checkpoint

SMALL = {"epochs": 3, "batch_size": 64, "widths": "16", "validation": 0.1}


def trial(method: str = "cc", condition: str = "q=0.3", seed: int = 0, **settings: object) -> Trial:
    return Trial("digits", condition, method, "mlp", seed, settings=SMALL | settings)  # type: ignore[arg-type]


def tiny(**options: object) -> Plan:
    request = Request("demo", methods=("cc",), conditions=("q=0.1",), seeds=3, epochs=1, **options)
    return bind_plan(make_plan(request))


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    """Three blobs with candidate sets, some rows ambiguous, and the truth in a column."""
    rng = np.random.default_rng(0)
    truth = np.arange(90) % 3
    x = rng.normal(size=(90, 2)) + 4 * np.eye(3)[truth][:, :2]
    sets = uniform(truth, 0.4, seed=1)
    lines = ["a,b,labels,true"]
    for row, labels, y in zip(x, sets.to_lists(), truth, strict=True):
        lines.append(f"{row[0]:.4f},{row[1]:.4f},{'|'.join(f'c{z}' for z in labels)},c{y}")
    path = tmp_path / "blobs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_trial_can_be_run_again_to_the_last_digit() -> None:
    first, second = run_trial(trial()), run_trial(trial())
    assert (first.metrics, first.curves) == (second.metrics, second.curves)


def test_a_trial_that_goes_alone_is_saved_on_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ConvNets do: stopped in its second epoch, it goes on there, to the numbers of one stretch."""
    monkeypatch.setattr(execute_population, "_alone", lambda trial: True)
    monkeypatch.setattr(alone, "SECONDS", 0.0)
    monkeypatch.setattr(alone, "Checkpoint", partial(Checkpoint, share=1.0))
    seen: list[str] = []

    def stop(text: str) -> None:
        seen.append(text)
        if len(seen) == 2:
            raise KeyboardInterrupt

    chosen = trial("lw-sigmoid")
    with pytest.raises(KeyboardInterrupt):
        run_together([chosen], scratch=tmp_path, notice=stop)
    assert list(tmp_path.rglob("*.amongst"))
    at_once = SimpleNamespace(perf_counter=lambda: 0.0)
    monkeypatch.setattr(execute_population, "time", at_once)
    (record,) = run_together([chosen], scratch=tmp_path, notice=seen.append)
    assert record.seconds > 0.0  # epochs before the stop count
    assert [text.split(",")[1].strip() for text in seen] == ["33%", "67%", "100%"]
    whole = run_trial(chosen)
    assert record.metrics == pytest.approx(whole.metrics, abs=1e-6)
    assert not list(tmp_path.iterdir())


def test_members_of_a_population_have_the_same_rows() -> None:
    """A long tail leaves other rows for each seed."""
    conditions = ("q=0.3", "q=0.5", "q=0.5 rho=10")
    trials = [trial("cc", c, s) for c in conditions for s in (0, 1)]
    groups = group_trials(trials)
    assert [len(group) for group in groups] == [4, 1, 1]
    for group in groups:
        rows = [trial_data(member).features.values for member in group]
        assert all(torch.equal(rows[0], other) for other in rows)


def test_data_that_a_method_refuses_become_a_record_and_the_others_go_on() -> None:
    """In sets of nearly all labels PL-ECOC finds no row that tells two halves of them apart."""
    settings = {"validation": 0.0}
    refused = run_trial(Trial("digits", "q=0.95", "plecoc", "", 0, settings=settings))
    assert refused.failed
    assert refused.error.startswith("refused: ")
    assert not run_trial(Trial("digits", "q=0.3", "plecoc", "", 0, settings=settings)).failed


def test_methods_of_one_seed_see_the_same_rows_and_sets_and_seeds_do_not() -> None:
    one, other, next_seed = (trial_data(t) for t in (trial("cc"), trial("rc"), trial(seed=1)))
    assert one is other
    assert one.sets != next_seed.sets
    np.testing.assert_array_equal(one.test_labels, next_seed.test_labels)


def test_held_out_rows_are_trained_on_by_nobody() -> None:
    data = trial_data(trial())
    assert set(data.kept).isdisjoint(data.held)
    assert len(data.kept) + len(data.held) == len(data.features) == len(data.sets)
    assert len(data.held) == round(0.1 * len(data.features))


def test_folds_are_a_partition_and_scaled_by_their_training_rows(own_file: Path) -> None:
    files = {"blobs": OwnFile(str(own_file), (("candidates", "labels"), ("truth", "true")))}
    tests = []
    for fold in range(3):
        settings = {"folds": 3, "validation": 0.0}
        data = trial_data(Trial("blobs", "real", "cc", "linear", 0, fold, settings), files)
        tests += data.test.values.tolist()
        assert len(data.features) == 60
        np.testing.assert_allclose(data.features.values.mean(0), 0, atol=1e-5)
        np.testing.assert_allclose(data.features.values.std(0, correction=0), 1, atol=1e-4)
    assert len(tests) == 90


def test_without_a_validation_part_there_is_nothing_to_choose_by() -> None:
    record = run_trial(trial(validation=0.0))
    assert set(record.metrics) == {"accuracy_final", "accuracy_last10"}


def test_own_data_without_true_labels_is_scored_by_its_candidates(own_file: Path) -> None:
    files = {"blobs": OwnFile(str(own_file), (("candidates", "labels"), ("ignore", ("true",))))}
    asked = Trial("blobs", "real", "cc", "linear", 0, 0, SMALL | {"folds": 3})
    record = run_trial(asked, files=files)
    assert "accuracy_final" not in record.metrics
    assert "accuracy_val" not in record.metrics
    assert {"approximated_test_last10", "covering_test", "covering_val"} <= set(record.metrics)
    with pytest.raises(InputError, match="makes candidate sets from true labels"):
        trial_data(Trial("blobs", "q=0.1", "cc", "linear", 0, 0, {"folds": 3}), files)


def test_real_candidates_must_be_there() -> None:
    with pytest.raises(InputError) as refused:
        run_trial(trial(condition="real"))
    assert refused.value.code == "no-candidates"


def test_a_worker_with_other_data_refuses() -> None:
    with pytest.raises(InputError, match="differ from those of the plan"):
        run_trial(trial().with_data("0" * 64))
    assert run_trial(trial().with_data(open_dataset("digits").digest)).metrics


def test_beta_auto_is_worked_out_from_the_training_sets_and_recorded() -> None:
    asked = trial("lw-cross_entropy", beta="auto")
    data = trial_data(asked)
    expected = auto_beta(data.sets[data.kept], "cross_entropy")
    assert run_trial(asked).metrics["beta"] == pytest.approx(expected)


@pytest.mark.parametrize("method", sorted(CLASSICAL))
def test_methods_without_a_network_run_through_the_same_door(method: str, own_file: Path) -> None:
    files = {"blobs": OwnFile(str(own_file), (("candidates", "labels"), ("truth", "true")))}
    brief = {"budget": "5s"} if method == "auto" else {}
    asked = Trial("blobs", "real", method, "-", 0, 0, {"folds": 3, "validation": 0.1} | brief)
    record = run_trial(asked, files=files)
    assert record.metrics["accuracy_final"] > 0.5
    assert 0 < record.metrics["approximated_val"] <= 1


def test_a_run_that_diverges_is_a_record_in_both_engines() -> None:
    asked = trial("lw-cross_entropy", lr=1e30, beta=1.0)
    (stacked,) = PopulationExecutor("cpu", workers=1).map([asked])
    for record in (run_trial(asked), stacked):
        assert record.failed
        assert "epoch" in record.error
        assert not record.metrics


def test_a_population_gives_the_records_of_the_single_engine() -> None:
    methods = ("rc", "cc", "proden", "lw-sigmoid", "lw-cross_entropy")
    trials = [
        trial(method, condition, seed)
        for method in methods
        for condition, seed in (("q=0.1", 0), ("case 3", 1))
    ]
    assert [len(group) for group in group_trials(trials)] == [10]
    stacked = {r.key: r for r in PopulationExecutor("cpu", workers=1).map(trials)}
    for asked in trials:
        alone, together = run_trial(asked), stacked[asked.key]
        assert (alone.engine, together.engine) == ("local", "population")
        assert alone.key == together.key
        assert set(alone.metrics) == set(together.metrics)
        for name, curve in alone.curves.items():
            np.testing.assert_allclose(together.curves[name], curve, atol=5e-3)


def test_a_population_tells_how_it_is_doing_and_tidies_up(tmp_path: Path) -> None:
    said: list[str] = []
    executor = PopulationExecutor("cpu", workers=1, scratch=tmp_path / "s")
    executor.notice = said.append
    trials = [trial(seed=seed, epochs=12) for seed in range(2)]
    found = list(executor.map(trials))
    executor.close()
    assert [r.metrics for r in found] == [
        r.metrics for r in PopulationExecutor("cpu", workers=1).map(trials)
    ]
    assert said[-1].startswith("2 models together, 100%")
    assert not list(tmp_path.iterdir())


def test_a_population_that_was_stopped_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    epochs: list[str] = []

    def stop(words: str) -> None:
        epochs.append(words)
        if len(epochs) == 15:
            raise Stopped

    trials = [trial(seed=seed, epochs=20) for seed in range(2)]
    executor = PopulationExecutor("cpu", workers=1, scratch=tmp_path / "s")
    executor.notice = stop
    with pytest.raises(Stopped):
        list(executor.map(trials))
    later: list[str] = []
    executor.notice = later.append
    resumed = [r.metrics for r in executor.map(trials)]
    assert len(later) == 10, "it went on from epoch 10"
    assert resumed == [r.metrics for r in PopulationExecutor("cpu", workers=1).map(trials)]


def test_workers_in_processes_give_what_one_process_gives() -> None:
    trials = [trial(seed=seed) for seed in range(3)]
    one = {r.key: r.metrics for r in LocalExecutor("cpu", workers=1).map(trials)}
    two = {r.key: r.metrics for r in LocalExecutor("cpu", workers=2).map(trials)}
    assert one == two


def test_a_second_runner_says_that_it_waits_and_goes_on_when_the_first_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "POLL_SECONDS", 0.01)
    plan, events = tiny(), []
    with Store(tmp_path / "s.sqlite") as first, Store(tmp_path / "s.sqlite") as second:
        assert len(first.claim([t.key for t in plan.trials])) == 3

        def report(event: str, record: Record | None) -> None:
            events.append(event)
            if event.startswith("waiting") and len(events) == 2:
                first.release()

        outcome = run_plan(plan, second, LocalExecutor("cpu", workers=1), report=report)
    assert outcome.ran == 3
    assert events[0].startswith("waiting for 3 trials that")
    assert events[-3:] == ["done"] * 3


def test_a_record_of_another_runner_counts_as_shared(tmp_path: Path) -> None:
    plan = tiny()
    with Store(tmp_path / "s.sqlite") as store:

        class Meddling(LocalExecutor):
            chunk = 1

            def map(self, trials):  # type: ignore[no-untyped-def]
                store.add(Record(plan.trials[2]))
                yield from super().map(trials)

        executor = Meddling("cpu", workers=1)
        executor.chunk = 2
        outcome = run_plan(plan, store, executor)
    assert (outcome.trials, outcome.had, outcome.ran, outcome.shared) == (3, 0, 2, 1)


def test_the_bar_counts_what_another_runner_adds(tmp_path: Path) -> None:
    """It ended at 16/24 where the other runner had added eight."""
    plan, said = tiny(), StringIO()
    with Store(tmp_path / "s.sqlite") as store, _Bar(plan, store, Console(file=said)) as bar:
        store.add(Record(plan.trials[0]))
        bar("waiting for 2 trials", None)
        assert bar.progress.tasks[0].completed == 1
        store.add_all(Record(trial) for trial in plan.trials)
    assert "3/3" in said.getvalue()


def test_data_that_cannot_be_had_is_an_absence_and_the_rest_goes_on() -> None:
    request = Request("compare", datasets=("digits", "nowhere"), conditions=("q=0.1",), folds=3)
    files = {"nowhere": OwnFile("/nonexistent/nowhere.csv")}
    plan = bind_plan(make_plan(request), files)
    assert {cell.slot.dataset for cell in plan.cells if cell.absent} == {"nowhere"}
    assert {t.dataset for t in plan.trials} == {"digits"}
    assert all("nowhere.csv" in cell.absent for cell in plan.cells if cell.absent)


def test_the_heart_beats_while_a_trial_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "BEAT_SECONDS", 0.01)
    plan, beats = tiny(), set()
    with Store(tmp_path / "s.sqlite") as store, Store(tmp_path / "s.sqlite") as looking:

        class Slow(LocalExecutor):
            def map(self, trials):  # type: ignore[no-untyped-def]
                for _ in range(500):
                    rows = looking._connection.execute("SELECT max(alive) FROM claims")
                    beats.add(rows.fetchone()[0])
                    if len(beats) > 2:
                        break
                    runner_module.time.sleep(0.01)
                yield from super().map(trials)

        run_plan(plan, store, Slow("cpu", workers=1))
    assert len(beats) > 2


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_what_git_says_beside_the_revision_need_not_be_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning that names a folder, in another encoding than the locale's."""
    (tmp_path / ".git").mkdir()
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\nprintf '\\377' >&2\necho 0123abc\n", "utf-8")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(amongst, "__file__", str(tmp_path / "src" / "amongst" / "__init__.py"))
    assert _revision.__wrapped__() == "0123abc"
