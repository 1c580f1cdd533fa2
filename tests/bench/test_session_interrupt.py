"""An interrupt that a library turns into an error of its own is an interrupt all the same."""

from __future__ import annotations

import shlex
import signal
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from amongst.bench import runner as session
from amongst.bench.execute import Options
from amongst.bench.plans import Request
from amongst.cli import main
from amongst.errors import InputError
from amongst.wording import COMMAND


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_swallowed_by_a_library_is_told(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swallow(*_: object, **__: object) -> None:
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt as error:
            raise TypeError("Cannot compare structured arrays") from error

    monkeypatch.setattr(session, "run_plan", swallow)
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    said = StringIO()
    request, options = Request("demo", seeds=1), Options(device="cpu", workers=1)
    with pytest.raises(KeyboardInterrupt):
        session.run_request(request, tmp_path / "s.sqlite", options, console=Console(file=said))
    assert "To go on, run the same request again." in " ".join(said.getvalue().split())
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_interrupt_does_not_cut_the_end_short(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[object] = []

    def pressed_twice(*_: object, **__: object) -> None:
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(number)
            ended.append(signal.getsignal(number))

    monkeypatch.setattr(session, "run_plan", pressed_twice)
    before = signal.getsignal(number)
    request, options = Request("demo", seeds=1), Options(device="cpu", workers=1)
    with pytest.raises(KeyboardInterrupt):
        session.run_request(request, tmp_path / "s.sqlite", options)
    assert ended == [signal.SIG_IGN], "processes that are started to end others take it over"
    assert signal.getsignal(number) is before


def test_the_command_to_go_on_with_is_the_one_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "run_plan", interrupted)
    monkeypatch.setattr("sys.argv", ["a-script.py", "of its own"])
    given = ["reproduce", "demo", "--conditions", "q=0.1", "--store", str(tmp_path / "a b.sqlite")]
    with pytest.raises(SystemExit):
        main(given)
    said = " ".join(capsys.readouterr().err.split())
    assert f"run the same command again: {shlex.join(['amongst', *given])}" in said
    assert COMMAND.get() == ""


def test_a_criterion_without_a_search_is_refused(tmp_path: Path) -> None:
    request = Request("demo", criterion="risk")
    for call in (session.dry_run, lambda *given: session.run_request(given[0], given[2], given[1])):
        with pytest.raises(InputError, match=r"criterion='risk' is for the search of a grid"):
            call(request, Options(device="cpu"), tmp_path / "s.sqlite")
    assert not (tmp_path / "s.sqlite").exists()


def test_an_error_without_an_interrupt_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TypeError("of another kind")

    monkeypatch.setattr(session, "run_plan", fail)
    request, options = Request("demo", seeds=1), Options(device="cpu", workers=1)
    with pytest.raises(TypeError, match="of another kind"):
        session.run_request(request, tmp_path / "s.sqlite", options)
