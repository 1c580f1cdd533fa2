"""The old name of `amongst.train`, and of `amongst.accel.population`."""

from amongst.train import *  # noqa: F403
from amongst.train import __all__ as __all__
