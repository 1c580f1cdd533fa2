"""Words that every message may need."""

from __future__ import annotations

from contextvars import ContextVar

COMMAND: ContextVar[str] = ContextVar("COMMAND", default="")
"""The command line that is running, as one would type it; empty where Python called."""


def one_line(error: BaseException) -> str:
    """What an error says, without line ends, and without a point at its end.

    >>> one_line(ValueError("it is\\n  broken.")), one_line(KeyError())
    ('it is broken', 'KeyError')
    """
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def counted(count: int, noun: str) -> str:
    """A number and its noun, in the singular for one.

    >>> counted(1, "trial"), counted(11820, "trial")
    ('1 trial', '11,820 trials')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def readable(seconds: float) -> str:
    """A length of time for people.

    >>> readable(42), readable(4000), readable(4e5), readable(1e9)
    ('42 s', '1.1 h', '4.6 days', '11,574 days')
    """
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.05 * length:
            count = seconds / length
            return f"{count:.1f} {unit}" if count < 100 else f"{count:,.0f} {unit}"
    return f"{seconds:.0f} s"
