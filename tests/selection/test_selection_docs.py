"""docs/selection.md: its blocks run. results/selection_study.md: its table is the committed study's."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import typer
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from amongst.candidates import uniform
from amongst.cli.search import search
from amongst.stats import wilcoxon_signed_rank

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "selection.md").read_text("utf-8")
STUDY = (ROOT / "results" / "selection_study.md").read_text("utf-8")
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


PRINTED = re.compile(r"^print\(\w+\) +# (.*)$", re.MULTILINE)


def test_blocks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    monkeypatch.chdir(tmp_path)
    data = load_iris(as_frame=True)
    sets = uniform(data.target_names[data.target], 0.3, seed=0)
    data.data.assign(species=sets.to_strings()).to_csv("iris.csv", index=False)
    app = typer.Typer()
    app.command()(search)
    shared: dict[str, Any] = {}
    for language, text in BLOCK.findall(PAGE):
        if language == "python":
            exec(compile(text, "selection.md", "exec"), shared)
        else:
            words = shlex.split(text)
            assert words[:2] == ["amongst", "search"]
            CliRunner().invoke(app, words[2:], catch_exceptions=False)
    assert Path("best.amongst").exists()
    assert shared["told"].oracle
    assert not shared["result"].oracle
    said = capsys.readouterr().out
    assert all(line in said for line in PRINTED.findall(PAGE)), "comments are what is printed"


def test_the_table_is_that_of_the_committed_results() -> None:
    results = pd.read_csv(ROOT / "results" / "selection_study.csv")
    study = runpy.run_path(str(ROOT / "benchmarks" / "selection_study.py"))
    assert study["printed"](results) in STUDY
    regret = results.pivot_table(
        index=["case", "model", "seed"], columns="criterion", values="regret"
    )
    assert (regret >= 0).all(axis=None)
    assert (regret["oracle"] <= regret["chance"]).all()


def test_what_the_page_says_of_the_criteria_is_so() -> None:
    results = pd.read_csv(ROOT / "results" / "selection_study.csv")
    places = ["case", "model", "seed"]
    regret = results.pivot_table(index=places, columns="criterion", values="regret").round(9)
    text = " ".join(STUDY.split())
    better, worse, p = beside(regret["risk"], regret["covering"])
    assert f"in {len(regret) - better - worse} of {len(regret)} searches" in text
    assert (better, worse) == (6, 2)
    assert f"two-sided p = {p:.2f})" in text
    better, worse, p = beside(regret["approximated"], regret["covering"])
    assert f"worse than `covering` in {worse} searches and better in {better} (p = {p:.3f})" in text


def test_the_guide_quotes_the_study() -> None:
    line = next(line for line in STUDY.splitlines() if line.startswith("| **mean regret**"))
    chance, covering, approximated, risk, oracle = line.split("|")[-6:-1]
    text = " ".join(PAGE.split())
    for name, value in (("risk", risk), ("covering", covering), ("approximated", approximated)):
        assert re.search(rf"`{name}`[^`]*?{re.escape(value.strip())}", text), name
    assert f"cost {oracle.strip()}, a random one {chance.strip()}" in text


def beside(one: pd.Series, other: pd.Series) -> tuple[int, int, float]:
    return int((one < other).sum()), int((one > other).sum()), wilcoxon_signed_rank(one, other)
