"""The page on trust says what its results say."""

from __future__ import annotations

import importlib
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["trust", "asking"])
def test_the_tables_are_made_from_the_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "studies"))
    table = pd.read_csv(ROOT / "results" / f"{name}.csv")
    made = importlib.import_module(name).to_markdown(table)
    assert made in (ROOT / "docs" / "trust.md").read_text("utf-8")


def test_what_the_page_says_of_the_law() -> None:
    table = pd.read_csv(ROOT / "results" / "trust.csv")
    means = table.pivot_table(index=["dataset", "law"], columns="measure", values="value")
    lawful = means[means.index.get_level_values("law") != "alike"]
    broken = means.drop(lawful.index)
    gaps = table[(table["measure"] == "gap") & (table["law"] != "alike")]
    assert gaps.groupby(["dataset", "law"]).size().tolist() == [3] * 4  # of each, three seeds
    assert (gaps["value"] < 0.03).all()
    assert (lawful["covered_chance"] > 0.88).all()
    assert (broken["size_chance"] < 1.1).all()
    assert (broken["over"] > 0).all()
    assert (means["covered_any"] >= 0.9).all()
    assert (broken["size_any"] > 5).all()


@pytest.mark.parametrize("way", ["gain", "own"])  # of `explain`, and of `amongst review`
def test_ranked_rows_help_more_than_random_ones(way: str) -> None:
    table = pd.read_csv(ROOT / "results" / "asking.csv")
    last = table[table["asked"] == 100]
    found = last.pivot(index=["dataset", "measure", "seed"], columns="way", values="value")
    gain = (found[way] - found["random"]).groupby(level=["dataset", "measure"])
    assert gain.size().tolist() == [5] * 6
    assert (gain.min() > 0).all()
