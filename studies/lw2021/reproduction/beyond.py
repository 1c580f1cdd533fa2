"""What came out where the paper has no numbers."""

from __future__ import annotations

import numpy as np

from amongst.bench.places import method_title
from amongst.bench.tables import Entry
from amongst.bench.words import signed
from amongst.wording import counted
from lw2021.reproduction.found import Reproduction
from lw2021.reproduction.ways import UNEQUAL, WAYS, tested_text

__all__ = ["automatic", "beyond_margins"]


def automatic(found: Reproduction) -> str:
    """β from the data against the published β, where both were run: nothing else differs."""
    beyond, table = (found.of_kind(plan, "published").cells for plan in ("beyond", "table1"))
    gaps: dict[str, list[float]] = {}
    for place, shown in beyond.items():
        home = place._replace(variant="")
        other = table.get(home) or beyond.get(home)
        if place.variant == "β=auto" and other and _same_but_beta(shown.entry, other.entry):
            where = "of Table 1" if home in table else "beyond it"
            name = f"{where}, {method_title(place.method)}"
            gaps.setdefault(name, []).append(shown.entry.mean - other.entry.mean)
    if not gaps:
        return ""
    parts = [
        f"{name}: {signed(float(np.mean(some)))} ({counted(len(some), 'cell')}, from "
        f"{signed(min(some))} to {signed(max(some))})"
        for name, some in sorted(gaps.items(), key=lambda item: item[0].startswith("beyond"))
    ]
    return (
        "β from the candidate sets (β=auto) minus the published β, all other settings the same, "
        f"points on average over conditions {'; '.join(parts)}."
    )


def beyond_margins(found: Reproduction, way: str) -> str:
    """LW against its rivals where the paper has no numbers, by one way of tuning."""
    margins = {where: ways[way] for where, ways in found.beyond.items() if way in ways}
    lead = f"with {WAYS[way]}" if way in WAYS else UNEQUAL[way].replace(": ", " (", 1) + ")"
    said = [tested_text(f"Beyond the paper, {lead}", margins)]
    alone = [f"{where} ({signed(m.value)})" for where, m in margins.items() if not m.tested]
    if alone:
        said.append(f"LW minus its best rival in one repeat, not tested: {'; '.join(alone)}.")
    return " ".join(filter(None, said))


def _same_but_beta(one: Entry, other: Entry) -> bool:
    plain = [{n: v for n, v in e.settings.items() if n != "beta"} for e in (one, other)]
    return bool(one.n and other.n) and plain[0] == plain[1]
