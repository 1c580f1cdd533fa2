"""The paper's experiments as software: trials, plans, store, runner, report."""

from amongst.bench.record import Record, Trial

__all__ = ["Record", "Trial"]
