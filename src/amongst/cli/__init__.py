"""Command line: arguments in, calls out."""

import io
import os
import signal
import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; imports come first, and may be interrupted, too."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # β is ? where the output has no such sign
    try:
        from amongst.cli.app import main as run

        run(arguments)
    except KeyboardInterrupt:
        print("amongst: interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        plain = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if arguments is None and plain:  # only the end of the process is left to interrupt
            signal.signal(signal.SIGINT, lambda *_: os._exit(130))
