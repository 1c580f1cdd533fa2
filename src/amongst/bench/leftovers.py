"""A plan for records that nobody's request explains: an export, or a store filled by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from amongst.bench.paper import TABLES, Published, published_cells
from amongst.bench.plans import Cell, Plan, Request, Slot
from amongst.bench.record import Record, Trial

__all__ = ["FoundPlan", "found_plan", "unclaimed"]


@dataclass(frozen=True)
class FoundPlan(Plan):
    """A plan read off the records themselves: no command leads back to it."""


def found_plan(records: Sequence[Record], title: str = "Results") -> FoundPlan:
    """Cells for everything that is there, with the paper's figures where it has any.

    >>> record = Record(Trial("mine", "real", "rc", "mlp", 0), {"accuracy_final": 0.9})
    >>> plan = found_plan([record])
    >>> plan.cells[0].slot.dataset, plan.report
    ('mine', 'accuracy_final')
    """
    published = _published()
    cells: dict[tuple[str, str, str, str], dict[str, Trial]] = {}
    for record in records:
        trial = record.trial.with_data("")
        place = (trial.dataset, trial.condition, trial.method, trial.model)
        cells.setdefault(place, {})[trial.key] = trial
    found = tuple(
        Cell(Slot(*place, published=published.get(place)), tuple(trials.values()))
        for place, trials in cells.items()
    )
    last10 = all("accuracy_last10" in r.metrics for r in records if not r.failed)
    report = "accuracy_last10" if last10 else "accuracy_final"
    return FoundPlan(Request("demo", search="none"), title, found, report)


def unclaimed(records: Iterable[Record], plans: Iterable[Plan]) -> list[Record]:
    """Records that no plan asks for."""
    planned = {trial.bare_key for plan in plans for trial in plan.trials}
    return [record for record in records if record.trial.bare_key not in planned]


def _published() -> dict[tuple[str, str, str, str], Published]:
    return {
        (cell.dataset, cell.condition, cell.method, cell.model): cell.published
        for table in TABLES
        for cell in published_cells(table)
    }
