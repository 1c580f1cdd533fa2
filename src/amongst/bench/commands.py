"""The command that makes a cell of a report again."""

from __future__ import annotations

import shlex
from dataclasses import MISSING, fields

from amongst.bench.layout import Place
from amongst.bench.leftovers import FoundPlan
from amongst.bench.plans import Plan, Request

__all__ = ["reproduce_command"]

_OPTIONS = ("seeds", "epochs", "search", "criterion", "protocol", "precision")


def reproduce_command(plan: Plan, place: Place | None = None) -> str:
    """One line for a shell: the plan's own request, narrowed to a place.

    Empty for a `FoundPlan`, which nobody asked for.

    >>> from amongst.bench.plans import make_plan
    >>> plan = make_plan(Request("table1", seeds=3, protocol="paper"))
    >>> reproduce_command(plan, Place("mnist", "case 1", "rc", "mlp"))
    "amongst reproduce table1 --datasets mnist --conditions 'case 1' --methods rc --seeds 3 --protocol paper"
    """
    if isinstance(plan, FoundPlan):
        return ""
    request = plan.request
    words = ["amongst", "reproduce", request.plan]
    for option, values in _narrowing(request, place).items():
        words += [word for value in values for word in (f"--{option}", value)]
    for name in _OPTIONS:
        if getattr(request, name) != _default(name):
            words += [f"--{name}", str(getattr(request, name))]
    return shlex.join([*words, *(["--quick"] if request.quick else [])])


def _narrowing(request: Request, place: Place | None) -> dict[str, tuple[str, ...]]:
    if place is None:
        return {n: getattr(request, n) for n in ("datasets", "conditions", "methods")}
    return {
        "datasets": () if request.quick else (place.dataset,),
        "conditions": (place.condition,),
        "methods": (place.method,),
    }


def _default(name: str) -> object:
    found = next(field for field in fields(Request) if field.name == name)
    return None if found.default is MISSING else found.default
