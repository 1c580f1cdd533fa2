"""How far LW is ahead of its rivals, in the paper and here, by way of tuning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from amongst.bench.places import Place, model_title
from amongst.bench.record import grouped
from amongst.bench.tables import Entry
from amongst.stats import paired_t
from lw2021.reproduction.sheet import Sheet

__all__ = ["Contest", "Margin", "contests", "margins", "tally"]

RIVALS = ("rc", "cc", "proden")
LEVEL = 0.05
Entries = Mapping[Place, Entry]


@dataclass(frozen=True)
class Margin:
    """The best LW against the best of its rivals, by mean accuracy, in percentage points.

    Attributes
    ----------
    value : LW's mean minus the rival's.
    winner, rival : the methods compared.
    p : two-sided paired t test over the repeats that both have; NaN below two.
    whole : whether both have all the repeats of the plan.
    """

    value: float
    winner: str
    rival: str
    p: float = float("nan")
    whole: bool = True

    @property
    def tested(self) -> bool:
        """Whether there are repeats to compare."""
        return self.p == self.p

    @property
    def side(self) -> int:
        """1: LW significantly ahead, −1: behind, 0: cannot be told."""
        return int(np.sign(self.value)) if self.p <= LEVEL else 0


@dataclass(frozen=True)
class Contest:
    """One data set, condition and base model: the paper's margin, and ours by each way of tuning."""

    where: str
    paper: Margin
    ours: Mapping[str, Margin]
    plan: str = ""


def contests(paper: Sheet, ours: Mapping[str, Sequence[Entries]]) -> list[Contest]:
    """Contests of a table in which LW, RC, CC and PRODEN meet.

    Parameters
    ----------
    paper : the table.
    ours : way of tuning → the entries of each run, the preferred one first. A contest is of the first
        run that has all its methods: those of two runs, one on all rows, say, are not set side by side.
        Without such a run it has no margin.
    """
    return [
        Contest(_where(paper, places), _printed(paper, places), _by_way(places, ours), paper.plan)
        for places in _meetings(paper)
    ]


def margins(sheet: Sheet, ours: Mapping[str, Sequence[Entries]]) -> dict[str, dict[str, Margin]]:
    """The same where the paper has no numbers: contest → way of tuning → margin."""
    return {_where(sheet, places): _by_way(places, ours) for places in _meetings(sheet)}


def tally(margins: Iterable[Margin]) -> tuple[int, int, int]:
    """How often LW is significantly ahead, cannot be told apart, is significantly behind.

    >>> tally([Margin(1.0, "LW", "RC", 0.01), Margin(-1.0, "LW", "RC", 0.5)])
    (1, 1, 0)
    """
    sides = [margin.side for margin in margins]
    return sides.count(1), sides.count(0), sides.count(-1)


def _meetings(sheet: Sheet) -> list[list[Place]]:
    """The places of each contest and base model at which LW and rivals stand."""
    met = [p for p in sheet.layout.places if _meets(p)]
    groups = grouped(met, lambda place: (*place.contest, place.model)).values()
    return [places for places in groups if {p.method in RIVALS for p in places} == {True, False}]


def _meets(place: Place) -> bool:
    return not place.variant and (place.method.startswith("lw-") or place.method in RIVALS)


def _where(sheet: Sheet, places: Sequence[Place]) -> str:
    several = len({p.model for p in sheet.layout.places if p.contest == places[0].contest}) > 1
    return places[0].where + (f", {model_title(places[0].model)}" if several else "")


def _printed(paper: Sheet, places: Sequence[Place]) -> Margin:
    printed = ((p, paper.cells[p].entry.published) for p in places)
    return _of_means({p: float(cell.mean) for p, cell in printed if cell})


def _by_way(places: Sequence[Place], ours: Mapping[str, Sequence[Entries]]) -> dict[str, Margin]:
    found = {way: _whole(places, runs) for way, runs in ours.items()}
    return {way: _margin(entries) for way, entries in found.items() if entries}


def _whole(places: Sequence[Place], runs: Sequence[Entries]) -> dict[Place, Entry]:
    """The entries of the first run that has a number at every place; empty if none has."""
    found = ({p: run[p] for p in places if p in run and run[p].n} for run in runs)
    return next((here for here in found if len(here) == len(places)), {})


def _margin(here: Entries) -> Margin:
    margin = _of_means({place: entry.mean for place, entry in here.items()})
    by_name = {place.method: entry for place, entry in here.items()}
    first, second = by_name[margin.winner], by_name[margin.rival]
    whole = all(entry.n >= entry.planned for entry in (first, second))
    return Margin(margin.value, margin.winner, margin.rival, _p(first, second), whole)


def _of_means(means: Mapping[Place, float]) -> Margin:
    ours = {p.method: mean for p, mean in means.items() if p.method.startswith("lw-")}
    theirs = {p.method: mean for p, mean in means.items() if p.method in RIVALS}
    winner, rival = max(ours, key=ours.__getitem__), max(theirs, key=theirs.__getitem__)
    return Margin(ours[winner] - theirs[rival], winner, rival)


def _p(first: Entry, second: Entry) -> float:
    shared = first.paired(second)
    return paired_t(*zip(*shared, strict=True)) if len(shared) > 1 else float("nan")
