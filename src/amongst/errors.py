"""Every error and warning that `amongst` raises on purpose.

Each message names the argument, what came, and the remedy. All of them derive from
`AmongstError`, and from the built-in that habit expects (`ValueError`, `ImportError`, …), so that
``except ValueError`` keeps working.
"""

__all__ = [
    "AmongstError",
    "AmongstWarning",
    "DataNotFoundError",
    "DivergenceError",
    "FileFormatError",
    "InputError",
    "MissingDependencyError",
    "StoreError",
]


class AmongstError(Exception):
    """Base of every error raised on purpose.

    >>> issubclass(InputError, AmongstError) and issubclass(InputError, ValueError)
    True
    """


class InputError(AmongstError, ValueError):
    """An argument that cannot be used: its message says which, what came, and the remedy."""


class FileFormatError(AmongstError, ValueError):
    """A file that is damaged, tampered with, or not of the format its reader expects."""


class DataNotFoundError(AmongstError, FileNotFoundError):
    """A file that is nowhere to be found: its message says where it was looked for."""


class MissingDependencyError(AmongstError, ImportError):
    """An optional package is needed here: its message says which extra to install."""


class StoreError(AmongstError, OSError):
    """A result store that cannot be opened, read or written: nothing that was in it is lost."""


class DivergenceError(AmongstError, ArithmeticError):
    """Training produced NaN or infinity: its message says when, and what to try."""


class AmongstWarning(UserWarning):
    """Something a person should know, though the answer stands."""
