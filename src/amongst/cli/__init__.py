"""Command line: arguments in, calls out."""
