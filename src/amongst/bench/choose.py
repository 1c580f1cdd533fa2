"""Which setting of a grid a cell reports: the one with the best mean criterion."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from amongst.bench.grouping import grouped
from amongst.bench.record import Record, Scalar, Trial, canonical_json
from amongst.errors import InputError

__all__ = ["Choice", "Split", "by_setting", "choose", "mean_criterion", "split_of"]

Split = tuple[int, int] | None


@dataclass(frozen=True)
class Choice:
    """A setting, why it was taken, and its records.

    Attributes
    ----------
    settings : of the records; in cross-validation those of the first fold.
    records : one for each seed or fold, in that order.
    criterion : name of the metric that decided; the empty string if there was nothing to decide.
    value : its mean over the records that decided; a risk with the opposite sign.
    considered : how many settings there were.
    """

    settings: Mapping[str, Scalar]
    records: tuple[Record, ...]
    criterion: str
    value: float
    considered: int

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
    >>> from amongst.bench import Record, Trial
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
    found = [
        _choose(group, criterion, among, considered, refit)
        for _, group in sorted(splits.items(), key=lambda item: item[0] or ())
    ]
    choices = [choice for choice in found if choice is not None]
    if not choices:
        raise InputError("records is empty: there is no setting to choose from.")
    kept = tuple(record for choice in choices for record in choice.records)
    first = choices[0]
    mean = math.fsum(choice.value for choice in choices) / len(choices)
    return Choice(first.settings, kept, first.criterion, mean, first.considered)


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
    most = max(len(seeds) for seeds in settings.values())
    complete = {name: seeds for name, seeds in settings.items() if len(seeds) == most}
    best = max(complete, key=lambda name: mean_criterion(complete[name].values(), criterion))
    trial = next(iter(complete[best].values())).trial
    trial = trial.on_all_rows() if refit else trial
    seeds = by_setting(records).get(canonical_json(trial.settings), {})
    chosen = tuple(seeds[seed] for seed in sorted(seeds))
    count = considered or len(settings)
    value = mean_criterion(complete[best].values(), criterion)
    return Choice(trial.settings, chosen, criterion if count > 1 else "", value, count)


def split_of(trial: Trial) -> Split:
    """What chooses for itself: a fold of a seed, since each seed divides the rows in another way; or
    None, without folds, where the seeds choose together.

    >>> split_of(Trial("lost", "real", "rc", "mlp", seed=1, fold=3))
    (3, 1)
    """
    return None if trial.fold is None else (trial.fold, trial.seed)


def by_setting(records: Iterable[Record]) -> dict[str, dict[int, Record]]:
    """Settings, as canonical JSON in the order in which they come → seed → record."""
    settings: dict[str, dict[int, Record]] = {}
    for record in records:
        name = canonical_json(record.trial.settings)
        settings.setdefault(name, {})[record.trial.seed] = record
    return settings


def mean_criterion(records: Iterable[Record], criterion: str) -> float:
    """Higher is better: a risk changes its sign; −∞ if any of the records lacks the value.

    >>> from amongst.bench import Trial
    >>> trial = Trial("digits", "q=0.1", "rc", "mlp", 0)
    >>> mean_criterion([Record(trial, {"risk_val": 0.5})], "risk_val")
    -0.5
    >>> mean_criterion([Record(trial, error="diverged")], "risk_val")
    -inf
    """
    values = [record.metrics.get(criterion, math.nan) for record in records]
    if not all(math.isfinite(value) for value in values):
        return -math.inf
    sign = -1 if criterion.startswith("risk") else 1
    return sign * math.fsum(values) / len(values)
