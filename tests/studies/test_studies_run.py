"""Every study runs, in miniature and on a CPU, and its report can read what it wrote."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from lw2021.theory.sweep import read_sweep

FOLDER = Path(__file__).parents[2] / "studies"
SMALL = ["--epochs", "1", "--seeds", "1", "--precision", "float32", "--device", "cpu"]
DIGITS = ["--datasets", "digits", "--rows", "30", *SMALL]
METHODS = {"rc", "cc", "proden", "lw-sigmoid", "lw-cross_entropy"}
Study = Callable[..., pd.DataFrame]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Study]:
    """Run a study with these words; the table that it wrote, and nothing else."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)

    def run(name: str, *words: str) -> pd.DataFrame:
        file = tmp_path / f"{name}.csv"
        monkeypatch.setattr("sys.argv", [name, "--out", str(file), *words])
        importlib.import_module(name).main()
        assert [path.name for path in tmp_path.iterdir()] == [file.name]
        return pd.read_csv(file)

    yield run
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[name]


def check_accuracy(table: pd.DataFrame, column: str = "accuracy") -> None:
    """A number in percent in every row, and not the same everywhere."""
    assert table[column].between(0, 100).all()
    assert table[column].nunique() > 1


def test_batches(study: Study, data_folder: Path) -> None:
    words = ["--datasets", "lost", "--folds", "1", "--epochs", "1"]
    table = study("batches", *words)
    ways = importlib.import_module("batches").WAYS
    assert table["way"].tolist() == list(ways)
    assert table["batch_size"].tolist()[1:] == [64, 256, 256]
    check_accuracy(table)
    assert study("batches", *words, "--epochs", "9").equals(table)  # what is there is kept


def test_engines(study: Study) -> None:
    table = study("engines", "--seeds", "1", "--epochs", "1")
    assert set(table["method"]) == METHODS
    check_accuracy(table, "local")
    assert (table["loss local to population"] < 1e-4).all()
    assert (table["loss local to float64"] < 1e-4).all()


def test_the_guide_says_what_engines_measured() -> None:
    table = pd.read_csv(FOLDER.parent / "results" / "engines.csv")
    apart = (table["local"] - table["population"]).abs()
    page = " ".join((FOLDER.parent / "docs" / "experiments.md").read_text("utf-8").split())
    assert f"demo's {len(table)} trials, {(apart > 0).sum()} have another test accuracy" in page
    assert f"by {apart.max():.2f} points at most" in page
    local, stacked = (table[name].ne(table["float64"]).sum() for name in ("local", "population"))
    assert f"{local} differ from the local engine and {stacked} from the population" in page


def test_beta_sweep(study: Study, tmp_path: Path) -> None:
    table = study("beta_sweep", *DIGITS, "--only-auto")
    qs = importlib.import_module("beta_sweep").QS
    assert len(table) == 2 * len(qs) * 2
    assert (table.groupby(["psi", "q", "lr"]).size() == 1).all()
    assert set(table["rule"]) == {"auto"}
    check_accuracy(table)
    assert len(read_sweep(tmp_path / "beta_sweep.csv")) == len(table)


def test_a_sweep_has_every_fixed_beta_and_auto(study: Study) -> None:
    module = importlib.import_module("beta_sweep")
    problem = module.Problem("digits", 20)
    found = [point.labels for point in module.points(problem, 1, 1, "float32")]
    assert len(found) == 2 * len(module.QS) * (len(module.BETAS) + 1) * len(module.RATES)
    assert {label["beta"] for label in found if label["rule"] == "fixed"} == set(module.BETAS)


def test_defaults(study: Study) -> None:
    """Tuned at every q, trained again beside the candidates; a second run trains nothing."""
    words = [*DIGITS, "--qs", "0.1", "0.9"]
    table = study("defaults", *words)
    module = importlib.import_module("defaults")
    tuned = table[table["stage"] == "tune"]
    assert len(tuned) == 2 * len(module.tuned_grid())
    assert tuned[["covering_val", "approximated_val"]].notna().all(axis=None)
    check_accuracy(table)
    final = importlib.import_module("defaults_report").final(table)
    assert set(final.index.get_level_values("method")) == METHODS | {"auto-fading"}
    assert len(final) == 6 * 2
    assert final.notna().all(axis=None)
    assert study("defaults", *words).equals(table)


def test_fading(study: Study) -> None:
    table = study("fading", *DIGITS)
    module = importlib.import_module("fading")
    assert len(table) == len(module.QS) * len(module.RATES) * len(module.WAYS)
    assert (table.groupby(["q", "lr", "strength", "fade"]).size() == 1).all()
    check_accuracy(table, "val")
    check_accuracy(table)
    assert table["covering_val"].between(0, 1).all()
    page = importlib.import_module("defaults_report").chosen(table.assign(dataset="mnist"))
    assert page.count("\n") == 1 + len(module.RATES) * len(module.WAYS)


def test_unseen(study: Study) -> None:
    table = study("unseen", *DIGITS, "--rows", "60", "--epochs", "2")
    qs = importlib.import_module("unseen").QS
    assert table.groupby("question").size().to_dict() == {
        "margin": 6 * len(qs),
        "default": 7 * len(qs),
    }
    check_accuracy(table)
    shown = importlib.import_module("defaults_report").unseen(table, "default")
    assert shown.count("| digits |") == 7


def test_trust(study: Study) -> None:
    words = ["--datasets", "digits", "--seeds", "1", "--epochs", "1"]
    table = study("trust", *words)
    assert set(table["law"]) == {"q=0.3", "q=0.7", "alike"}
    shares = table[~table["measure"].str.startswith(("size", "over"))]["value"].dropna()
    assert shares.between(0, 1).all()
    told = importlib.import_module("trust").to_markdown(table)
    assert told.count("\n") == 4


def test_asking(study: Study, tmp_path: Path) -> None:
    table = study("asking", "--datasets", "digits", "--seeds", "1", "--epochs", "1")
    assert set(table["way"]) == {"gain", "own", "random"}
    start = table[table["asked"] == 0]
    assert start.groupby("measure")["value"].nunique().tolist() == [1, 1]
    module = importlib.import_module("asking")
    assert module.to_markdown(table).count("digits") == 2
    module.draw(table, tmp_path / "asking.png")
    assert (tmp_path / "asking.png").read_bytes().startswith(b"\x89PNG")
