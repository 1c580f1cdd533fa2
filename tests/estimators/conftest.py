"""What several files of this room need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amongst.train import loop


@pytest.fixture
def interrupt_before(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Press Ctrl-C before this epoch, counted over all trainings of the test."""

    def arrange(epoch: int) -> None:
        real, calls = loop.run_epoch, iter(range(1000))

        def interrupted(*args: Any) -> Any:
            if next(calls) == epoch:
                raise KeyboardInterrupt
            return real(*args)

        monkeypatch.setattr(loop, "run_epoch", interrupted)

    return arrange
