"""Studies of Optuna: batches, pruning, going on after a kill, in SQLite and PostgreSQL."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from amongst import LWClassifier
from amongst.candidates import uniform
from amongst.errors import InputError, MissingDependencyError, StoreError
from amongst.selection import PartialLabelSearchCV, Range, optuna_search, storage
from amongst.selection.evaluate import Task
from amongst.selection.storage import full_url
from amongst.selection.study import StudyOptions

optuna = pytest.importorskip("optuna", reason="optuna is not installed")
exc = pytest.importorskip("sqlalchemy.exc", reason="sqlalchemy is not installed")
optuna.logging.set_verbosity(optuna.logging.ERROR)

PROCESS = Path(__file__).with_name("study_process.py")
X, TRUTH = load_iris(return_X_y=True)
SETS = uniform(TRUTH, 0.3, seed=0)
SPACE = {"lr": Range(1e-3, 1.0, log=True), "beta": Range(0.0, 4.0)}
States = optuna.trial.TrialState


def search(url: Any = None, space: Any = None, **options: Any) -> Any:
    epochs = options.pop("epochs", 6)
    estimator = LWClassifier(model="linear", epochs=epochs, batch_size=32, device="cpu")
    settings = {"trials": 6, "batch": 3, "study": url, "random_state": 0, "refit": False} | options
    return optuna_search(estimator, X, SETS, space or SPACE, **settings)


def study_at(url: str, name: str = "amongst") -> Any:
    return optuna.load_study(study_name=name, storage=url)


def states(study: Any) -> Counter[str]:
    return Counter(trial.state.name for trial in study.get_trials())


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'study.db'}"


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A study with one trial, for tests that add none."""
    url = f"sqlite:///{tmp_path_factory.mktemp('begun') / 'study.db'}"
    search(url, trials=1)
    return url


def test_trials_are_kept_with_every_criterion_and_the_best_is_chosen(sqlite: str) -> None:
    result = search(sqlite, prune=False)
    study = study_at(sqlite)
    assert states(study) == {"COMPLETE": 6}
    assert study.direction.name == "MINIMIZE"
    for trial, (_, row) in zip(study.trials, result.table.iterrows(), strict=True):
        assert trial.value == row["risk"] == trial.user_attrs["risk"]
        assert trial.params == {"lr": row["lr"], "beta": row["beta"]}
        assert set(trial.user_attrs) >= {"covering", "approximated", "risk", "seconds"}
        assert sorted(trial.intermediate_values) == list(range(1, 7))
    assert result.table["risk"].min() == result.table["risk"].iloc[result.best_index]
    assert study.best_trial.value == result.table["risk"].min()


def test_a_batch_is_one_population(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    from amongst.selection import study as module

    real = module.evaluate

    def counted(task: Task, points: Any, report: Any = None) -> Any:
        sizes.append(len(points))
        return real(task, points, report)

    monkeypatch.setattr(module, "evaluate", counted)
    search(trials=7, batch=3)
    assert sizes == [3, 3, 1]


def test_a_trial_equals_the_same_point_of_a_grid() -> None:
    result = search(trials=4, batch=4, prune=False)
    for i, row in result.table.iterrows():
        point = {"lr": [row["lr"]], "beta": [row["beta"]]}
        estimator = LWClassifier(model="linear", epochs=6, batch_size=32, device="cpu")
        alone = PartialLabelSearchCV(estimator, point, random_state=0, refit=False).fit(X, SETS)
        np.testing.assert_allclose(alone.result_.table["risk"].iloc[0], row["risk"], err_msg=str(i))


def test_the_same_name_goes_on_and_does_not_repeat_itself(sqlite: str) -> None:
    assert len(search(sqlite, trials=3).table) == 3
    result = search(sqlite, trials=7)
    assert len(result.table) == 7
    assert len({trial.params["lr"] for trial in study_at(sqlite).trials}) == 7
    assert len(search(sqlite, trials=5).table) == 7
    assert len(search(sqlite, trials=2, study_name="another").table) == 2


def test_a_seed_of_chance_stays_with_the_study(sqlite: str) -> None:
    search(sqlite, trials=2, random_state=None)
    seed = study_at(sqlite).user_attrs["amongst"]["seed"]
    search(sqlite, trials=4, random_state=None)
    assert study_at(sqlite).user_attrs["amongst"]["seed"] == seed


@pytest.mark.parametrize("engine", ["population", "single"])
def test_a_poor_trial_is_pruned_by_the_candidate_criterion(engine: str, sqlite: str) -> None:
    space = {"lr": Range(1e-9, 1.0, log=True)}
    search(sqlite, space, trials=1, epochs=8, engine=engine)
    for lr in (0.1, 0.11, 0.12, 0.13, 0.14, 1e-9):
        study_at(sqlite).enqueue_trial({"lr": lr})
    result = search(sqlite, space, trials=7, batch=5, epochs=8, engine=engine)
    assert result.table["lr"].tolist()[-1] == 1e-9
    assert result.table["state"].tolist()[-1] == "pruned"
    last = study_at(sqlite).trials[-1]
    assert last.state == States.PRUNED
    assert 1 <= max(last.intermediate_values) < 8
    assert result.best_params["lr"] > 1e-9


@pytest.mark.parametrize("ends", [(1e-9, 1e-9), (1e-9, 1e30)])
def test_a_batch_of_which_nobody_is_left_ends_early(
    ends: tuple[float, float], sqlite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from amongst.selection import study as module

    good, shared = (0.1, 0.11, 0.12, 0.13, 0.14), {"optimizer": "sgd", "psi": "exponential"}
    space = {"lr": [*good, 1e-9, 1e30]} | {name: [v] for name, v in shared.items()}
    options: dict[str, Any] = {"epochs": 8, "batch": 5, "engine": "population"}
    search(sqlite, space, **options | {"trials": 1, "prune": False})
    for lr in (*good, *ends):
        study_at(sqlite).enqueue_trial({"lr": lr} | shared)
    search(sqlite, space, trials=6, **options)
    epochs, real = set[int](), module._Reporter.__call__

    def heard(self: Any, i: int, epoch: int, values: Any) -> bool:
        epochs.add(epoch)
        return real(self, i, epoch, values)

    monkeypatch.setattr(module._Reporter, "__call__", heard)
    result = search(sqlite, space, trials=8, **options)
    assert max(epochs) < 8
    last = study_at(sqlite).trials[-2:]
    assert [trial.params["lr"] for trial in last] == list(ends)
    assert all(trial.state == States.PRUNED for trial in last)
    assert result.table["state"].tolist()[-1] == ("diverged" if 1e30 in ends else "pruned")


def test_a_trial_that_diverges_counts_and_is_never_the_best(sqlite: str) -> None:
    space = {"lr": [1e30, 0.1], "optimizer": ["sgd"], "psi": ["exponential"]}
    search(sqlite, space, trials=1)
    for lr in (1e30, 0.1):
        study_at(sqlite).enqueue_trial({"lr": lr, "optimizer": "sgd", "psi": "exponential"})
    result = search(sqlite, space, trials=3)
    wild = result.table[result.table["lr"] == 1e30]
    assert (wild["state"] == "diverged").all()
    assert result.best_params["lr"] == 0.1


def seen(url: str) -> Counter[str]:
    """States of the trials of a study that another process is making."""
    try:
        return states(study_at(url))
    except (KeyError, exc.SQLAlchemyError):
        return Counter()


def killed_in_the_second_batch(url: str) -> Counter[str]:
    """Start a search, kill −9 it while its second batch trains; what it left."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(PROCESS), url]
    process = subprocess.Popen(command, env=environment)
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            left = seen(url)
            if left["COMPLETE"] + left["PRUNED"] >= 4 and left["RUNNING"]:
                break
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return seen(url)


def check_going_on_after_a_kill(url: str) -> None:
    left = killed_in_the_second_batch(url)
    assert left["RUNNING"] > 0
    runpy.run_path(str(PROCESS))["search"](url, refit=False)
    study = study_at(url)
    after = states(study)
    assert after["RUNNING"] == after["WAITING"] == 0
    assert after["FAIL"] == left["RUNNING"]
    assert after["COMPLETE"] + after["PRUNED"] == 8
    failed = {t.number: t.params for t in study.trials if t.state == States.FAIL}
    again = {t.user_attrs["retry_of"]: t for t in study.trials if "retry_of" in t.user_attrs}
    assert set(again) == {number for number, params in failed.items() if params}
    for number, trial in again.items():
        assert trial.params.items() >= failed[number].items()
        assert trial.state in (States.COMPLETE, States.PRUNED)


def test_killed_in_a_batch_it_goes_on_sqlite(sqlite: str) -> None:
    check_going_on_after_a_kill(sqlite)


def test_postgresql(postgresql: str) -> None:
    url = full_url(postgresql)
    assert len(search(postgresql, trials=3).table) == 3
    assert len(search(postgresql, trials=5).table) == 5
    assert states(study_at(url))["COMPLETE"] + states(study_at(url))["PRUNED"] == 5
    optuna.delete_study(study_name="amongst", storage=url)
    check_going_on_after_a_kill(url)


def test_trials_of_a_living_runner_are_left_alone(sqlite: str) -> None:
    search(sqlite, trials=1)
    study = study_at(sqlite)
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    host = storage.RUNNER.split(":")[0]
    try:
        trial = study.ask({"lr": optuna.distributions.FloatDistribution(0.1, 0.2, log=True)})
        trial.set_user_attr("runner", f"{host}:{sleeper.pid}:abc")
        elsewhere = study.ask()
        elsewhere.set_user_attr("runner", f"another-{host}:{sleeper.pid}:abc")
        assert storage.requeue_stale(study) == 0
    finally:
        sleeper.kill()
        sleeper.wait()
    assert storage.requeue_stale(study) == 1
    assert states(study) == {"COMPLETE": 1, "FAIL": 1, "RUNNING": 1, "WAITING": 1}


def test_on_windows_no_signal_asks_for_a_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    host = storage.RUNNER.split(":")[0]
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        windows.setattr(os, "kill", lambda *_: pytest.fail("Ctrl-C was sent"))
        assert not storage._is_dead(f"{host}:1:abc")


def test_a_trial_without_a_mark_is_put_back_once_nobody_else_is_at_work(sqlite: str) -> None:
    search(sqlite, trials=1)
    study = study_at(sqlite)
    study.ask({"lr": optuna.distributions.FloatDistribution(0.1, 0.2, log=True)})
    study.set_user_attr("runner another-machine:1:abc", "at work")
    assert storage.requeue_stale(study) == 0
    study.set_user_attr("runner another-machine:1:abc", "done")
    assert storage.requeue_stale(study) == 1


def test_runners_at_work_together_draw_different_settings(sqlite: str) -> None:
    search(sqlite, trials=1)
    study = study_at(sqlite)
    assert storage.salt(study) == 0
    study.set_user_attr("runner another-machine:1:abc", "at work")
    assert storage.salt(study) > 0


def test_alone_a_search_is_reproducible() -> None:
    first, second = (search(trials=5, prune=False).table for _ in range(2))
    assert first[["lr", "beta", "risk"]].equals(second[["lr", "beta", "risk"]])


def test_a_trial_that_kills_its_runner_is_given_up_at_last(sqlite: str) -> None:
    search(sqlite, trials=1)
    study = study_at(sqlite)
    study.enqueue_trial({"lr": 0.5})
    for attempt in range(storage.RETRIES + 1):
        trial = study.ask({"lr": optuna.distributions.FloatDistribution(1e-3, 1.0, log=True)})
        assert trial.params == {"lr": 0.5}
        assert trial.user_attrs.get("retry", 0) == attempt
        storage.give_up(study, study.trials[trial.number])
    assert states(study)["WAITING"] == 0


def test_interrupted_it_puts_its_trials_back(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from amongst.selection import study as module

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "evaluate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            search(sqlite)
    assert states(study_at(sqlite)) == {"FAIL": 3, "WAITING": 3}
    search(sqlite)
    after = states(study_at(sqlite))
    assert after["COMPLETE"] + after["PRUNED"] == 6
    assert after["WAITING"] == after["RUNNING"] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"criterion": "covering"}, "was begun with another criterion"),
        ({"validation": 0.2}, "was begun with another validation"),
        ({"epochs": 7}, r"another epochs \(6; now 7\)"),
        ({"space": {"lr": [0.1, 0.2]}}, r"another beta \(it was searched; now 'auto'\)"),
        ({"trials": 0}, "trials=0 must be a whole number"),
        ({"batch": 0}, "batch=0 must be a whole number"),
        ({"space": {"psi": [LWClassifier()]}}, "must be a Range, a list"),
        ({"space": {"lrr": [0.1]}}, "Did you mean 'lr'"),
    ],
)
def test_what_does_not_fit_is_refused(begun: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        search(begun, **change)


def test_other_data_other_choices_and_strange_studies_are_refused(sqlite: str) -> None:
    search(sqlite, {"lr": [0.1, 0.2]}, trials=1)
    with pytest.raises(InputError, match="do not fit those that the study"):
        search(sqlite, {"lr": [0.1, 0.3]}, trials=3)
    estimator = LWClassifier(model="linear", epochs=6, batch_size=32, device="cpu")
    with pytest.raises(InputError, match="was begun with another data"):
        optuna_search(estimator, X + 1, SETS, {"lr": [0.1, 0.2]}, study=sqlite)
    strange = optuna.create_study(storage=sqlite, study_name="strange")
    strange.add_trial(optuna.trial.create_trial(value=1.0))
    with pytest.raises(InputError, match="was not made by amongst"):
        search(sqlite, study_name="strange")
    with pytest.raises(InputError, match="pass one of them"):
        PartialLabelSearchCV(estimator, {"lr": [1]}, distributions=SPACE).fit(X, SETS)


def test_places_that_hold_no_study(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist; make it"):
        search(f"sqlite:///{tmp_path / 'nowhere' / 'study.db'}")
    (tmp_path / "notes.db").write_text("these are notes, no database " * 50)
    with pytest.raises(StoreError, match="cannot be opened: file is not a database"):
        search(tmp_path / "notes.db")
    with pytest.raises(InputError, match="is no database URL"):
        search("nonsense://here")
    for url in ("me:secret@localhost:1/none", "localhost:1/none?password=secret"):
        with pytest.raises(StoreError) as caught:
            search(f"postgresql://{url}")
        assert "secret" not in str(caught.value)
        assert "localhost" in str(caught.value)
    for url in ("me:secret@localhost:port/none", "me:se@secret@localhost/none"):
        with pytest.raises(InputError) as refused:
            search(f"postgresql://{url}")
        assert refused.value.code == "no-database"
        assert "secret" not in str(refused.value)


def test_a_server_that_refuses_a_password_does_not_show_it(postgresql: str) -> None:
    for wrong in (
        postgresql.replace("sesame", "barley"),
        postgresql.replace(":open-sesame", "") + "?password=open-barley",
        postgresql.replace("/postgres", "/nothing"),
    ):
        with pytest.raises(StoreError) as caught:
            search(wrong)
        assert caught.value.code == "unreadable"
        assert "open-" not in str(caught.value) + repr(caught.value.got)


def test_a_search_does_not_show_its_password() -> None:
    url = "postgresql://me:secret@localhost/none"
    shown = PartialLabelSearchCV(LWClassifier(), distributions=SPACE, study=url)
    html = shown._repr_html_()
    assert "secret" not in repr(shown) + html + repr(StudyOptions(url=url))
    assert "me:***@localhost" in repr(shown)
    assert clone(shown).study == url


def test_without_optuna_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingDependencyError, match=r"amongst\[search\]"):
        search()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"psycopg\[binary\]"):
        full_url("postgresql://me@host/data")


def test_a_study_opens_in_optuna_dashboard_s_way(sqlite: str) -> None:
    """The dashboard reads what the public API gives: names, directions, importances."""
    search(sqlite, trials=6, prune=False)
    summaries = optuna.get_all_study_summaries(storage=sqlite)
    assert [s.study_name for s in summaries] == ["amongst"]
    assert summaries[0].n_trials == 6
    frame = study_at(sqlite).trials_dataframe()
    assert {"params_lr", "params_beta", "user_attrs_covering", "value"} <= set(frame.columns)


def test_spaces() -> None:
    with pytest.raises(InputError, match="low must not be above high"):
        Range(2.0, 1.0)
    with pytest.raises(InputError, match="low must be above 0"):
        Range(0.0, 1.0, log=True)
    with pytest.raises(InputError, match="both must be whole"):
        Range(0.5, 3.0, integer=True)
    with pytest.raises(InputError, match="low='a' must be a number"):
        Range("a", 1.0)  # type: ignore[arg-type]
    space = {
        "batch_size": Range(16, 64, integer=True),
        "psi": ["sigmoid", "cross_entropy"],
        "lr": optuna.distributions.FloatDistribution(0.01, 0.1),
    }
    table = search(space=space, trials=4, epochs=2).table
    assert table["batch_size"].map(type).eq(int).all()
    assert set(table["psi"]) <= {"sigmoid", "cross_entropy"}
