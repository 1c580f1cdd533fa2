"""Columns are named alike by all commands: one by one, by commas, and with a comma in the name."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from amongst.bench.export import read_records
from amongst.cli import main
from amongst.cli.reading import Columns

ODD = "height, m"


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    frame = pd.DataFrame({"a": [i / 4 for i in range(40)], "b": 1.0, ODD: 2.0})
    frame["labels"] = ["x|y" if i % 3 else "x" for i in frame["a"]]
    frame.to_csv(tmp_path / "birds.csv", index=False)
    return tmp_path / "birds.csv"


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        (["a", "b"], ["a", "b"]),
        (["a,b"], ["a", "b"]),
        (["a, b"], ["a", "b"]),
        ([ODD], [ODD]),
        (["a,b", ODD], ["a", "b", ODD]),
        (["a,unknown"], ["a,unknown"]),
    ],
)
def test_columns_by_commas_are_several_unless_one_has_that_name(
    birds: Path, values: list[str], meant: list[str]
) -> None:
    columns = Columns.of(birds, features=values, ignore=values)
    assert columns.features == columns.ignore == meant
    assert columns.candidates == ["labels"]


@pytest.mark.parametrize("ignored", ["a,b", ODD])
def test_all_commands_take_them(
    birds: Path, tmp_path: Path, ignored: str, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = ["--model", "linear", "--epochs", "1", "--quiet", "--ignore", ignored]
    store, model = tmp_path / "s.sqlite", tmp_path / "birds.model"
    assert run("describe", birds, "--ignore", ignored) == 0
    assert f"{1 if ignored != ODD else 2} features" in capsys.readouterr().out
    assert run("fit", birds, *quick, "--out", model) == 0
    assert run("predict", model, birds, "--out", tmp_path / "p.csv") == 0
    few = ["--methods", "rc", "--models", "linear", "--folds", "2", "--epochs", "1"]
    assert run("compare", birds, *few, "--ignore", ignored, "--workers", "1", "--store", store) == 0
    assert len(read_records(store)) == 2


def test_annotators_by_commas(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"a": [i / 4 for i in range(20)], "anna": ["x"] * 20, "ben": ["x", "y"] * 10}
    )
    frame.to_csv(file := tmp_path / "own.csv", index=False)
    model, out = tmp_path / "own.model", tmp_path / "d.csv"
    quick = ["--model", "linear", "--epochs", "1", "--quiet"]
    assert run("fit", file, *quick, "-c", "anna,ben", "--out", model) == 0
    assert run("disambiguate", model, file, "-c", "anna,ben", "--out", out) == 0
    assert len(pd.read_csv(out)) == 20


@pytest.mark.parametrize("written", ["\\n", "\n"])
def test_lines_of_a_cell_are_labels(
    tmp_path: Path, written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell passes \\n on as two characters."""
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5], "labels": ["x\ny", "y", "x"]})
    frame.to_csv(file := tmp_path / "own.csv", index=False)
    model, out = tmp_path / "own.model", tmp_path / "d.csv"
    quick = ["--model", "linear", "--epochs", "1", "--quiet"]
    assert run("fit", file, *quick, "-c", "labels", "--separator", written, "--out", model) == 0
    assert "2 classes" in capsys.readouterr().out
    assert run("disambiguate", model, file, "--out", out) == 0
    assert pd.read_csv(out)["runner_up"].notna().tolist() == [True, False, False]
