"""A model on other files than its own: fewer rows, another order, another terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from amongst import PLKNNClassifier, load
from amongst.candidates import uniform
from amongst.cli import main

TRUE = np.arange(60) % 3
X = np.eye(3)[TRUE] * 3 + np.random.default_rng(0).normal(0, 0.1, (60, 3))
FEATURES = pd.DataFrame(X, columns=["f1", "f2", "f3"])
SETS = uniform(TRUE, 0.3, seed=0)
ANNOTATORS = ["anna", "ben", "cleo"]
QUICK = ["--model", "linear", "--epochs", "20", "--quiet"]


def run(*arguments: object) -> None:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    assert not left.value.code


def named(columns: list[str]) -> list[str]:
    return [word for column in columns for word in ("--candidates", column)]


def votes() -> tuple[np.ndarray, np.ndarray]:
    """Three people's answers; and the rows in which none of them said 2, nor all of them 0."""
    rng = np.random.default_rng(1)
    answers = np.array([rng.choice(labels, 3) for labels in SETS.to_lists()])
    return answers, (answers < 2).all(axis=1) & (answers > 0).any(axis=1)


def chosen(folder: Path, *arguments: object) -> pd.DataFrame:
    run("disambiguate", folder / "model", *arguments, "--out", folder / "chosen.csv")
    return pd.read_csv(folder / "chosen.csv")


@pytest.mark.parametrize("command", ["predict", "disambiguate"])
def test_a_formula_goes_into_csv_as_it_is_or_as_text(command: str, tmp_path: Path) -> None:
    names = np.array(["=1+1", "+x", "@y"], dtype=object)
    frame = FEATURES.assign(name="-row", species=names[TRUE])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    columns = ["--candidates", "species", "--index", "name"]
    run("fit", tmp_path / "rows.csv", *columns, "--out", tmp_path / "model", *QUICK)
    found = {}
    for words in ((), ("--safe-csv",)):
        out = tmp_path / "out.csv"
        run(command, tmp_path / "model", tmp_path / "rows.csv", *words, "--out", out)
        found[words] = pd.read_csv(out)
    plain, safe = found.values()
    assert set(plain["label"]) == set(names)
    assert (safe["label"] == "'" + plain["label"]).all()
    assert (safe["name"] == "'-row").all()
    numbers = plain.select_dtypes("number")
    pd.testing.assert_frame_equal(safe[numbers.columns], numbers)


@pytest.mark.filterwarnings("default")  # as outside of pytest
def test_features_that_are_the_same_in_every_row_are_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text("x,kind,labels\n" + "1.5,wild,a\n1.5,wild,b\n" * 4)
    words = ["fit", tmp_path / "rows.csv", "--out", tmp_path / "model", *QUICK]
    run(*words, "--features", "x")
    assert "the features are the same in every row" in capsys.readouterr().err
    (tmp_path / "rows.csv").write_text("x,kind,labels\n" + "1.5,wild,a\n2.5,wild,b\n" * 4)
    run(*words)
    assert capsys.readouterr().err == ""


def test_answers_of_few_rows_are_no_mask_in_a_table(tmp_path: Path) -> None:
    answers, few = votes()
    frame = FEATURES.join(pd.DataFrame(answers, columns=ANNOTATORS))
    frame.to_csv(tmp_path / "all.csv", index=False)
    frame[few].to_csv(tmp_path / "few.csv", index=False)
    run("fit", tmp_path / "all.csv", *named(ANNOTATORS), "--out", tmp_path / "model", *QUICK)
    found = chosen(tmp_path, tmp_path / "few.csv")["label"].to_numpy()
    assert (answers[few] == found[:, None]).any(axis=1).all()


def test_answers_of_few_rows_are_no_mask_in_an_array(tmp_path: Path) -> None:
    answers, few = votes()
    np.savez(tmp_path / "all.npz", X=X, votes=answers)
    np.savez(tmp_path / "few.npz", X=X[few], votes=answers[few])
    run("fit", tmp_path / "all.npz", *named(["votes"]), "--out", tmp_path / "model", *QUICK)
    found = chosen(tmp_path, tmp_path / "few.npz")["label"].to_numpy()
    assert (answers[few] == found[:, None]).any(axis=1).all()


def test_classes_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    mask = pd.DataFrame(SETS.mask.astype(int), columns=["owl", "kite", "wren"])
    FEATURES.join(mask).to_csv(tmp_path / "all.csv", index=False)
    run("fit", tmp_path / "all.csv", *named([*mask]), "--out", tmp_path / "model", *QUICK)
    straight = chosen(tmp_path, tmp_path / "all.csv")
    turned = chosen(tmp_path, tmp_path / "all.csv", *named(["wren", "owl", "kite"]))
    pd.testing.assert_frame_equal(straight, turned)


def test_few_rows_may_lack_the_labels_that_are_text(tmp_path: Path) -> None:
    names = np.array(["1", "2", "3x"])
    frame = FEATURES.assign(s=uniform(names[TRUE], 0.3, seed=0).to_strings())
    frame.to_csv(tmp_path / "all.csv", index=False)
    few = frame[~frame["s"].str.contains("x")]
    few.to_csv(tmp_path / "few.csv", index=False)
    run("fit", tmp_path / "all.csv", "--out", tmp_path / "model", *QUICK)
    assert len(chosen(tmp_path, tmp_path / "few.csv")) == len(few)


def test_a_label_that_the_model_does_not_know_has_a_remedy_at_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It said to add the label to classes, which no option does."""
    file, new, model = tmp_path / "own.csv", tmp_path / "new.csv", tmp_path / "own.model"
    file.write_text("wing,labels\n1.5,owl|kite\n2.5,kite\n3.5,owl\n")
    new.write_text("wing,labels\n1.5,owl|wren\n")
    run("fit", file, *QUICK, "--out", model)
    with pytest.raises(SystemExit) as left:
        main(["disambiguate", str(model), str(new), "--out", str(tmp_path / "d.csv")])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert "'wren', which is none of the classes ('kite', 'owl'). Correct the row, or fit" in said
    assert "Add it to classes" not in said


def test_a_model_of_an_array_takes_the_columns_of_a_table_in_the_order_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It asked for columns x0, x1, …, and refused to be told which they are."""
    np.savez(tmp_path / "own.npz", X=X, S=SETS.mask)
    FEATURES[["f3", "f1", "f2"]].to_csv(tmp_path / "own.csv", index=False)
    run("fit", tmp_path / "own.npz", "--out", tmp_path / "model", *QUICK)
    model, out = tmp_path / "model", ["--out", tmp_path / "p.csv"]
    with pytest.raises(SystemExit):
        main([str(word) for word in ("predict", model, tmp_path / "own.csv", *out)])
    assert "3 columns had no names. Name as many, in their order" in capsys.readouterr().err
    run("predict", model, tmp_path / "own.csv", "--features", "f1,f2,f3", *out)
    found = pd.read_csv(tmp_path / "p.csv")
    run("predict", model, tmp_path / "own.npz", *out)
    pd.testing.assert_frame_equal(found, pd.read_csv(tmp_path / "p.csv"))


def test_a_model_from_python_finds_the_column_of_candidates_as_fit_does(tmp_path: Path) -> None:
    sets = uniform(np.array(["ant", "bee", "cat"])[TRUE], 0.3, seed=0)
    FEATURES.assign(seen=sets.to_strings()).to_csv(tmp_path / "own.csv", index=False)
    PLKNNClassifier().fit(X, sets).save(tmp_path / "model")
    found = chosen(tmp_path, tmp_path / "own.csv")["label"]
    assert sets.contains(found).all()


def test_names_of_rows_come_back_as_written(tmp_path: Path) -> None:
    names = [f"{row:04d}" for row in range(60)]
    frame = FEATURES.assign(s=SETS.to_strings(), id=names)
    frame.to_csv(tmp_path / "all.csv", index=False)
    run("fit", tmp_path / "all.csv", "--index", "id", "--out", tmp_path / "model", *QUICK)
    run("predict", tmp_path / "model", tmp_path / "all.csv", "--out", tmp_path / "new.csv")
    assert pd.read_csv(tmp_path / "new.csv", dtype=str)["id"].tolist() == names


def test_labels_are_printed_where_the_terminal_knows_ascii_only(tmp_path: Path) -> None:
    names = np.array(["K\u00e4uzchen", "Eule", "Milan"])
    frame = FEATURES.assign(s=uniform(names[TRUE], 0.3, seed=0).to_strings())
    frame.to_csv(tmp_path / "all.csv", index=False)
    run("fit", tmp_path / "all.csv", "--out", tmp_path / "model", *QUICK)
    done = subprocess.run(
        [sys.executable, "-m", "amongst", "predict", "model", "all.csv", "--out", "-"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert "p(K\u00e4uzchen)" in done.stdout.decode()


@pytest.mark.parametrize("option", [("--beta", "3"), ("--psi", "sigmoid")])
def test_an_option_that_the_method_does_not_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, str]
) -> None:
    FEATURES.assign(s=SETS.to_strings()).to_csv(tmp_path / "all.csv", index=False)
    arguments = ["fit", tmp_path / "all.csv", "--out", tmp_path / "model", "--method", "rc"]
    with pytest.raises(SystemExit):
        main([*map(str, arguments), *option, *QUICK])
    assert f"--method rc has no {option[0]}; leave it out." in capsys.readouterr().err


def test_a_method_may_be_written_as_in_the_readme(tmp_path: Path) -> None:
    FEATURES.assign(s=SETS.to_strings()).to_csv(tmp_path / "all.csv", index=False)
    run("fit", tmp_path / "all.csv", "--method", "PRODEN", "--out", tmp_path / "model", *QUICK)
    assert type(load(tmp_path / "model")).__name__ == "PRODENClassifier"


def test_a_leverage_that_is_none_is_told_of_auto(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    FEATURES.assign(s=SETS.to_strings()).to_csv(tmp_path / "all.csv", index=False)
    arguments = ["fit", tmp_path / "all.csv", "--out", tmp_path / "model", "--beta", "atuo"]
    with pytest.raises(SystemExit):
        main([*map(str, arguments), *QUICK])
    assert "--beta atuo must be 'auto' or a number of at least 0." in capsys.readouterr().err


def test_every_method_with_a_binary_loss_takes_the_one_asked_for(tmp_path: Path) -> None:
    FEATURES.assign(s=SETS.to_strings()).to_csv(tmp_path / "all.csv", index=False)
    for method, own in (("average", "cross_entropy"), ("clpl", "squared_hinge")):
        for option, psi in ((["--psi", "sigmoid"], "sigmoid"), ([], own)):
            arguments = ["--method", method, *option, "--out", tmp_path / "model", *QUICK]
            run("fit", tmp_path / "all.csv", *arguments)
            assert load(tmp_path / "model").get_params()["psi"] == psi


def test_a_found_model_is_written_before_anything_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind ``| head`` the pipe may close first."""

    def closed(*_: object) -> None:
        raise BrokenPipeError

    FEATURES.assign(s=SETS.to_strings()).to_csv(tmp_path / "all.csv", index=False)
    monkeypatch.setattr("amongst.cli.search._show", closed)
    arguments = ["search", tmp_path / "all.csv", "--out", tmp_path / "model", "--table"]
    with pytest.raises(SystemExit):
        main([*map(str, arguments), str(tmp_path / "t.csv"), *QUICK])
    assert load(tmp_path / "model").n_features_in_ == 3
    assert len(pd.read_csv(tmp_path / "t.csv")) == 51
