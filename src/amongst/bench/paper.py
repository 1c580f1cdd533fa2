"""Cells of tables and figures, what is published of them, the settings of the paper, and the plans' names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from amongst.bench.conditions import parse
from amongst.bench.places import DATASET_TITLES, Place
from amongst.bench.record import Scalar
from amongst.optional import STUDIES, import_study

NEURAL = ("rc", "cc", "proden", "lw-sigmoid", "lw-cross_entropy")
LW = ("lw-sigmoid", "lw-cross_entropy")
RATES = ("q=0.1", "q=0.3", "q=0.5", "q=0.7", "q=0.9")


@dataclass(frozen=True)
class Published:
    """A cell as printed: test accuracy in percent."""

    mean: float
    std: float
    star: bool = False  # whether the best method is significantly better, by Wilcoxon's test
    mark: str = ""  # "best" (bold), "second" (underlined)


@dataclass(frozen=True)
class Slot:
    """Where a cell belongs: as for a trial; for figures also a variant, ``"β=4"``."""

    dataset: str
    condition: str
    method: str
    model: str
    variant: str = ""
    published: Published | None = None
    fixed: tuple[tuple[str, Scalar], ...] = ()  # settings that it dictates
    folds: int | None = None  # None where the data have a test part of their own
    seeds: int = 5  # repeats, unless told

    @property
    def place(self) -> Place:
        """What it is about."""
        return Place(self.dataset, self.condition, self.method, self.model, self.variant)


@dataclass(frozen=True)
class Point:
    """One setting of a search space, and a note on where it comes from."""

    values: Mapping[str, Scalar]
    note: str = ""


def published_point(dataset: str, condition: str, method: str, model: str) -> Point | None:
    """The setting that the paper (LW) or PRODEN's own code gives, or the nearest one, so noted.

    RC and CC print none: None.

    >>> published_point("mnist", "q=0.3", "lw-sigmoid", "mlp").values["lr"]
    0.1
    >>> published_point("kmnist", "q=0.3", "lw-sigmoid", "mlp").note
    'nearest published setting: MNIST, q=0.3'
    """
    if method in {name for _, name, _ in _LW}:
        return _lw_point(dataset, condition, method)
    if method == "proden":
        return _proden_point(dataset, model)
    return None


_LW = {
    ("mnist", "lw-sigmoid", "q=0.1"): (0.05, 1e-3, 2.0),
    ("mnist", "lw-sigmoid", "q=0.3"): (0.1, 1e-3, 1.0),
    ("mnist", "lw-sigmoid", "q=0.5"): (0.1, 1e-3, 1.0),
    ("mnist", "lw-cross_entropy", "q=0.1"): (0.1, 1e-3, 2.0),
    ("mnist", "lw-cross_entropy", "q=0.3"): (0.1, 1e-3, 1.0),
    ("mnist", "lw-cross_entropy", "q=0.5"): (0.1, 1e-3, 2.0),
    ("cifar10", "lw-sigmoid", "q=0.1"): (0.05, 1e-3, 1.0),
    ("cifar10", "lw-sigmoid", "q=0.3"): (0.05, 1e-3, 1.0),
    ("cifar10", "lw-sigmoid", "q=0.5"): (0.05, 1e-3, 1.0),
    ("cifar10", "lw-cross_entropy", "q=0.1"): (0.01, 1e-2, 1.0),
    ("cifar10", "lw-cross_entropy", "q=0.3"): (0.01, 1e-2, 2.0),
    ("cifar10", "lw-cross_entropy", "q=0.5"): (0.01, 1e-2, 1.0),
}
"""lr, weight decay, β: the paper's best, which it gives for two data sets and three rates."""

_NEAREST_RATE = {"case 1": "q=0.1", "case 2": "q=0.1", "case 3": "q=0.3"}
"""By the mean size of a candidate set: 1.5, 1.6 and 2.8 in the cases; 1.9, 3.7, 5.5 at the rates."""

_PRODEN: dict[str, dict[str, Scalar]] = {
    "mnist": {"lr": 1e-2, "weight_decay": 1e-3},
    "kmnist": {"lr": 1e-2, "weight_decay": 1e-4},
    "fashion_mnist": {"lr": 1e-2, "weight_decay": 1e-5},
    "cifar10": {"lr": 1e-2, "weight_decay": 1e-3, "schedule": "proden"},
    "lost": {"lr": 1e-2, "weight_decay": 1e-2, "batch_size": 100},
    "birdsong": {"lr": 1e-2, "weight_decay": 1e-4, "batch_size": 100},
    "msrcv2": {"lr": 1e-1, "weight_decay": 1e-3, "batch_size": 100},
}
_PRODEN_MODEL = {"cifar10": "convnet", "lost": "linear", "birdsong": "linear", "msrcv2": "linear"}


def _lw_point(dataset: str, condition: str, method: str) -> Point:
    home = "cifar10" if dataset.startswith("cifar10") else "mnist"
    rate = _nearest_rate(condition)
    lr, weight_decay, beta = _LW[home, method, rate]
    exact = (dataset, rate) == (home, condition)
    note = "" if exact else f"nearest published setting: {DATASET_TITLES[home]}, {rate}"
    return Point({"lr": lr, "weight_decay": weight_decay, "beta": beta}, note)


def _nearest_rate(condition: str) -> str:
    """Of the paper's three; the lowest where candidate sets came with the data."""
    said = parse(condition)
    if said.kind != "q":
        return _NEAREST_RATE.get(condition, "q=0.1")
    return min(("q=0.1", "q=0.3", "q=0.5"), key=lambda rate: abs(float(rate[2:]) - said.value))


def _proden_point(dataset: str, model: str) -> Point:
    home = dataset if dataset in _PRODEN else "cifar10" if model == "convnet" else "mnist"
    exact = home == dataset and _PRODEN_MODEL.get(home, "mlp") == model
    note = "" if exact else f"nearest setting of PRODEN's authors: {DATASET_TITLES[home]}"
    return Point(_PRODEN[home], note)


IMAGE_PLANS = {
    "images": "Images: every algorithm, trained alike",
    "images-own": "Images: each algorithm as its authors train it",
    "images-wide": "Images: LW with views, a wider network, longer",
    "images-parts": "Images: LW with views, part by part",
}
"""Plans on CIFAR-10, in which nothing is searched, and their titles."""

PLAN_TITLES = {
    "table1": "Table 1: accuracy on benchmark datasets",
    "table2": "Table 2: accuracy on real datasets",
    "table3": "Table 3: accuracy with other generation processes",
    "figure1": "Figure 1: the leverage parameter β",
    "figure2": "Figure 2: ablation of the two parts of the loss",
    "beyond": "Beyond the paper: larger q, β from the data, other data",
    "demo": "Demo: scikit-learn's digits",
} | IMAGE_PLANS
"""Plans that are fixed, and their titles."""


@cache
def plan_slots(plan: str) -> tuple[Slot, ...]:
    """The cells of a plan that is fixed; but for the demo, ``studies`` lays them out."""
    if plan == "demo":
        return tuple(Slot("digits", q, method, "mlp") for method in NEURAL for q in RATES[:3])
    return tuple(import_study("lw2021.plans", purpose=f"the plan {plan!r}").SLOTS[plan]())


def printed() -> Mapping[Place, Published | None]:
    """The figures of the paper's tables, as far as they are here: in a clone."""
    tables = ("table1", "table2", "table3") if STUDIES.is_dir() else ()
    return {slot.place: slot.published for table in tables for slot in plan_slots(table)}


def beside() -> Any:
    """What the study says of its figures beside ours: it alone lays out cells that have any."""
    return import_study("lw2021.beside", purpose="the paper's figures")
