"""Ways of tuning, for people, and what a test says of LW's margins by one of them."""

from __future__ import annotations

from collections.abc import Mapping

from amongst.bench.words import signed
from lw2021.reproduction.margins import Margin, tally

__all__ = ["SEARCHED", "SHARED", "UNEQUAL", "WAYS", "tested_text"]

WAYS = {
    "grid": "each method's own grid, chosen without true labels",
    "oracle": "the same, chosen by the oracle",
    "short grid": "the grids cut by a short round, chosen without true labels",
    "equal": "one grid, optimiser and schedule for all, chosen without true labels",
    "study": "one schedule for all in [a study](defaults.md#beside-tuned-methods) of 100 epochs on "
    "all rows, chosen by test accuracy",
}
SHARED = {"equal", "study"}
UNEQUAL = {"published": "not tuned alike: published settings, else defaults"}
SEARCHED = {"grid": "whole grids", "short grid": "grids cut by a short round"}


def tested_text(lead: str, found: Mapping[str, Margin]) -> str:
    """Where LW is ahead and behind, of the contests with repeats to compare; empty without one.

    >>> text = tested_text("So", {"MNIST, q=0.1": Margin(0.5, "lw-sigmoid", "rc", 0.01)})
    >>> text.partition(". ")[2]
    'Ahead: MNIST, q=0.1 (+0.50).'
    """
    tested = {where: margin for where, margin in found.items() if margin.tested}
    if not tested:
        return ""
    wins, ties, losses = tally(tested.values())
    text = (
        f"{lead}, a paired t test (two-sided, p ≤ 0.05, the repeats as pairs) finds LW "
        f"ahead in {wins} of {len(tested)} comparisons, behind in {losses}, and no difference in "
        f"{ties}."
    )
    return text + _places(" Ahead", tested, 1) + _places(" Behind", tested, -1)


def _places(word: str, tested: Mapping[str, Margin], side: int) -> str:
    where = [f"{w} ({signed(m.value)})" for w, m in tested.items() if m.side == side]
    return f"{word}: {'; '.join(where)}." if where else ""
