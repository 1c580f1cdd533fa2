"""Command line: arguments in, calls out."""

import sys
from typing import Any


def __getattr__(name: str) -> Any:
    """`main`, which is imported when it is asked for: that takes a while, and may be interrupted."""
    if name != "main":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from amongst.cli.app import main
    except KeyboardInterrupt:
        print("amongst: interrupted", file=sys.stderr)
        sys.exit(130)
    return main
