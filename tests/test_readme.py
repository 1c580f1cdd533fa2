"""The README's code blocks run as they stand, in order, in one folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SET_UP = (
    "make ",
    "git ",
    "pip ",
    "amongst review ",
    "amongst fit iris.csv --candidates species --rev",
)
"""Commands that are left out: the last ones wait for a person, and need the answers."""


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text("utf-8"))


def commands(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line and not line.startswith(SET_UP)]
    return [shlex.split(line, comments=True) for line in lines]


def run_command(words: list[str], folder: Path) -> None:
    assert words[0] == "amongst", f"what is {words}?"
    command = [str(Path(sys.executable).with_name("amongst")), *words[1:]]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)


def test_readme_blocks_run(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    shared: dict[str, object] = {}
    found = blocks(ROOT / "README.md")
    assert sum(language == "python" for language, _ in found) >= 4
    for language, text in found:
        if language == "python":
            exec(compile(text, "README.md", "exec"), shared)
        else:
            for words in commands(text):
                run_command(words, tmp_path)
    assert (shared["net"](shared["inputs"]).argmax(1).numpy() == shared["y"]).mean() > 0.85
    for name in ("predictions.csv", "chosen.csv"):
        assert len(pd.read_csv(tmp_path / name)) == 150


def test_readme_speaks_the_words_people_search_for() -> None:
    text = (ROOT / "README.md").read_text().lower()
    for words in ("ambiguous labels", "several possible", "superset", "candidate labels"):
        assert words in text


def test_contributing_examples_are_algorithms(tmp_path: Path) -> None:
    """The files that CONTRIBUTING tells people to write work as written."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    files = re.findall(
        r"`src/amongst/algorithms/(\w+)\.py`:\n\n```python\n(.*?)```", text, re.DOTALL
    )
    assert [name for name, _ in files] == ["powered", "remembering"]
    for name, code in files:
        path = tmp_path / f"{name}.py"
        path.write_text(code, "utf-8")
        command = [sys.executable, "-m", "doctest", "-v", str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert "0 failed" in done.stdout or "Test passed." in done.stdout
