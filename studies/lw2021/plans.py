"""Plans for which the repository is needed: what goes beyond the paper's tables and figures, and image
experiments: every algorithm alike, each as its authors train it, and parts of LW left out one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from amongst.bench.conditions import REAL
from amongst.bench.paper import (
    FOLDS,
    IMAGES,
    LW,
    NEURAL,
    PLAN_TITLES,
    RATES,
    Slot,
    published_cells,
)
from amongst.bench.record import Scalar
from amongst.models import recipe_of

SEEDS = 3
EPOCHS = 80
NETWORK = "fastnet"
LABELLED = "q=0"
"""No label beside the true one: what a network learns from true labels."""

ALGORITHMS = (
    "lw-views", "lw-cross_entropy", "cc", "rc", "proden", "mixup", "mean-teacher", "cavl", "crdpll",
    "pico", "papi", "pop", "dirk", "solar", "records", "alim", "pals",
)  # fmt: skip
CONDITIONS = (
    "q=0.1", "q=0.3", "q=0.5", "q=0.7", "q=0.8", "q=0.9",
    "q=0.5 eta=0.2", "q=0.5 rho=100", "instance=0.4",
)  # fmt: skip

WIDE_CONDITIONS = (*CONDITIONS[:6], "q=0.5 eta=0.1", "q=0.5 eta=0.2", "q=0.5 eta=0.3")

SHARED: Mapping[str, Scalar] = MappingProxyType({"epochs": EPOCHS, "validation": 0.0})
"""Of all: nothing is searched, so that every row trains."""

CHOSEN: Mapping[str, Mapping[str, Scalar]] = MappingProxyType(
    {
        "lw-cross_entropy": {"beta": "auto", "fade": 1.0},
        "pico": {"start": 1 / 800},
        "solar": {"estimating": 0.1, "rho_end": 0.6},
        "alim": {"start": 0.0},
    }
)
"""Where a method's good start is not its dataclass's default: as its estimator has it, or its authors'
commands for CIFAR-10."""

SGD: Mapping[str, Scalar | None] = {"optimizer": "sgd", "momentum": 0.9, "nesterov": False, "schedule": "cosine",
       "augment": "gentle/random", "tta": None}  # fmt: skip

OWN: Mapping[str, tuple[str, Mapping[str, Scalar], str]] = MappingProxyType(
    {
        "crdpll": ("wrn28", {"epochs": 200, "batch_size": 64, "lr": 0.1, "weight_decay": 1e-4},
                   "WRN-34-10; rate × 0.1 after 100 and 150 epochs"),
        "pico": ("resnet18", {"epochs": 800, "batch_size": 256, "lr": 0.01, "weight_decay": 1e-3},
                 ""),
        "papi": ("resnet18", {"epochs": 500, "batch_size": 256, "lr": 0.05, "weight_decay": 1e-3},
                 ""),
        "pop": ("resnet18", {"epochs": 500, "batch_size": 256, "lr": 0.05, "weight_decay": 1e-3},
                "WRN; rate × 0.1 after 100 and 150 epochs"),
        "dirk": ("resnet18", {"epochs": 500, "batch_size": 64, "lr": 0.01, "weight_decay": 1e-3,
                              "start": 1 / 500}, "ResNet-34"),
        "solar": ("resnet18", {"epochs": 1000, "batch_size": 256, "lr": 0.01,
                               "weight_decay": 1e-3},
                  "rate × 0.1 after 700, 800 and 900 epochs"),
        "records": ("resnet18", {"epochs": 800, "batch_size": 256, "lr": 0.01,
                                 "weight_decay": 1e-3}, ""),
        "alim": ("resnet18", {"epochs": 1000, "batch_size": 128, "lr": 0.01, "weight_decay": 1e-3},
                 ""),
        "pals": ("resnet18", {"epochs": 500, "batch_size": 256, "lr": 0.1, "weight_decay": 1e-3},
                 ""),
    }
)  # fmt: skip
"""As the authors' published code trains on CIFAR-10: the network, or the nearest of ours; settings;
and what differs there."""

PARTS: Mapping[str, Mapping[str, Scalar]] = MappingProxyType(
    {
        "as it is": {},
        "β=0": {"beta": 0.0},
        "outside=lw": {"outside": "lw"},
        "one view": {"views": 1},
        "three views": {"views": 3},
        "ramp=0": {"ramp": 0.0},
        "ramp=0.6": {"ramp": 0.6},
        "belief=clean": {"belief": "clean"},
        "belief=teacher": {"belief": "teacher"},
        "keep=0": {"keep": 0.0},
        "keep=0.9": {"keep": 0.9},
        "gentle/random": {"augment": "gentle/random"},
        "gentle/random, keep=0.9": {"augment": "gentle/random", "keep": 0.9},
    }
)
"""LW with views, and one setting of it changed at a time; at last two together."""

WIDE: Mapping[str, Scalar] = MappingProxyType(
    {"widths": "192-576-768", "augment": "strong", "epochs": 120}
)
"""For accuracy more than for speed."""


def _alike() -> list[Slot]:
    places = [
        ("cifar10", LABELLED, "cc"),
        *(("cifar10", condition, name) for condition in CONDITIONS for name in ALGORITHMS),
        *(("cifar10n", REAL, name) for name in ALGORITHMS),
    ]
    return [
        _slot(dataset, condition, method, NETWORK, CHOSEN.get(method, {}))
        for dataset, condition, method in places
    ]


def _as_their_authors() -> list[Slot]:
    return [
        _slot("cifar10", condition, name, model, {**SGD, **CHOSEN.get(name, {}), **settings})
        for condition in CONDITIONS
        for name, (model, settings, _) in OWN.items()
    ]


def _parts() -> list[Slot]:
    return [
        replace(_slot("cifar10", condition, "lw-views", NETWORK, changed), variant=name)
        for condition in ("q=0.5", "q=0.7")
        for name, changed in PARTS.items()
    ]


def _wide() -> list[Slot]:
    return [
        replace(_slot("cifar10", condition, "lw-views", NETWORK, WIDE), variant="wide")
        for condition in WIDE_CONDITIONS
    ]


def _slot(
    dataset: str, condition: str, method: str, model: str, settings: Mapping[str, Scalar | None]
) -> Slot:
    scalars = {n: v for n, v in recipe_of(model).items() if isinstance(v, Scalar)}
    fixed = scalars | dict(SHARED) | dict(settings)
    told = tuple((name, value) for name, value in fixed.items() if value is not None)
    return Slot(dataset, condition, method, model, fixed=told, seeds=SEEDS)


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


SLOTS: Mapping[str, Callable[[], Sequence[Slot]]] = MappingProxyType(
    {
        "beyond": _beyond,
        "images": _alike,
        "images-own": _as_their_authors,
        "images-wide": _wide,
        "images-parts": _parts,
    }
)
"""The cells of each plan in this file."""


def short_title(plan: str) -> str:
    """What the paper calls it."""
    return PLAN_TITLES[plan].partition(":")[0]
