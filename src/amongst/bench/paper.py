"""The plans that are fixed: the paper's tables and figures with their cells, as printed or laid out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from amongst.bench.conditions import REAL
from amongst.bench.places import DATASET_TITLES, METHOD_TITLES, Place
from amongst.bench.record import Scalar
from amongst.checks import check_choice
from amongst.optional import import_study

TABLES = ("table1", "table2", "table3")
NEURAL = ("rc", "cc", "proden", "lw-sigmoid", "lw-cross_entropy")
LW = ("lw-sigmoid", "lw-cross_entropy")
RATES = ("q=0.1", "q=0.3", "q=0.5", "q=0.7", "q=0.9")
BETAS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
ABLATION = ((1.0, 0.0), (2.0, 0.0), (0.0, 1.0), (0.0, 2.0), (1.0, 1.0), (2.0, 2.0))
PANELS = (
    ("mnist", "q=0.1", "mlp"),
    ("fashion_mnist", "q=0.3", "mlp"),
    ("cifar10", "q=0.3", "convnet"),
    ("kmnist", "q=0.5", "mlp"),
)
IMAGES = (("mnist", "mlp"), ("fashion_mnist", "mlp"), ("kmnist", "mlp"), ("cifar10", "convnet"))
FOLDS = 10

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


@cache
def published_cells(table: str) -> tuple[Slot, ...]:
    """The cells of a table in the paper's order.

    >>> cell = published_cells("table1")[0]
    >>> cell.dataset, cell.method, cell.condition, cell.published.mean
    ('mnist', 'rc', 'q=0.1', 98.44)
    >>> [len(published_cells(table)) for table in TABLES]
    [60, 55, 60]
    """
    check_choice("table", table, TABLES)
    text = files("amongst.bench").joinpath("data", "tables.json").read_text("utf-8")
    folds = FOLDS if table == "table2" else None
    return tuple(_cell(entry, folds) for entry in json.loads(text)[table])


def _cell(entry: Mapping[str, Any], folds: int | None) -> Slot:
    datasets = {title: name for name, title in DATASET_TITLES.items()}
    methods = {title: name for name, title in METHOD_TITLES.items()} | {"LW": "lw-cross_entropy"}
    return Slot(
        dataset=datasets[entry["dataset"]],
        condition=entry.get("condition") or REAL,
        method=methods[entry["method"]],
        model=(entry["model"] or "-").lower(),
        published=Published(entry["mean"], entry["std"], entry["star"], entry["mark"] or ""),
        folds=folds,
    )


def _panels(variants: Mapping[str, tuple[tuple[str, Scalar], ...]]) -> tuple[Slot, ...]:
    """The four panels of a figure."""
    return tuple(
        Slot(dataset, condition, "lw-sigmoid", model, variant, fixed=fixed)
        for dataset, condition, model in PANELS
        for variant, fixed in variants.items()
    )


@cache
def plan_slots(plan: str) -> tuple[Slot, ...]:
    """The cells of a plan that is fixed; what goes beyond the paper is laid out in ``studies``."""
    if plan in TABLES:
        return published_cells(plan)
    if plan == "figure1":
        return _panels({f"β={beta:g}": (("beta", beta),) for beta in BETAS})
    if plan == "figure2":
        return _panels({f"α={a:g}, β={b:g}": (("alpha", a), ("beta", b)) for a, b in ABLATION})
    if plan == "demo":
        return tuple(Slot("digits", q, method, "mlp") for method in NEURAL for q in RATES[:3])
    return tuple(import_study("lw2021.plans", purpose=f"the plan {plan!r}").SLOTS[plan]())
