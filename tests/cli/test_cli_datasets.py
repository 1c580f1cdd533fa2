"""`amongst datasets`: tables that say what is there, and one line where something is wrong."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from rich.console import Console
from typer.testing import CliRunner

from amongst.candidates import as_candidates
from amongst.cli.datasets import app, fact_lines, pair_table, shade_map, size_bars
from amongst.data import CATALOGUE, entry, loading, picture
from amongst.errors import MissingDependencyError

REAL = os.environ.get("AMONGST_DATA", "")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable, name in (("AMONGST_DATA", "data"), ("AMONGST_CACHE", "cache")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def line_of(output: str, name: str) -> list[str]:
    return next(line.split() for line in output.splitlines() if line.split()[:1] == [name])


def test_list_has_one_line_for_each_dataset_and_fits_80_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, output = run("list")
    assert code == 0
    assert "…" not in output
    for found in CATALOGUE:
        assert str(found.n_classes) in line_of(output, found.name)
    assert line_of(output, "lost")[1:] == [
        "1,122",
        "108",
        "16",
        "2.23",
        "academic",
        "only",
        "fetch",
    ]
    assert line_of(output, "yahoo_news")[1:5] == ["22,991", "163", "219", "1.91"]
    assert line_of(output, "mnist")[1:6] == ["60,000", "+", "10,000", "784", "10"]
    assert line_of(output, "cifar10")[1:6] == ["50,000", "+", "10,000", "3,072", "10"]
    assert line_of(output, "digits")[-1] == "yes"


def test_info_draws_to_the_terminal_and_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "digits.png"
    code, output = run("info", "digits", "--plot", str(path), "--q", "0.2")
    assert code == 0
    for part in ("pixels / 16", "candidates of a row", "co-occurrence", "q = 0.2", "█"):
        assert part in output
    assert path.read_bytes().startswith(b"\x89PNG")


def test_info_draws_what_the_sets_are() -> None:
    sets = ["a|b"] * 1200 + ["b"] * 600 + ["a|c"] * 300
    shown = picture(as_candidates(sets), "three classes")
    bars = size_bars(shown).plain.splitlines()
    assert bars == [
        "candidates of a row",
        f"   1 {'█' * 19:<48}     600   28.6%",
        f"   2 {'█' * 48:<48}   1,500   71.4%",
    ]
    # of a's 1,500 sets, b has 80 % and c 20 %; of b's 1,800, a has two thirds; c is never without a
    assert shade_map(shown).plain.splitlines() == [
        "co-occurrence  share of row j's sets that also have column k; █ = 100%",
        "a · ▓▓░░",
        "b ▓▓·   ",
        "c ██  · ",
    ]
    console = Console(width=60, record=True, quiet=False, file=StringIO())
    console.print(pair_table(shown))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert lines == [
        ["most", "frequent", "pairs", "rows", "share"],
        ["a", "–", "b", "1,200", "80%"],
        ["a", "–", "c", "300", "100%"],
    ]


def test_facts_of_the_catalogue() -> None:
    lost, mnist, cifar = (fact_lines(entry(n)) for n in ("lost", "mnist", "cifar10"))
    assert (lost["rows (n)"], lost["features (d)"]) == ("1,122", "108")
    assert lost["classes (K)"] == "16"
    assert (lost["avg candidates"], lost["true label inside"]) == ("2.23", "100.00% of the rows")
    assert lost["lost.mat"].startswith("sha256 42a8cc43")
    assert lost["source"].startswith("http")
    assert mnist["rows (n)"] == "60,000 + 10,000 (training + test)"
    assert mnist["features (d)"] == "784 = 28 × 28"
    assert mnist["avg candidates"] == "generated from the true labels"
    assert (mnist["preprocessing"], mnist["true label inside"]) == ("pixels / 255", "")
    assert cifar["features (d)"] == "3,072 = 3 × 32 × 32"
    assert cifar["classes (K)"].startswith("10: airplane, automobile")
    assert "each channel to mean 0" in cifar["preprocessing"]


def test_q_of_the_sets_that_are_drawn() -> None:
    for words, title in (([], "q = 0.3"), (["--q", "0.1"], "q = 0.1")):
        assert title in run("info", "digits", *words)[1]


def test_info_of_what_is_not_here(tmp_path: Path) -> None:
    code, output = run("info", "soccer_player")
    assert code == 0
    assert "tested on files of this layout" in " ".join(output.split())
    assert "put Soccer Player.mat" in output
    code, _ = run("info", "soccer_player", "--plot", str(tmp_path / "x.png"))
    assert code == 1


def write_lost(home: Path) -> Path:
    folder = home / "data" / "pll"
    folder.mkdir()
    scipy.io.savemat(folder / "lost.mat", {"data": np.eye(3), "partial_target": np.eye(3)})
    return folder / "lost.mat"


def test_verify_tells_sound_absent_and_wrong_apart(home: Path) -> None:
    code, output = run("verify")
    assert code == 0
    assert "1 dataset checked" in output
    path = write_lost(home)
    code, output = run("verify")
    assert code == 1
    assert "wrong checksum: expected sha256 42a8cc43" in output
    assert path.exists()
    code, output = run("verify", "mnist")
    assert code == 1
    assert "not here" in output


def test_data_that_no_package_here_reads_are_not_called_absent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MissingDependencyError("needs the package 'h5py'")

    monkeypatch.setattr(loading, "load_entry", refuse)
    code, output = run("verify", "digits")
    assert code == 1
    assert output.startswith("not read digits")
    assert "0 datasets checked, 0 not here, 1 not read, 0 wrong" in output


@pytest.mark.parametrize(
    ("arguments", "message", "expected"),
    [
        (("info", "mnst"), "did you mean 'mnist'", 2),
        (("fetch", "yahoo_news"), "Put it by hand at", 1),
        (("verify", "nothing"), "is unknown", 2),
    ],
)
def test_errors_are_one_line_without_traceback(
    arguments: tuple[str, ...], message: str, expected: int
) -> None:
    code, output = run(*arguments)
    assert code == expected
    assert message in output
    assert "Traceback" not in output
    assert output.strip().count("\n") == 0


def test_fetch_checks_what_is_there(home: Path) -> None:
    code, output = run("fetch", "digits")
    assert (code, output.strip()) == (0, "digits: ok")
    write_lost(home)
    code, output = run("fetch", "lost", "--quiet")
    assert code == 1
    assert "wrong checksum" in output


@pytest.mark.skipif(not REAL, reason="AMONGST_DATA points at no folder of real data")
def test_the_real_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMONGST_DATA", REAL)
    code, output = run("info", "lost")
    if "not here" in output:
        pytest.skip("lost is not in AMONGST_DATA")
    assert code == 0
    assert "728" in output
    assert run("verify", "lost")[0] == 0
