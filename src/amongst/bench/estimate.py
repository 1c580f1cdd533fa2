"""What a plan needs of its data and of this machine, and what it will cost, asked before it runs: trials,
time and memory, from measured rates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from amongst.bench.conditions import REAL
from amongst.bench.execute import Options
from amongst.bench.plans import Cell, Plan
from amongst.bench.points import AUTO, CLASSICAL, method_class
from amongst.bench.record import Record, Trial, grouped
from amongst.bench.request import Request
from amongst.bench.sources import TEST_FOLDS, Files, no_truth, open_dataset
from amongst.data import entry, is_here, names
from amongst.errors import InputError, Shown, named
from amongst.models import DENSE, IMAGES, are_images
from amongst.train import as_device
from amongst.wording import counted, readable

GPU_ONLY = ("bf16", "tf32")

FLOPS: Mapping[str, tuple[float, int]] = {
    "convnet": (4.47e9, 4_400_000),
    "fastnet": (2.71e9, 9_900_000),
    "resnet18": (3.34e9, 11_200_000),
    "wrn28": (3.15e10, 36_500_000),
}
"""Of one view of a 32×32×3 image and training step; and parameters."""

RATES: Mapping[tuple[str, str], tuple[float, float]] = {
    ("cpu", "mlp"): (1.0e-3, 5e10),
    ("cpu", "linear"): (0.5e-3, 2e10),
    ("cpu", "convnet"): (5e-3, 8e10),
    ("cuda", "mlp"): (2.4e-3, 5e12),
    ("cuda", "linear"): (1.2e-3, 2e12),
    ("cuda", "convnet"): (1e-4, 3.06e14),
    ("population", "mlp"): (1.0e-6, 1.17e14),
    ("population", "linear"): (1.0e-6, 1e13),
}
"""Seconds that a step costs even if it is tiny, and operations a second. One core of a CPU (measured
here), and one H200 (measured with torch 2.11): model by model, and 250 models stacked. In bf16, an epoch of 50,000 images takes the ConvNet 0.69 s, and 0.06 s to score
the test and held-out rows; one of 60,000 rows takes an MLP of the paper 0.0018 s with its scoring.
Rows count in full, though a tenth is held out: these are bounds more than means."""


@dataclass(frozen=True)
class Facts:
    """What is known of data: rows, without a test part of their own, the shape of one, classes, bytes; and
    whether they have true labels, candidate sets, such a test part."""

    rows: int
    shape: tuple[int, ...]
    classes: int
    size: int
    truth: bool = True
    sets: bool = False
    split: bool = True

    @property
    def kept(self) -> int:
        """How many rows train."""
        return self.rows if self.split else self.rows - self.rows // TEST_FOLDS

    @property
    def inputs(self) -> int:
        """Numbers in a row."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Estimate:
    """What is to come."""

    trials: int  # of the plan, and of these already in the store
    done: int
    seconds: float  # for the rest, with all workers busy
    memory: int  # bytes, of the largest trial times the workers, or of the largest population
    measured: int  # how many of the missing trials are timed by like ones in the store
    # those of the trials that later rounds of a search may add: so many at most, and with
    # them the time is a bound, too
    later: int = 0

    def __str__(self) -> str:
        left = self.trials - self.done
        timed = f", {self.measured:,} of them timed by like ones in the store"
        known = timed if self.measured else ""
        cost = f"about {readable(self.seconds)} and {self.memory / 2**30:.1f} GiB"
        if self.later:
            return (
                f"{counted(self.trials - self.later, 'trial')} known by now, then at most {self.later:,} "
                f"more; {self.done:,} in the store, at most {left:,} to run{known}; at most {cost}"
            )
        trials = counted(self.trials, "trial")
        return f"{trials}, {self.done:,} in the store, {left:,} to run{known}; {cost}"


def device_type(options: Options) -> str:
    """``"cpu"``, ``"cuda"``, …; a GPU that is named need not be here, but on a cluster."""
    if options.device.startswith("cuda"):
        return "cuda"
    return "cpu" if options.engine == "ray" else as_device(options.device).type


def check_precision(request: Request, options: Options) -> None:
    """Refuse what a CPU would compute in single precision, and a store keep under another name."""
    if request.precision in GPU_ONLY and device_type(options) != "cuda":
        raise InputError(
            f"needs a GPU, and this would run on a CPU ({named('device', options.device)}).",
            code="gpu-only",
            argument="precision",
            got=request.precision,
            remedy=(
                f"use {named('precision', 'float32')}",
                f"{named('device', 'cuda')} where there is one",
            ),
        )


def check_data(plan: Plan, files: Files | None = None) -> None:
    """Refuse folds, conditions, networks and a criterion that the data cannot serve.

    >>> from amongst.bench.plans import make_plan
    >>> check_data(make_plan(Request("compare", datasets=("digits",), folds=3)))
    Traceback (most recent call last):
    amongst.errors.InputError: condition='real' needs candidate sets, and 'digits' has none. ...
    """
    oracle = plan.request.criterion == "oracle"
    found = {name: dataset_facts(name, files, look=oracle) for name in plan.datasets}
    for name, holding in found.items():
        _check_folds(plan.request.folds, name, holding)
        if oracle and not holding.truth:
            own = (f"name their column with {named('truth')}",) if name in (files or {}) else ()
            raise InputError(
                f"chooses by true labels, and {name!r} has none.",
                code="no-truth",
                argument="criterion",
                got="oracle",
                remedy=(*own, f"use {named('criterion', 'covering')}"),
            )
    for cell in plan.cells:
        _check_search_seeds(cell, plan.request)
        _check_cell(cell.slot.condition, cell.slot.model, cell.slot.dataset, found)


def estimate(
    trials: Iterable[Trial],
    records: Iterable[Record] = (),
    *,
    way: str = "cpu",
    workers: int = 1,
    members: int = 1,
    files: Files | None = None,
    later: Iterable[Trial] = (),
) -> Estimate:
    """Add up what the trials without a record will take.

    Parameters
    ----------
    trials : of a plan, bound to its data.
    records : of a store; like ones (same data, method, network) give the time of an epoch.
    way : ``"cpu"``, ``"cuda"`` (model by model) or ``"population"``.
    workers, members : that run side by side; of a population, which share its memory.
    later : trials like those that later rounds may add; see `amongst.bench.rounds.at_most`.

    Examples
    --------
    >>> from amongst.bench.plans import Request, make_plan
    >>> plan = make_plan(Request("table1", datasets=("mnist",), methods=("cc",), seeds=1))
    >>> print(estimate(plan.trials, way="population", members=250))
    3 trials, 0 in the store, 3 to run; about 1 s and 2.8 GiB
    """
    known, more = list(records), list(later)
    done, wanted = {record.key for record in known}, list(trials)
    rest = [trial for trial in wanted if trial.key not in done] + more
    wanted += more
    pace = _pace(known, way)
    facts = {name: dataset_facts(name, files) for name in {trial.dataset for trial in rest}}
    seconds = [
        pace[_like(t)] * float(t.settings.get("epochs", 1))
        if _like(t) in pace
        else trial_seconds(t, facts[t.dataset], way)
        for t in rest
    ]
    return Estimate(
        trials=len(wanted),
        done=len(wanted) - len(rest),
        seconds=max(sum(seconds) / workers, max(seconds, default=0.0)),
        memory=workers * max((_memory(t, facts[t.dataset], members) for t in rest), default=0),
        measured=sum(_like(trial) in pace for trial in rest),
        later=len(more),
    )


def trial_seconds(trial: Trial, facts: Facts, way: str) -> float:
    """Seconds of one trial, without any measurement of it.

    >>> conv = Trial("cifar10", "q=0.1", "cc", "convnet", 0, settings={"epochs": 250})
    >>> round(trial_seconds(conv, dataset_facts("cifar10"), "cuda"))
    187
    """
    if trial.method == AUTO:
        from amongst.selection.auto import seconds_of  # slow to load

        return seconds_of(trial.settings["budget"])
    if trial.method in CLASSICAL:
        return 3.0 * math.pow(facts.kept / 1000, 1.5)
    settings = trial.settings
    epochs, batch = int(settings.get("epochs", 250)), int(settings.get("batch_size", 256))
    dense = trial.model in DENSE
    one_by_one = "cuda" if way == "population" and not dense else way
    step, speed = RATES[one_by_one, trial.model if dense else "convnet"]
    passes = 4 / 3 if trial.method == "rc" or settings.get("refresh") == "post" else 1.0
    passes *= float(settings.get("views", getattr(method_class(trial.method), "views", 1)))
    forward_and_back = 6.0 * _parameters(trial, facts)  # two for each parameter, and four
    flops = FLOPS[trial.model][0] if trial.model in FLOPS else forward_and_back
    work = facts.kept * flops * passes / speed
    return epochs * (math.ceil(facts.kept / batch) * step + work)


def dataset_facts(name: str, files: Files | None = None, *, look: bool = False) -> Facts:
    """From the catalogue, or from a file of one's own. Data of the catalogue have true labels, unless a
    look at them shows otherwise.

    >>> dataset_facts("cifar10").inputs
    3072
    """
    if name in (files or {}) or name not in names():
        found = open_dataset(name, files)
        rows, shape, classes = len(found), tuple(found.features.shape[1:]), found.n_classes
        size, split = found.features.nbytes, found.n_train is not None
        truth, sets = found.has_truth, found.candidates is not None
    else:
        listed = entry(name)
        rows, shape, classes = listed.n_train, listed.row, listed.n_classes
        size = listed.n * math.prod(shape) * (1 if len(shape) > 1 else 8)
        truth = not (look and is_here(listed)) or open_dataset(name).has_truth
        sets, split = listed.is_partial, bool(listed.n_test)
    return Facts(rows, shape, classes, size, truth, sets, split)


def _pace(records: Iterable[Record], way: str) -> dict[tuple[str, ...], float]:
    """Mean seconds of an epoch of like trials, run the same way."""
    same = [
        r
        for r in records
        if (r.engine == "population") == (way == "population")
        and (r.device == "cpu") == (way == "cpu")
        and not r.failed
    ]
    return {
        like: math.fsum(r.seconds / float(r.trial.settings.get("epochs", 1)) for r in own)
        / len(own)
        for like, own in grouped(same, lambda record: _like(record.trial)).items()
    }


def _like(trial: Trial) -> tuple[str, ...]:
    widths = str(trial.settings.get("widths", ""))
    return trial.dataset, trial.method, trial.model, widths, str(trial.settings.get("batch_size"))


def _parameters(trial: Trial, facts: Facts) -> int:
    if trial.model in FLOPS:
        return FLOPS[trial.model][1]
    widths = str(trial.settings.get("widths", "")) if trial.model == "mlp" else ""
    sizes = [facts.inputs, *map(int, filter(None, widths.split("-"))), facts.classes]
    return sum(a * b for a, b in pairwise(sizes))


def _memory(trial: Trial, facts: Facts, members: int) -> int:
    """Data once; parameters with their gradients and momenta, and weights of rows, each."""
    if trial.method in CLASSICAL:
        return 2 * facts.size + 8 * min(facts.kept, 20_000) ** 2
    together = members if trial.model in DENSE else 1
    own = 16 * _parameters(trial, facts) + facts.kept * (4 * facts.classes + 12)
    return 3 * facts.size + together * own


def _check_folds(folds: int | None, name: str, holding: Facts) -> None:
    if folds is None:
        return
    if holding.split:
        raise InputError(
            f"divides data without a test part, and {name!r} has one of its own, on which every fold "
            f"would be tested. Leave it out; {named('seeds', Shown('…'))} repeats the training.",
            code="has-test-part",
            argument="folds",
            got=folds,
        )
    if folds > holding.rows:
        problem = f"is more than the {holding.rows} rows of {name!r}; lower it."
        raise InputError(problem, code="more-than-rows", argument="folds", got=folds)


def _check_search_seeds(cell: Cell, request: Request) -> None:
    """Rows that choose a setting for one seed's folds are test rows in the folds of another."""
    if any(t.fold is not None and not request.searches(t.seed) for t in cell.pool):
        raise InputError(
            f"is fewer than {named('seeds', request.seeds)}, and in the cross-validation of "
            f"{cell.slot.dataset!r} each seed has folds of its own, which choose for themselves.",
            code="folds-choose",
            argument="search_seeds",
            got=request.search_seeds,
            remedy=("leave it out", f"use {named('seeds', 1)}"),
        )


def _check_cell(condition: str, model: str, name: str, found: dict[str, Facts]) -> None:
    holding = found[name]
    if condition == REAL and not holding.sets:
        raise InputError(
            f"needs candidate sets, and {name!r} has none.",
            code="no-candidates",
            argument="condition",
            got=condition,
            remedy=f"Use {named('condition', 'q=0.3')}, 'case 1', ….",
        )
    if condition != REAL and not holding.truth:
        raise no_truth(condition, name)
    if model == "convnet" and not are_images(holding.shape):
        raise InputError(
            f"needs {IMAGES}, but a row of {name!r} has shape {holding.shape}.",
            code="no-images",
            argument="models",
            got=model,
            remedy=f"Use {named('models', 'mlp')}.",
        )
