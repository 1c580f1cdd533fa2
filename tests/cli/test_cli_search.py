"""`amongst search` on a person's file: a grid, a study that goes on, and mistakes in one line."""

from __future__ import annotations

import inspect
from pathlib import Path

import pandas as pd
import pytest
import typer
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from amongst import load
from amongst.candidates import uniform
from amongst.cli import main
from amongst.cli.search import search
from amongst.errors import InputError
from amongst.wording import COMMAND

app = typer.Typer()
app.command()(search)
QUICK = ["--model", "linear", "--epochs", "3", "--quiet"]


@pytest.fixture
def iris(tmp_path: Path) -> Path:
    data = load_iris(as_frame=True)
    truth = data.target_names[data.target]
    frame = data.data.assign(species=uniform(truth, 0.3, seed=0).to_strings())
    frame.insert(0, "flower", [f"flower {i}" for i in range(len(frame))])
    frame.to_csv(tmp_path / "iris.csv", index=False)
    return tmp_path / "iris.csv"


def run(*arguments: object) -> str:
    words = [str(argument) for argument in arguments]
    answer = CliRunner().invoke(app, words, catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_the_papers_grid_and_a_model_of_the_best(iris: Path) -> None:
    out, table = iris.parent / "model.amongst", iris.parent / "points.csv"
    text = run(iris, "-c", "species", "--index", "flower", "--out", out, "--table", table, *QUICK)
    assert "51 points, best risk first" in text
    assert "chosen: " in text
    points = pd.read_csv(table)
    assert len(points) == 51
    assert points["risk"].is_monotonic_increasing
    best = load(out)
    assert (best.lr, str(best.beta)) == (points["lr"][0], points["beta"][0])
    assert best.feature_names_in_.tolist() == pd.read_csv(iris).columns[1:5].tolist()


def test_columns_of_any_kind(iris: Path) -> None:
    frame = pd.read_csv(iris)
    frame["place"] = ["wood", "lake", None] * 50
    frame.to_csv(iris, index=False)
    out, fast = iris.parent / "m", ["--method", "rc", *QUICK, "--epochs", "1"]
    run(iris, "-c", "species", "--index", "flower", "--out", out, *fast)
    assert load(out).predict(frame).shape == (150,)


def test_a_study_goes_on(iris: Path) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    options = ["-c", "species", "--index", "flower", "--batch", 2, *QUICK]
    study = f"sqlite:///{iris.parent / 'study.db'}"
    assert "2 points" in run(iris, "--trials", 2, "--study", study, *options)
    assert "4 points" in run(iris, "--trials", 4, "--study", study, *options)


def test_true_labels_have_no_option_and_mistakes_are_said(iris: Path) -> None:
    assert "truth" not in inspect.signature(search).parameters
    with pytest.raises(InputError, match="does not exist; make it first"):
        run(iris, "-c", "species", "--out", iris.parent / "nowhere" / "model")
    answer = CliRunner().invoke(app, [str(iris), "--criterion", "oracle"])
    assert answer.exit_code == 2


URL = "postgresql://me:secret@localhost/none"


def test_no_password_is_printed(
    iris: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        assert URL not in COMMAND.get(), "a page would keep it"
        raise KeyboardInterrupt

    monkeypatch.setattr("amongst.cli.search._run", interrupted)
    asked = ["search", iris, "--index", "flower", "--study", URL]
    for words in (asked, ["search", iris, URL]):
        with pytest.raises(SystemExit):
            main([str(word) for word in words])
        told = capsys.readouterr().err
        assert "secret" not in told
        assert "me:***@localhost" in told
