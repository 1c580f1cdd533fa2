"""A long trial that is killed in its midst goes on from there, and says how far it is."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from amongst.bench import trial as trials
from amongst.bench import underway
from amongst.bench.execute import LocalExecutor, Options
from amongst.bench.execute_population import PopulationExecutor
from amongst.bench.plans import Request
from amongst.bench.record import Trial
from amongst.bench.runner import run_request
from amongst.bench.trial import run_trial
from amongst.bench.underway import UnderWay, clear_done, told, underway_of
from amongst.train.checkpoint import Pause

EPOCHS = 100
SETTINGS = {"epochs": EPOCHS, "batch_size": 256, "widths": "64", "validation": 0.1, "lr": 0.05}
TRIAL = Trial("digits", "q=0.3", "lw-sigmoid", "mlp", seed=1, settings=SETTINGS)

RUN = """
import json, sys
from pathlib import Path
from amongst.bench import underway
from amongst.bench.execute import LocalExecutor
from amongst.bench.record import Trial
underway.SAVE_SECONDS = 0.0
list(LocalExecutor("cpu", 1, None, Path(sys.argv[2])).map([Trial(**json.loads(sys.argv[1]))]))
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a real process left that was killed −9 when it had kept something."""
    folder = tmp_path_factory.mktemp("killed")
    given = {
        name: asdict(TRIAL)[name] for name in ("dataset", "condition", "method", "model", "seed")
    }
    command = [sys.executable, "-c", RUN, json.dumps(given | {"settings": SETTINGS}), str(folder)]
    kept = UnderWay(folder, TRIAL.key).checkpoint
    with subprocess.Popen(command) as process:
        while not kept.exists():
            assert process.poll() is None, "it ended before anything was kept"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    return folder


@pytest.fixture
def epochs_run(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Epochs that were trained in this process."""
    from amongst.train import loop

    seen: list[int] = []
    plain = loop.run_epoch

    def run_epoch(state: loop.Training, *rest: object) -> dict[str, float]:
        seen.append(state.epoch)
        return plain(state, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "run_epoch", run_epoch)
    return seen


def test_a_killed_trial_goes_on_to_the_same_digits(
    tmp_path: Path, killed: Path, epochs_run: list[int]
) -> None:
    whole = run_trial(TRIAL)
    assert epochs_run == list(range(EPOCHS))
    epochs_run.clear()
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    (record,) = LocalExecutor("cpu", 1, None, tmp_path).map([TRIAL])
    assert 0 < epochs_run[0] < EPOCHS
    assert (record.metrics, record.curves) == (whole.metrics, whole.curves)
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_by_other_software_or_broken_is_begun_anew(
    tmp_path: Path, killed: Path, monkeypatch: pytest.MonkeyPatch, epochs_run: list[int]
) -> None:
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(trials, "_revision", lambda: "another")
    run_trial(TRIAL, scratch=tmp_path)
    assert epochs_run[0] == 0
    epochs_run.clear()
    UnderWay(tmp_path, TRIAL.key).checkpoint.write_bytes(b"broken")
    run_trial(TRIAL, scratch=tmp_path)
    assert epochs_run[0] == 0


def test_seconds_before_the_kill_are_booked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(underway, "SAVE_SECONDS", 0.0)
    monkeypatch.setattr(Pause, "over", lambda pause: True)  # after every epoch
    monkeypatch.setattr(UnderWay, "forget", lambda place: None)
    first = run_trial(TRIAL, scratch=tmp_path)
    again = run_trial(TRIAL, scratch=tmp_path)  # all epochs are in the checkpoint
    assert again.seconds >= sum_of_epochs(tmp_path)
    assert again.metrics == first.metrics


def sum_of_epochs(folder: Path) -> float:
    from amongst.files import read_archive

    _, facts = read_archive(UnderWay(folder, TRIAL.key).checkpoint)
    assert facts["epoch"] == EPOCHS
    return float(sum(record["seconds"] for record in facts["records"]))


@pytest.mark.parametrize("workers", [1, 2])
def test_the_runner_is_told_how_far_its_workers_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr(underway, "TELL_SECONDS", 0.01)
    executor, words = LocalExecutor("cpu", workers, None, tmp_path), list[str]()
    executor.notice = words.append
    asked = [Trial("digits", "q=0.3", "cc", "mlp", seed, settings=SETTINGS) for seed in range(2)]
    assert len(list(executor.map(asked))) == 2
    told_of = [re.fullmatch(r"[12] trials? under way, (\d+)%", line) for line in words]
    assert told_of
    assert all(told_of)
    if workers == 1:  # in this process, which tells every moment
        assert max(int(found[1]) for found in told_of if found) > 50
    executor.close()
    assert not tmp_path.exists()


def test_the_runner_is_told_how_far_populations_in_other_processes_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(underway, "TELL_SECONDS", 0.01)
    executor, words = PopulationExecutor("cpu", 2, None, tmp_path), list[str]()
    executor.notice = words.append
    asked = [Trial("digits", "q=0.3", "cc", "mlp", 0, settings=SETTINGS | {"widths": widths})
             for widths in ("64", "32")]  # fmt: skip
    assert len(list(executor.map(asked))) == 2
    assert words
    assert all(re.fullmatch(r"[12] populations? under way, \d+%", line) for line in words)
    executor.close()
    assert not tmp_path.exists()


def test_a_share_is_written_at_most_once_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, now = UnderWay(tmp_path, TRIAL.key), iter((100.0, 100.5, 101.0))
    monkeypatch.setattr(underway, "time", SimpleNamespace(monotonic=lambda: next(now)))
    tell, seen = place.teller(), []
    for share in (0.1, 0.2, 0.3):
        tell(share)
        seen.append(place.share())
    assert seen == [0.1, 0.1, 0.3]


def test_what_trials_with_a_record_left_is_removed_and_the_rest_is_counted(tmp_path: Path) -> None:
    folder, done, cut = tmp_path / "underway", "0" * 64, "1" * 64
    assert clear_done(folder, {done}) == 0
    for key in (done, cut):
        UnderWay(folder, key).tell(0.5)
        UnderWay(folder, key).checkpoint.write_bytes(b"12345")
        (folder / key[:16]).mkdir()
        (folder / key[:16] / "cohort").write_bytes(b"1234567")
    assert clear_done(folder, {done}) == 12
    assert {path.name[:16] for path in folder.iterdir()} == {cut[:16]}
    assert clear_done(folder, {done, cut}) == 0
    assert not folder.exists()


def test_a_run_says_what_others_left_and_clears_what_is_done(tmp_path: Path) -> None:
    store, said = tmp_path / "a.sqlite", StringIO()
    request = Request("demo", methods=("cc",), conditions=("q=0.1",), seeds=1, epochs=1)
    options, console = Options("local", "cpu", 1), Console(file=said, width=300)
    plan, _ = run_request(request, store, options, console=console)
    assert "stopped midway" not in said.getvalue()
    folder = underway_of(store)
    for key in (plan.trials[0].key, TRIAL.key):
        UnderWay(folder, key).tell(0.5)
        UnderWay(folder, key).checkpoint.write_bytes(bytes(200_000))
    run_request(request, store, options, console=console)
    assert "a.sqlite.underway has 0.2 MB of other trainings that were stopped" in said.getvalue()
    assert {path.name[:16] for path in folder.iterdir()} == {TRIAL.key[:16]}


def test_a_runner_that_ends_may_remove_the_folder_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "underway"
    plain = trials.train

    def trained(*given: object, **more: object) -> object:
        folder.mkdir(exist_ok=True)
        underway.remove_if_empty(folder)  # the other runner's end, at the worst moment
        assert not folder.exists()
        return plain(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(trials, "train", trained)
    monkeypatch.setattr(underway, "SAVE_SECONDS", 0.0)
    assert run_trial(TRIAL, scratch=folder).metrics
    underway.remove_if_empty(folder)
    (tmp_path / "kept").write_text("a", "ascii")
    underway.remove_if_empty(tmp_path)
    assert tmp_path.exists()


def test_what_a_killed_process_said_is_not_told(tmp_path: Path) -> None:
    UnderWay(tmp_path, TRIAL.key).tell(0.9)
    words: list[str] = []
    with told(tmp_path, [TRIAL], words.append):
        assert UnderWay(tmp_path, TRIAL.key).share() is None
