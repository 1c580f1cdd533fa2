"""A search: which setting a cell reports, and, where it goes in rounds, what comes next.

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
from dataclasses import dataclass, replace

from amongst.bench.plans import Cell, Plan
from amongst.bench.record import Record, Scalar, Trial, canonical_json, grouped
from amongst.errors import InputError

Split = tuple[int, int] | None
Found = Mapping[str, Record]


@dataclass(frozen=True)
class Choice:
    """A setting, why it was taken, and its records."""

    settings: Mapping[str, Scalar]  # in cross-validation those of the first fold
    records: tuple[Record, ...]  # one for each seed or fold, in that order
    criterion: str  # the metric that decided; empty if there was nothing to decide
    value: float  # its mean over the records that decided; a risk with the opposite sign
    considered: int  # how many settings there were

    @property
    def oracle(self) -> bool:
        """Whether true labels decided: such a cell must be marked."""
        return self.criterion.startswith("accuracy")


def choose(
    records: Iterable[Record],
    criterion: str,
    *,
    among: Collection[str] | None = None,
    considered: int | None = None,
    refit: bool = False,
) -> Choice:
    """Take the setting with the best mean criterion over seeds; one that diverged loses.

    The best is the highest, except for a risk, where it is the lowest.

    With folds, each fold of each seed takes its own: its held-out rows are training rows of that
    fold, so that no setting is chosen with the help of rows it is then tested on. A setting that
    lacks a seed which another one has (the plan is not finished) is left aside. Ties go to the first
    setting.

    Parameters
    ----------
    records : of one cell, all settings × all repeats.
    criterion : a metric, e.g. ``"approximated_val"``.
    among : keys of the trials that decide; the chosen setting is reported with all its records.
        None for all: every record decides.
    considered : how many settings there were, where not all of them have records here.
    refit : report the chosen setting with its records of trainings on all rows, which may be none
        yet.

    Examples
    --------
    >>> def record(lr, seed, value):
    ...     trial = Trial("digits", "q=0.1", "rc", "mlp", seed, settings={"lr": lr})
    ...     return Record(trial, {"covering_val": value})
    >>> found = [record(0.1, 0, 0.9), record(0.1, 1, 0.8), record(0.01, 0, 0.95),
    ...          record(0.01, 1, 0.7)]
    >>> choice = choose(found, "covering_val")
    >>> choice.settings, len(choice.records), choice.considered
    ({'lr': 0.1}, 2, 2)
    """
    splits = grouped(records, lambda record: split_of(record.trial))
    choices = [
        choice
        for _, group in sorted(splits.items(), key=lambda item: item[0] or ())
        if (choice := _choose(group, criterion, among, considered, refit))
    ]
    if not choices:
        problem = "records is empty: there is no setting to choose from."
        raise InputError(problem, code="no-records")
    kept = tuple(record for choice in choices for record in choice.records)
    mean = math.fsum(choice.value for choice in choices) / len(choices)
    return replace(choices[0], records=kept, value=mean)


def split_of(trial: Trial) -> Split:
    """What chooses for itself: a fold of a seed, since each seed divides the rows in another way; or
    None, without folds, where the seeds choose together."""
    return None if trial.fold is None else (trial.fold, trial.seed)


def by_setting(records: Iterable[Record]) -> dict[str, dict[int, Record]]:
    """Settings, as canonical JSON in the order in which they come → seed → record."""
    settings: dict[str, dict[int, Record]] = {}
    for record in records:
        settings.setdefault(record.trial.setting, {})[record.trial.seed] = record
    return settings


def mean_criterion(records: Iterable[Record], criterion: str) -> float:
    """Higher is better: a risk changes its sign; −∞ if any of the records lacks the value."""
    values = [record.metrics.get(criterion, math.nan) for record in records]
    if not all(map(math.isfinite, values)):
        return -math.inf
    sign = -1 if criterion.startswith("risk") else 1
    return sign * math.fsum(values) / len(values)


def advance(plan: Plan, records: Iterable[Record]) -> Plan:
    """The plan with all trials that can be known by now; as it is if its search has one round.

    Four settings in the short round, and two of them go on:

    >>> from amongst.bench.plans import Request, make_plan
    >>> request = Request("demo", methods=("cc",), conditions=("q=0.1",), seeds=3, search="grid",
    ...                   search_seeds=1, screen=5, keep=0.5)
    >>> plan = make_plan(request)
    >>> short = [Record(t, {"covering_val_last10": i}) for i, t in enumerate(plan.trials)]
    >>> len(plan.trials), [t.settings["epochs"] for t in advance(plan, short).cells[0].trials]
    (4, [40, 40])
    """
    if not plan.staged:
        return plan
    found: dict[str, Record] = {}
    for record in records:
        found[record.key] = found[record.trial.bare_key] = record
    return replace(plan, cells=tuple(_advanced(cell, plan, found) for cell in plan.cells))


def next_round(plan: Plan, done: Collection[str]) -> dict[str, Trial]:
    """The trials to run next: the missing ones of the earliest round that has any, of all cells in step,
    so that populations are large."""
    rounds: tuple[dict[str, Trial], ...] = ({}, {}, {})
    for cell in plan.cells:
        if not cell.absent:
            rounds[0].update((t.key, t) for t in cell.screening)
            for trial in cell.trials:
                rounds[2 if _is_last(trial, plan) else 1][trial.key] = trial
    missing = ({k: t for k, t in trials.items() if k not in done} for trials in rounds)
    return next(filter(None, missing), {})


def at_most(plan: Plan, done: Collection[str] = ()) -> list[Trial]:
    """Trials like those that later rounds may add to what `advance` laid out; as many at most."""
    return [
        trial
        for cell in plan.cells
        if not cell.absent
        for split, pool in grouped(cell.pool, split_of).items()
        for trial in _to_come(cell, split, pool, plan, done)
    ]


def _choose(
    records: Sequence[Record],
    criterion: str,
    among: Collection[str] | None,
    considered: int | None,
    refit: bool,
) -> Choice | None:
    """The choice of one split; None if no record of it decides."""
    settings = by_setting(r for r in records if among is None or not r.keys.isdisjoint(among))
    if not settings:
        return None
    most = max(map(len, settings.values()))
    values = {
        name: mean_criterion(seeds.values(), criterion)
        for name, seeds in settings.items()
        if len(seeds) == most
    }
    best = max(values, key=values.__getitem__)
    trial = next(iter(settings[best].values())).trial
    trial = trial.on_all_rows() if refit else trial
    seeds = by_setting(records).get(trial.setting, {})
    chosen = tuple(seeds[seed] for seed in sorted(seeds))
    count = considered or len(settings)
    return Choice(trial.settings, chosen, criterion if count > 1 else "", values[best], count)


def _to_come(
    cell: Cell, split: Split, pool: Sequence[Trial], plan: Plan, done: Collection[str]
) -> list[Trial]:
    """Room for all that can be passed on, and for the choice of each criterion."""
    known, short = _of(cell.trials, split), _of(cell.screening, split)
    settings = list(dict.fromkeys(map(_name, pool)))
    columns = len(_criteria(plan))
    passed = settings[: columns * _kept(plan, len(settings))]
    again = [trial.on_all_rows() if cell.refit else trial for trial in pool]
    pairs = zip(pool, again, strict=True)
    late = [t for old, t in pairs if _name(old) in settings[:columns] and _is_last(t, plan)]
    if any(trial.key not in done for trial in short):
        return late + [t for t in pool if _name(t) in passed and plan.request.searches(t.seed)]
    searched = [trial for trial in known if not _is_last(trial, plan)]
    if any(trial.key not in done for trial in searched):
        return late[len(known) - len(searched) :]
    return []


def _advanced(cell: Cell, plan: Plan, found: Found) -> Cell:
    wanted: dict[str, Trial] = {}
    rivals: set[str] = set()
    for split, pool in grouped(cell.pool, split_of).items():
        trials, deciding = _laid_out(pool, _of(cell.screening, split), plan, found)
        wanted |= {trial.key: trial for trial in trials}
        rivals |= {trial.key for trial in deciding}
    own = {trial.key: trial for trial in cell.pool if trial.key in wanted}
    return replace(
        cell,
        trials=tuple((own | wanted).values()) if cell.pool else cell.trials,
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
    if not needed and choice.value == -math.inf:
        return []
    return [trial for trial in entered if trial.settings == choice.settings]


def _is_last(trial: Trial, plan: Plan) -> bool:
    """Whether the trial is of the last round: its seed does not search, or no row is held out."""
    again = plan.request.refit and not trial.settings.get("validation")
    return again or not plan.request.searches(trial.seed)


def _criteria(plan: Plan) -> tuple[str, ...]:
    """The request's metric, and the oracle's if that is another one."""
    return tuple(dict.fromkeys((plan.criterion, plan.metric_of("oracle"))))


def _kept(plan: Plan, settings: int) -> int:
    return max(1, math.ceil(plan.request.kept_share * settings - 1e-9))


def _name(trial: Trial) -> str:
    """A setting whatever its epochs: one name in both lengths."""
    return canonical_json({n: v for n, v in trial.settings.items() if n != "epochs"})


def _of(trials: Sequence[Trial], split: Split) -> list[Trial]:
    return [trial for trial in trials if split_of(trial) == split]
