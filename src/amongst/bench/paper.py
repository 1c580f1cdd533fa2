"""What the paper prints: its cells, its settings, and its names, in the names of this package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from amongst.bench.record import Scalar
from amongst.checks import check_choice
from amongst.methods import METHODS

__all__ = [
    "DATASET_TITLES",
    "METHOD_TITLES",
    "TABLES",
    "Point",
    "Published",
    "PublishedCell",
    "dataset_title",
    "method_title",
    "published_cells",
    "published_point",
]

TABLES = ("table1", "table2", "table3")

DATASET_TITLES = MappingProxyType(
    {
        "mnist": "MNIST",
        "fashion_mnist": "Fashion-MNIST",
        "kmnist": "Kuzushiji-MNIST",
        "cifar10": "CIFAR-10",
        "lost": "Lost",
        "msrcv2": "MSRCv2",
        "birdsong": "BirdSong",
        "soccer_player": "Soccer Player",
        "yahoo_news": "Yahoo! News",
        "fgnet": "FG-NET",
        "cifar10n": "CIFAR-10N",
        "digits": "digits",
    }
)
"""Names of data sets as the paper prints them."""

METHOD_TITLES = MappingProxyType(
    {
        "ipal": "IPAL",
        "paloc": "PALOC",
        "plecoc": "PLECOC",
        "plknn": "PL-kNN",
        "plsvm": "PL-SVM",
        "rc": "RC",
        "cc": "CC",
        "proden": "PRODEN",
        "lw-sigmoid": "LW-Sigmoid",
        "lw-cross_entropy": "LW-Cross entropy",
        "average": "Average",
        "minimum": "Minimum",
        "clpl": "CLPL",
    }
)
"""Names of methods as the paper prints them."""


@dataclass(frozen=True)
class Published:
    """A cell as printed, in percent.

    Attributes
    ----------
    mean, std : test accuracy.
    star : whether the best method is significantly better, by the paper's Wilcoxon test.
    mark : ``"best"`` (bold), ``"second"`` (underlined) or the empty string.
    """

    mean: float
    std: float
    star: bool = False
    mark: str = ""


@dataclass(frozen=True)
class PublishedCell:
    """Where a printed cell belongs, in the names of this package."""

    dataset: str
    condition: str
    method: str
    model: str
    published: Published


@dataclass(frozen=True)
class Point:
    """One setting of a search space, and a note on where it comes from."""

    values: Mapping[str, Scalar]
    note: str = ""


def dataset_title(name: str) -> str:
    """The name for people; a data set of one's own keeps its name.

    >>> dataset_title("kmnist"), dataset_title("my_data")
    ('Kuzushiji-MNIST', 'my_data')
    """
    return DATASET_TITLES.get(name, name)


def method_title(name: str) -> str:
    """The name for people.

    >>> method_title("lw-cross_entropy")
    'LW-Cross entropy'
    """
    own = METHODS.get(name)
    return METHOD_TITLES.get(name, name.upper() if own is None else own.title)


@cache
def published_cells(table: str) -> tuple[PublishedCell, ...]:
    """The cells of a table in the paper's order.

    >>> cell = published_cells("table1")[0]
    >>> cell.dataset, cell.method, cell.condition, cell.published.mean
    ('mnist', 'rc', 'q=0.1', 98.44)
    >>> [len(published_cells(table)) for table in TABLES]
    [60, 55, 60]
    """
    check_choice("table", table, TABLES)
    text = files("amongst.bench").joinpath("data", "tables.json").read_text("utf-8")
    return tuple(_cell(entry) for entry in json.loads(text)[table])


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
    """Of the paper's three; the lowest where candidate sets came with the data.

    >>> _nearest_rate("q=0.45"), _nearest_rate("case 3"), _nearest_rate("real")
    ('q=0.5', 'q=0.3', 'q=0.1')
    """
    if not condition.startswith("q="):
        return _NEAREST_RATE.get(condition, "q=0.1")
    q = float(condition.removeprefix("q="))
    return min(("q=0.1", "q=0.3", "q=0.5"), key=lambda rate: abs(float(rate[2:]) - q))


def _proden_point(dataset: str, model: str) -> Point:
    home = dataset if dataset in _PRODEN else "cifar10" if model == "convnet" else "mnist"
    exact = home == dataset and _PRODEN_MODEL.get(home, "mlp") == model
    note = "" if exact else f"nearest setting of PRODEN's authors: {DATASET_TITLES[home]}"
    return Point(_PRODEN[home], note)


def _cell(entry: Mapping[str, Any]) -> PublishedCell:
    datasets = {title: name for name, title in DATASET_TITLES.items()}
    methods = {title: name for name, title in METHOD_TITLES.items()} | {"LW": "lw-cross_entropy"}
    return PublishedCell(
        dataset=datasets[entry["dataset"]],
        condition=entry.get("condition") or "real",
        method=methods[entry["method"]],
        model=(entry["model"] or "-").lower(),
        published=Published(entry["mean"], entry["std"], entry["star"], entry["mark"] or ""),
    )
