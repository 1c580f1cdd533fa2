"""Mistakes are told in the words of the command line, whatever the library says to Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io

from amongst import as_candidates
from amongst.bench import Record, Store, Trial
from amongst.cli import main
from amongst.cli.saying import in_words
from amongst.errors import AmongstWarning


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with something wrong, in the folder where one is."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({name: [5.1, 6.3, 5.8] for name in ("sl", "sw", "pl", "pw")})
    frame["species"], frame["truth"] = ["setosa|virginica", "virginica", "setosa"], "virginica"
    frame.to_csv("iris.csv", index=False)
    frame.assign(truth=None).to_csv("no_truth.csv", index=False)
    frame.assign(species="a").to_csv("two.csv", index=False)
    frame.drop(columns="truth").assign(species="a").to_csv("one.csv", index=False)
    Path("x.foo").write_text("a", "utf-8")
    matrix = np.ones((6, 2))
    np.savez("a.npz", a=matrix, b=matrix)
    scipy.io.savemat("a.mat", {"mine": matrix, "yours": matrix, "partial_target": matrix})
    with Store("s.sqlite") as store:
        store.add(Record(Trial("lost", "real", "rc", "mlp", 0), {"accuracy_last10": 0.5}))


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["fit", "iris.csv", "--ignore", "truth", "--seed", "-1"],
            "--seed -1 must be a whole number of at least 0.",
        ),
        (
            ["fit", "iris.csv", "--ignore", "truth", "--model", "convnet"],
            "has shape (4,). Use --model mlp, or reshape the features.",
        ),
        (
            ["fit", "iris.csv", "--ignore", "truth", "--batch-size", "1"],
            "Raise --batch-size, add rows, or use --model linear.",
        ),
        (["fit", "one.csv", "-c", "species"], "amongst: the table of candidates has one class"),
        (["fit", "."], "is a folder. Give a file."),
        (
            ["fit", "two.csv"],
            "amongst: two.csv has no column that is plainly candidate labels. Name it with --candidates.",
        ),
        (
            ["fit", "a.mat"],
            "holds the features? It holds: mine, partial_target, yours. Name it with --features ….",
        ),
        (["fit", "a.npz"], "holds the features? It holds: a, b. Name it with --features …."),
        (["fit", "no_truth.csv", "--truth", "truth"], ", or leave --truth out."),
        (["describe", "iris.csv", "-c", "a[/b]"], "has no column 'a[/b]'"),
        (
            ["search", "iris.csv", "--table", "x.foo"],
            "amongst: --table x.foo has an unknown ending",
        ),
        (["describe", "x.foo"], "amongst: 'x.foo' has an unknown ending"),
        (
            ["predict", "iris.csv", "iris.csv", "--out", "x.foo"],
            "amongst: --out x.foo has an unknown ending",
        ),
        (
            ["results", "s.sqlite", "--export", "x.foo"],
            "amongst: --export x.foo must end in .parquet",
        ),
        (
            ["datasets", "info", "digits", "--plot", "x.foo"],
            "amongst: --plot x.foo must end in .png",
        ),
        (
            ["reproduce", "table1", "--quick", "--datasets", "mnist"],
            "amongst: --quick runs on digits alone, not on --datasets mnist; leave",
        ),
        (["datasets", "info", "minst"], "amongst: 'minst' is unknown; did you mean 'mnist'"),
        (
            ["reproduce", "demo", "--engine", "ray", "--ray-address", "nobody.invalid:1"],
            "amongst: --ray-address nobody.invalid:1 cannot be reached",
        ),
        (
            ["reproduce", "table1", "--ray-address", "auto"],
            "amongst: --ray-address is for --engine ray, and the engine is auto. Leave one out.",
        ),
    ],
)
def test_a_mistake_is_told_in_the_words_of_the_command_line(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if "ray" in words:
        pytest.importorskip("ray", reason="ray is not installed")
    with pytest.raises(SystemExit) as left:
        main([*words, *(["--out", "m", "--quiet"] if words[0] == "fit" else [])])
    error = capsys.readouterr().err
    assert left.value.code == 2
    assert line in error
    assert error.count("\n") == 1
    assert not Path("m").exists()


@pytest.mark.usefixtures("home")
def test_a_file_that_the_system_refuses_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "iris.csv")

    monkeypatch.setattr("amongst.data.read_table", refuse)
    with pytest.raises(SystemExit) as left:
        main(["describe", "iris.csv", "-c", "species"])
    assert (left.value.code, capsys.readouterr().err) == (
        2,
        "amongst: iris.csv: Permission denied\n",
    )


@pytest.mark.parametrize("cell", ["yes", "1"])
def test_columns_that_may_be_classes_are_told_in_these_words(cell: str) -> None:
    with pytest.warns(AmongstWarning, match="^y holds") as told:
        as_candidates(pd.DataFrame({"owl": [cell, None], "kite": [cell, cell]}))
    assert in_words(told[0].message).startswith("--y holds")


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert "Usage: " in capsys.readouterr().out
