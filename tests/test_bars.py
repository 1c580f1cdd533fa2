"""How long work goes is told in a terminal and in a job's log."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from amongst import bars
from amongst.bars import Bar, counting
from amongst.bench.execute import Options
from amongst.bench.request import Request
from amongst.bench.runner import run_request


class Clock:
    """Ten seconds pass between two looks at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 10
        return self.now


def written(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, pieces: int = 8) -> str:
    monkeypatch.setattr(bars, "time", Clock())
    console = Console(file=io.StringIO(), force_terminal=terminal, width=80)
    with Bar(*counting(), console=console) as bar:
        task = bar.add_task("rows", total=pieces)
        for _ in range(pieces):
            bar.advance(task)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_file_is_told_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = written(monkeypatch, terminal=False).splitlines()
    assert [line.split(", ")[1] for line in lines[:-1]] == ["3/8", "6/8"]
    assert "━" not in "".join(lines[:-1])
    assert "8/8" in lines[-1]  # with the bar itself, once, at the end


def test_a_terminal_is_drawn_in_and_not_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "rows, " not in written(monkeypatch, terminal=True)


def test_what_is_not_shown_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bars, "EVERY", 0.0)
    with Bar(*counting(), show=False) as bar:
        bar.advance(bar.add_task("rows", total=2))
    assert capsys.readouterr() == ("", "")


def test_a_run_in_a_log_says_which_trial_it_has_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bars, "EVERY", 0.0)
    log = io.StringIO()
    request = Request("demo", methods=("cc",), seeds=1, quick=True)
    options = Options(device="cpu", workers=1)
    run_request(request, tmp_path / "a.sqlite", options, console=Console(file=log, width=200))
    assert "digits, q=0.1, CC, 1/3" in log.getvalue()
