"""The site builds without a warning, opens from its folder, and asks nobody else for anything."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
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


FORMS = [(1280, False), (390, True)]  # wide and light, narrow and dark


def visit(path: Path, page: Any, axe: str, forms: list[tuple[int, bool]]) -> Iterator[Any]:
    """What is found wrong with a page that opens in one form and then turns into the other one."""
    for number, (width, dark) in enumerate(forms):
        page.screen(width, 900, dark=dark)
        if number == 0:
            page.open(path.as_uri())
        scheme = ("default", "slate")[dark]  # the theme turns a moment later
        page.wait(f"[undefined, '{scheme}'].includes(document.body.dataset.mdColorScheme)")
        page.wait("document.getAnimations().every(each => each.playState !== 'running')")
        yield "complaints", page.complaints()
        yield "frame", page.js("document.documentElement.scrollWidth > innerWidth")
    yield "foreign", [url for url in page.requests() if not url.startswith(("file:", "data:"))]
    yield "axe", page.violations(axe) if axe and path.stat().st_size <= LARGE else []


@pytest.fixture(scope="module")
def found(site: Path, page: Any, request: pytest.FixtureRequest) -> dict[str, list[Any]]:
    """By what is looked for, the pages where it is. Each page is opened once: that costs most."""
    axe, found = "", defaultdict(list)
    with suppress(pytest.skip.Exception):
        axe = request.getfixturevalue("axe")
    for number, path in enumerate(pages(site)):
        for kind, problem in visit(path, page, axe, FORMS[:: (-1) ** number]):
            found[kind] += [(str(path.relative_to(site)), problem)] if problem else []
    return found


@pytest.mark.parametrize("kind", ["complaints", "foreign", "frame"])
def test_every_page_opens_by_itself(found: dict[str, list[Any]], kind: str) -> None:
    """No complaint, no foreign address, nothing out of the frame."""
    assert kind in found
    assert found[kind] == []


def test_the_search_finds_without_a_server(site: Path, page: Any) -> None:
    page.screen(1280, 900)
    page.open((site / "index.html").as_uri())
    page.click(".md-search__input")
    page.wait("document.activeElement.matches('.md-search__input')")
    page.type("disambiguat")
    page.press("e", 69, "e")  # the theme looks when a key goes up
    page.wait("document.querySelector('.md-search-result__link')")
    assert page.complaints() == []


def test_no_page_shuts_anybody_out(found: dict[str, list[Any]], axe: str) -> None:
    """Axe finds nothing: every other page wide and light, the rest narrow and dark."""
    assert found["axe"] == []
