"""Whether another process of this machine lives."""

from __future__ import annotations

import os

__all__ = ["exists"]


def exists(pid: int) -> bool:
    """Whether there is a process with this number; always, where one cannot ask.

    >>> exists(os.getpid())
    True
    """
    if os.name == "nt":  # where kill(pid, 0) is Ctrl-C, no question
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True
