"""The command that makes a cell of a report again."""

from __future__ import annotations

import shlex
from dataclasses import fields

from amongst.bench.conditions import REAL
from amongst.bench.places import Place
from amongst.bench.plans import Plan, Request
from amongst.bench.request import EPOCHS
from amongst.data import names

_OPTIONS = (
    "folds", "seeds", "epochs", "search", "search_seeds", "screen", "keep", "criterion", "protocol",
    "precision",
)  # fmt: skip
_DEFAULTS = {field.name: field.default for field in fields(Request)}


def reproduce_command(plan: Plan, place: Place | None = None) -> str:
    """One line for a shell: the plan's own request, narrowed to a place.

    Empty for a plan that was found, which nobody asked for, and for a comparison that no command can make. A
    file of one's own is named as it was; one that came from Python is left to be filled in.

    >>> from amongst.bench.plans import make_plan
    >>> plan = make_plan(Request("table1", seeds=3, protocol="paper"))
    >>> reproduce_command(plan, Place("mnist", "case 1", "rc", "mlp"))
    "amongst reproduce table1 --datasets mnist --conditions 'case 1' --methods rc --models mlp --seeds 3 --protocol paper"
    >>> mine = make_plan(Request("compare", datasets=("birds",), methods=("rc", "cc"), folds=5))
    >>> reproduce_command(mine, Place("birds", "real", "rc", "mlp"))
    'amongst compare path/to/birds --methods rc --models mlp --folds 5 --epochs 250 --search published'
    """
    request = plan.request
    if plan.found or not _typable(request):
        return ""
    words = ["amongst", *_verb(request, place)]
    for option, values in _narrowing(request, place).items():
        words += [word for value in values for word in (f"--{option}", value)]
    for name, value in _options(request).items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    words += [f"--{name}" for name in ("refit", "quick") if getattr(request, name)]
    return shlex.join(words)


def _typable(request: Request) -> bool:
    """Whether the command line has words for it: `compare` has none for some of a request."""
    plain = all(getattr(request, name) == _DEFAULTS[name] for name in ("protocol", "precision"))
    known = len(request.datasets) == 1 or set(request.datasets) <= set(names())
    return request.plan != "compare" or (plain and known)


def _verb(request: Request, place: Place | None) -> list[str]:
    if request.plan != "compare":
        return ["reproduce", request.plan]
    asked = request.datasets if place is None else (place.dataset,)
    named = ",".join(n if n in names() else f"path/to/{n}" for n in asked)
    return ["compare", *(request.own or (named,))]


def _options(request: Request) -> dict[str, object]:
    """Those that the command would not take by itself, or would refuse: without a search, a
    criterion."""
    given = {name: getattr(request, name) for name in _OPTIONS}
    if not request.is_search:
        del given["criterion"]
    usual = dict(_DEFAULTS)
    if request.plan == "compare":
        usual |= {"search": "none", "epochs": EPOCHS["quick"] if request.quick else 100}
        given["epochs"] = request.epochs or EPOCHS[request.scale]
    return {name: value for name, value in given.items() if value != usual[name]}


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
