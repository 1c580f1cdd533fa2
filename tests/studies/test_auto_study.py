"""The page of the study of AutoClassifier is what its results say, and a small run makes such lines."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "studies"


@pytest.fixture(autouse=True)
def in_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(STUDIES))


def test_the_page_is_what_the_report_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, script = tmp_path / "auto.md", STUDIES / "auto_report.py"
    page.write_text((ROOT / "docs" / "auto.md").read_text("utf-8"), "utf-8")
    results = ROOT / "results" / "auto.csv"
    monkeypatch.setattr("sys.argv", [str(script), str(results), "--into", str(page)])
    runpy.run_path(str(script), run_name="__main__")
    assert page.read_text("utf-8") == (ROOT / "docs" / "auto.md").read_text("utf-8")


def test_a_cell_that_is_not_whole_is_in_no_table() -> None:
    report: dict[str, Any] = runpy.run_path(str(STUDIES / "auto_report.py"))
    names = report["names"]("usps")
    lines = pd.DataFrame({"set": "usps", "q": 0.3, "split": 0, "method": names})
    more = lines.assign(split=1)[lines["method"] != "LW"]
    table = pd.concat([lines, more]).assign(accuracy=80.0)
    table.loc[table["method"] == "IPAL", "accuracy"] = None
    found = report["whole_splits"](table)
    assert found.index.tolist() == [("usps", "0.3", 0)]
    assert "| its own |" not in report["of_cells"](found)
    ranks = report["of_ranks"](found)
    assert ranks.splitlines()[-1].startswith(f"| IPAL | {len(names)}.0 |")


def test_lines_that_are_there_are_not_computed_again(tmp_path: Path) -> None:
    study = runpy.run_path(str(STUDIES / "auto.py"))
    cells = [("ecoli", "0.3")]
    first = study["missing"](tmp_path / "none.csv", 2, cells)
    assert len(first) == 2 * len(study["names"]("ecoli"))
    have = pd.DataFrame(
        [dict(zip(["set", "q", "split", "method"], job, strict=True)) for job in first[:5]]
    )
    have.to_csv(tmp_path / "some.csv", index=False)
    assert study["missing"](tmp_path / "some.csv", 2, cells) == first[5:]
