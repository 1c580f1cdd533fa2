"""Options of the bench's commands that were taken for something else."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from amongst.bench import read_records
from amongst.bench.plans import Request, make_plan, reproduce_command
from amongst.cli.app import app
from amongst.errors import InputError


@pytest.mark.parametrize("option", ["--datasets", "--methods", "--conditions", "--models"])
@pytest.mark.parametrize("values", [[""], [","], ["mnist", " "]])
def test_an_option_without_a_name_does_not_mean_all(
    option: str, values: list[str], tmp_path: Path
) -> None:
    """A script's empty variable asked for the whole of Table 1."""
    words = [word for value in values for word in (option, value)]
    store = str(tmp_path / "s.sqlite")
    outcome = CliRunner().invoke(app, ["reproduce", "table1", *words, "--store", store])
    assert isinstance(outcome.exception, InputError)
    assert str(outcome.exception) == f"{option} names nothing; leave it out for all there is."
    assert not Path(store).exists()


@pytest.mark.parametrize(("words", "folds"), [(["--folds", "2"], 2), ([], 3)])
def test_folds_of_a_quick_comparison_are_those_asked_for(
    words: list[str], folds: int, tmp_path: Path
) -> None:
    store = str(tmp_path / "s.sqlite")
    quick = ["compare", "digits", "--conditions", "q=0.3", "--methods", "cc", "--models", "linear",
             "--quick", "--epochs", "1", "--seeds", "1", "--workers", "1", "--store", store]  # fmt: skip
    outcome = CliRunner().invoke(app, [*quick, *words], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    trials = [record.trial for record in read_records(store)]
    assert sorted(trial.fold or 0 for trial in trials) == list(range(folds))
    assert {trial.settings["folds"] for trial in trials} == {folds}


@pytest.mark.parametrize(
    ("words", "epochs"), [(["--quick"], 10), ([], 100), (["--quick", "--epochs", "100"], 100)]
)
def test_a_quick_comparison_has_few_epochs_and_its_command_leads_back(
    words: list[str], epochs: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Request] = []
    monkeypatch.setattr("amongst.cli.bench.run_all", lambda given, *_: asked.extend(given))
    CliRunner().invoke(app, ["compare", "lost", "--methods", "cc", *words], catch_exceptions=False)
    plan = make_plan(asked[0])
    assert {trial.settings["epochs"] for trial in plan.trials} == {epochs}
    again = shlex.split(reproduce_command(plan))[1:]
    CliRunner().invoke(app, again, catch_exceptions=False)
    assert make_plan(asked[1]).trials == plan.trials


def test_several_plans_share_one_command_and_its_trials(tmp_path: Path) -> None:
    store = str(tmp_path / "s.sqlite")
    words = ["reproduce", "table1", "figure2", "table1", "--quick", "--seeds", "1", "--epochs", "1",
             "--methods", "lw-sigmoid", "--conditions", "q=0.3", "--store", store]  # fmt: skip
    dry = CliRunner().invoke(app, [*words, "--dry-run"], catch_exceptions=False)
    assert [line for line in dry.output.splitlines() if ":" in line] == [
        "Table 1: accuracy on benchmark datasets",
        "Figure 2: ablation of the two parts of the loss",
    ]
    outcome = CliRunner().invoke(app, words, catch_exceptions=False)
    assert outcome.output.count("miniature on digits") == 2
    assert outcome.output.count("For a page to look at") == 1
    trials = [record.trial for record in read_records(store)]
    assert len(trials) == 6


def test_what_a_later_plan_refuses_is_refused_before_the_first_begins(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    words = ["reproduce", "demo", "table2", "--methods", "nobody", "--store", str(store)]
    outcome = CliRunner().invoke(app, words)
    assert isinstance(outcome.exception, InputError)
    words = ["reproduce", "table1", "figure1", "--methods", "cc", "--quick", "--store", str(store)]
    outcome = CliRunner().invoke(app, words)
    assert isinstance(outcome.exception, InputError)
    assert "figure1" in str(outcome.exception)
    assert not store.exists()


@pytest.mark.parametrize(
    ("words", "search"),
    [
        (["reproduce", "table1"], "published"),
        (["reproduce", "table1", "--search", "none"], "none"),
        (["compare", "lost"], "none"),
        (["compare", "lost", "--search", "published"], "published"),
    ],
)
@pytest.mark.parametrize("criterion", ["oracle", "covering"])
def test_a_criterion_that_chooses_nothing_is_refused(
    words: list[str], search: str, criterion: str, tmp_path: Path
) -> None:
    """`--criterion oracle` beside one published setting changed nothing, and nothing said so."""
    store = str(tmp_path / "s.sqlite")
    outcome = CliRunner().invoke(app, [*words, "--criterion", criterion, "--store", store])
    assert isinstance(outcome.exception, InputError)
    assert outcome.exception.said("command") == (
        f"--criterion {criterion} is for the search of a grid, and --search {search} has one "
        "setting for each cell. Use --search grid or --search equal, or leave it out."
    )
    assert not Path(store).exists()
