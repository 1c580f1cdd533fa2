"""The old name of `amongst.data`."""

from amongst.data import *  # noqa: F403
from amongst.data import __all__ as __all__
