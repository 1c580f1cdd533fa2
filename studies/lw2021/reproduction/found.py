"""A folder of evidence, and all that the page of the reproduction needs of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from amongst.bench.paper import PLAN_TITLES, TABLES
from amongst.bench.places import Place
from amongst.bench.plans import Plan, remembered
from amongst.bench.tables import Entry
from lw2021.evidence import Evidence, read_evidence
from lw2021.reproduction.cost import PublicStyle
from lw2021.reproduction.margins import Contest, Margin, contests, margins
from lw2021.reproduction.sheet import Reasons, Sheet, make_sheet, rank
from lw2021.reproduction.study import study_entries
from lw2021.runs import Run, find_runs, search_words

__all__ = ["FIGURES", "TABLES", "Reproduction", "run_title"]

FIGURES = ("figure1", "figure2")
PLANS = (*TABLES, *FIGURES, "beyond")


@dataclass(frozen=True)
class Reproduction:
    """A folder of evidence, and all that is computed from it.

    Attributes
    ----------
    folder : as it is named on the page.
    evidence, reasons, style : what was read.
    """

    folder: str
    evidence: Evidence
    reasons: Reasons
    style: PublicStyle | None

    @classmethod
    def read(cls, folder: str | Path) -> Reproduction:
        """From a folder; beside it lie the speed of public code's style, and a study."""
        home = Path(folder)
        style = PublicStyle.read(home.parent)
        return cls(home.as_posix(), read_evidence(home), Reasons.read(home), style)

    @cached_property
    def plans(self) -> list[Plan]:
        """Of all that was asked for, oldest first."""
        return remembered(self.evidence.requests)

    @cached_property
    def runs(self) -> list[Run]:
        """By plan, then in the order in which they fill a table."""
        found = find_runs(self.plans, self.evidence.records)
        own = (run for run in found if run.request.plan in PLANS)
        return sorted(own, key=lambda run: (PLANS.index(run.request.plan), rank(run)))

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        """Every plan of the paper, with the first run that has a cell."""
        return {plan: make_sheet(plan, self.runs) for plan in PLANS}

    @cached_property
    def tables(self) -> list[Sheet]:
        """The paper's three."""
        return [self.sheets[plan] for plan in TABLES]

    @cached_property
    def contests(self) -> list[Contest]:
        """Of the three tables."""
        return [
            contest for plan in TABLES for contest in contests(self.sheets[plan], self._ways(plan))
        ]

    @cached_property
    def beyond(self) -> dict[str, dict[str, Margin]]:
        """LW's margins where the paper has none: contest → way of tuning → margin."""
        found = margins(self.sheets["beyond"], self._ways("beyond"))
        return {where: ways for where, ways in found.items() if ways}

    def of_kind(self, plan: str, kind: str) -> Sheet:
        """A plan with the runs of one of `KINDS` alone."""
        return make_sheet(plan, [run for run in self.runs if run.kind == kind])

    def _ways(self, plan: str) -> dict[str, list[dict[Place, Entry]]]:
        """The entries of each run by way of tuning; finished cells alone first, then all."""
        ways: dict[str, list[dict[Place, Entry]]] = {}
        own = [run for run in self.runs if run.request.plan == plan]
        for only_finished in (True, False):
            for run in own:
                places = [p for p in run.unfinished if not (only_finished and run.unfinished[p])]
                ways.setdefault(run.kind, []).append({p: run.table.entries[p] for p in places})
                if run.kind == "grid":
                    ways.setdefault("oracle", []).append({p: _told(run, p) for p in places})
        whole = self.sheets[plan].layout.places
        return ways | {"study": [study_entries(Path(self.folder).parent, whole)]}


def _told(run: Run, place: Place) -> Entry:
    """The oracle's choice; where there was nothing to choose, the entry itself."""
    oracle = run.oracle.entries[place]
    return oracle if oracle.oracle and oracle.n else run.table.entries[place]


def run_title(run: Run) -> str:
    """Plan, settings and precision."""
    more = [search_words(run.request), run.request.precision]
    return f"{PLAN_TITLES[run.request.plan]}; {', '.join(more)}"
