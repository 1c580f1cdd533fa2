"""Which settings a method is trained with: its default, the published one, or a grid."""

from __future__ import annotations

import itertools
from collections import ChainMap
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from amongst.algorithms import LW, METHODS, Protocol, Recipe, get_protocol
from amongst.algorithms._base import hyper_parameters
from amongst.bench.conditions import parse
from amongst.bench.places import DATASET_TITLES
from amongst.bench.record import Scalar
from amongst.bench.request import EPOCHS, Request
from amongst.checks import check_choice, near_matches
from amongst.errors import InputError
from amongst.estimators import CLASSICAL as OURS
from amongst.estimators import estimator_for
from amongst.train import Settings

LEARNERS = ("forest", "extra-trees", "boosting", "logistic")
"""Of `amongst.selection.portfolio`, which brings scikit-learn's ensembles along."""

AUTO = "auto"


def _learner(name: str) -> Any:
    return import_module("amongst.selection.portfolio").learner(name)


def _auto() -> Any:
    return import_module("amongst.selection.auto").AutoClassifier()


_OTHERS: dict[str, Any] = {name: partial(_learner, name) for name in LEARNERS} | {AUTO: _auto}
CLASSICAL: Mapping[str, Any] = ChainMap(_OTHERS, OURS)  # type: ignore[arg-type]
"""What no engine trains, by name: something to call for an estimator."""

SMALL_WIDTHS, SMALL_BATCH, SMALL_QUEUE = "64-64", 64, 256

TRAINING = tuple(name for name in Settings.__dataclass_fields__ if name != "seed")
"""Settings of a trial that are settings of training."""


@dataclass(frozen=True)
class Point:
    """One setting of a search space, and a note on where it comes from."""

    values: Mapping[str, Scalar]
    note: str = ""


def method_labels() -> tuple[str, ...]:
    """Every label that a trial's method can have; LW has one for each ψ of the paper."""
    neural = [name for name in METHODS if name != "lw"]
    return ("lw-sigmoid", "lw-cross_entropy", *neural, *CLASSICAL)


def method_class(label: str) -> type[Recipe] | None:
    """The class behind a label, or None for a method without a network."""
    check_choice("method", label, method_labels())
    if label in CLASSICAL:
        return None
    return METHODS.get(label, LW)


def own_settings(label: str, settings: Mapping[str, Scalar]) -> tuple[tuple[str, Scalar], ...]:
    """Those that are hyper-parameters of the method, as pairs; a queue is short, as for few rows."""
    kind = method_class(label)
    own = {} if kind is None else hyper_parameters(kind)
    kept = {name: value for name, value in settings.items() if name in own}
    return tuple((kept | ({"queue": SMALL_QUEUE} if "queue" in own else {})).items())


def points(
    dataset: str,
    condition: str,
    method: str,
    model: str,
    request: Request,
    fixed: Mapping[str, Scalar] | None = None,
) -> list[Point]:
    """Every setting to train a cell with, complete: nothing that changes the answer is implied.

    >>> len(points("mnist", "q=0.1", "lw-sigmoid", "mlp", Request("table1", search="grid")))
    50
    >>> points("mnist", "q=0.1", "lw-sigmoid", "mlp", Request("table1"))[0].values["lr"]
    0.05
    """
    kind = method_class(method)
    dictated = dict(fixed or {})
    if kind is None:
        return _classical_points(method, request)
    base = _base(kind, model, request)
    _check_grid(kind, base)
    if request.is_search:
        found = _product(_grid(kind, request), dictated, _small(request))
    elif "lr" in dictated:
        found = [Point({})]
    else:
        published = request.search == "published"
        printed = published_point(dataset, condition, method, model) if published else None
        note = "none published: the default of this package" * published
        default = {"lr": kind.lr, "weight_decay": kind.weight_decay}
        found = [printed or Point(default, note)]
    fit = _as_fit(kind, method, request)
    return [Point(base | dict(point.values) | fit | dictated, point.note) for point in found]


def _small(request: Request) -> bool:
    """Whether the network and the batches are small."""
    return request.scale != "paper"


def _grid(kind: type[Recipe], request: Request) -> Mapping[str, tuple[Any, ...]]:
    """A method's own, or one grid and optimiser for all."""
    if request.search == "grid":
        return kind.grid
    shared = {"optimizer": ("sgd",), "schedule": (get_protocol(request.protocol).schedule,)}
    return dict(kind.grid) | {n: LW.grid[n] for n in ("lr", "weight_decay")} | shared


def _as_fit(kind: type[Recipe], method: str, request: Request) -> dict[str, Any]:
    """What `fit` gives a network on so many rows, all of which train; nothing where it searches."""
    if request.rows is None or request.search != "none" or _small(request):
        return {}
    plain: Any = estimator_for(kind.name)()
    found = {
        "batch_size": plain._settings(request.rows).batch_size,
        "schedule": "cosine",
        "validation": 0.0,
    }
    if kind is LW:
        return found | {"beta": "auto", "fade": 1.0 if method == "lw-cross_entropy" else 0.0}
    own = {name: getattr(plain, name, None) for name in hyper_parameters(kind)}
    return found | {n: v for n, v in own.items() if isinstance(v, str | int | float)}


def _base(kind: type[Recipe], model: str, request: Request) -> dict[str, Any]:
    protocol, small = get_protocol(request.protocol), _small(request)
    base: dict[str, Any] = {
        "epochs": request.epochs or EPOCHS[request.scale],
        "batch_size": SMALL_BATCH if small else 256,
        "optimizer": kind.optimizer,
        "lr": kind.lr,
        "weight_decay": kind.weight_decay,
        "schedule": _schedule(kind, model, protocol),
        "precision": request.precision,
        "validation": protocol.validation,
    }
    if model == "mlp":
        base["widths"] = SMALL_WIDTHS if small else "-".join(map(str, protocol.widths))
    if model == "convnet":
        base["dropout_at_evaluation"] = protocol.dropout_at_evaluation
    if kind is LW:
        own = {"alpha": 1.0, "beta": 1.0, "initial": protocol.initial}
        return base | own | {"refresh": protocol.refresh}
    return base | _own_defaults(kind, {*base, *TRAINING, "widths", "folds", "augment", "tta"})


def _own_defaults(kind: type[Recipe], taken: Collection[str]) -> dict[str, Any]:
    """Hyper-parameters of a method's own: they change the answer, so that they are settings, too."""
    own = {n: d for n, d in hyper_parameters(kind).items() if isinstance(d, str | int | float)}
    if clash := sorted(set(own) & set(taken)):
        raise InputError(
            f"the method {kind.name!r} has a hyper-parameter {clash[0]!r}, which is a setting of "
            "training. Give it another name."
        )
    return own


def _check_grid(kind: type[Recipe], base: Collection[str]) -> None:
    """A name that nothing reads would be searched all the same, and every point be the same."""
    known = {*base, *TRAINING, *hyper_parameters(kind)}
    whose = f"the grid of the method {kind.name!r}"
    for name, values in kind.grid.items():
        if name not in known:
            near = near_matches(name, known)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
            raise InputError(
                f"{whose} names {name!r}, which is neither a hyper-parameter of it nor a setting of "
                f"training{hint}"
            )
        if not isinstance(values, tuple | list):
            raise InputError(f"{whose} has {name}={values!r}; give a tuple of values.")


def _schedule(kind: type[Recipe], model: str, protocol: Protocol) -> str:
    """LW's by the protocol; the others' as their authors have it."""
    if kind is LW:
        return protocol.schedule
    return "proden" if kind.name == "proden" and model == "convnet" else "constant"


def _product(
    grid: Mapping[str, tuple[Any, ...]], fixed: Mapping[str, Scalar], small: bool
) -> list[Point]:
    """All combinations of what is not dictated; a small budget takes the upper two of each axis."""
    axes = {name: values for name, values in grid.items() if name not in fixed}
    if small:
        axes = {n: values if len(values) <= 2 else values[-3:-1] for n, values in axes.items()}
    return [
        Point(dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values())
    ]


def _classical_points(method: str, request: Request) -> list[Point]:
    validation = {"validation": get_protocol(request.protocol).validation}
    if request.is_search:
        found = _product(getattr(CLASSICAL[method], "grid", {}), {}, _small(request))
        return [Point(validation | dict(point.values)) for point in found]
    return [Point(validation | ({"budget": "1min"} if method == AUTO else {}))]


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
