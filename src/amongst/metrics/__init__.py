"""Accuracy, and criteria that need candidate sets only."""

from amongst.metrics.criteria import accuracy, approximated_accuracy, covering_rate

__all__ = ["accuracy", "approximated_accuracy", "covering_rate"]
