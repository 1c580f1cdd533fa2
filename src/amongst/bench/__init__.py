"""The paper's experiments as software: trials, plans, store, runner, report."""

from amongst.bench.export import read_records
from amongst.bench.record import Record, Trial
from amongst.bench.store import Store

__all__ = ["Record", "Store", "Trial", "read_records"]
