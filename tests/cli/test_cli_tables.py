"""The command line on files as people have them: answers, and one line for each mistake."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.io
from sklearn.datasets import load_iris

from amongst import LWClassifier
from amongst.candidates import uniform
from amongst.cli import main

QUICK = ["--epochs", "40", "--quiet"]


@pytest.fixture
def iris(tmp_path: Path) -> Path:
    """A CSV with names, candidate labels, true labels and row names."""
    data = load_iris(as_frame=True)
    truth = data.target_names[data.target]
    frame = data.data.assign(species=uniform(truth, 0.3, seed=0).to_strings(), truth=truth)
    frame.insert(0, "flower", [f"flower {i}" for i in range(len(frame))])
    frame.to_csv(tmp_path / "iris.csv", index=False)
    return tmp_path / "iris.csv"


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return int(left.value.code or 0)


MODELS: dict[tuple[str, ...], bytes] = {}
"""Of `iris`, by the options that they were fitted with."""


def fitted(iris: Path, *options: str) -> Path:
    out = iris.parent / "model.amongst"
    if options in MODELS:
        out.write_bytes(MODELS[options])
        return out
    code = run("fit", iris, "--truth", "truth", "--index", "flower", "--out", out, *QUICK, *options)
    assert code == 0
    MODELS[options] = out.read_bytes()
    return out


def test_the_whole_path(iris: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = iris.parent
    assert run("describe", iris, "--truth", "truth", "--ignore", "flower") == 0
    assert "mean candidates per row" in capsys.readouterr().out
    MODELS.clear()
    model = fitted(iris)
    assert "accuracy on these rows" in capsys.readouterr().out
    assert run("predict", model, iris, "--out", folder / "p.csv") == 0
    assert run("disambiguate", model, iris, "--out", folder / "d.csv") == 0
    source = pd.read_csv(iris)
    predicted, chosen = pd.read_csv(folder / "p.csv"), pd.read_csv(folder / "d.csv")
    assert predicted["flower"].tolist() == source["flower"].tolist()
    assert (predicted["label"] == source["truth"]).mean() > 0.9
    np.testing.assert_allclose(predicted.filter(like="p(").sum(axis=1), 1)
    assert (chosen["label"] == source["truth"]).mean() > 0.9
    inside = [a in b.split("|") for a, b in zip(chosen["label"], source["species"], strict=True)]
    assert all(inside)


def test_describe_of_many_classes_stays_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"c{i:03}" for i in range(400)]
    few = pd.DataFrame({"x": 0.5, "y": ["c000|c001", "c002", "c003|c004", "|".join(names)]})
    few.to_csv(tmp_path / "few.csv", index=False)
    assert run("describe", tmp_path / "few.csv", "--candidates", "y") == 0
    drawn = capsys.readouterr().out.split("candidates per row")[-1].split("\n")[1:-1]
    assert [line.split()[0] for line in drawn] == ["1", "2", "…", "400"]
    many = pd.DataFrame({"x": 0.5, "y": ["|".join(names[: i + 1]) for i in range(400)]})
    many.to_csv(tmp_path / "many.csv", index=False)
    assert run("describe", tmp_path / "many.csv", "--candidates", "y") == 0
    drawn = capsys.readouterr().out.split("candidates per row")[-1].split("\n")[1:-1]
    assert len(drawn) == 29
    assert drawn[0].split()[0] == "1–14"
    assert sum(int(line.split()[-1]) for line in drawn) == 400


@pytest.mark.parametrize("method", ["lw", "rc", "cc", "proden", "clpl", "average"])
def test_every_method(iris: Path, method: str) -> None:
    fitted(iris, "--method", method, "--model", "linear")


def test_predict_needs_only_the_features_in_any_order(iris: Path) -> None:
    model = fitted(iris)
    bare = pd.read_csv(iris).drop(columns=["species", "truth"])
    bare[bare.columns[::-1]].assign(note="x").to_csv(iris.parent / "new.csv", index=False)
    assert run("predict", model, iris, "--out", iris.parent / "a.csv") == 0
    assert run("predict", model, iris.parent / "new.csv", "--out", iris.parent / "b.csv") == 0
    assert (iris.parent / "a.csv").read_text() == (iris.parent / "b.csv").read_text()


@pytest.mark.parametrize("ending", ["parquet", "npz", "mat"])
def test_other_formats(iris: Path, ending: str) -> None:
    source = pd.read_csv(iris)
    path = iris.with_suffix(f".{ending}")
    X = source.iloc[:, 1:5].to_numpy()
    mask = source["species"].str.get_dummies("|").to_numpy()
    if ending == "parquet":
        source.drop(columns=["flower", "truth"]).to_parquet(path)
    elif ending == "npz":
        np.savez(path, data=X, candidates=mask)
    else:
        target = np.eye(3)[load_iris().target].T
        scipy.io.savemat(path, {"data": X, "partial_target": mask.T, "target": target})
    out = iris.parent / "model"
    assert run("describe", path) == 0
    assert run("fit", path, "--out", out, "--model", "linear", *QUICK) == 0
    assert run("predict", out, path, "--out", iris.parent / "p.csv") == 0
    assert run("disambiguate", out, path, "--out", iris.parent / "d.csv") == 0
    assert len(pd.read_csv(iris.parent / "d.csv")) == 150


def test_a_matlab_file_whose_true_labels_are_outside_the_sets(
    iris: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are found without being named, so they can be left out; no prediction needs them."""
    X, folder = load_iris().data, iris.parent
    noisy, bare = folder / "noisy.mat", folder / "bare.mat"
    arrays = {"data": X, "partial_target": np.eye(3)[:, load_iris().target]}
    scipy.io.savemat(noisy, arrays | {"target": np.eye(3)[:, (load_iris().target + 1) % 3]})
    scipy.io.savemat(bare, {"data": X, "partial_target": np.zeros((3, 150))})
    fit = ["fit", noisy, "--out", folder / "model", "--model", "linear", *QUICK]
    assert run(*fit) == 2
    assert "Correct the rows, or pass --ignore target." in assert_one_line(capsys)
    assert run(*fit, "--ignore", "target") == 0
    assert "accuracy" not in capsys.readouterr().out
    for file in (noisy, bare):
        assert run("predict", folder / "model", file, "--out", folder / f"{file.stem}.csv") == 0
    assert (folder / "noisy.csv").read_text() == (folder / "bare.csv").read_text()
    assert run("disambiguate", folder / "model", noisy, "--out", folder / "d.csv") == 0
    assert run("disambiguate", folder / "model", bare, "--out", folder / "d.csv") == 2


@pytest.fixture
def arrays(iris: Path) -> Path:
    """An NPZ file in which nothing says by its name that it is the features."""
    source = pd.read_csv(iris)
    mask = source["species"].str.get_dummies("|").to_numpy()
    path = iris.with_suffix(".npz")
    np.savez(path, a=source.iloc[:, 1:5].to_numpy(), b=source.iloc[:, 1:3].to_numpy(), s=mask)
    return path


def test_the_array_of_features_is_named_alike_everywhere(
    arrays: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, told = arrays.parent, ["--features", "a", "-c", "s"]
    assert run("describe", arrays, "-c", "s") == 2
    assert "It holds: a, b, s. Name it with --features …." in assert_one_line(capsys)
    assert run("describe", arrays, *told) == 0
    assert "4 features" in capsys.readouterr().out
    fast = ["--epochs", "2", "--model", "linear"]
    assert run("compare", arrays, *told, "--methods", "rc", "--epochs", "2", "--folds", "2",
               "--models", "linear", "--workers", "1", "--store", folder / "s.sqlite") == 0  # fmt: skip
    assert run("fit", arrays, *told, "--out", folder / "model", "--quiet", *fast) == 0
    np.savez(folder / "new.npz", c=np.load(arrays)["a"], b=np.load(arrays)["b"])
    out = ["--out", folder / "p.csv"]
    assert run("predict", folder / "model", arrays, "--out", folder / "old.csv") == 0
    capsys.readouterr()
    assert run("predict", folder / "model", folder / "new.npz", *out) == 2
    assert "--features a is not in" in assert_one_line(capsys)
    assert run("predict", folder / "model", folder / "new.npz", *out, "--features", "c") == 0
    assert (folder / "p.csv").read_text() == (folder / "old.csv").read_text()
    assert run("disambiguate", folder / "model", arrays, *out, "--features", "a") == 0


def test_an_array_that_fit_left_out_is_left_out_again(arrays: Path) -> None:
    model = arrays.parent / "model"
    assert run("fit", arrays, "-c", "s", "--ignore", "b", "--out", model, *QUICK) == 0
    assert run("predict", model, arrays, "--out", arrays.parent / "p.csv") == 0


def test_a_model_knows_the_columns_of_a_table(
    iris: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, chosen = iris.parent, "petal width (cm)"
    assert run("fit", iris, "--features", chosen, "--out", folder / "m", *QUICK) == 0
    assert run("predict", folder / "m", iris, "--out", folder / "p.csv") == 0
    capsys.readouterr()
    told = ["--out", folder / "p.csv", "--features", chosen]
    assert run("predict", folder / "m", iris, *told) == 2
    assert "the model was fitted on columns with names" in assert_one_line(capsys)


def test_a_model_from_python_that_knows_no_names(
    iris: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, data = iris.parent, load_iris()
    truth = data.target_names[data.target]
    estimator = LWClassifier(model="linear", epochs=5, random_state=0)
    fitted = estimator.fit(data.data, uniform(truth, 0.3, seed=0))
    fitted.save(folder / "np.amongst")
    pd.read_csv(iris).drop(columns=["flower", "truth"]).to_csv(folder / "bare.csv", index=False)
    out = ["--out", folder / "p.csv"]
    assert run("predict", folder / "np.amongst", folder / "bare.csv", *out) == 0
    assert pd.read_csv(folder / "p.csv")["label"].tolist() == fitted.predict(data.data).tolist()
    chosen = [word for name in data.feature_names for word in ("--features", name)]
    assert run("disambiguate", folder / "np.amongst", iris, "-c", "species", *out, *chosen) == 0
    assert capsys.readouterr().err == ""
    assert run("predict", folder / "np.amongst", iris, *out, *chosen[:2]) == 2
    assert "has 1 feature, and the model was fitted on 4" in assert_one_line(capsys)


@pytest.mark.filterwarnings("default::amongst.errors.AmongstWarning")
def test_arrays_for_a_model_of_named_columns(
    iris: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, model = iris.parent, fitted(iris)
    np.savez(folder / "X.npz", X=load_iris().data)
    np.savez(folder / "wide.npz", X=np.ones((3, 5)))
    assert run("predict", model, iris, "--out", folder / "a.csv") == 0
    capsys.readouterr()
    assert run("predict", model, folder / "X.npz", "--out", folder / "b.csv") == 0
    assert "they are taken in the model's order" in assert_one_line(capsys)
    one, two = pd.read_csv(folder / "a.csv"), pd.read_csv(folder / "b.csv")
    assert one["label"].tolist() == two["label"].tolist()
    assert run("predict", model, folder / "wide.npz", "--out", folder / "c.csv") == 2
    assert "has 5 features, and the model was fitted on 4" in assert_one_line(capsys)


def test_new_rows_need_not_have_names(iris: Path) -> None:
    model = fitted(iris)
    pd.read_csv(iris).drop(columns="flower").to_csv(iris.parent / "new.csv", index=False)
    assert run("predict", model, iris.parent / "new.csv", "--out", iris.parent / "p.csv") == 0
    assert pd.read_csv(iris.parent / "p.csv")["row"].tolist() == list(range(150))


@pytest.mark.parametrize("ending", [".pq", ".PARQUET", ".CSV"])
def test_other_spellings_of_an_ending(iris: Path, ending: str) -> None:
    frame = pd.read_csv(iris).drop(columns=["flower", "truth"])
    path = iris.with_suffix(ending)
    frame.to_csv(path, index=False) if ending == ".CSV" else frame.to_parquet(path)
    assert run("describe", path) == 0


def broken(iris: Path, name: str) -> Path:
    """A file with one defect."""
    path = iris.parent / f"{name}.csv"
    frame = pd.read_csv(iris).drop(columns=["flower", "truth"])
    if name == "empty":
        path.write_text("")
    elif name == "header only":
        path.write_text("a,b,candidates\n")
    elif name == "infinite":
        frame.iloc[3, 1] = np.inf
        frame.to_csv(path, index=False)
    elif name == "no candidates":
        frame.drop(columns="species").to_csv(path, index=False)
    elif name == "empty set":
        frame.loc[5, "species"] = ""
        frame.to_csv(path, index=False)
    elif name == "binary":
        path.write_bytes(bytes(range(256)))
    return path


@pytest.mark.parametrize(
    "name",
    ["empty", "header only", "infinite", "no candidates", "empty set", "binary", "gone"],
)
def test_a_broken_file_costs_one_line_and_writes_nothing(
    iris: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = iris.parent / "out"
    assert run("fit", broken(iris, name), "--out", out, *QUICK) == 2
    assert_one_line(capsys)
    assert not out.exists()
    assert not list(iris.parent.glob(".out*"))


@pytest.mark.parametrize(
    "options",
    [
        ["--candidates", "specis"],
        ["--truth", "trth"],
        ["--ignore", "flower", "--ignore", "truth", "--psi", "sigmod"],
        ["--ignore", "flower", "--ignore", "truth", "--epochs", "0"],
        ["--ignore", "flower", "--ignore", "truth", "--device", "cuda:77"],
        ["--ignore", "flower", "--ignore", "truth", "--method", "auto", "--epochs", "3"],
        ["--ignore", "flower", "--ignore", "truth", "--method", "ipal", "--epochs", "3"],
        ["--ignore", "flower", "--ignore", "truth", "--method", "lw", "--budget", "9s"],
        ["--ignore", "flower", "--ignore", "truth", "--budget", "soon"],
    ],
)
def test_wrong_options_cost_one_line(
    iris: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("fit", iris, "--out", iris.parent / "out", "--quiet", *options) == 2
    assert_one_line(capsys)
    assert not (iris.parent / "out").exists()


def test_predicting_without_a_feature(iris: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = fitted(iris)
    capsys.readouterr()
    pd.read_csv(iris).drop(columns="petal width (cm)").to_csv(iris.parent / "n.csv", index=False)
    assert run("predict", model, iris.parent / "n.csv", "--out", iris.parent / "p.csv") == 2
    assert "petal width (cm)" in assert_one_line(capsys)
    assert not (iris.parent / "p.csv").exists()


def test_a_damaged_model(iris: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = fitted(iris)
    capsys.readouterr()
    model.write_bytes(model.read_bytes()[:-40])
    assert run("predict", model, iris, "--out", iris.parent / "p.csv") == 2
    assert "truncated" in assert_one_line(capsys)


@pytest.mark.parametrize("name", ["model.pkl", "model"])
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_pickle_is_named_and_never_opened(
    iris: Path, name: str, protocol: int, capsys: pytest.CaptureFixture[str]
) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (iris.parent / "ran",)

    model = iris.parent / name
    model.write_bytes(pickle.dumps(Trap(), protocol=protocol))
    assert run("predict", model, iris, "--out", iris.parent / "p.csv") == 2
    said = assert_one_line(capsys)
    assert "is a pickle, which can run any code" in said
    assert "joblib.load, if you trust" in said
    assert not (iris.parent / "ran").exists()


def test_a_file_of_another_kind_is_no_pickle(
    iris: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = iris.parent / "model"
    for content in (b"", b"\x80", b"\x80\x02" + bytes(6) + b"{", b"PK\x03\x04"):
        model.write_bytes(content)
        assert run("predict", model, iris, "--out", iris.parent / "p.csv") == 2
        assert "is not a file of amongst, or it is truncated" in assert_one_line(capsys)


def test_a_folder_that_is_not_there(iris: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fit", iris, "--truth", "truth", "--out", iris.parent / "no" / "model") == 2
    assert "does not exist" in assert_one_line(capsys)


def assert_one_line(capsys: pytest.CaptureFixture[str]) -> str:
    error = capsys.readouterr().err
    assert error.startswith("amongst: ")
    assert error.count("\n") == 1, error
    assert "Traceback" not in error
    return error


def test_as_a_process() -> None:
    """The installed command itself: a missing file is one line and exit code 2."""
    command = [Path(sys.executable).with_name("amongst"), "describe", "nowhere.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr == "amongst: nowhere.csv does not exist; check the spelling and the folder.\n"
    )


def test_a_sentinel_is_refused_with_row_and_column(
    iris: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`disambiguate` wrote a label that was no candidate, and said nothing."""
    model, odd = fitted(iris), pd.read_csv(iris)
    odd.loc[7, "petal width (cm)"] = 9.9e307
    odd.to_csv(iris.parent / "odd.csv", index=False)
    for command in ("predict", "disambiguate"):
        capsys.readouterr()
        out = iris.parent / f"{command}.csv"
        assert run(command, model, iris.parent / "odd.csv", "--out", out) == 2
        error = assert_one_line(capsys)
        assert "row 7" in error
        assert "'petal width (cm)'" in error
        assert not out.exists()
