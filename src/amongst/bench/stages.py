"""A search in rounds: what comes next hangs on what came out.

A request with `screen`, `search_seeds` or `refit` trains a cell in up to three rounds, in each fold
of each seed apart:

1. the whole grid, the search seeds, few epochs;
2. the best part of it, the search seeds, all epochs;
3. the chosen setting, all seeds, all epochs, with `refit` on all training rows.

Rounds 1 and 2 pass on the best by the request's criterion, and beside them the best by the oracle,
so that its figure can stand in a second column. The two never mix: each criterion chooses among
what it passed on itself, and by the search seeds alone. So true labels change nothing in a column
that was chosen without them.

Nothing is remembered but records: a plan and its records say what is still to run.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from amongst.bench.choose import Split, by_setting, choose, mean_criterion, split_of
from amongst.bench.plans import Cell, Plan
from amongst.bench.record import Record, Trial, canonical_json

__all__ = ["advance", "at_most", "next_round"]

ORACLE = "oracle"
Found = Mapping[str, Record]


def advance(plan: Plan, records: Iterable[Record]) -> Plan:
    """The plan with all trials that can be known by now; as it is if its search has one round.

    Parameters
    ----------
    plan : of `make_plan`, bound to its data or not.
    records : of a store; those of other plans do no harm.

    Examples
    --------
    Four settings in the short round, and two of them go on:

    >>> from amongst.bench.plans import Request, make_plan
    >>> request = Request("demo", methods=("cc",), conditions=("q=0.1",), seeds=3, search="grid",
    ...                   search_seeds=1, screen=5, keep=0.5)
    >>> plan = make_plan(request)
    >>> values = {t.key: 0.1 * i for i, t in enumerate(plan.trials)}
    >>> short = [Record(t, {"covering_val_last10": values[t.key]}) for t in plan.trials]
    >>> later = advance(plan, short)
    >>> len(plan.trials), [t.settings["epochs"] for t in later.cells[0].trials]
    (4, [40, 40])
    """
    if not plan.staged:
        return plan
    found: dict[str, Record] = {}
    for record in records:
        found[record.key] = found[record.trial.bare_key] = record
    return replace(plan, cells=tuple(_advanced(cell, plan, found) for cell in plan.cells))


def next_round(plan: Plan, done: Collection[str]) -> dict[str, Trial]:
    """The trials to run next: the missing ones of the earliest round that has any.

    All cells keep step, so that populations are large.

    Parameters
    ----------
    plan : as `advance` left it.
    done : keys of the trials that have a record.
    """
    rounds: tuple[dict[str, Trial], ...] = ({}, {}, {})
    for cell in plan.cells:
        if not cell.absent:
            rounds[0].update((t.key, t) for t in cell.screening)
            for trial in cell.trials:
                rounds[2 if _is_last(trial, plan) else 1][trial.key] = trial
    missing = ({k: t for k, t in trials.items() if k not in done} for trials in rounds)
    return next(filter(None, missing), {})


def at_most(plan: Plan, done: Collection[str] = ()) -> list[Trial]:
    """Trials like those that later rounds may add to what `advance` laid out; as many at most.

    >>> from amongst.bench.plans import Request, make_plan
    >>> narrow = {"datasets": ("mnist",), "methods": ("lw-sigmoid",), "conditions": ("q=0.1",)}
    >>> request = Request("table1", **narrow, search="grid", search_seeds=1, screen=30, keep=0.2)
    >>> plan = make_plan(request)
    >>> len(plan.trials), len(at_most(plan))
    (50, 28)
    """
    return [
        trial
        for cell in plan.cells
        if not cell.absent
        for split in _splits(cell.pool)
        for trial in _to_come(cell, split, plan, done)
    ]


def _to_come(cell: Cell, split: Split, plan: Plan, done: Collection[str]) -> list[Trial]:
    """Room for all that can be passed on, and for the choice of each criterion."""
    pool, known = _of(cell.pool, split), _of(cell.trials, split)
    names = list(dict.fromkeys(map(_name, pool)))
    columns = len(_criteria(plan))
    passed = names[: columns * _kept(plan, len(names))]
    again = [t.on_all_rows() for t in pool] if cell.refit else pool
    late = [new for old, new in zip(pool, again, strict=True)
            if _name(old) in names[:columns] and _is_last(new, plan)]  # fmt: skip
    if any(trial.key not in done for trial in _of(cell.screening, split)):
        return late + [t for t in pool if _name(t) in passed and plan.request.searches(t.seed)]
    searched = [trial for trial in known if not _is_last(trial, plan)]
    if any(trial.key not in done for trial in searched):
        return late[len(known) - len(searched) :]
    return []


def _advanced(cell: Cell, plan: Plan, found: Found) -> Cell:
    if not cell.pool:
        return cell
    parts = [
        _laid_out(_of(cell.pool, split), _of(cell.screening, split), plan, found)
        for split in _splits(cell.pool)
    ]
    wanted = {trial.key: trial for trials, _ in parts for trial in trials}
    rivals = {trial.key for _, rivals in parts for trial in rivals}
    own = {trial.key: trial for trial in cell.pool if trial.key in wanted}
    return replace(
        cell,
        trials=tuple((own | wanted).values()),
        rivals=tuple(trial for trial in cell.pool if trial.key in rivals),
    )


def _laid_out(
    pool: Sequence[Trial], screening: Sequence[Trial], plan: Plan, found: Found
) -> tuple[list[Trial], list[Trial]]:
    """What one split of a cell trains in full, and the part of it that decides what is reported."""
    if any(trial.key not in found for trial in screening):
        return [], []
    short = [found[trial.key] for trial in screening]
    trials: list[Trial] = []
    rivals: list[Trial] = []
    for criterion in _criteria(plan):
        main = criterion == plan.criterion
        passed = _passed_on(short, criterion, plan, main)
        entered = [t for t in pool if not screening or _name(t) in passed]
        own = [t for t in entered if plan.request.searches(t.seed)]
        last = _finals(own, entered, criterion, found, main)
        trials += own + ([t.on_all_rows() for t in last] if plan.request.refit else last)
        rivals += own if main else []
    return trials, rivals


def _passed_on(short: Sequence[Record], criterion: str, plan: Plan, needed: bool) -> set[str]:
    """The best of the short round; what diverged stays behind, unless all did and one is needed."""
    values = {
        _name(next(iter(seeds.values())).trial): mean_criterion(seeds.values(), criterion)
        for seeds in by_setting(short).values()
    }
    order = sorted(values, key=lambda name: -values[name])[: _kept(plan, len(values))]
    good = [name for name in order if values[name] > -math.inf]
    return set(good or order[: int(needed)])


def _finals(
    searched: Sequence[Trial],
    entered: Sequence[Trial],
    criterion: str,
    found: Found,
    needed: bool,
) -> list[Trial]:
    """The chosen setting with all seeds, once the search is complete.

    Where no setting has the criterion at all there is no choice, unless one is `needed`.
    """
    if not searched or any(trial.key not in found for trial in searched):
        return []
    choice = choose([found[trial.key] for trial in searched], criterion)
    if needed or choice.value > -math.inf:
        name = canonical_json(choice.settings)
        return [trial for trial in entered if canonical_json(trial.settings) == name]
    return []


def _is_last(trial: Trial, plan: Plan) -> bool:
    """Whether the trial is of the last round: its seed does not search, or no row is held out."""
    again = plan.request.refit and not trial.settings.get("validation")
    return again or not plan.request.searches(trial.seed)


def _criteria(plan: Plan) -> tuple[str, ...]:
    """The request's metric, and the oracle's if that is another one."""
    return tuple(dict.fromkeys((plan.criterion, plan.metric_of(ORACLE))))


def _kept(plan: Plan, points: int) -> int:
    return max(1, math.ceil(plan.request.kept_share * points - 1e-9))


def _name(trial: Trial) -> str:
    """A setting whatever its epochs: one name in both lengths."""
    return canonical_json({n: v for n, v in trial.settings.items() if n != "epochs"})


def _splits(trials: Sequence[Trial]) -> list[Split]:
    return list(dict.fromkeys(map(split_of, trials)))


def _of(trials: Sequence[Trial], split: Split) -> list[Trial]:
    return [trial for trial in trials if split_of(trial) == split]
