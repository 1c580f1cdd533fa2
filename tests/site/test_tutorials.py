"""The tutorials run as they stand, block after block, and print what their pages say.

A block with a title is a file of that name. Text below a block is what the block prints; … in it stands
for anything, and shares and decimals are of one machine: another one may come out a little different.
Commands that are not ours, such as pip, are left out.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from amongst.cli import main

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
BLOCK = re.compile(r'^( *)```(\w+)(?: title="([^"]+)")?\n(.*?)^\1```', re.MULTILINE | re.DOTALL)
PART = re.compile(r"(…|\d+(?:\.\d+)?%|\d+\.\d+|\s+)")
PATTERNS = {"…": ".*?", "%": r"([\d.]+)%", ".": r"([\d.]+)"}


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Language, title and text of each."""
    found = BLOCK.findall(page.read_text("utf-8"))
    return [(language, title, textwrap.dedent(text)) for _, language, title, text in found]


def run_command(line: str) -> None:
    words = shlex.split(line, comments=True)
    if words[:1] == ["amongst"]:
        with pytest.raises(SystemExit) as ended:
            main(words[1:])
        assert ended.value.code in (0, None), line


def printed(language: str, text: str, shared: dict[str, Any]) -> str:
    """What a block leaves on the screen."""
    screen = io.StringIO()
    with redirect_stdout(screen), redirect_stderr(screen):
        if language == "python":
            exec(compile(text, "tutorial", "exec"), shared)
        else:
            for line in text.replace("\\\n", " ").splitlines():
                run_command(line)
    return screen.getvalue()


def pattern_of(part: str) -> str:
    """What may stand in place of a part of a text."""
    if part == "…":
        return ".*?"
    if part.isspace():
        return r"\s*"
    if PART.fullmatch(part):
        return r"(\d[\d.]*)" + "%" * part.endswith("%")
    return re.escape(part)


def agree(text: str, said: str) -> bool:
    """Whether a text is what was said: shares within ten points, decimals within a tenth."""
    parts = PART.split(text.strip())
    found = re.fullmatch("".join(map(pattern_of, parts)), said.strip(), re.DOTALL)
    if not found:
        return False
    numbers = [part for part in parts if PART.fullmatch(part) and part[0].isdigit()]
    for number, other in zip(numbers, found.groups(), strict=True):
        wide = 10 if number.endswith("%") else 0.1 * (1 + float(number))
        if abs(float(number.rstrip("%")) - float(other)) > wide:
            return False
    return True


def test_a_text_agrees_up_to_its_shares_and_decimals() -> None:
    assert agree("owl 93% of 40\n… 0.98", "owl  97% of 40\nor more 0.95\n")
    assert not agree("owl 93% of 40", "owl 70% of 40")
    assert not agree("owl 93% of 40", "owl 93% of 41")
    assert not agree("0.98 kites", "0.98 owls")


def run_page(page: Path, shared: dict[str, Any]) -> int:
    """How many outputs were compared."""
    said, compared = "", 0
    for language, title, text in blocks(page):
        if title:
            Path(title).parent.mkdir(parents=True, exist_ok=True)
            Path(title).write_text(text, "utf-8")
        elif language == "text":
            assert agree(text, said), f"{page.name} says\n{text}\nnot\n{said}"
            compared += 1
        elif language in ("python", "console"):
            said = printed(language, text, shared)
    return compared


def person(shared: dict[str, Any]) -> Any:
    """Somebody who knows the truth, and names the first twelve rows that a review shows."""

    def serve(review: Any, port: int, started: Any) -> None:
        for row in review.rows.order[:12]:
            review.decisions.add(
                review.rows.keys[row], 0, "label", str(shared["truth"][row]), review.who
            )

    return serve


PACKAGE = TUTORIALS / "package.md"
PAGES = [page for page in sorted(TUTORIALS.glob("*.md")) if page != PACKAGE]
PAGES += [TUTORIALS.parent / name for name in ("which-method.md", "trust.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tutorial_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "88")
    plain = partial(Console, width=88, force_terminal=False)  # whatever the machine's own is
    monkeypatch.setattr("amongst.cli.saying.Console", plain)
    shared: dict[str, Any] = {}
    monkeypatch.setattr("amongst.review.server.serve", person(shared))
    assert run_page(page, shared) > 0


def test_the_package_is_built_by_pip_and_its_tutorial_runs(tmp_path: Path) -> None:
    """In a process of its own, which finds the package where pip has put it."""
    pytest.importorskip("setuptools", reason="setuptools builds the tutorial's package")
    for _, title, text in blocks(PACKAGE):
        if title:
            (tmp_path / title).parent.mkdir(exist_ok=True)
            (tmp_path / title).write_text(text, "utf-8")
    options = [
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        "installed",
    ]
    run = f"import runpy, pathlib; runpy.run_path({__file__!r})['run_page'](pathlib.Path({str(PACKAGE)!r}), {{}})"
    paths = os.pathsep.join([str(tmp_path / "installed"), *sys.path])
    environment = os.environ | {"PYTHONPATH": paths, "COLUMNS": "88", "TERM": "dumb"}
    for words in (["-m", "pip", "install", *options, "./focal"], ["-c", run]):
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
