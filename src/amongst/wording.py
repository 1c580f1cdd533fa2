"""Words that every message may need."""

from __future__ import annotations

from contextvars import ContextVar

__all__ = ["COMMAND", "counted"]

COMMAND: ContextVar[str] = ContextVar("COMMAND", default="")
"""The command line that is running, as one would type it; empty where Python called."""


def counted(count: int, noun: str) -> str:
    """A number and its noun, in the singular for one.

    >>> counted(1, "trial"), counted(11820, "trial")
    ('1 trial', '11,820 trials')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"
