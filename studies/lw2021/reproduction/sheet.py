"""A table of the paper, cell by cell: ours, the oracle's, the paper's, and a verdict or a reason."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from amongst.bench.places import Layout, Place, lay_out
from amongst.bench.plans import Request, make_plan
from amongst.bench.tables import Entry
from amongst.errors import FileFormatError
from lw2021.runs import KINDS, Run

__all__ = [
    "BELOW",
    "MISSING",
    "REPRODUCED",
    "Reasons",
    "Sheet",
    "Shown",
    "make_sheet",
    "rank",
    "reaches",
]

REPRODUCED, BELOW, MISSING = "reproduced", "below", "missing"
REASONS = "reasons.json"
_FIELDS = ("plan", "dataset", "condition", "method", "model")


@dataclass(frozen=True)
class Shown:
    """What stands at a place.

    Attributes
    ----------
    entry : ours, or the empty entry of the plan.
    oracle : the oracle's choice of the same trials; None where there was nothing to choose.
    run : that it comes from; None where nothing was run.
    other : a run whose finished number reaches the paper where this one does not; it counts for
        nothing, since the best of several runs is better than it should be.
    """

    entry: Entry
    oracle: Entry | None = None
    run: Run | None = None
    other: Run | None = None

    @property
    def verdict(self) -> str:
        """`REPRODUCED`: mean ≥ the paper's − 2 of its standard deviations; empty without one."""
        paper = self.entry.published
        if not self.entry.n:
            return MISSING
        if paper is None:
            return ""
        return REPRODUCED if reaches(self.entry) else BELOW

    @property
    def untuned(self) -> bool:
        """Whether no search chose the settings."""
        return bool(self.entry.n) and not self.entry.criterion

    @property
    def on_all_rows(self) -> bool:
        """Whether the networks were trained on all training rows, none held out."""
        return self.run is not None and self.run.request.refit

    @property
    def unfinished(self) -> bool:
        """Whether trials of the cell are still to run, so that its number may change."""
        return self.run is not None and self.run.unfinished[self.entry.place] > 0


def reaches(entry: Entry) -> bool:
    """Whether the mean is at least the paper's minus two of its standard deviations."""
    paper = entry.published
    return paper is not None and entry.mean >= paper.mean - 2 * paper.std


@dataclass(frozen=True)
class Sheet:
    """A plan with every cell of it."""

    plan: str
    layout: Layout
    cells: Mapping[Place, Shown]

    def count(self, verdict: str) -> int:
        """How many cells have this verdict."""
        return sum(shown.verdict == verdict for shown in self.cells.values())

    @property
    def filled(self) -> list[Shown]:
        """Cells with a number."""
        return [shown for shown in self.cells.values() if shown.entry.n]

    @property
    def best(self) -> list[Entry]:
        """The highest mean of each contest."""
        best: dict[tuple[str, str], Entry] = {}
        for entry in (shown.entry for shown in self.filled):
            contest = entry.place.contest
            if contest not in best or entry.mean > best[contest].mean:
                best[contest] = entry
        return list(best.values())


@dataclass(frozen=True)
class Reasons:
    """Why cells are missing, or below the paper: ``reasons.json``, written by hand.

    Each of the lists ``"missing"`` and ``"below"`` holds objects with a ``"reason"`` and patterns,
    or lists of patterns, for plan, dataset, condition, method and model; one that is left out fits
    all. The first that fits counts. ``{estimate}`` becomes the time that the cells would take.

    A rule may also name the ``"search"`` of the command that would fill the cells, or say that the
    method ``"refused"`` them, so that none would.

    >>> reasons = Reasons({"missing": [{"dataset": "cifar*", "reason": "no time"}]})
    >>> place = Place("cifar10", "q=0.1", "rc", "convnet")
    >>> reasons.of("missing", "table1", place), reasons.of("below", "table1", place)
    ({'dataset': 'cifar*', 'reason': 'no time'}, {})
    """

    lists: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Reasons:
        """From a folder of evidence; empty if it has no such file."""
        path = folder / REASONS
        if not path.is_file():
            return cls()
        try:
            found = json.loads(path.read_text("utf-8"))
            return cls({kind: list(found.get(kind, [])) for kind in (MISSING, BELOW)})
        except (ValueError, AttributeError, TypeError) as error:
            raise FileFormatError(f"{path} is not what it should be ({error}).") from error

    def of(self, kind: str, plan: str, place: Place) -> Mapping[str, Any]:
        """The rule for a place, or an empty one."""
        values = {"plan": plan} | place._asdict()
        for rule in self.lists.get(kind, ()):
            if all(_fits(values[name], rule[name]) for name in _FIELDS if name in rule):
                return rule
        return {}


def make_sheet(plan: str, runs: Iterable[Run]) -> Sheet:
    """Every cell of a plan from the first of the runs that has it.

    A finished cell, with all its repeats, comes before an unfinished one. Then runs count by their
    kind, in the order of `KINDS`; then those that trained on all rows, the default protocol, more
    epochs, and the order in which they were asked for.

    >>> sheet = make_sheet("table1", [])
    >>> len(sheet.cells), sheet.count(MISSING)
    (60, 60)
    """
    whole = make_plan(Request(plan))
    order = sorted((run for run in runs if run.request.plan == plan), key=rank)
    slots = {cell.slot.place: cell.slot for cell in whole.cells}
    bare = {p: Entry(p, "", published=slot.published) for p, slot in slots.items()}
    layout = lay_out(whole.places)
    return Sheet(plan, layout, {p: _shown(p, bare[p], order) for p in layout.places})


def _shown(place: Place, bare: Entry, runs: Sequence[Run]) -> Shown:
    here = [run for run in runs if place in run.table.entries]
    for run in sorted(here, key=lambda run: run.unfinished[place] > 0):
        entry, oracle = run.table.entries[place], run.oracle.entries[place]
        if entry.n:
            told = oracle if oracle.oracle and oracle.n else None
            return Shown(entry, told, run, None if reaches(entry) else _reaching(place, here))
    failed = next((r for r in here if r.table.entries[place].failed), None)
    return Shown(failed.table.entries[place], None, failed) if failed else Shown(bare)


def _reaching(place: Place, runs: Iterable[Run]) -> Run | None:
    """The first run with a finished number that reaches the paper's."""
    whole = (run for run in runs if not run.unfinished[place])
    return next((run for run in whole if reaches(run.table.entries[place])), None)


def rank(run: Run) -> tuple[int, bool, bool, int]:
    """The order in which runs fill a table; see `make_sheet`."""
    request = run.request
    own = request.protocol != "default"
    return KINDS.index(run.kind), not request.refit, own, -(request.epochs or 250)


def _fits(value: str, wanted: str | Sequence[str]) -> bool:
    patterns = [wanted] if isinstance(wanted, str) else wanted
    return any(fnmatchcase(value, pattern) for pattern in patterns)
