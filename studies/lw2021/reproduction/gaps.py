"""What is missing from a sheet: grouped by reason, each with the command that fills it."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amongst.bench.estimate import estimate
from amongst.bench.places import Place, dataset_title, method_title
from amongst.bench.plans import Plan, Request, make_plan, reproduce_command
from amongst.bench.record import Record, grouped
from amongst.bench.rounds import at_most
from amongst.estimators import CLASSICAL
from amongst.wording import counted, readable
from lw2021.reproduction.sheet import MISSING, Reasons, Sheet, Shown
from lw2021.runs import Run

__all__ = ["Gap", "find_gaps", "still_to_run"]

NOT_RUN = "not run yet; about {estimate}, by estimate"
ESTIMATE = "{estimate}"
GPU_PRECISION = "bf16"
MACHINES = {False: "one GPU", True: "one CPU core"}
AXES = ("model", "method", "condition", "dataset")
"""Of a place, and with an s of a request; the first ones are left unsaid first."""


@dataclass(frozen=True)
class Gap:
    """Cells that lack a number for one reason.

    Attributes
    ----------
    letter : in the table.
    places : of the cells.
    reason, command : for people, and for a shell; no command where one cannot help.
    """

    letter: str
    places: tuple[Place, ...]
    reason: str
    command: str

    @property
    def text(self) -> str:
        """One line."""
        cells = counted(len(self.places), "cell")
        where = ", ".join(dict.fromkeys(dataset_title(p.dataset) for p in self.places))
        methods = dict.fromkeys(method_title(p.method) for p in self.places)
        who = f"; {', '.join(methods)}" if len(methods) < 3 else ""
        fill = f" To fill: `{self.command}`" if self.command else ""
        return f"({self.letter}) {where}{who}, {cells}: {self.reason}.{fill}"


def find_gaps(
    sheet: Sheet, runs: Sequence[Run], reasons: Reasons, records: Sequence[Record]
) -> list[Gap]:
    """The missing cells of a sheet by reason, in the order of the table."""
    groups: dict[tuple[str, str], list[Place]] = {}
    rules: dict[tuple[str, str], Mapping[str, Any]] = {}
    for place, shown in sheet.cells.items():
        if shown.verdict == MISSING and not shown.entry.failed:
            rule = reasons.of(MISSING, sheet.plan, place)
            key = (str(rule.get("reason", NOT_RUN)), "" if rule else place.dataset)
            groups.setdefault(key, []).append(place)
            rules[key] = rule
    letters = iter(string.ascii_lowercase)
    return [
        _gap(next(letters), places, rules[key], key[0], _request(sheet, runs, rules[key]), records)
        for key, places in groups.items()
    ]


def still_to_run(sheet: Sheet) -> list[str]:
    """Cells whose number is not final yet, each with the command that goes on; a line for a run."""
    open_ = (shown for shown in sheet.filled if shown.unfinished)
    return [_unfinished(cells) for cells in grouped(open_, lambda s: id(s.run)).values()]


def _unfinished(cells: Sequence[Shown]) -> str:
    assert cells[0].run is not None
    places = [shown.entry.place for shown in cells]
    command = _command(make_plan(_narrowed(cells[0].run.request, places)))
    data = ", ".join(dict.fromkeys(dataset_title(place.dataset) for place in places))
    return f"…: {data}, {counted(len(cells), 'cell')}. To go on: `{command}`"


def _gap(
    letter: str,
    places: Sequence[Place],
    rule: Mapping[str, Any],
    reason: str,
    request: Request,
    records: Sequence[Record],
) -> Gap:
    plain = all(place.method in CLASSICAL for place in places)
    precision = Request(request.plan).precision if plain else GPU_PRECISION
    plan = make_plan(_narrowed(replace(request, precision=precision), places))
    if ESTIMATE in reason:
        reason = reason.replace(ESTIMATE, _time(plan, places, records))
    return Gap(letter, tuple(places), reason, "" if rule.get("refused") else _command(plan))


def _command(plan: Plan) -> str:
    """With the search named, though published settings are the default: it is what matters here."""
    command = reproduce_command(plan)
    return command if "--search " in command else f"{command} --search {plan.request.search}"


def _request(sheet: Sheet, runs: Sequence[Run], rule: Mapping[str, Any]) -> Request:
    """As most cells beside them were run, or with published settings; the rule may say otherwise."""
    own = [run for run in runs if run.request.plan == sheet.plan]
    own.sort(key=lambda run: -len(run.table.filled))
    wanted = rule.get("search") or (own[0].request.search if own else "published")
    same = [run.request for run in own if run.request.search == wanted]
    return same[0] if same else Request(sheet.plan, search=wanted)


def _narrowed(request: Request, places: Sequence[Place]) -> Request:
    """The request for these cells, with no more words than it takes to name them."""
    whole = [cell.slot.place for cell in make_plan(Request(request.plan)).cells]
    named = {axis: tuple(dict.fromkeys(getattr(p, axis) for p in places)) for axis in AXES}
    for axis in AXES:
        fewer = {name: values for name, values in named.items() if name != axis}
        if _matching(whole, fewer) == _matching(whole, named):
            named = fewer
    return replace(request, **{f"{axis}s": named.get(axis, ()) for axis in AXES})  # type: ignore[arg-type]


def _matching(places: Sequence[Place], named: Mapping[str, Sequence[str]]) -> list[Place]:
    return [p for p in places if all(getattr(p, axis) in wanted for axis, wanted in named.items())]


def _time(plan: Plan, places: Sequence[Place], records: Sequence[Record]) -> str:
    wanted = set(places)
    cells = tuple(cell for cell in plan.cells if cell.slot.place in wanted)
    part = replace(plan, cells=cells)
    found = estimate(part.trials, records, way="population", members=250, later=at_most(part))
    kinds = {place.method in CLASSICAL for place in places}
    where = " and ".join(name for plain, name in MACHINES.items() if plain in kinds)
    return f"{readable(found.seconds)} on {where}"
