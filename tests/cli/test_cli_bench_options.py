"""Options of the bench's commands that were taken for something else."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from amongst.bench import read_records
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
             "--quick", "--epochs", "1", "--seeds", "1", "--store", store]  # fmt: skip
    outcome = CliRunner().invoke(app, [*quick, *words], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    trials = [record.trial for record in read_records(store)]
    assert sorted(trial.fold or 0 for trial in trials) == list(range(folds))
    assert {trial.settings["folds"] for trial in trials} == {folds}
