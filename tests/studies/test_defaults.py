"""The default that ships is the one that was measured, and the page shows what the file holds."""

from __future__ import annotations

import runpy
from pathlib import Path

import pandas as pd
import pytest

from amongst import LWClassifier, as_candidates
from amongst.stats import holm
from amongst.theory import AUTO

ROOT = Path(__file__).parents[2]


def test_the_pages_are_what_the_report_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = [ROOT / folder / "defaults.md" for folder in ("docs", "results")]
    pages = [tmp_path / f"{number}.md" for number in range(2)]
    for page, source in zip(pages, committed, strict=True):
        page.write_text(source.read_text("utf-8"), "utf-8")
    script = ROOT / "studies" / "defaults_report.py"
    results = ROOT / "results" / "defaults.csv"
    monkeypatch.setattr("sys.argv", [str(script), str(results), "--into", *map(str, pages)])
    runpy.run_path(str(script), run_name="__main__")
    assert [page.read_text("utf-8") for page in pages] == [
        source.read_text("utf-8") for source in committed
    ]
    assert sum(page.read_text("utf-8").count("<!-- end of") for page in committed) == 6


def test_the_shipped_default_was_measured() -> None:
    settings = LWClassifier()._settings(60_000)
    table = pd.read_csv(ROOT / "results" / "defaults.csv")
    rows = table[(table["stage"] == "default") & (table["method"] == "auto-fading")]
    rows = rows[(rows["lr"] == settings.lr) & (rows["weight_decay"] == settings.weight_decay)]
    assert (settings.epochs, settings.schedule, settings.optimizer) == (100, "cosine", "sgd")
    method = LWClassifier()._method(as_candidates([{0, 1}, {1}]))
    assert (method.psi, method.fade) == ("cross_entropy", 1.0)
    assert len(rows) == 3 * 5 * 5
    assert (rows.groupby(["dataset", "q"])["seed"].nunique() == 5).all()


def test_the_default_is_the_way_that_held_out_rows_chose() -> None:
    table = pd.read_csv(ROOT / "results" / "fading.csv")
    assert set(table["dataset"]) == {"mnist", "fashion_mnist"}
    best = table.groupby(["lr", "strength", "fade"])["val"].mean().idxmax()
    assert best == (LWClassifier()._settings(60_000).lr, AUTO.scale, 1.0)


def test_what_the_page_says_of_the_table_is_so() -> None:
    """No cell differs after Holm's correction; four do before it; no gap is above 0.32 points."""
    report = runpy.run_path(str(ROOT / "studies" / "defaults_report.py"))
    found = report["final"](pd.read_csv(ROOT / "results" / "defaults.csv"))
    qs = sorted(found.index.get_level_values("q").unique())
    gaps = [report["_gap"](found.loc[name], q) for name in report["TITLES"] for q in qs]
    p = [value for _, value in gaps]
    assert min(holm(p)) > 0.05
    assert sum(value <= 0.05 for value in p) == 4
    assert min(gap for gap, _ in gaps) > -0.32
