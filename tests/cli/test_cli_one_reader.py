"""One room reads a table, once for a command, and decides what is truth and which metric applies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from typer.testing import CliRunner

from amongst import LWClassifier
from amongst.bench.export import read_records
from amongst.candidates import convert, uniform
from amongst.cli.app import app
from amongst.data import read_table, tables

N, K = 60, 3
TRUTH = np.arange(N) % K
X = np.eye(K)[TRUTH] + np.random.default_rng(0).normal(0, 0.1, (N, K))
SETS = uniform(TRUTH, 0.4, seed=0)
QUICK = ["--methods", "cc,plknn", "--models", "linear", "--folds", "2", "--epochs", "2"]


def run(*words: object) -> str:
    answer = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return " ".join(answer.output.split())


def written(folder: Path, with_truth: bool, sparse: bool = False) -> Path:
    """The field's own layout: n×d features, K×n matrices of labels."""
    keep = sp.csc_matrix if sparse else np.asarray
    arrays: dict[str, Any] = {"data": X, "partial_target": keep(SETS.mask.T.astype(float))}
    if with_truth:
        arrays["target"] = keep(np.eye(K)[TRUTH].T)
    scipy.io.savemat(folder / "mine.mat", arrays)
    return folder / "mine.mat"


@pytest.mark.parametrize("sparse", [False, True])
def test_compare_finds_the_truth_of_a_file_in_the_layout_of_the_field(
    tmp_path: Path, sparse: bool
) -> None:
    """It trained everything and printed a dash in each cell: one room found the truth, another looked
    for what is measured where there is none."""
    store = tmp_path / "s.sqlite"
    said = run(
        "compare", written(tmp_path, True, sparse), *QUICK, "--workers", "1", "--store", store
    )
    assert "In percent: test accuracy" in said
    assert "no result yet" not in said
    assert all("accuracy_final" in record.metrics for record in read_records(store))


@pytest.mark.parametrize("more", [[], ["--ignore", "target"]])
def test_compare_measures_without_a_truth_where_there_is_none(
    tmp_path: Path, more: list[str]
) -> None:
    file = written(tmp_path, with_truth=bool(more))
    said = run("compare", file, *QUICK, *more, "--workers", "1", "--store", tmp_path / "s.sqlite")
    assert "In percent: covering rate" in said
    assert "no result yet" not in said


@pytest.mark.parametrize("truth", [None, "target"])
def test_a_table_says_which_metric_applies(tmp_path: Path, truth: str | None) -> None:
    table = read_table(written(tmp_path, with_truth=truth is not None))
    assert (table.metric, table.columns.truth) == ("accuracy" if truth else "covering", truth)
    found = {"partial_target": "layout"} | ({"target": "layout"} if truth else {})
    assert table.found == found
    assert (table.told()["candidates"], table.told()["truth"]) == (None, None)


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    frame = pd.DataFrame(X, columns=["wing", "tail", "beak"])
    frame = frame.assign(seen=SETS.to_strings(), true=TRUTH)
    frame.to_csv(tmp_path / "birds.csv", index=False)
    return tmp_path / "birds.csv"


COMMANDS = (
    "describe {file} --truth true",
    "fit {file} --ignore true,tail --model linear --epochs 1 --quiet --out {folder}/again",
    "predict {folder}/model {file} --out {folder}/p.csv",
    "disambiguate {folder}/model {file} --out {folder}/d.csv",
    "explain {folder}/model {file} --ensemble 0 --html {folder}/e.html --out {folder}/e.csv",
    "search {file} --ignore true --trials 1 --batch 1 --model linear --epochs 1 --quiet",
    "compare {file} --truth true --methods plknn --folds 2 --workers 1 --store {folder}/s.sqlite",
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_every_command_reads_a_file_once_by_the_same_function(
    command: str, birds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CSV file was parsed up to three times."""
    if command.startswith("search"):
        pytest.importorskip("optuna", reason="optuna is not installed")
    frame = pd.read_csv(birds)
    model = LWClassifier(model="linear", epochs=1).fit(frame[["wing", "tail", "beak"]], SETS)
    model.save(birds.parent / "model", metadata={"candidates": ["seen"]})
    parsed: list[object] = []
    read: list[object] = []
    parse, read_as = pd.read_csv, tables.read_as

    def read_csv(path: object, *args: Any, **options: Any) -> Any:
        parsed.append(path)
        return parse(path, *args, **options)

    def reading(*args: Any, **options: Any) -> Any:
        read.append(args)
        return read_as(*args, **options)

    monkeypatch.setattr(pd, "read_csv", read_csv)
    monkeypatch.setattr("amongst.data.tables.read_as", reading)
    run(*command.format(file=birds, folder=birds.parent).split())
    assert parsed == [birds]
    assert len(read) == 1


def test_a_fit_reads_the_labels_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    from_cells = convert._from_cells

    def reading(*args: Any, **options: Any) -> Any:
        read.append(args)
        return from_cells(*args, **options)

    monkeypatch.setattr(convert, "_from_cells", reading)
    LWClassifier(model="linear", epochs=1, n_init=2).fit(X, SETS.to_lists())
    assert len(read) == 1


def test_a_model_of_a_file_without_names_reads_files_without_names(birds: Path) -> None:
    """The first row was lost, when fitting and when predicting."""
    lines = birds.read_text(encoding="utf-8").splitlines()[1:]
    bare = birds.with_name("bare.csv")
    bare.write_text("\n".join(lines) + "\n")
    out, model = birds.with_name("answer.csv"), birds.with_name("model")
    run(
        "fit",
        bare,
        "--no-header",
        "--ignore",
        "5",
        "--model",
        "linear",
        "--epochs",
        "1",
        "--out",
        model,
    )
    run("predict", model, bare, "--out", out)
    run("disambiguate", model, bare, "--out", out)
    assert len(pd.read_csv(out)) == len(lines)
    assert f"{len(lines)}" in run("describe", bare, "--no-header", "--ignore", "5")
