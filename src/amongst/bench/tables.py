"""Records become a table: compute here, render elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from amongst.bench.choose import Choice, choose
from amongst.bench.grouping import grouped
from amongst.bench.layout import Layout, Place, lay_out, place_of, short_labels
from amongst.bench.paper import Published
from amongst.bench.plans import Cell, Plan
from amongst.bench.record import Record, Scalar, canonical_json
from amongst.bench.stages import advance
from amongst.bench.wording import check_within
from amongst.checks import check_choice, check_number
from amongst.stats import (
    friedman_nemenyi,
    holm,
    least_p,
    paired_t,
    summarize,
    wilcoxon_signed_rank,
)

__all__ = ["Entry", "Ranking", "Significance", "Table", "collect"]

SHARES = ("accuracy", "approximated", "covering")
"""How the names of metrics begin that can be shown in percent, and of which more is better."""

TEST_ACCURACY = ("accuracy_final", "accuracy_last10")
"""What the paper's figures can be compared with."""

TESTS = {"wilcoxon": "one-sided Wilcoxon signed-rank", "t": "one-sided paired t"}


@dataclass(frozen=True)
class Significance:
    """How stars are given.

    Attributes
    ----------
    test : ``"wilcoxon"`` or ``"t"``: both one-sided, the best method against each other one.
    alpha : a star where p ≤ alpha.
    correction : ``"none"``, as the paper, or ``"holm"`` over all comparisons of the table.
    """

    test: str = "wilcoxon"
    alpha: float = 0.05
    correction: str = "none"

    def __post_init__(self) -> None:
        check_choice("test", self.test, TESTS)
        check_choice("correction", self.correction, ("none", "holm"))
        check_number("alpha", self.alpha, low=0, high=1, open_low=True)

    @property
    def title(self) -> str:
        """For people.

        >>> Significance().title
        'one-sided Wilcoxon signed-rank'
        """
        return TESTS[self.test]


@dataclass(frozen=True)
class Entry:
    """What stands at one place of a table.

    Attributes
    ----------
    place, label : where it stands, and the shortest name that tells it apart within its contest.
    values : in percent, one for each repeat that did not fail.
    repeats : (seed, fold) of each value.
    mean, std : of the values; std with n − 1, NaN for one value.
    low, high : 95 % confidence interval of the mean (Student's t), NaN for one value.
    keys : of the trials behind the values.
    planned : how many repeats the plan asks for.
    settings, considered, criterion : what was chosen, among how many, by which metric; criterion
        is empty where one setting was run.
    oracle : whether true labels chose the settings.
    failed, reason : how many trials of the chosen settings failed, and what the first of them says.
    pending : how many trials of a search in rounds are yet to come, so that the choice may change.
    note : where the settings come from, if that needs saying.
    published : the paper's figure, or None.
    best, second : the marks (bold and underlined).
    rival : label of the best entry, against which this one was tested.
    p, holm : of the best being better than this one, and the same after Holm's correction over
        the table; NaN for the best one, and where fewer than two repeats pair.
    pairs, least : repeats in the comparison, and the least p they can reach.
    star : whether the best is significantly better.
    """

    place: Place
    label: str
    values: tuple[float, ...] = ()
    repeats: tuple[tuple[int, int | None], ...] = ()
    mean: float = np.nan
    std: float = np.nan
    low: float = np.nan
    high: float = np.nan
    keys: tuple[str, ...] = ()
    planned: int = 0
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    considered: int = 0
    criterion: str = ""
    oracle: bool = False
    failed: int = 0
    reason: str = ""
    pending: int = 0
    note: str = ""
    published: Published | None = None
    best: bool = False
    second: bool = False
    rival: str = ""
    p: float = np.nan
    holm: float = np.nan
    pairs: int = 0
    least: float = np.nan
    star: bool = False

    @property
    def n(self) -> int:
        """How many repeats have a value."""
        return len(self.values)

    @property
    def difference(self) -> float:
        """Ours minus the paper's, in percentage points; NaN where either is missing."""
        return self.mean - self.published.mean if self.published and self.n else np.nan

    def paired(self, other: Entry) -> list[tuple[float, float]]:
        """The values of the repeats that both have."""
        theirs = dict(zip(other.repeats, other.values, strict=True))
        mine = zip(self.repeats, self.values, strict=True)
        return [(value, theirs[repeat]) for repeat, value in mine if repeat in theirs]

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


@dataclass(frozen=True)
class Ranking:
    """Friedman's test over the contests of a table, and Nemenyi's critical difference.

    Attributes
    ----------
    labels, ranks : methods by mean rank, the best first (1 is best).
    blocks : how many contests all of these methods share.
    p : of Friedman's test: are all methods alike?
    critical : two mean ranks further apart than this differ (α = 0.05).
    """

    labels: tuple[str, ...]
    ranks: tuple[float, ...]
    blocks: int
    p: float
    critical: float


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
    layout = lay_out(plan)
    labels = short_labels(layout.places)
    entries = {
        (place := place_of(cell.slot)): _entry(
            Entry(place, labels[place]), cell, found, plan.criterion, metric
        )
        for cell, found in plan.match(records)
    }
    entries = _starred(_marked(entries, layout.underline), rule)
    return Table(plan, layout, entries, metric, rule, _ranking(entries))


def _check_metric(metric: str, records: Iterable[Record]) -> str:
    """A share that some record has; without any record nothing is known of it."""
    known = {name for record in records for name in record.metrics}
    shares = {name for name in known if name.startswith(SHARES)}
    place = "the shares that a table shows"
    return check_within("metric", metric, shares, place, known) if shares else metric


def _entry(bare: Entry, cell: Cell, found: Sequence[Record], criterion: str, metric: str) -> Entry:
    empty = replace(
        bare,
        planned=cell.repeats,
        note=cell.absent or cell.note,
        published=cell.slot.published if metric in TEST_ACCURACY else None,
    )
    if cell.pool:
        return _searched(empty, cell, found, criterion, metric)
    return _filled(empty, choose(found, criterion), metric) if found else empty


def _searched(
    empty: Entry, cell: Cell, found: Sequence[Record], criterion: str, metric: str
) -> Entry:
    """Of a search in rounds, those decide that its criterion passed on, by the search seeds."""
    among = {trial.key for trial in cell.rivals}
    there = among & {key for record in found for key in record.keys}
    empty = replace(empty, pending=len(among) - len(there))
    if not there:
        return empty
    points = {canonical_json(trial.settings) for trial in cell.pool}
    choice = choose(found, criterion, among=among, considered=len(points), refit=cell.refit)
    return _filled(empty, choice, metric)


def _filled(empty: Entry, choice: Choice, metric: str) -> Entry:
    chosen = replace(
        empty,
        settings=choice.settings,
        considered=choice.considered,
        criterion=choice.criterion,
        oracle=choice.oracle,
        failed=sum(record.failed for record in choice.records),
        reason=next((record.error for record in choice.records if record.failed), ""),
    )
    good = [r for r in choice.records if not r.failed and isfinite(r.metrics.get(metric, np.nan))]
    if not good:
        return chosen
    values = tuple(100 * record.metrics[metric] for record in good)
    summary = summarize(values)
    return replace(
        chosen,
        values=values,
        repeats=tuple((r.trial.seed, r.trial.fold) for r in good),
        keys=tuple(r.key for r in good),
        mean=summary.mean,
        std=summary.std,
        low=summary.low,
        high=summary.high,
    )


def _contests(entries: Mapping[Place, Entry]) -> list[list[Entry]]:
    """Entries with values, by contest, the best first."""
    filled = (entry for entry in entries.values() if entry.n)
    contests = grouped(filled, lambda entry: entry.place.contest)
    return [sorted(group, key=lambda entry: -entry.mean) for group in contests.values()]


def _marked(entries: Mapping[Place, Entry], underline: str) -> dict[Place, Entry]:
    marked = dict(entries)
    for contest in _contests(entries):
        best = contest[0]
        marked[best.place] = replace(best, best=True)
        for entry in _underlined(contest, underline):
            marked[entry.place] = replace(entry, second=True)
    return marked


def _underlined(contest: Sequence[Entry], underline: str) -> list[Entry]:
    if underline == "second":
        return list(contest[1:2])
    firsts: dict[str, Entry] = {}
    for entry in contest:
        firsts.setdefault(entry.place.model, entry)
    return [e for model, e in firsts.items() if model != "-" and e is not contest[0]]


def _starred(entries: Mapping[Place, Entry], rule: Significance) -> dict[Place, Entry]:
    compared = dict(entries)
    for contest in _contests(entries):
        for other in contest[1:]:
            compared[other.place] = _compared(contest[0], other, rule)
    tested = [entry for entry in compared.values() if not np.isnan(entry.p)]
    for entry, corrected in zip(tested, holm([entry.p for entry in tested]), strict=True):
        p = corrected if rule.correction == "holm" else entry.p
        compared[entry.place] = replace(entry, holm=float(corrected), star=bool(p <= rule.alpha))
    return compared


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
