"""The old name of `amongst.accel.population`."""

from amongst.accel.population import *  # noqa: F403
from amongst.accel.population import __all__ as __all__
