"""Columns are named alike by all commands: one by one, by commas, and with a comma in the name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from amongst import LWClassifier
from amongst.bench.export import read_records, read_requests
from amongst.cli import main
from amongst.data import read_table
from amongst.data.columns import apart
from amongst.data.frames import open_table

ODD = "height, m"


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    frame = pd.DataFrame(
        {"a": [i / 4 for i in range(40)], "b": 1.0, ODD: [i % 7 for i in range(40)]}
    )
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
    file = open_table(birds)
    assert apart(tuple(values), file.names) == tuple(meant)
    assert file.guess() == "labels"


@pytest.mark.parametrize("ignored", ["a,b", ODD])
def test_all_commands_take_them(
    birds: Path, tmp_path: Path, ignored: str, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = ["--model", "linear", "--epochs", "1", "--quiet", "--ignore", ignored]
    store, model = tmp_path / "s.sqlite", tmp_path / "birds.model"
    assert run("describe", birds, "--ignore", ignored) == 0
    assert (": 1 feature " if ignored != ODD else "2 features") in capsys.readouterr().out
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


def test_rows_that_nobody_labelled_are_refused_or_say_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame({"a": [i / 4 for i in range(40)], "anna": ["x"] * 20 + ["y"] * 20})
    frame["ben"] = ["x", "y"] * 20
    frame.loc[3, ["anna", "ben"]] = None
    frame.to_csv(file := tmp_path / "own.csv", index=False)
    who, store, model = ["-c", "anna,ben"], tmp_path / "s.sqlite", tmp_path / "own.model"
    quick = ["--model", "linear", "--epochs", "1", "--quiet"]
    assert run("describe", file, *who) == 2
    assert "row 3 is an empty candidate set" in (said := capsys.readouterr().err)
    assert "or pass --empty full if any label may be right" in said
    assert run("describe", file, *who, "--empty", "full") == 0
    assert run("search", file, *who, *quick, "--empty", "full", "--trials", "2") == 0
    assert run("fit", file, *who, *quick, "--empty", "full", "--out", model) == 0
    assert run("disambiguate", model, file, "--out", tmp_path / "d.csv") == 0
    assert pd.read_csv(tmp_path / "d.csv")["runner_up"].notna()[3]
    assert run("disambiguate", model, file, "--empty", "error", "--out", tmp_path / "d.csv") == 2
    few = ["--methods", "rc", "--models", "linear", "--folds", "2", "--epochs", "1"]
    few += ["--empty", "full", "--workers", "1", "--store", store]
    assert run("compare", file, *who, *few) == 0
    (request,) = read_requests(store)
    assert request["own"][-2:] == ["--empty", "full"]


@pytest.mark.filterwarnings("always:.*left out")
def test_rows_that_nobody_labelled_are_left_out_and_keep_their_numbers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame({"a": [i / 4 for i in range(40)], "labels": ["x|y", "x"] * 20})
    frame.loc[30:, "labels"] = "y"
    frame.loc[[3, 7], "labels"] = None
    frame["note"] = [f"seen {row}" for row in range(40)]
    store = tmp_path / "s.sqlite"
    frame.to_csv(file := tmp_path / "own.csv", index=False)
    model, out, page = tmp_path / "own.model", tmp_path / "d.csv", tmp_path / "p.html"
    options = ["-c", "labels", "--ignore", "note", "--empty", "drop"]
    assert run("describe", file, *options) == 0
    assert "2 rows of 40 without a label left out" in capfd.readouterr().err
    quick = ["--model", "linear", "--epochs", "1", "--quiet"]
    assert run("search", file, *options, *quick, "--trials", "2") == 0
    few = ["--methods", "rc", "--models", "linear", "--folds", "2", "--epochs", "1"]
    capfd.readouterr()
    assert run("compare", file, *options, *few, "--workers", "2", "--store", store) == 0
    assert capfd.readouterr().err.count("left out") == 1
    assert run("fit", file, *options, *quick, "--out", model) == 0
    assert "38 rows, 2 classes" in capfd.readouterr().out
    others = [row for row in range(40) if row not in (3, 7)]
    assert run("disambiguate", model, file, "--out", out) == 0
    assert pd.read_csv(out)["row"].tolist() == others
    assert run("predict", model, file, "--out", out) == 0
    assert len(pd.read_csv(out)) == 40  # it asks for no labels
    assert run("explain", model, file, "--ensemble", "0", "--out", out, "--html", page) == 0
    assert pd.read_csv(out)["row"].tolist() == others
    assert "seen 8" in page.read_text()
    assert "seen 7<" not in page.read_text()


def test_a_model_of_an_earlier_release_refuses_empty_rows(birds: Path, tmp_path: Path) -> None:
    """Its metadata do not say what such rows meant."""
    table = read_table(birds, guess=True)
    told = table.told()
    del told["empty"]
    fitted = LWClassifier(model="linear", epochs=1).fit(table.frame, table.candidates)
    fitted.save(model := tmp_path / "old.model", metadata=told)
    assert run("disambiguate", model, birds, "--out", tmp_path / "d.csv") == 0
    text = birds.read_text("utf-8").replace(",x|y\n", ",\n", 1)
    birds.write_text(text, "utf-8")
    assert run("disambiguate", model, birds, "--out", tmp_path / "d.csv") == 2


def test_answers_of_yes_and_no_are_read_as_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three columns of 0 and 1 look like classes; a row of three zeros says that they are not."""
    frame = pd.DataFrame({"a": [i / 4 for i in range(40)], "anna": [0] * 20 + [1] * 20})
    frame = frame.assign(ben=[0, 1] * 20, cleo=[0, 0, 0, 1] * 10)
    frame.to_csv(file := tmp_path / "own.csv", index=False)
    who, store, model = ["-c", "anna,ben,cleo"], tmp_path / "s.sqlite", tmp_path / "own.model"
    assert run("describe", file, *who) == 2
    assert "pass --kind annotators if the columns are annotators" in capsys.readouterr().err
    who += ["--kind", "annotators"]
    assert run("describe", file, *who) == 0
    assert "2: 0, 1" in capsys.readouterr().out
    quick = ["--model", "linear", "--epochs", "1", "--quiet"]
    assert run("search", file, *who, *quick, "--trials", "2") == 0
    assert run("fit", file, *who, *quick, "--out", model) == 0
    frame[frame["anna"] == 0].to_csv(file, index=False)
    assert run("disambiguate", model, file, "--out", tmp_path / "d.csv") == 0
    assert set(pd.read_csv(tmp_path / "d.csv")["label"]) <= {0, 1}
    few = ["--methods", "rc", "--models", "linear", "--folds", "2", "--epochs", "1"]
    assert run("compare", file, *who, *few, "--workers", "1", "--store", store) == 0
    assert read_requests(store)[0]["own"][-2:] == ["--kind", "annotators"]


def test_a_label_with_the_separator_is_one_label_where_told(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5], "labels": ["x|y", "y", "[z"]})
    frame.to_csv(file := tmp_path / "own.csv", index=False)
    model, out = tmp_path / "own.model", tmp_path / "d.csv"
    quick = ["--model", "linear", "--epochs", "1", "--quiet", "--kind", "labels"]
    assert run("fit", file, *quick, "--out", model) == 0
    assert run("disambiguate", model, file, "--out", out) == 0
    assert pd.read_csv(out)["label"].tolist() == ["x|y", "y", "[z"]


BIRDS = [f"bird {i}" for i in range(40)]
PAIRS = pd.MultiIndex.from_product([["wood", "lake"], range(20)], names=["place", "number"])


@pytest.mark.parametrize(
    ("index", "options", "rows"),
    [
        (BIRDS, [], BIRDS),
        (pd.Index(BIRDS, name="id"), [], BIRDS),
        (pd.Index(BIRDS, name="id"), ["--index", "id"], BIRDS),
        (BIRDS, ["--index", "b"], [1.0] * 40),
        (range(100, 140), [], list(range(100, 140))),
        (PAIRS, [], [f"{place}, {number}" for place, number in PAIRS]),
        (PAIRS, ["--index", "place"], ["wood"] * 20 + ["lake"] * 20),
    ],
    ids=["unnamed", "named", "asked for", "a column", "numbers", "levels", "one level"],
)
def test_the_index_of_a_parquet_file_names_the_rows(
    birds: Path, index: Sequence[Any], options: list[str], rows: list[Any]
) -> None:
    """It was lost, and could not be asked for by its name either."""
    home, quick = birds.parent, ["--model", "linear", "--epochs", "1", "--quiet"]
    frame = pd.read_csv(birds)
    frame.index = index  # type: ignore[assignment]
    frame.to_parquet(home / "birds.parquet")
    assert run("fit", birds, "--ignore", "b", *quick, "--out", home / "m") == 0
    for command in ("predict", "disambiguate"):
        out = home / f"{command}.csv"
        assert run(command, home / "m", home / "birds.parquet", "--out", out, *options) == 0
        assert pd.read_csv(out)[[*options[1:], "row"][0]].tolist() == rows


def test_an_index_that_is_not_there_is_named(
    birds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.read_csv(birds).set_index(pd.Index(BIRDS, name="id")).to_parquet(birds.parent / "b.parquet")
    assert (
        run("fit", birds.parent / "b.parquet", "--index", "ids", "--out", birds.parent / "m") == 2
    )
    assert "b.parquet has no column 'ids'" in capsys.readouterr().err
