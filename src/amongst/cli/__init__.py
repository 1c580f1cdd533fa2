"""Command line: arguments in, calls out."""

from amongst.cli.app import main

__all__ = ["main"]
