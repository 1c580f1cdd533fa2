"""The command that makes a cell of a report again."""

from __future__ import annotations

import shlex
from dataclasses import MISSING, fields

from amongst.bench.conditions import REAL
from amongst.bench.layout import Place
from amongst.bench.leftovers import FoundPlan
from amongst.bench.plans import Plan, Request
from amongst.datasets import names

__all__ = ["reproduce_command"]

_OPTIONS = (
    "folds",
    "seeds",
    "epochs",
    "search",
    "search_seeds",
    "screen",
    "keep",
    "criterion",
    "protocol",
    "precision",
)


def reproduce_command(plan: Plan, place: Place | None = None) -> str:
    """One line for a shell: the plan's own request, narrowed to a place.

    Empty for a `FoundPlan`, which nobody asked for. Records know no paths, so that the folder, the
    ending and the columns of a file of one's own are left for the person to fill in.

    >>> from amongst.bench.plans import make_plan
    >>> plan = make_plan(Request("table1", seeds=3, protocol="paper"))
    >>> reproduce_command(plan, Place("mnist", "case 1", "rc", "mlp"))
    "amongst reproduce table1 --datasets mnist --conditions 'case 1' --methods rc --models mlp --seeds 3 --protocol paper"
    >>> mine = make_plan(Request("compare", datasets=("birds",), methods=("rc", "cc"), folds=5))
    >>> reproduce_command(mine, Place("birds", "real", "rc", "mlp"))
    'amongst compare path/to/birds --methods rc --models mlp --folds 5'
    """
    if isinstance(plan, FoundPlan):
        return ""
    request = plan.request
    words = ["amongst", *_verb(request)]
    for option, values in _narrowing(request, place).items():
        words += [word for value in values for word in (f"--{option}", value)]
    for name in _OPTIONS:
        if getattr(request, name) != _default(name):
            words += [f"--{name.replace('_', '-')}", str(getattr(request, name))]
    words += [f"--{name}" for name in ("refit", "quick") if getattr(request, name)]
    return shlex.join(words)


def _verb(request: Request) -> list[str]:
    if request.plan == "compare":
        return ["compare", *(n if n in names() else f"path/to/{n}" for n in request.datasets)]
    return ["reproduce", request.plan]


def _narrowing(request: Request, place: Place | None) -> dict[str, tuple[str, ...]]:
    own = request.plan == "compare"
    datasets, conditions, methods, models = (
        (request.datasets, request.conditions, request.methods, request.models)
        if place is None
        else ((place.dataset,), (place.condition,), (place.method,), (place.model,))
    )
    return {
        "datasets": () if own or request.quick else datasets,
        "conditions": () if own and conditions == (REAL,) else conditions,
        "methods": methods,
        "models": () if models == ("-",) else models,
    }


def _default(name: str) -> object:
    found = next(field for field in fields(Request) if field.name == name)
    return None if found.default is MISSING else found.default
