"""The old name of what `amongst.algorithms` has."""

from amongst.algorithms import LossForm, Method, Optimizer, Refresh

__all__ = ["LossForm", "Method", "Optimizer", "Refresh"]
