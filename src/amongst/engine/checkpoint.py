"""The old name of `amongst.train.checkpoint`."""

from amongst.train.checkpoint import *  # noqa: F403
from amongst.train.checkpoint import __all__ as __all__
