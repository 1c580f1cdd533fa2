"""What a plan will cost, before it runs: trials, time and memory, from measured rates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from amongst.bench.points import CLASSICAL
from amongst.bench.record import Record, Trial
from amongst.bench.sources import TEST_FOLDS, Files, open_dataset
from amongst.datasets import entry, names
from amongst.wording import counted

__all__ = ["Estimate", "Facts", "dataset_facts", "estimate", "trial_seconds"]

CONVNET_FLOPS = 4.47e9
"""Of one 32×32×3 image and training step."""


@dataclass(frozen=True)
class Rate:
    """A way of training: seconds a step whatever its size, and floating-point operations a second.

    Attributes
    ----------
    step : seconds that a step costs even if it is tiny.
    flops : operations a second.
    """

    step: float
    flops: float


RATES: Mapping[tuple[str, str], Rate] = {
    ("cpu", "mlp"): Rate(1.0e-3, 5e10),
    ("cpu", "linear"): Rate(0.5e-3, 2e10),
    ("cpu", "convnet"): Rate(5e-3, 8e10),
    ("cuda", "mlp"): Rate(2.4e-3, 5e12),
    ("cuda", "linear"): Rate(1.2e-3, 2e12),
    ("cuda", "convnet"): Rate(1e-4, 3.06e14),
    ("population", "mlp"): Rate(1.0e-6, 1.17e14),
    ("population", "linear"): Rate(1.0e-6, 1e13),
}
"""One core of a CPU (measured here), and one H200 (measured with torch 2.11): model by model, and
250 models stacked. In bf16, an epoch of 50,000 images takes the ConvNet 0.69 s, and 0.06 s to score
the test and held-out rows; one of 60,000 rows takes an MLP of the paper 0.0018 s with its scoring.
Rows count in full, though a tenth is held out: these are bounds more than means."""


@dataclass(frozen=True)
class Facts:
    """Sizes of a data set: training rows, numbers in a row, classes, bytes."""

    rows: int
    inputs: int
    classes: int
    size: int


@dataclass(frozen=True)
class Estimate:
    """What is to come.

    Attributes
    ----------
    trials, done : of the plan, and of these already in the store.
    seconds : for the rest, with all workers busy.
    memory : bytes, of the largest trial times the workers, or of the largest population.
    measured : how many of the missing trials are timed by like ones in the store.
    later : those of the trials that later rounds of a search may add: so many at most, and with
        them the time is a bound, too.
    """

    trials: int
    done: int
    seconds: float
    memory: int
    measured: int
    later: int = 0

    def __str__(self) -> str:
        left = self.trials - self.done
        known = (
            f", {self.measured:,} of them timed by like ones in the store" if self.measured else ""
        )
        cost = f"about {readable(self.seconds)} and {self.memory / 2**30:.1f} GiB"
        if self.later:
            return (
                f"{counted(self.trials - self.later, 'trial')} known by now, then at most {self.later:,} "
                f"more; {self.done:,} in the store, at most {left:,} to run{known}; at most {cost}"
            )
        trials = counted(self.trials, "trial")
        return f"{trials}, {self.done:,} in the store, {left:,} to run{known}; {cost}"


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
    workers : that run side by side.
    members : of a population, which share its memory.
    later : trials like those that later rounds may add; see `amongst.bench.stages.at_most`.

    Examples
    --------
    >>> from amongst.bench.plans import Request, make_plan
    >>> plan = make_plan(Request("table1", datasets=("mnist",), methods=("cc",), seeds=1))
    >>> print(estimate(plan.trials, way="population", members=250))
    3 trials, 0 in the store, 3 to run; about 1 s and 2.8 GiB
    """
    known = list(records)
    done = {record.key for record in known}
    wanted = list(trials)
    more = list(later)
    rest = [trial for trial in wanted if trial.key not in done] + more
    pace = _pace(known, way)
    facts = {name: dataset_facts(name, files) for name in {trial.dataset for trial in rest}}
    seconds = [_seconds(trial, facts[trial.dataset], way, pace) for trial in rest]
    memory = max((_memory(t, facts[t.dataset], members) for t in rest), default=0)
    total = max(sum(seconds) / workers, max(seconds, default=0.0))
    measured = sum(_like(trial) in pace for trial in rest)
    known_done = len(wanted) + len(more) - len(rest)
    all_trials = len(wanted) + len(more)
    return Estimate(all_trials, known_done, total, memory * workers, measured, len(more))


def trial_seconds(trial: Trial, facts: Facts, way: str) -> float:
    """Seconds of one trial, without any measurement of it.

    >>> mnist = dataset_facts("mnist")
    >>> trial = Trial("mnist", "q=0.1", "cc", "mlp", 0, settings={"epochs": 250})
    >>> trial_seconds(trial, mnist, "cpu") > 100 * trial_seconds(trial, mnist, "population")
    True
    >>> conv = Trial("cifar10", "q=0.1", "cc", "convnet", 0, settings={"epochs": 250})
    >>> round(trial_seconds(conv, dataset_facts("cifar10"), "cuda"))
    187
    """
    if trial.method in CLASSICAL:
        return 3.0 * math.pow(facts.rows / 1000, 1.5)
    epochs, batch = (
        int(trial.settings.get(n, d)) for n, d in (("epochs", 250), ("batch_size", 256))
    )
    one_by_one = "cuda" if way == "population" and trial.model == "convnet" else way
    rate = RATES[one_by_one, trial.model]
    passes = 4 / 3 if trial.method == "rc" or trial.settings.get("refresh") == "post" else 1.0
    work = facts.rows * _flops(trial, facts) * passes / rate.flops
    return epochs * (math.ceil(facts.rows / batch) * rate.step + work)


def dataset_facts(name: str, files: Files | None = None) -> Facts:
    """Sizes from the catalogue, or from the file itself.

    >>> dataset_facts("cifar10").inputs
    3072
    """
    if name in names() and name not in (files or {}):
        listed = entry(name)
        rows, inputs, classes = listed.n_train, math.prod(listed.row), listed.n_classes
        size = listed.n * inputs * (1 if len(listed.row) > 1 else 8)
        split = bool(listed.n_test)
    else:
        found = open_dataset(name, files)
        rows, inputs, classes = len(found), math.prod(found.features.shape[1:]), found.n_classes
        size, split = found.features.nbytes, found.n_train is not None
    return Facts(rows if split else rows - rows // TEST_FOLDS, inputs, classes, size)


def readable(seconds: float) -> str:
    """A length of time for people.

    >>> readable(42), readable(4000), readable(4e5), readable(1e9)
    ('42 s', '1.1 h', '4.6 days', '11,574 days')
    """
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.05 * length:
            count = seconds / length
            return f"{count:.1f} {unit}" if count < 100 else f"{count:,.0f} {unit}"
    return f"{seconds:.0f} s"


def _seconds(trial: Trial, facts: Facts, way: str, pace: Mapping[tuple[str, ...], float]) -> float:
    measured = pace.get(_like(trial))
    if measured is None:
        return trial_seconds(trial, facts, way)
    return measured * float(trial.settings.get("epochs", 1))


def _pace(records: Iterable[Record], way: str) -> dict[tuple[str, ...], float]:
    """Mean seconds of an epoch of like trials, run the same way."""
    found: dict[tuple[str, ...], list[float]] = {}
    for record in records:
        same_engine = (record.engine == "population") == (way == "population")
        same_device = (record.device == "cpu") == (way == "cpu")
        if same_engine and same_device and not record.failed:
            epochs = float(record.trial.settings.get("epochs", 1))
            found.setdefault(_like(record.trial), []).append(record.seconds / epochs)
    return {like: math.fsum(values) / len(values) for like, values in found.items()}


def _like(trial: Trial) -> tuple[str, ...]:
    widths = str(trial.settings.get("widths", ""))
    return trial.dataset, trial.method, trial.model, widths, str(trial.settings.get("batch_size"))


def _flops(trial: Trial, facts: Facts) -> float:
    """Of one row and step: two for each parameter forward, four backward."""
    if trial.model == "convnet":
        return CONVNET_FLOPS
    return 6.0 * _parameters(trial, facts)


def _parameters(trial: Trial, facts: Facts) -> int:
    if trial.model == "convnet":
        return 4_400_000
    widths = str(trial.settings.get("widths", "")) if trial.model == "mlp" else ""
    sizes = [facts.inputs, *map(int, filter(None, widths.split("-"))), facts.classes]
    return sum(a * b for a, b in pairwise(sizes))


def _memory(trial: Trial, facts: Facts, members: int) -> int:
    """Data once; parameters with their gradients and momenta, and weights of rows, each."""
    if trial.method in CLASSICAL:
        return 2 * facts.size + 8 * min(facts.rows, 20_000) ** 2
    together = 1 if trial.model == "convnet" else members
    own = 16 * _parameters(trial, facts) + facts.rows * (4 * facts.classes + 12)
    return 3 * facts.size + together * own
