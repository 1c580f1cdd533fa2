"""Records become a table: compute here, render elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from amongst.bench.paper import Published
from amongst.bench.places import Layout, Place, lay_out, short_labels
from amongst.bench.plans import Cell, Plan
from amongst.bench.record import Record, Scalar, grouped
from amongst.bench.request import check_within
from amongst.bench.rounds import advance, choose
from amongst.checks import check_choice, check_number
from amongst.stats import (
    friedman_nemenyi,
    holm,
    least_p,
    paired_t,
    summarize,
    wilcoxon_signed_rank,
)  # fmt: skip

SHARES = ("accuracy", "approximated", "covering")
"""How the names of metrics begin that can be shown in percent, and of which more is better."""

TEST_ACCURACY = ("accuracy_final", "accuracy_last10")
"""What the paper's figures can be compared with."""

TESTS = {"wilcoxon": "one-sided Wilcoxon signed-rank", "t": "one-sided paired t"}


@dataclass(frozen=True)
class Significance:
    """How stars are given."""

    # "wilcoxon" or "t": both one-sided, the best method against each other one
    test: str = "wilcoxon"
    alpha: float = 0.05  # a star where p ≤ alpha
    correction: str = "none"  # "none", as the paper, or "holm" over all comparisons of the table

    def __post_init__(self) -> None:
        check_choice("test", self.test, TESTS)
        check_choice("correction", self.correction, ("none", "holm"))
        check_number("alpha", self.alpha, low=0, high=1, open_low=True)

    @property
    def title(self) -> str:
        """For people."""
        return TESTS[self.test]


@dataclass(frozen=True)
class Entry:
    """What stands at one place of a table."""

    place: Place
    label: str  # the shortest name that tells it apart within its contest
    values: tuple[float, ...] = ()  # in percent, one for each repeat that did not fail
    repeats: tuple[tuple[int, int | None], ...] = ()  # (seed, fold) of each value
    mean: float = np.nan
    std: float = np.nan  # with n − 1, NaN for one value
    low: float = np.nan  # ends of a 95 % confidence interval of the mean (Student's t)
    high: float = np.nan
    keys: tuple[str, ...] = ()  # of the trials behind the values
    planned: int = 0  # how many repeats the plan asks for
    settings: Mapping[str, Scalar] = field(default_factory=dict)  # what was chosen,
    considered: int = 0  # among how many,
    criterion: str = ""  # by which metric; empty where one setting was run
    oracle: bool = False  # whether true labels chose the settings
    failed: int = 0  # how many trials of the chosen settings failed,
    reason: str = ""  # and what the first of them says
    pending: int = 0  # trials of a search in rounds yet to come, so that the choice may change
    note: str = ""  # where the settings come from, if that needs saying
    published: Published | None = None  # the paper's figure
    best: bool = False  # bold
    second: bool = False  # underlined
    rival: str = ""  # label of the best entry, against which this one was tested
    p: float = np.nan  # of the best being better; NaN for itself, and without two pairs
    holm: float = np.nan  # the same after Holm's correction over the table
    pairs: int = 0  # repeats in the comparison,
    least: float = np.nan  # and the least p they can reach
    star: bool = False  # whether the best is significantly better

    @property
    def n(self) -> int:
        """How many repeats have a value."""
        return len(self.values)

    @property
    def difference(self) -> float:
        """Ours minus the paper's, in percentage points; NaN where either is missing."""
        return self.mean - self.published.mean if self.published and self.n else np.nan

    @property
    def agrees(self) -> bool:
        """|difference| ≤ 2 √(s²/n + s′²/n′): within two standard errors of the paper.

        n′, the paper's repeats, is what the plan asks for: 5 seeds or 10 folds.
        """
        if self.published is None or not self.n:
            return False
        own = 0.0 if np.isnan(self.std) else self.std**2 / self.n
        error = np.sqrt(own + self.published.std**2 / (10 if self.repeats[0][1] is not None else 5))
        return bool(abs(self.difference) <= 2 * error)

    def paired(self, other: Entry) -> list[tuple[float, float]]:
        """The values of the repeats that both have."""
        theirs = dict(zip(other.repeats, other.values, strict=True))
        mine = zip(self.repeats, self.values, strict=True)
        return [(value, theirs[repeat]) for repeat, value in mine if repeat in theirs]


@dataclass(frozen=True)
class Ranking:
    """Friedman's test over the contests of a table, and Nemenyi's critical difference."""

    labels: tuple[str, ...]  # methods by mean rank, the best first
    ranks: tuple[float, ...]
    blocks: int  # contests that all of these methods share
    p: float  # of Friedman's test: are all methods alike?
    critical: float  # two mean ranks further apart than this differ (α = 0.05)


@dataclass(frozen=True)
class Table:
    """A computed table: `layout` says where the entries stand."""

    plan: Plan
    layout: Layout
    entries: Mapping[Place, Entry]
    metric: str
    significance: Significance
    ranking: Ranking | None = None

    def at(self, place: Place | None) -> Entry | None:
        """The entry at a place, or None where nothing is planned."""
        return None if place is None else self.entries[place]

    @property
    def filled(self) -> tuple[Entry, ...]:
        """Entries that have at least one value, row by row."""
        return tuple(self.entries[p] for p in self.layout.places if self.entries[p].n)

    @property
    def tested(self) -> tuple[Entry, ...]:
        """Entries that the best one was compared with."""
        return tuple(entry for entry in self.filled if entry.pairs)

    @property
    def oracle(self) -> bool:
        """Whether any entry was chosen by true labels."""
        return any(entry.oracle for entry in self.entries.values())

    @property
    def published(self) -> bool:
        """Whether the paper has a figure for any entry."""
        return any(entry.published for entry in self.entries.values())


def collect(
    records: Iterable[Record],
    plan: Plan,
    *,
    metric: str = "",
    significance: Significance | None = None,
) -> Table:
    """Compute the table of a plan.

    Parameters
    ----------
    records : of a store; those that the plan does not ask for are left out.
    plan : its request also says which criterion chooses between settings; the oracle's choices
        are marked in every table.
    metric : of the records, a share in [0, 1], shown in percent; the plan's own unless told. One
        that no record has, or that is no share, is refused.
    significance : how stars are given; the paper's way unless told.

    Examples
    --------
    >>> from amongst.bench.plans import Request, make_plan
    >>> plan = make_plan(Request("demo", methods=("rc", "cc"), conditions=("q=0.1",), seeds=2))
    >>> values = {("rc", 0): 0.90, ("rc", 1): 0.91, ("cc", 0): 0.93, ("cc", 1): 0.94}
    >>> records = [
    ...     Record(trial, {"accuracy_last10": values[trial.method, trial.seed]})
    ...     for trial in plan.trials
    ... ]
    >>> table = collect(records, plan)
    >>> [(entry.label, round(entry.mean, 2), entry.best, entry.p) for entry in table.filled]
    [('RC', 90.5, False, 0.25), ('CC', 93.5, True, nan)]
    """
    rule = significance or Significance()
    records = list(records)
    plan = advance(plan, records)
    metric = _check_metric(metric, records) if metric else plan.report
    layout = lay_out(plan.places)
    labels = short_labels(layout.places)
    entries = {
        place: _entry(Entry(place, labels[place]), cell, found, plan.criterion, metric)
        for cell, found in plan.match(records)
        for place in [cell.slot.place]
    }
    _mark(entries, layout.underline)
    _star(entries, rule)
    return Table(plan, layout, entries, metric, rule, _ranking(entries))


def _check_metric(metric: str, records: Iterable[Record]) -> str:
    """A share that some record has; without any record nothing is known of it."""
    known = {name for record in records for name in record.metrics}
    shares = {name for name in known if name.startswith(SHARES)}
    place = "the shares that a table shows"
    return check_within("metric", metric, shares, place, known) if shares else metric


def _entry(bare: Entry, cell: Cell, found: Sequence[Record], criterion: str, metric: str) -> Entry:
    """Of a search in rounds, those decide that its criterion passed on, by the search seeds."""
    entry = replace(
        bare,
        planned=cell.repeats,
        note=cell.absent or cell.note,
        published=cell.slot.published if metric in TEST_ACCURACY else None,
    )
    among, considered = None, None
    if cell.pool:
        among = {trial.key for trial in cell.rivals}
        there = among & {key for record in found for key in record.keys}
        entry = replace(entry, pending=len(among) - len(there))
        found = found if there else []
        considered = len({trial.setting for trial in cell.pool})
    if not found:
        return entry
    choice = choose(found, criterion, among=among, considered=considered, refit=cell.refit)
    good = [r for r in choice.records if not r.failed and isfinite(r.metrics.get(metric, np.nan))]
    values = tuple(100 * record.metrics[metric] for record in good)
    numbers = vars(summarize(values)) if good else {}
    return replace(
        entry,
        settings=choice.settings,
        considered=choice.considered,
        criterion=choice.criterion,
        oracle=choice.oracle,
        failed=sum(record.failed for record in choice.records),
        reason=next((record.error for record in choice.records if record.failed), ""),
        values=values,
        repeats=tuple((r.trial.seed, r.trial.fold) for r in good),
        keys=tuple(r.key for r in good),
        **{name: numbers[name] for name in ("mean", "std", "low", "high") if numbers},
    )


def _contests(entries: Mapping[Place, Entry]) -> list[list[Entry]]:
    """Entries with values, by contest, the best first."""
    filled = (entry for entry in entries.values() if entry.n)
    contests = grouped(filled, lambda entry: entry.place.contest)
    return [sorted(group, key=lambda entry: -entry.mean) for group in contests.values()]


def _mark(entries: dict[Place, Entry], underline: str) -> None:
    """The best of each contest, and what is underlined; see `Layout`."""
    for best, *others in _contests(entries):
        entries[best.place] = replace(best, best=True)
        firsts = others[:1]
        if underline == "model":
            models = grouped([best, *others], lambda entry: entry.place.model)
            firsts = [
                own[0] for model, own in models.items() if model != "-" and own[0] is not best
            ]
        for entry in firsts:
            entries[entry.place] = replace(entry, second=True)


def _star(entries: dict[Place, Entry], rule: Significance) -> None:
    """Compare the best of each contest with the others, and correct over the whole table."""
    compared = [
        _compared(best, other, rule) for best, *others in _contests(entries) for other in others
    ]
    tested = [entry for entry in compared if entry.pairs]
    for entry, corrected in zip(tested, holm([entry.p for entry in tested]), strict=True):
        p = corrected if rule.correction == "holm" else entry.p
        entries[entry.place] = replace(entry, holm=float(corrected), star=bool(p <= rule.alpha))


def _compared(best: Entry, other: Entry, rule: Significance) -> Entry:
    """The one-sided question whether `best` is better, over the repeats that both have."""
    shared = best.paired(other)
    if len(shared) < 2:
        return other
    first, second = np.array(shared).T
    # Differences are rounded, not values: equal ones must be equal, and ties not hang on the last
    # bit. Values are float32 accuracies in percent, of which four digits are sure.
    gaps = np.round(first - second, 4)
    test = wilcoxon_signed_rank if rule.test == "wilcoxon" else paired_t
    p = test(gaps, np.zeros_like(gaps), alternative="greater")
    least = least_p(len(shared)) if rule.test == "wilcoxon" else 0.0
    return replace(other, p=float(p), pairs=len(shared), least=least, rival=best.label)


def _ranking(entries: Mapping[Place, Entry]) -> Ranking | None:
    """Over the methods that have a value in every contest; None if there is too little."""
    means = [{entry.label: entry.mean for entry in contest} for contest in _contests(entries)]
    labels = [name for name in means[0] if all(name in row for row in means)] if means else []
    if len(labels) < 3 or len(means) < 2:
        return None
    result = friedman_nemenyi(np.array([[row[name] for name in labels] for row in means]))
    order = np.argsort(result.ranks, kind="stable")
    return Ranking(
        labels=tuple(labels[i] for i in order),
        ranks=tuple(float(result.ranks[i]) for i in order),
        blocks=len(means),
        p=float(result.p),
        critical=float(result.critical),
    )
