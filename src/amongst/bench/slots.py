"""Where the cells of each plan stand: the paper's tables and figures, and what goes beyond them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from amongst.bench.conditions import REAL
from amongst.bench.paper import Published, published_cells
from amongst.bench.record import Scalar

__all__ = ["NEURAL", "PAPER_PLANS", "Slot"]

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
IMAGES = (
    ("mnist", "mlp"),
    ("fashion_mnist", "mlp"),
    ("kmnist", "mlp"),
    ("cifar10", "convnet"),
)
FOLDS = 10


@dataclass(frozen=True)
class Slot:
    """Where a cell belongs.

    Attributes
    ----------
    dataset, condition, method, model : as for a trial.
    variant : for figures: ``"β=4"``, ``"α=1, β=0"``; else empty.
    published : the paper's value, or None.
    fixed : settings that it dictates, as pairs.
    folds : of the cross-validation; None where the data has a test part of its own.
    """

    dataset: str
    condition: str
    method: str
    model: str
    variant: str = ""
    published: Published | None = None
    fixed: tuple[tuple[str, Scalar], ...] = ()
    folds: int | None = None


def _published(table: str) -> list[Slot]:
    folds = FOLDS if table == "table2" else None
    return [
        Slot(c.dataset, c.condition, c.method, c.model, published=c.published, folds=folds)
        for c in published_cells(table)
    ]


def _figure1() -> list[Slot]:
    return [
        Slot(dataset, condition, "lw-sigmoid", model, f"β={beta:g}", fixed=(("beta", beta),))
        for dataset, condition, model in PANELS
        for beta in BETAS
    ]


def _figure2() -> list[Slot]:
    return [
        Slot(
            dataset,
            condition,
            "lw-sigmoid",
            model,
            f"α={alpha:g}, β={beta:g}",
            fixed=(("alpha", alpha), ("beta", beta)),
        )
        for dataset, condition, model in PANELS
        for alpha, beta in ABLATION
    ]


def _demo() -> list[Slot]:
    return [
        Slot("digits", condition, method, "mlp") for method in NEURAL for condition in RATES[:3]
    ]


def _beyond() -> list[Slot]:
    rates = [
        Slot(dataset, condition, method, model)
        for dataset, model in IMAGES
        for method in NEURAL
        for condition in RATES[3:]
    ]
    auto = [
        Slot(dataset, condition, method, model, "β=auto", fixed=(("beta", "auto"),))
        for dataset, model in IMAGES
        for method in LW
        for condition in RATES
    ]
    human = [
        Slot("cifar10n", REAL, method, model) for model in ("convnet", "mlp") for method in NEURAL
    ]
    faces = [
        Slot("fgnet", REAL, cell.method, cell.model, folds=FOLDS)
        for cell in published_cells("table2")
        if cell.dataset == "lost"
    ]
    return rates + auto + human + faces


PAPER_PLANS: Mapping[str, tuple[str, Callable[[], list[Slot]]]] = MappingProxyType(
    {
        "table1": ("Table 1: accuracy on benchmark datasets", lambda: _published("table1")),
        "table2": ("Table 2: accuracy on real datasets", lambda: _published("table2")),
        "table3": (
            "Table 3: accuracy with other generation processes",
            lambda: _published("table3"),
        ),
        "figure1": ("Figure 1: the leverage parameter β", _figure1),
        "figure2": ("Figure 2: ablation of the two parts of the loss", _figure2),
        "beyond": ("Beyond the paper: larger q, β from the data, other data", _beyond),
        "demo": ("Demo: scikit-learn's digits", _demo),
    }
)
"""Plans that are fixed: a title, and a function that lays out the slots."""
