"""Files of raters, of votes, of negations and of parents: describe, fit, disambiguate, and Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from amongst import CrowdClassifier, load
from amongst.cli import main
from amongst.cli.training import Training
from amongst.data import read_table
from amongst.errors import InputError
from amongst.estimators import PRODENClassifier

RNG = np.random.default_rng(0)
NAMES = np.array(["cat", "dog", "owl"])
TRUE = np.arange(90) % 3
FEATURES = pd.DataFrame(
    (np.eye(3)[TRUE] * 3 + RNG.normal(0, 0.3, (90, 3))).round(3), columns=["f1", "f2", "f3"]
)
OTHER = NAMES[(TRUE + RNG.integers(1, 3, 90)) % 3]


def raters() -> tuple[pd.DataFrame, dict[str, Any]]:
    good = [np.where(RNG.random(90) < 0.8, NAMES[TRUE], OTHER) for _ in range(3)]
    told = pd.DataFrame(np.column_stack([*good, RNG.choice(NAMES, 90)]), columns=[*"abcd"])
    told = told.mask(RNG.random(told.shape) < 0.1)
    told["a"] = told["a"].fillna(pd.Series(NAMES[TRUE]))
    return told, {"candidates": [*"abcd"], "raters": "dawid-skene"}


def votes() -> tuple[pd.DataFrame, dict[str, Any]]:
    told = [f"{a}:3|{b}:1" if a != b else a for a, b in zip(NAMES[TRUE], OTHER, strict=True)]
    return pd.DataFrame({"said": told}), {"candidates": ["said"], "kind": "votes"}


def negations() -> tuple[pd.DataFrame, dict[str, Any]]:
    told = [name if i % 2 else f"!{OTHER[i]}" for i, name in enumerate(NAMES[TRUE])]
    return pd.DataFrame({"said": told}), {"candidates": ["said"], "kind": "votes"}


def parents() -> tuple[pd.DataFrame, dict[str, Any]]:
    told = np.where((np.arange(90) % 4 == 0) & (TRUE < 2), "mammal", NAMES[TRUE])
    return pd.DataFrame({"said": told}), {"candidates": ["said"], "hierarchy": "kinds.csv"}


def run(*arguments: object) -> None:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    assert not left.value.code


@pytest.mark.parametrize("written", [raters, votes, negations, parents])
def test_through_every_command(
    written: Callable[[], Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kinds.csv").write_text("parent,child\nmammal,cat\nmammal,dog\n", encoding="utf-8")
    told, options = written()
    FEATURES.join(told).to_csv("all.csv", index=False)
    named = {
        "c": options["candidates"],
        **{k: [v] for k, v in options.items() if k != "candidates"},
    }
    given = [
        w for k, vs in named.items() for v in vs for w in ("--" + k if len(k) > 1 else "-c", v)
    ]

    run("describe", "all.csv", *given)
    shown = capsys.readouterr().out
    assert "cat, dog, owl" in shown
    assert ("Krippendorff" in shown) == ("how far each rater" in shown) == (written is raters)

    quick = ["--model", "linear", "--epochs", "30", "--quiet"]
    run("fit", "all.csv", *given, "--out", "model", *quick)
    run("disambiguate", "model", "all.csv", "--out", "chosen.csv")
    chosen = pd.read_csv("chosen.csv")
    assert (chosen["label"] == NAMES[TRUE]).mean() > 0.95

    table = read_table("all.csv", **options)
    again = load("model").disambiguate(table.frame, table.candidates)
    assert (again["label"] == chosen["label"]).all()
    np.testing.assert_allclose(again["confidence"], chosen["confidence"], atol=1e-12)


def test_raters_and_a_network_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column for each rater, or a row for each answer: `crowd` learns the same of both."""
    monkeypatch.chdir(tmp_path)
    told, _ = raters()
    wide = FEATURES.join(told.add_prefix("rater ")).assign(id=np.arange(90))
    wide.to_csv("wide.csv", index=False)
    wide.melt([*FEATURES, "id"], var_name="who", value_name="said").to_csv("long.csv", index=False)
    settings = ["--method", "crowd", "--model", "linear", "--epochs", "5", "--quiet"]
    run("fit", "wide.csv", "-c", "rater*", "--index", "id", "--out", "w", *settings)
    columns = ["-c", "said", "--rater", "who", "--index", "id"]
    run("fit", "long.csv", *columns, "--out", "l", *settings)
    assert "--method crowd" not in capsys.readouterr().out
    run("disambiguate", "w", "wide.csv", "--out", "w.csv")
    run("disambiguate", "l", "long.csv", "--out", "l.csv")
    assert Path("w.csv").read_bytes() == Path("l.csv").read_bytes()
    found = pd.read_csv("l.csv")
    assert (found["label"] == NAMES[TRUE]).mean() > 0.95
    model = load("l")
    assert isinstance(model, CrowdClassifier)
    assert isinstance(model.estimator_, PRODENClassifier)
    assert (model.estimator_.model, model.estimator_.epochs) == ("linear", 5)


def test_fit_names_the_way_that_judges_raters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    FEATURES.join(raters()[0]).to_csv("all.csv", index=False)
    quick = ["--model", "linear", "--epochs", "1", "--quiet"]
    run("fit", "all.csv", "-c", "a,b,c,d", "--out", "model", *quick)
    assert "--method crowd" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["outside", "checkpoint", "beta"])
def test_crowd_has_only_the_options_of_a_network_that_is_fitted_in_turn(option: str) -> None:
    with pytest.raises(InputError) as caught:
        Training(method="crowd").chosen({option: "0.5"}, None, None, verbose=False)
    assert f"--{option}" in str(caught.value)
