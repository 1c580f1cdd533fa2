"""Command line: arguments in, calls out."""

import io
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
