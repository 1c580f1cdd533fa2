"""The old name of `amongst.algorithms`."""

from amongst.algorithms import *  # noqa: F403
from amongst.algorithms import __all__ as __all__
