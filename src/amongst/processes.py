"""Processes of this machine: whether another one lives, and how this one is ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], None]


def exists(pid: int) -> bool:
    """Whether there is a process with this number; always, where one cannot ask."""
    if os.name == "nt":  # where kill(pid, 0) is Ctrl-C, no question
        return True
    try:
        os.kill(pid, 0)
    except OSError as error:  # without permission it is another user's
        return isinstance(error, PermissionError)
    return True


@contextmanager
def interrupts() -> Iterator[None]:
    """SIGTERM (a cluster taking the machine back) and SIGHUP (a terminal that is closed) are Ctrl-C
    inside, and Ctrl-C is never lost.

    An interrupt in the midst of a library's C code can come out as an error of that library. A second
    one is ignored, here and by what ends the workers: cut short, that would leave them running, and
    this process waiting for them.

    >>> try:
    ...     with interrupts():
    ...         signal.raise_signal(signal.SIGTERM)
    ... except KeyboardInterrupt:
    ...     print("to go on, run it again")
    to go on, run it again
    """
    came: list[int] = []
    before: dict[int, Any] = {}

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        for taken in before:
            signal.signal(taken, signal.SIG_IGN)
        raise KeyboardInterrupt

    before |= _take_over(interrupt)
    try:
        yield
    except Exception as error:
        if came:
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _take_over(handler: Handler) -> dict[int, Any]:
    """The handlers before; SIGINT stays as it is where Python does not raise KeyboardInterrupt, and
    SIGHUP where it does not end the process, as below nohup."""
    usual: dict[int, Any] = {signal.SIGINT: signal.default_int_handler}
    if hasattr(signal, "SIGHUP"):
        usual[signal.SIGHUP] = signal.SIG_DFL
    numbers = [number for number, plain in usual.items() if signal.getsignal(number) is plain]
    try:
        return {number: signal.signal(number, handler) for number in (signal.SIGTERM, *numbers)}
    except ValueError:  # not in the main thread
        return {}
