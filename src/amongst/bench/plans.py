"""Plans: what a person asked for, laid out as cells, each with its trials and the paper's value."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from amongst.algorithms import get_protocol
from amongst.bench.conditions import REAL, check_condition
from amongst.bench.paper import IMAGE_PLANS, LW, NEURAL, PLAN_TITLES, Slot, plan_slots
from amongst.bench.places import Place, dataset_title
from amongst.bench.points import CLASSICAL, method_labels, own_settings, points
from amongst.bench.record import Record, Trial
from amongst.bench.request import CRITERIA, EPOCHS, SHORT, check_within
from amongst.bench.request import Request as Request  # which belongs to plans, too
from amongst.checks import check_choice
from amongst.data import names
from amongst.errors import AmongstWarning, InputError, MissingDependencyError, Shown, named
from amongst.models import DENSE, MODELS, recipe_of

MINIATURE = ("q=0.5", "q=0.5 eta=0.2", "q=0.5 rho=100", "instance=0.4")
"""Conditions of image plans that are in their miniature."""


@dataclass(frozen=True)
class Cell:
    """A slot of a table or figure, and the trials that fill it."""

    slot: Slot
    # all settings × all repeats; of a search in rounds, those that are known by now
    trials: tuple[Trial, ...]
    note: str = ""  # where its settings come from, if that needs saying
    absent: str = ""  # why there is no number here, e.g. that the file is not available
    # of a search in rounds, all settings × all repeats, of which `trials` is a part
    pool: tuple[Trial, ...] = ()
    screening: tuple[Trial, ...] = ()  # the short round of such a search; never among `trials`
    # those of `trials` that decide which setting is reported; see `amongst.bench.rounds`
    rivals: tuple[Trial, ...] = ()
    refit: bool = False  # whether the chosen setting is reported as trained again on all rows

    @property
    def repeats(self) -> int:
        """How many seeds and folds a finished cell has."""
        return len({(trial.seed, trial.fold) for trial in self.pool or self.trials})

    def bind(self, digest: str) -> Cell:
        """The same cell on data of this digest."""
        parts = ("trials", "pool", "screening", "rivals")
        bound = {n: tuple(t.with_data(digest) for t in getattr(self, n)) for n in parts}
        return replace(self, **bound)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Plan:
    """Cells in the order of the paper."""

    request: Request
    title: str  # for people
    cells: tuple[Cell, ...]
    report: str  # the metric that a cell reports: "accuracy_last10" or "accuracy_final"
    found: bool = False  # read off the records themselves: no command leads back to it

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """All trials that can run, each once; of a search in rounds, those that are known by now."""
        here = [cell for cell in self.cells if not cell.absent]
        short = {t.key: t for cell in here for t in cell.screening}
        return tuple((short | {t.key: t for cell in here for t in cell.trials}).values())

    @property
    def staged(self) -> bool:
        """Whether a cell is searched in rounds, so that its later trials hang on the earlier."""
        return any(cell.pool for cell in self.cells)

    @property
    def criterion(self) -> str:
        """The metric that the search maximises."""
        return self.metric_of(self.request.criterion)

    def metric_of(self, criterion: str) -> str:
        """The metric that holds a criterion, over the epochs that the plan reports."""
        return CRITERIA[criterion] + "_last10" * self.report.endswith("last10")

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets, each once."""
        return tuple(dict.fromkeys(cell.slot.dataset for cell in self.cells))

    @property
    def places(self) -> tuple[Place, ...]:
        """What its cells are about."""
        return tuple(cell.slot.place for cell in self.cells)

    def bind(self, digests: Mapping[str, str], absent: Mapping[str, str]) -> Plan:
        """The same plan on data that has been seen: digests enter the keys, absences the cells."""
        cells = tuple(
            replace(cell, absent=absent[cell.slot.dataset])
            if cell.slot.dataset in absent
            else cell.bind(digests[cell.slot.dataset])
            for cell in self.cells
        )
        return replace(self, cells=cells)

    def match(self, records: Iterable[Record]) -> list[tuple[Cell, list[Record]]]:
        """The records of each cell; data digests count only where the plan knows them."""
        found: dict[str, list[Record]] = {}
        wanted = {trial.key for cell in self.cells for trial in cell.trials}
        for record in records:
            for key in record.keys & wanted:
                found.setdefault(key, []).append(record)
        return [
            (cell, [record for trial in cell.trials for record in found.get(trial.key, [])])
            for cell in self.cells
        ]


def make_plan(request: Request) -> Plan:
    """Lay out the cells and trials of a request.

    >>> plan = make_plan(Request("table1", datasets=("mnist",), methods=("lw-sigmoid",)))
    >>> len(plan.cells), len(plan.trials), plan.cells[0].slot.published.mean
    (3, 15, 98.82)
    >>> make_plan(Request("table1", datasets=("mnst",)))
    Traceback (most recent call last):
    amongst.errors.InputError: datasets='mnst' is unknown; did you mean 'mnist' or 'kmnist'? ...
    """
    if request.plan == "compare":
        slots, title = _compared(request), ", ".join(map(dataset_title, request.datasets))
        title = f"Comparison on {title}"
    else:
        slots, title = _of_the_paper(request), PLAN_TITLES[request.plan]
        title += " (miniature on digits)" * request.quick
    cells = tuple(_in_rounds(_cell(slot, request), request) for slot in slots)
    when = "final" if request.plan in IMAGE_PLANS else get_protocol(request.protocol).report
    report = request.metric or f"accuracy_{when}"
    return Plan(request, title, cells, report)


def remembered(requests: Iterable[Mapping[str, Any]]) -> list[Plan]:
    """Plans of what a store remembers, oldest first.

    What cannot be laid out here (a method of one's own that has another name by now, or an option of
    a newer release) is left out with a warning; its records are there, and no plan asks for them.
    """
    plans = []
    for asked in requests:
        try:
            plans.append(make_plan(Request(**asked)))
        except (InputError, MissingDependencyError, TypeError) as error:
            problem = (
                "a request of this store cannot be laid out by this version of amongst "
                f"({str(error).partition(';')[0]}). Its trials are shown without it."
            )
            warnings.warn(AmongstWarning(problem, code="unknown-request"), stacklevel=2)
    return plans


def _compared(request: Request) -> list[Slot]:
    """Every method with every network, on a person's own data."""
    labels = (*method_labels(), SHORT)
    methods = [check_choice("methods", name, labels) for name in request.methods or NEURAL]
    models = [check_choice("models", name, MODELS) for name in request.models or ("mlp",)]
    if not request.datasets:
        problem = "datasets is empty; name the data to compare on."
        raise InputError(problem, code="no-data")
    return [
        Slot(dataset, check_condition(condition), method, model, folds=request.folds)
        for dataset in request.datasets
        for method in methods
        for model in (["-"] if method in CLASSICAL else models)
        for condition in request.conditions or (REAL,)
    ]


def _of_the_paper(request: Request) -> list[Slot]:
    """The cells of a plan of the paper that are asked for."""
    if request.folds:
        problem = "folds is for a comparison on one's own data; leave it out."
        raise InputError(problem, code="no-sense")
    if request.quick and request.datasets:
        asked = named("datasets", ",".join(request.datasets))
        shorter = " and ".join(named(name, Shown("…")) for name in ("epochs", "seeds"))
        problem = (
            f"runs on digits alone, not on {asked}; leave out one of the two. {shorter} make a "
        )
        problem += "plan shorter on its own data."
        raise InputError(problem, code="no-sense", argument="quick", got=True)
    slots = list(plan_slots(request.plan))
    if request.quick and request.plan != "demo":
        slots = _miniature(slots)
    conditions = tuple(map(check_condition, request.conditions))
    wanted: dict[str, tuple[Sequence[str], Collection[str]]] = {
        "dataset": (request.datasets, names()),
        "method": (request.methods, method_labels()),
        "condition": (conditions, conditions),
        "model": (request.models, MODELS),
    }
    stay = set(CLASSICAL) & set(request.methods)  # whatever networks the others have
    kept = slots
    for axis, (values, elsewhere) in wanted.items():
        has = {getattr(slot, axis) for slot in slots}
        has |= {SHORT} if has & set(LW) else set()
        for value in values:
            check_within(f"{axis}s", value, has, request.plan, elsewhere)
        if values:
            staying = stay if axis == "model" else ()
            kept = [s for s in kept if getattr(s, axis) in values or s.method in staying]
    if not kept:
        problem = "no cell of the plan has these datasets, methods, conditions and models together."
        raise InputError(problem, code="no-cell")
    return kept


def _miniature(slots: Sequence[Slot]) -> list[Slot]:
    """The same methods and conditions on digits, without duplicates and networks for images."""
    small = [
        replace(
            slot,
            dataset="digits",
            condition="q=0.3" if slot.condition == REAL else slot.condition,
            model=slot.model if slot.model in (*DENSE, "-") else "mlp",
            published=None,
            fixed=own_settings(slot.method, dict(slot.fixed)),
        )
        for slot in slots
        if _in_miniature(slot)
    ]
    return list({slot.place: slot for slot in small}.values())


def _in_miniature(slot: Slot) -> bool:
    """Of the paper's variants those of one panel; of image plans a part of their conditions."""
    if recipe_of(slot.model):
        return slot.dataset == "cifar10" and slot.condition in MINIATURE
    return slot.variant == "" or (slot.dataset, slot.condition) == ("fashion_mnist", "q=0.3")


def _cell(slot: Slot, request: Request) -> Cell:
    """All settings × all repeats."""
    repeats: list[tuple[int, int | None]]
    if slot.folds is None:
        count, folds = request.seeds or (2 if request.quick else slot.seeds), {}
        repeats = [(seed, None) for seed in range(count)]
    else:
        folds = {"folds": request.folds or (3 if request.quick else slot.folds)}
        seeds = range(request.seeds or 1)
        repeats = [(seed, fold) for seed in seeds for fold in range(folds["folds"])]
    told = {"epochs": request.epochs} if request.epochs else {}
    fixed = dict(slot.fixed) | {n: v for n, v in told.items() if n in dict(slot.fixed)}
    chosen = points(slot.dataset, slot.condition, slot.method, slot.model, request, fixed)
    trials = tuple(
        Trial(slot.dataset, slot.condition, slot.method, slot.model, seed, fold, settings)
        for settings in (dict(point.values) | folds for point in chosen)
        for seed, fold in repeats
    )
    return Cell(slot, trials, note=chosen[0].note if len(chosen) == 1 else "")


def _in_rounds(cell: Cell, request: Request) -> Cell:
    """The first round of a search in rounds; the cell as it is if one round is all there is."""
    if all(trial.settings == cell.trials[0].settings for trial in cell.trials):
        all_rows = tuple(trial.on_all_rows() for trial in cell.trials)
        return replace(cell, trials=all_rows) if request.refit else cell
    first = tuple(trial for trial in cell.trials if request.searches(trial.seed))
    short: tuple[Trial, ...] = ()
    if request.screen is not None and cell.slot.method not in CLASSICAL:
        epochs = {"epochs": request.screen}
        short = tuple(replace(t, settings=dict(t.settings) | epochs) for t in first)
    if len(first) == len(cell.trials) and not short and not request.refit:
        return cell
    known = () if short else first
    return replace(cell, trials=known, pool=cell.trials, screening=short, refit=request.refit)


_OPTIONS = (
    "folds", "seeds", "epochs", "search", "search_seeds", "screen", "keep", "criterion", "protocol",
    "precision",
)  # fmt: skip
_DEFAULTS = {field.name: field.default for field in fields(Request)}


def reproduce_command(plan: Plan, place: Place | None = None) -> str:
    """One line for a shell: the plan's own request, narrowed to a place.

    Empty for a plan that was found, which nobody asked for, and for a comparison that no command can make. A
    file of one's own is named as it was; one that came from Python is left to be filled in.

    >>> plan = make_plan(Request("table1", seeds=3, protocol="paper"))
    >>> reproduce_command(plan, Place("mnist", "case 1", "rc", "mlp"))
    "amongst reproduce table1 --datasets mnist --conditions 'case 1' --methods rc --models mlp --seeds 3 --protocol paper"
    >>> mine = make_plan(Request("compare", datasets=("birds",), methods=("rc", "cc"), folds=5))
    >>> reproduce_command(mine, Place("birds", "real", "rc", "mlp"))
    'amongst compare path/to/birds --methods rc --models mlp --folds 5 --epochs 250 --search published'
    """
    request, own = plan.request, plan.request.plan == "compare"
    if plan.found or (own and not _typable(request)):
        return ""
    if place is not None:
        narrow = {
            f"{n}s": (getattr(place, n),) for n in ("dataset", "condition", "method", "model")
        }
        request = replace(request, **narrow)  # type: ignore[arg-type]
    words = ["amongst", *_verb(request)]
    for option in ("datasets", "conditions", "methods", "models"):
        values = getattr(request, option)
        implied = (option == "datasets" and (own or request.quick)) or values == ("-",)
        if not implied and not (own and values == (REAL,)):
            words += [word for value in values for word in (f"--{option}", value)]
    usual: dict[str, object] = dict(_DEFAULTS)
    if own:
        usual |= {"search": "none", "epochs": EPOCHS["quick"] if request.quick else 100}
        request = replace(request, epochs=request.epochs or EPOCHS[request.scale])
    for name in _OPTIONS if request.is_search else (n for n in _OPTIONS if n != "criterion"):
        if (value := getattr(request, name)) != usual[name]:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(
        words + [f"--{name}" for name in ("refit", "quick") if getattr(request, name)]
    )


def _typable(request: Request) -> bool:
    """Whether the command line has words for a comparison: it has none for some of a request."""
    plain = all(getattr(request, name) == _DEFAULTS[name] for name in ("protocol", "precision"))
    return plain and (len(request.datasets) == 1 or set(request.datasets) <= set(names()))


def _verb(request: Request) -> list[str]:
    if request.plan != "compare":
        return ["reproduce", request.plan]
    asked = ",".join(n if n in names() else f"path/to/{n}" for n in request.datasets)
    return ["compare", *(request.own or (asked,))]
