"""`amongst theory`: readable, true, and a page that stands by itself."""

from __future__ import annotations

import base64
import io
import re
import sys
from runpy import run_path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import amongst
from amongst.cli import app as command
from amongst.errors import InputError, MissingDependencyError
from amongst.theory import auto_beta, bayes
from lw2021.commands import theory
from lw2021.theory import figures
from lw2021.theory.summary import region_map
from lw2021.theory.terminal import MAPS
from lw2021.theory.verification import Check

app = typer.Typer()
app.command()(theory)
QUICK = ["--problems", "5"]


def run(*arguments):
    return CliRunner().invoke(app, [*QUICK, *arguments], env={"COLUMNS": "100"})


@pytest.fixture(scope="module")
def printed():
    return run()


def test_it_states_the_erratum_with_its_counterexample(printed):
    assert printed.exit_code == 0
    words = " ".join(printed.output.split())
    assert "Theorem 1 holds as printed at q = 1/2 only" in words
    assert "corrected w_y ψ(g_y) + Σ w_z [ q_z ψ(g_z) + β (1−q_z) ψ(−g_z) ] as printed" in words
    assert "as printed w_y ψ(g_y) + Σ w_z [ q_z ψ(g_z) + β q_z ψ(−g_z) ] Two labels" in words
    assert (
        "Two labels, scores 0, weights 1, q = 0.1, β = 2. The set is {y} with probability 0.9 and "
        "costs 1/2 + β/2 = 1.5, or both labels with probability 0.1 and costs 1. The risk is "
        "0.9·1.5 + 0.1·1 = 1.45; the corrected form gives 1.45, the printed one 0.65."
    ) in words


def test_it_says_what_holds_and_what_does_not(printed):
    lines = printed.output.splitlines()
    failed = [line for line in lines if line.startswith("✗")]
    assert len(failed) == 4
    assert all("Theorem" in line for line in failed)
    assert sum(line.startswith("✓") for line in lines) >= 12
    assert "as documented" in lines[-1]


def test_where_only_ascii_can_be_printed_it_still_says_which(monkeypatch):
    """Both marks and all shades became question marks."""
    out = io.TextIOWrapper(io.BytesIO(), "ascii", "replace")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("COLUMNS", "100")
    theory(None, problems=5, seed=0)
    out.seek(0)
    lines = out.read().splitlines()
    assert sum(line.startswith("fails ") for line in lines) == 4
    assert sum(line.startswith("holds ") for line in lines) >= 12
    assert sum(bool(re.match(r" *\d+\.\d+ [.:+*#]{16} ", line)) for line in lines) == 10


def test_it_shows_thresholds_and_the_region(printed):
    assert re.search(r"0\.90\s+9\.00\s+19\.0\s+1\.45", printed.output)
    assert printed.output.count("100.00 ") == 3


def test_the_region_is_drawn_as_it_is_counted(printed):
    """β falls from row to row, q grows to the right; a shade for how many posteriors are right."""
    lines = printed.output.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("100.00 "))
    betas, qs = np.geomspace(100, 0.1, 10), np.linspace(0.05, 0.95, 16)
    maps = [region_map("sigmoid", kind, betas, qs).counts for kind in MAPS]
    for row, (line, beta) in enumerate(zip(lines[at : at + 10], betas, strict=True)):
        cells = [f"{beta:>6.2f} " + "".join("·░▒▓█"[n] for n in found[row]) for found in maps]
        assert line.rstrip() == "   ".join(cells)


def test_a_surprise_is_told_and_costs_the_exit_status(monkeypatch):
    surprise = [Check("Theorem 9", "two is three", 1.0, 0.0)]
    monkeypatch.setattr("lw2021.theory.verification.verify", lambda *_: surprise)
    result = run()
    assert result.exit_code == 1
    assert "NOT as documented: Theorem 9" in result.output


@pytest.fixture
def coarse(monkeypatch):
    """Small maps: the page is the same, in less time."""
    monkeypatch.setattr(figures, "MAP_BETAS", np.geomspace(0.1, 100, 4))
    monkeypatch.setattr(figures, "MAP_QS", np.linspace(0.1, 0.9, 3))
    monkeypatch.setattr(bayes, "STEPS", 30)
    figures._region.cache_clear()
    yield
    figures._region.cache_clear()


def test_the_page_is_whole_and_loads_nothing(tmp_path, coarse):
    pytest.importorskip("matplotlib")
    target = tmp_path / "theory.html"
    assert run("--html", str(target)).output.count("page written to") == 1
    page = target.read_text()
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>")
    plots = re.findall(r'(?:src|srcset)="([^"]*)"', page)
    assert len(plots) == 8
    for plot in plots:
        kind, data = plot.split(",", 1)
        assert kind == "data:image/svg+xml;base64"
        assert b"</svg>" in base64.b64decode(data)
    bare = re.sub(r'"data:[^"]*"', "", page)
    assert "http" not in bare
    assert "<script" not in bare
    assert "prefers-color-scheme: dark" in bare
    assert all(f'alt="{figure.alt}"' in bare for figure in figures.figures())
    assert ">0.65<" in bare


def test_a_missing_folder_is_told_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("lw2021.theory.verification.verify", None)
    result = run("--html", str(tmp_path / "no" / "page.html"))
    assert isinstance(result.exception, InputError)
    assert "make it first" in str(result.exception)
    folder = run("--html", str(tmp_path))
    assert "is a folder" in str(folder.exception)


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """As in an installed package, which has no studies beside it."""
    monkeypatch.setattr("amongst.optional.STUDIES", tmp_path / "studies")
    app = run_path(command.__file__)["app"]
    return lambda words: CliRunner().invoke(app, words.split(), env={"COLUMNS": "100"})


def test_an_installed_package_has_the_rule_of_beta_and_says_where_the_rest_is(installed):
    found = installed("theory")
    assert found.exit_code == 0
    assert re.search(r"0\.7 +1\.34 +5\.2", found.output)
    assert found.output.splitlines()[-1].startswith("amongst theory needs the repository")
    assert auto_beta([{0, 1}, {1, 2}, {2, 0}]) == 2.0


def test_an_installed_package_says_what_needs_the_repository(installed, tmp_path):
    page = f"theory --html {tmp_path}/theory.html"
    for words in (page, "evidence pack a.sqlite --into b", "evidence pages folder"):
        assert installed(words).exception.code == "no-studies"
    with pytest.raises(MissingDependencyError) as needed:
        amongst.theory.verify  # noqa: B018
    assert needed.value.code == "no-studies"
