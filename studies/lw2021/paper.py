"""The paper's cells, as it prints them or as its figures lay them out, and their miniature."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from amongst.bench.conditions import REAL
from amongst.bench.places import DATASET_TITLES, METHOD_TITLES
from amongst.bench.points import own_settings
from amongst.bench.record import Scalar
from amongst.bench.request import PLAN_TITLES, Published, Slot
from amongst.checks import check_choice
from amongst.models import DENSE, recipe_of

TABLES = ("table1", "table2", "table3")
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
MINIATURE = ("q=0.5", "q=0.5 eta=0.2", "q=0.5 rho=100", "instance=0.4")
"""Conditions of image plans that are in their miniature."""


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
    text = (Path(__file__).parent / "data" / "tables.json").read_text("utf-8")
    folds = FOLDS if table == "table2" else None
    return tuple(_cell(entry, folds) for entry in json.loads(text)[table])


def short_title(plan: str) -> str:
    """What the paper calls it."""
    return PLAN_TITLES[plan].partition(":")[0]


def beta_panels() -> tuple[Slot, ...]:
    """Of Figure 1."""
    return _panels({f"β={beta:g}": (("beta", beta),) for beta in BETAS})


def ablation_panels() -> tuple[Slot, ...]:
    """Of Figure 2."""
    return _panels({f"α={a:g}, β={b:g}": (("alpha", a), ("beta", b)) for a, b in ABLATION})


def miniature(slots: Sequence[Slot]) -> list[Slot]:
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
