"""Command line: arguments in, calls out."""

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; imports come first, and may be interrupted, too."""
    try:
        from amongst.cli.app import main as run

        run(arguments)
    except KeyboardInterrupt:
        print("amongst: interrupted", file=sys.stderr)
        sys.exit(130)
