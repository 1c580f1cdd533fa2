"""Plans: what a person asked for, laid out as cells, each with its trials and the paper's value."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from amongst.bench.conditions import REAL, check_condition
from amongst.bench.paper import dataset_title
from amongst.bench.points import CLASSICAL, Budget, method_labels, points
from amongst.bench.record import Record, Trial, canonical_json
from amongst.bench.request import CRITERIA, KEEP, PLANS, SHORT, Request
from amongst.bench.slots import LW, NEURAL, PAPER_PLANS, Slot
from amongst.bench.wording import check_within
from amongst.checks import check_choice
from amongst.datasets import names
from amongst.errors import AmongstWarning, InputError
from amongst.methods import get_protocol
from amongst.models import MODELS

__all__ = [
    "CRITERIA",
    "KEEP",
    "PLANS",
    "Cell",
    "Plan",
    "Request",
    "Slot",
    "make_plan",
    "plan_titles",
    "remembered",
    "short_title",
]


@dataclass(frozen=True)
class Cell:
    """A slot of a table or figure, and the trials that fill it.

    Attributes
    ----------
    slot : see `Slot`.
    trials : all settings × all repeats; of a search in rounds, those that are known by now.
    note : where its settings come from, if that needs saying.
    absent : why there is no number here, e.g. that the file is not available.
    pool : of a search in rounds, all settings × all repeats, of which `trials` is a part; else
        empty.
    screening : the short round of such a search; never among `trials`.
    rivals : those of `trials` that decide which setting is reported; see `amongst.bench.stages`.
    refit : whether the chosen setting is reported as trained again on all rows.
    """

    slot: Slot
    trials: tuple[Trial, ...]
    note: str = ""
    absent: str = ""
    pool: tuple[Trial, ...] = ()
    screening: tuple[Trial, ...] = ()
    rivals: tuple[Trial, ...] = ()
    refit: bool = False

    @property
    def repeats(self) -> int:
        """How many seeds and folds a finished cell has."""
        return len({(trial.seed, trial.fold) for trial in self.pool or self.trials})


@dataclass(frozen=True)
class Plan:
    """Cells in the order of the paper.

    Attributes
    ----------
    request, title : what was asked for, and its name for people.
    cells : see `Cell`.
    report : the metric that a cell reports: ``"accuracy_last10"`` or ``"accuracy_final"``.
    """

    request: Request
    title: str
    cells: tuple[Cell, ...]
    report: str

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
        """The metric that holds a criterion, over the epochs that the plan reports.

        >>> make_plan(Request("table1")).metric_of("oracle")
        'accuracy_val_last10'
        """
        suffix = "_last10" if self.report.endswith("last10") else ""
        return CRITERIA[criterion] + suffix

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets, each once."""
        return tuple(dict.fromkeys(cell.slot.dataset for cell in self.cells))

    def bind(self, digests: Mapping[str, str], absent: Mapping[str, str]) -> Plan:
        """The same plan on data that has been seen: digests enter the keys, absences the cells."""
        return replace(self, cells=tuple(_bound(cell, digests, absent) for cell in self.cells))

    def match(self, records: Iterable[Record]) -> list[tuple[Cell, list[Record]]]:
        """The records of each cell; data digests count only where the plan knows them."""
        found: dict[str, list[Record]] = {}
        for record in records:
            for key in record.keys:
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
    budget = Budget(
        epochs=request.epochs,
        search=request.search,
        protocol=request.protocol,
        precision=request.precision,
        scale=request.scale,
    )
    slots = _compared(request) if request.plan == "compare" else _slots(request)
    cells = tuple(
        _in_rounds(_cell(slot, budget, _repeats(request, slot)), request) for slot in slots
    )
    report = request.metric or f"accuracy_{get_protocol(request.protocol).report}"
    return Plan(request, _title(request), cells, report)


def remembered(requests: Iterable[Mapping[str, Any]]) -> list[Plan]:
    """Plans of what a store remembers, oldest first.

    What cannot be laid out here (a method of one's own that has another name by now, or an option of
    a newer release) is left out with a warning; its records are there, and no plan asks for them.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     [plan.title for plan in remembered([{"plan": "demo"}, {"plan": "demo", "methods": ["?"]}])]
    ["Demo: scikit-learn's digits"]
    """
    plans = []
    for asked in requests:
        try:
            plans.append(make_plan(Request(**asked)))
        except (InputError, TypeError) as error:
            warnings.warn(
                "a request of this store cannot be laid out by this version of amongst "
                f"({str(error).partition(';')[0]}). Its trials are shown without it.",
                AmongstWarning,
                stacklevel=2,
            )
    return plans


def plan_titles() -> dict[str, str]:
    """Names of plans, and what they are.

    >>> plan_titles()["table1"]
    'Table 1: accuracy on benchmark datasets'
    """
    return {name: title for name, (title, _) in PAPER_PLANS.items()}


def short_title(plan: str) -> str:
    """What the paper calls it.

    >>> short_title("table1")
    'Table 1'
    """
    return plan_titles()[plan].partition(":")[0]


def _title(request: Request) -> str:
    if request.plan == "compare":
        return f"Comparison on {', '.join(map(dataset_title, request.datasets))}"
    title, _ = PAPER_PLANS[request.plan]
    return f"{title} (miniature on digits)" if request.quick else title


def _slots(request: Request) -> list[Slot]:
    _, layout = PAPER_PLANS[request.plan]
    if request.folds:
        raise InputError("folds is for a comparison on one's own data; leave it out.")
    return _narrowed(_miniature(layout()) if request.quick else layout(), request)


def _compared(request: Request) -> list[Slot]:
    """Every method with every network, on a person's own data."""
    methods = [
        check_choice("methods", m, (*method_labels(), SHORT)) for m in request.methods or NEURAL
    ]
    models = [check_choice("models", m, MODELS) for m in request.models or ("mlp",)]
    if not request.datasets:
        raise InputError("datasets is empty; name the data to compare on.")
    return [
        Slot(dataset, check_condition(condition), method, model, folds=request.folds)
        for dataset in request.datasets
        for method in methods
        for model in (["-"] if method in CLASSICAL else models)
        for condition in request.conditions or (REAL,)
    ]


def _miniature(slots: Sequence[Slot]) -> list[Slot]:
    """The same methods and conditions on digits, without duplicates and without ConvNets."""
    small = [
        replace(
            slot,
            dataset="digits",
            condition="q=0.3" if slot.condition == REAL else slot.condition,
            model="mlp" if slot.model == "convnet" else slot.model,
            published=None,
        )
        for slot in slots
        if slot.variant == "" or (slot.dataset, slot.condition) == ("fashion_mnist", "q=0.3")
    ]
    return list({(p.condition, p.method, p.model, p.variant): p for p in small}.values())


def _narrowed(slots: Sequence[Slot], request: Request) -> list[Slot]:
    kept = list(slots)
    wanted = {
        "dataset": request.datasets,
        "method": request.methods,
        "condition": tuple(check_condition(c) for c in request.conditions),
        "model": request.models,
    }
    if request.quick and request.datasets:
        raise InputError(
            f"quick=True runs on digits alone, not on datasets={','.join(request.datasets)!r}; leave "
            "out one of the two. epochs=… and seeds=… make a plan shorter on its own data."
        )
    for name, values in wanted.items():
        known = {getattr(slot, name) for slot in slots}
        for value in values:
            _check_axis(name, value, known, request.plan)
        kept = [p for p in kept if not values or _in_axis(p, name, values, request)]
    if not kept:
        raise InputError(
            "no cell of the plan has these datasets, methods, conditions and models together."
        )
    return kept


def _in_axis(slot: Slot, name: str, values: Sequence[str], request: Request) -> bool:
    """A method without a network that was named stays, whatever networks the others have."""
    named = name == "model" and slot.method in CLASSICAL and slot.method in request.methods
    return named or getattr(slot, name) in values


def _check_axis(name: str, value: str, known: set[str], plan: str) -> None:
    """A method of the package that the plan lacks is not unknown, but not in the plan."""
    elsewhere: dict[str, Iterable[str]] = {
        "dataset": names(),
        "method": method_labels(),
        "condition": [value],
        "model": MODELS,
    }
    short = {SHORT} if known & set(LW) else set()
    check_within(f"{name}s", value, known | short, plan, list(elsewhere[name]))


def _repeats(request: Request, slot: Slot) -> list[tuple[int, int | None]]:
    if slot.folds is None:
        own = 2 if request.quick else 5
        return [(seed, None) for seed in range(request.seeds or own)]
    folds = request.folds or (3 if request.quick else slot.folds)
    return [(seed, fold) for seed in range(request.seeds or 1) for fold in range(folds)]


def _cell(slot: Slot, budget: Budget, repeats: Sequence[tuple[int, int | None]]) -> Cell:
    chosen = points(slot.dataset, slot.condition, slot.method, slot.model, budget, dict(slot.fixed))
    count = 1 + max((fold for _, fold in repeats if fold is not None), default=-1)
    folds = {"folds": count} if count else {}
    trials = tuple(
        Trial(slot.dataset, slot.condition, slot.method, slot.model, seed, fold, settings)
        for settings in (dict(point.values) | folds for point in chosen)
        for seed, fold in repeats
    )
    return Cell(slot, trials, note=chosen[0].note if len(chosen) == 1 else "")


def _in_rounds(cell: Cell, request: Request) -> Cell:
    """The first round of a search in rounds; the cell as it is if one round is all there is."""
    settings = {canonical_json(trial.settings) for trial in cell.trials}
    if len(settings) < 2:
        all_rows = tuple(trial.on_all_rows() for trial in cell.trials)
        return replace(cell, trials=all_rows) if request.refit else cell
    first = tuple(trial for trial in cell.trials if request.searches(trial.seed))
    short = () if cell.slot.method in CLASSICAL else _screening(first, request.screen)
    if len(first) == len(cell.trials) and not short and not request.refit:
        return cell
    known = () if short else first
    return replace(cell, trials=known, pool=cell.trials, screening=short, refit=request.refit)


def _screening(trials: Sequence[Trial], epochs: int | None) -> tuple[Trial, ...]:
    if epochs is None:
        return ()
    return tuple(replace(t, settings=dict(t.settings) | {"epochs": epochs}) for t in trials)


def _bound(cell: Cell, digests: Mapping[str, str], absent: Mapping[str, str]) -> Cell:
    name = cell.slot.dataset
    if name in absent:
        return replace(cell, absent=absent[name])
    if name not in digests:
        raise InputError(f"there is no digest for the dataset {dataset_title(name)!r}.")
    digest = digests[name]
    return replace(
        cell,
        trials=_with_data(cell.trials, digest),
        pool=_with_data(cell.pool, digest),
        screening=_with_data(cell.screening, digest),
        rivals=_with_data(cell.rivals, digest),
    )


def _with_data(trials: Sequence[Trial], digest: str) -> tuple[Trial, ...]:
    return tuple(trial.with_data(digest) for trial in trials)
