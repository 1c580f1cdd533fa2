"""A method from another package is used like ours: in Python, at the command line, from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.datasets import load_iris

from amongst.candidates import uniform

pytestmark = pytest.mark.xdist_group("packages")

PYTHON = """
import inspect, json, pickle
import numpy as np
from sklearn.datasets import load_iris
from sklearn.base import clone

import amongst
from amongst.candidates import uniform
from amongst.estimators import ESTIMATORS, MineClassifier, NeighbourClassifier, SlowClassifier
from amongst.losses import MineLoss
from amongst.selection import PartialLabelSearchCV, grid_search

X, y = load_iris(return_X_y=True)
sets = uniform(y, 0.3, seed=0)
told = {"signature": str(inspect.signature(MineClassifier)), "doc": MineClassifier.__doc__}
for kind in (MineClassifier, SlowClassifier, NeighbourClassifier):
    options = {} if kind is NeighbourClassifier else {"epochs": 15, "random_state": 0}
    model = kind(**options).fit(X, sets)
    model.save("model.amongst")
    loaded = amongst.load("model.amongst")
    same = bool((loaded.predict(X) == model.predict(X)).all())
    clone(model)
    again = pickle.loads(pickle.dumps(model))
    told[kind.__name__] = {
        "score": model.score(X, y), "same": same, "type": type(loaded).__name__,
        "pickled": bool((again.predict(X) == model.predict(X)).all()),
        "params": sorted(loaded.get_params()),
    }
several = MineClassifier(model="linear", epochs=5, n_init=2, gamma=2.0, random_state=0).fit(X, sets)
told["n_init"] = len(several.init_scores_)
search = grid_search(MineClassifier(model="linear", epochs=3), X, sets, {"gamma": [1.0, 2.0]})
told["search"] = sorted(search.best_params)
told["search of a state"] = PartialLabelSearchCV(
    SlowClassifier(epochs=2, random_state=0), {"factor": [0.5, 1.0]}, random_state=0
).fit(X, sets).best_params_
told["network"] = str(type(MineClassifier(model="wide", epochs=2).fit(X, sets).model_[2]).__name__)
told["loss"] = float(MineLoss([{0, 1}, {2}], gamma=1.0)(__import__("torch").zeros(2, 3), range(2)))
told["listed"] = sorted(name for name in ESTIMATORS if name[:4] in ("Mine", "Slow", "Neig"))
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(installed: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = installed.run("-c", PYTHON, cwd=tmp_path_factory.mktemp("python"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["MineClassifier", "SlowClassifier", "NeighbourClassifier"])
def test_it_is_fitted_saved_loaded_and_pickled(told: dict[str, Any], name: str) -> None:
    assert told[name]["score"] > 0.6
    assert told[name]["same"]
    assert told[name]["pickled"]
    assert told[name]["type"] == name
    assert name in told["listed"]


def test_it_has_a_signature_and_a_docstring(told: dict[str, Any]) -> None:
    assert "gamma: 'Any' = 1.5" in told["signature"] or "gamma: float = 1.5" in told["signature"]
    assert "gamma" in told["MineClassifier"]["params"]
    assert "(−log Σ_{z∈s} p_z)^γ" in told["doc"]


def test_it_is_searched_and_trained_from_several_seeds(told: dict[str, Any]) -> None:
    assert told["n_init"] == 2
    assert told["search"] == ["gamma"]
    assert told["search of a state"]["factor"] in (0.5, 1.0)


def test_its_network_and_its_loss_are_known(told: dict[str, Any]) -> None:
    assert told["network"] == "Tanh"
    assert told["loss"] == pytest.approx(0.7520, abs=1e-3)  # (log 3/2 + log 3) / 2


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["species"] = uniform(load_iris().target_names[y], 0.3, seed=0).to_strings()
    path = tmp_path_factory.mktemp("table") / "iris.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("method", ["mine", "slow"])
def test_the_command_line_knows_it(
    installed: Any, table: Path, tmp_path: Path, method: str
) -> None:
    def amongst(*words: str | Path) -> str:
        done = installed.run("-m", "amongst", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr + done.stdout
        return str(done.stdout)

    assert method in installed.run("-m", "amongst", "fit", "--help").stdout
    amongst(
        "fit", table, "-c", "species", "--method", method, "--epochs", "5", "--out", "m", "--quiet"
    )
    amongst("predict", "m", table, "--out", "p.csv")
    amongst("disambiguate", "m", table, "--out", "d.csv")
    assert len(pd.read_csv(tmp_path / "p.csv")) == 150
    chosen = pd.read_csv(tmp_path / "d.csv")
    assert set(chosen["label"]) <= set(load_iris().target_names)
    amongst("search", table, "-c", "species", "--method", method, "--epochs", "2", "--out", "s",
            "--model", "linear", "--quiet") if method == "mine" else None  # fmt: skip


def test_it_is_compared_with_ours(installed: Any, table: Path, tmp_path: Path) -> None:
    done = installed.run(
        "-m", "amongst", "compare", table, "-c", "species", "--methods", "mine,slow,neighbour,cc",
        "--epochs", "2", "--seeds", "1", "--folds", "2", "--store", "s.sqlite", "--quick",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    for title in ("Mine", "Slow", "Neighbour", "CC"):
        assert title in done.stdout


def test_without_the_package_its_file_says_what_to_install(
    installed: Any, table: Path, tmp_path: Path
) -> None:
    from amongst import load
    from amongst.errors import AmongstError

    words = [
        "fit",
        table,
        "-c",
        "species",
        "--method",
        "mine",
        "--epochs",
        "2",
        "--out",
        "m",
        "--quiet",
    ]
    assert installed.run("-m", "amongst", *words, cwd=tmp_path).returncode == 0
    with pytest.raises(AmongstError, match=r"'MineClassifier'.*amongst-mine"):
        load(tmp_path / "m")
