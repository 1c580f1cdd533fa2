"""The default that ships is the one that was measured, and the page shows what the file holds."""

from __future__ import annotations

import runpy
from pathlib import Path

import pandas as pd
import pytest

from amongst import LWClassifier

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_the_report_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "defaults.md"
    page.write_text((ROOT / "docs" / "defaults.md").read_text())
    script = ROOT / "studies" / "defaults_report.py"
    results = ROOT / "results" / "defaults.csv"
    monkeypatch.setattr("sys.argv", [str(script), str(results), "--into", str(page)])
    runpy.run_path(str(script), run_name="__main__")
    assert page.read_text() == (ROOT / "docs" / "defaults.md").read_text()


def test_the_shipped_default_was_measured() -> None:
    settings = LWClassifier()._settings()
    table = pd.read_csv(ROOT / "results" / "defaults.csv")
    rows = table[(table["stage"] == "default") & (table["method"] == "auto-1")]
    rows = rows[(rows["lr"] == settings.lr) & (rows["weight_decay"] == settings.weight_decay)]
    assert (settings.epochs, settings.schedule, settings.optimizer) == (100, "cosine", "sgd")
    assert len(rows) == 3 * 5 * 5
    assert (rows.groupby(["dataset", "q"])["seed"].nunique() == 5).all()
