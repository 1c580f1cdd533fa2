"""The runs behind a folder of evidence: each way in which a plan was asked for, as one table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from amongst.bench.paper import IMAGE_PLANS
from amongst.bench.places import Place
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.record import Record, grouped
from amongst.bench.request import EPOCHS
from amongst.bench.tables import Table, collect
from amongst.wording import counted

__all__ = ["KINDS", "SEARCHES", "Run", "find_runs", "search_words", "share_out"]

SEARCHES = {
    "grid": "each method's own grid",
    "equal": "one grid for all methods",
    "published": "published settings",
    "none": "default settings",
}

KINDS = ("grid", "published", "short grid", "none", "equal", "short equal")
"""The order in which runs fill a table. A grid that a short round cut comes after published
settings: few epochs cannot tell what weight decay is good for; see `short_rounds`."""


@dataclass(frozen=True)
class Run:
    """Requests that differ in nothing but the cells they name.

    Attributes
    ----------
    request : of the whole plan.
    table : the cells that were asked for, by the request's criterion.
    oracle : the same trials, chosen by true labels; the same table where no record has them.
    unfinished : place → how many trials of a cell are still to run, as far as is known.
    records : that this run accounts for; a trial that two runs share is with the earlier one.
    """

    request: Request
    table: Table
    oracle: Table
    unfinished: Mapping[Place, int]
    records: tuple[Record, ...] = ()

    @property
    def plan(self) -> Plan:
        """With all trials that are known by now."""
        return self.table.plan

    @property
    def kind(self) -> str:
        """Its search, and whether a short round cut the grid: a name in `KINDS`."""
        return f"short {self.request.search}" if self.request.screen else self.request.search


def find_runs(
    plans: Iterable[Plan], records: Sequence[Record], *, every: bool = False
) -> list[Run]:
    """The runs behind the paper's plans, in the order in which they were asked for.

    Parameters
    ----------
    plans, records : of a store or of evidence; see `amongst.bench.plans.remembered`.
    every : also miniatures, the demo, comparisons on one's own data, and what the oracle chose.

    Examples
    --------
    >>> from amongst.bench.plans import remembered
    >>> asked = [{"plan": "table1", "datasets": ["mnist"]}, {"plan": "table1", "methods": ["rc"]}]
    >>> [len(run.plan.cells) for run in find_runs(remembered(asked), [])]
    [24]
    """
    known = (plan for plan in plans if every or _of_the_paper(plan.request))
    groups = grouped(known, lambda plan: _whole(plan.request))
    done = {record.trial.bare_key for record in records}
    found = [_run(whole, asked, records, done) for whole, asked in groups.items()]
    owned = share_out([run.table.plan for run in found], records)
    return [replace(run, records=tuple(own)) for run, own in zip(found, owned, strict=True)]


def share_out(plans: Sequence[Plan], records: Iterable[Record]) -> list[list[Record]]:
    """Each record to one plan: the first that asks for it, else the first whose search holds it."""
    asked: dict[str, int] = {}
    for pool in (False, True):
        for i, plan in enumerate(plans):
            for key in _keys(plan, pool):
                asked.setdefault(key, i)
    owned: list[list[Record]] = [[] for _ in plans]
    for record in records:
        owner = asked.get(record.trial.bare_key)
        if owner is not None:
            owned[owner].append(record)
    return owned


def search_words(request: Request) -> str:
    """Where settings come from, for people.

    >>> search_words(Request("table1", search="grid", screen=25, search_seeds=1))
    "each method's own grid (1 seed; first 25 epochs, the best 25 % go on)"
    """
    words = [SEARCHES[request.search]]
    if request.search_seeds is not None:
        words.append(counted(request.search_seeds, "seed"))
    if request.screen is not None:
        share = 100 * request.kept_share
        words.append(f"first {counted(request.screen, 'epoch')}, the best {share:g} % go on")
    if request.refit:
        words.append("again on all rows" if request.is_search else "all rows")
    text = words[0] if len(words) == 1 else f"{words[0]} ({'; '.join(words[1:])})"
    return text if request.protocol == "default" else f"{text}, protocol {request.protocol}"


def _of_the_paper(request: Request) -> bool:
    extra = request.quick or request.plan in ("demo", "compare")
    return not extra and request.criterion != "oracle"


def _whole(request: Request) -> Request:
    """The request for all cells of its plan; a comparison is what it is."""
    if request.plan == "compare":
        return replace(request, seeds=None)
    own = EPOCHS["paper"] if request.plan not in IMAGE_PLANS else None
    epochs = None if request.epochs == own else request.epochs
    plain = replace(request, datasets=(), methods=(), conditions=(), models=())
    return replace(plain, seeds=None, epochs=epochs)


def _run(
    whole: Request, asked: Sequence[Plan], records: Sequence[Record], done: Collection[str]
) -> Run:
    places = {place for narrow in asked for place in narrow.places}
    plan = _part(whole, places)
    if (seeds := _seeds([narrow.request for narrow in asked], plan)) is not None:
        plan = _part(replace(whole, seeds=seeds), places)
    table = collect(records, plan)
    by_truth = replace(plan, request=replace(plan.request, criterion="oracle"))
    known = any(by_truth.criterion in record.metrics for record in records)
    left = {
        cell.slot.place: sum(t.bare_key not in done for t in (*cell.screening, *cell.trials))
        for cell in table.plan.cells
    }
    return Run(plan.request, table, collect(records, by_truth) if known else table, left)


def _part(request: Request, places: Collection[Place]) -> Plan:
    """The cells at these places, and no others: what was not asked for may be there by chance."""
    plan = make_plan(request)
    if request.digest:  # of a file that may have changed since: no cell mixes its versions
        plan = plan.bind(dict.fromkeys(plan.datasets, request.digest), {})
    return replace(plan, cells=tuple(c for c in plan.cells if c.slot.place in places))


def _seeds(requests: Sequence[Request], plan: Plan) -> int | None:
    """The most that was asked for; None, the plan's own, unless that is fewer: a cell is finished
    when it has as many repeats as the paper's."""
    own = max(len({trial.seed for trial in cell.pool or cell.trials}) for cell in plan.cells)
    most = max((request.seeds or own for request in requests), default=own)
    return None if most <= own else most


def _keys(plan: Plan, pool: bool) -> list[str]:
    return [
        trial.bare_key
        for cell in plan.cells
        for trial in (cell.pool if pool else (*cell.screening, *cell.trials))
    ]
