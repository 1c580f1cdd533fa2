"""The site builds without a warning, opens from its folder, and asks nobody else for anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LARGE = 120_000  # bytes; larger pages have the same parts, and cost seconds each
OF_A_SERVER = "404.html"  # names its files from the root of one


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make docs` builds; a warning is an error there."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def pages(site: Path) -> list[Path]:
    return [page for page in sorted(site.rglob("*.html")) if page.name != OF_A_SERVER]


def test_every_page_opens_by_itself(site: Path, page: Any) -> None:
    """Wide and light, narrow and dark: no complaint, no foreign address, nothing out of the frame."""
    for path in pages(site):
        for width, dark in ((1280, False), (390, True)):
            page.screen(width, 900, dark=dark)
            page.open(path.as_uri())
            where = f"{path.relative_to(site)}, {width} wide"
            assert page.complaints() == [], where
            foreign = [url for url in page.requests() if not url.startswith(("file:", "data:"))]
            assert foreign == [], where
            assert page.js("document.documentElement.scrollWidth <= innerWidth"), where


def test_the_search_finds_without_a_server(site: Path, page: Any) -> None:
    page.screen(1280, 900)
    page.open((site / "index.html").as_uri())
    page.click(".md-search__input")
    page.wait("document.activeElement.matches('.md-search__input')")
    page.type("disambiguat")
    page.press("e", 69, "e")  # the theme looks when a key goes up
    page.wait("document.querySelector('.md-search-result__link')")
    assert page.complaints() == []


def test_no_page_shuts_anybody_out(site: Path, page: Any, axe: str) -> None:
    """Axe finds nothing: every other page wide and light, the rest narrow and dark."""
    for number, path in enumerate(pages(site)):
        if path.stat().st_size > LARGE:
            continue
        dark = bool(number % 2)
        page.screen(390 if dark else 1280, 900, dark=dark)
        page.open(path.as_uri())
        assert page.violations(axe) == [], path.relative_to(site)
