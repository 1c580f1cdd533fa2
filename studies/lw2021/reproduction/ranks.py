"""How well candidate sets of held-out rows rank methods: by each criterion, beside test accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.stats import kendalltau

from amongst.bench.record import Record
from amongst.bench.tables import Entry
from amongst.bench.words import number
from amongst.wording import counted
from lw2021.reproduction.found import TABLES, Reproduction
from lw2021.reproduction.text import listed

__all__ = ["ranks"]

CRITERIA = {"covering_val": "covering rate", "approximated_val": "approximated accuracy",
            "risk_val": "estimated risk"}  # fmt: skip
LOW = ("risk_val",)
"""Criteria of which a low value is good."""
METHODS = 4
"""A ranking is of so many methods at least."""
Rows = Sequence[Sequence[float]]


def ranks(found: Reproduction) -> str:
    """Kendall's τ with the order by test accuracy, and what the first in rank loses to the best."""
    groups = _groups(found)
    if not groups:
        return ""
    agreed = [_mean(_tau(group, i) for group in groups) for i in range(len(CRITERIA))]
    lost = [_mean(_loss(group, i) for group in groups) for i in range(len(CRITERIA))]
    told = [f"{name} {tau}" for name, tau in zip(CRITERIA.values(), agreed, strict=True)]
    return (
        f"Methods can be ranked without true labels. Over {counted(len(groups), 'comparison')} of {METHODS} "
        f"methods or more, means over held-out rows agree with the order by test accuracy by Kendall's "
        f"τ of: {listed(told)}. The method that comes first is {listed(lost)} points behind the best "
        "on average."
    )


def _groups(found: Reproduction) -> list[Rows]:
    """For each comparison within a run its methods as rows: test accuracy, then the criteria."""
    records = {record.key: record for record in found.evidence.records}
    groups: dict[tuple[int, tuple[str, str]], list[list[float]]] = {}
    for i, run in enumerate(found.runs):
        for place, entry in run.table.entries.items() if run.request.plan in TABLES else ():
            if entry.n == entry.planned and (row := _row(entry, records)):
                groups.setdefault((i, place.contest), []).append(row)
    return [group for group in groups.values() if len(group) >= METHODS]


def _row(entry: Entry, records: Mapping[str, Record]) -> list[float]:
    """Empty where a trial held out nothing."""
    found = [records[key].metrics for key in entry.keys]
    names = [f"{name}_last10" for name in CRITERIA]
    if not found or not all(name in metrics for name in names for metrics in found):
        return []
    means = [float(np.mean([metrics[name] for metrics in found])) for name in names]
    return [entry.mean, *(-m if c in LOW else m for c, m in zip(CRITERIA, means, strict=True))]


def _tau(group: Rows, criterion: int) -> float:
    table = np.asarray(group)
    return float(kendalltau(table[:, 0], table[:, criterion + 1]).statistic)


def _loss(group: Rows, criterion: int) -> float:
    table = np.asarray(group)
    return float(table[:, 0].max() - table[table[:, criterion + 1].argmax(), 0])


def _mean(values: Iterable[float]) -> str:
    return number(float(np.nanmean(list(values))))
