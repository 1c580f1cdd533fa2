"""What each method gains where all have one grid, optimiser and schedule."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from amongst.bench.places import Place, method_title
from amongst.bench.words import signed
from lw2021.plans import short_title
from lw2021.reproduction.found import TABLES, Reproduction
from lw2021.reproduction.sheet import Shown, reaches
from lw2021.reproduction.text import listed

__all__ = ["gains"]

Pairs = Mapping[Place, tuple[Shown, Shown]]


def gains(found: Reproduction) -> list[str]:
    """One grid for all against each method's own, a sentence for each table that has both."""
    return [_gains(plan, pairs) for plan in TABLES if (pairs := _pairs(found, plan))]


def _pairs(found: Reproduction, plan: str) -> Pairs:
    """The cells that have both, each as (own grid, one grid for all)."""
    own, equal = (found.of_kind(plan, kind).cells for kind in ("grid", "equal"))
    both = {place: (own[place], equal[place]) for place in own}
    return {p: two for p, two in both.items() if all(c.entry.n and not c.unfinished for c in two)}


def _gains(plan: str, pairs: Pairs) -> str:
    methods = dict.fromkeys(place.method for place in pairs)
    moved = [f"{method_title(m)} {_mean(pairs, m)}" for m in methods]
    good = [sum(reaches(two[i].entry) for two in pairs.values()) for i in (0, 1)]
    return (
        f"{short_title(plan)}, one grid, optimiser and schedule for all minus "
        f"each method's own grid, points on average over {len(pairs)} cells: {listed(moved)}. "
        f"{good[1]} of these cells reach the paper so, with own grids {good[0]}.{_rows(pairs)}"
    )


def _mean(pairs: Pairs, method: str) -> str:
    steps = [
        two[1].entry.mean - two[0].entry.mean for p, two in pairs.items() if p.method == method
    ]
    return signed(float(np.mean(steps)))


def _rows(pairs: Pairs) -> str:
    """LW's grid is the one for all: where rows given back are all that differs, say so."""
    given_back = {tuple(shown.on_all_rows for shown in two) for two in pairs.values()}
    if given_back != {(False, True)}:
        return ""
    return (
        " One grid for all was trained again on all rows; for LW, whose own grid it is, nothing else "
        "differs."
    )
