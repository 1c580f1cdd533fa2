"""docs/crowd.md is what `make crowd` writes from results/crowd, and no data set of the study is missing."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_the_files_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = runpy.run_path(str(ROOT / "studies" / "crowd" / "page.py"))["main"]
    monkeypatch.setitem(main.__globals__, "DOCS", tmp_path)
    monkeypatch.setattr("sys.argv", ["page.py"])
    main()
    page = (tmp_path / "crowd.md").read_text("utf-8")
    assert page == (ROOT / "docs" / "crowd.md").read_text("utf-8")
    assert "Not run yet" not in page
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == {path.name for path in (ROOT / "docs").glob("crowd-*.png")}
    assert len(drawn) == 9
