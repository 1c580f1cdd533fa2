"""An interrupt that a library turns into an error of its own is an interrupt all the same."""

from __future__ import annotations

import signal
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from amongst.bench import session
from amongst.bench.execute import Options
from amongst.bench.plans import Request


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
    assert "run the same command again" in " ".join(said.getvalue().split())
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_an_error_without_an_interrupt_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TypeError("of another kind")

    monkeypatch.setattr(session, "run_plan", fail)
    request, options = Request("demo", seeds=1), Options(device="cpu", workers=1)
    with pytest.raises(TypeError, match="of another kind"):
        session.run_request(request, tmp_path / "s.sqlite", options)
