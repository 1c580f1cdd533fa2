"""Which settings a method is trained with: its default, the published one, or a grid."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

from amongst.bench.paper import Point, published_point
from amongst.bench.record import Scalar
from amongst.checks import check_choice, near_matches
from amongst.errors import InputError
from amongst.methods import LW, METHODS, Method, Protocol, get_protocol

__all__ = ["CLASSICAL", "SEARCHES", "Budget", "method_class", "method_labels", "points"]

SEARCHES = ("none", "published", "grid", "equal")

CLASSICAL: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "ipal": {"n_neighbors": (5, 10, 15), "alpha": (0.5, 0.95)},
    "paloc": {"mu": (1.0, 10.0, 100.0), "C": (1.0, 10.0)},
    "plecoc": {"C": (1.0, 10.0, 100.0)},
    "plknn": {"n_neighbors": (5, 10, 15)},
    "plsvm": {"C": (0.001, 0.01, 0.1, 1.0)},
}
"""Methods without a network, and grids around the settings that their authors suggest."""

EPOCHS = {"paper": 250, "demo": 40, "quick": 10}
SMALL_WIDTHS, SMALL_BATCH = "64-64", 64


@dataclass(frozen=True)
class Budget:
    """How much to spend on a cell.

    Attributes
    ----------
    epochs, search, protocol, precision : as of a `Request`.
    scale : ``"paper"``, ``"demo"`` or ``"quick"``: the last two have a small MLP and few epochs.
    """

    epochs: int | None = None
    search: str = "published"
    protocol: str = "default"
    precision: str = "float32"
    scale: str = "paper"

    @property
    def small(self) -> bool:
        """Whether the network and the batches are small."""
        return self.scale != "paper"


def method_labels() -> tuple[str, ...]:
    """Every label that a trial's method can have; LW has one for each ψ of the paper.

    >>> "lw-sigmoid" in method_labels(), "ipal" in method_labels()
    (True, True)
    """
    neural = [name for name in METHODS if name != "lw"]
    return ("lw-sigmoid", "lw-cross_entropy", *neural, *CLASSICAL)


def method_class(label: str) -> type[Method] | None:
    """The class behind a label, or None for a method without a network.

    >>> method_class("lw-sigmoid").name
    'lw'
    """
    check_choice("method", label, method_labels())
    if label in CLASSICAL:
        return None
    return METHODS.get(label, LW)


def points(
    dataset: str,
    condition: str,
    method: str,
    model: str,
    budget: Budget,
    fixed: Mapping[str, Scalar] | None = None,
) -> list[Point]:
    """Every setting to train a cell with, complete: nothing that changes the answer is implied.

    >>> len(points("mnist", "q=0.1", "lw-sigmoid", "mlp", Budget(search="grid")))
    50
    >>> points("mnist", "q=0.1", "lw-sigmoid", "mlp", Budget())[0].values["lr"]
    0.05
    """
    kind = method_class(method)
    dictated = dict(fixed or {})
    if kind is None:
        return _classical_points(method, budget)
    base = _base(kind, model, budget)
    _check_grid(kind, base)
    found = _searched(kind, dataset, condition, method, model, budget, dictated)
    return [Point(base | dict(point.values) | dictated, point.note) for point in found]


def _base(kind: type[Method], model: str, budget: Budget) -> dict[str, Any]:
    protocol = get_protocol(budget.protocol)
    base: dict[str, Any] = {
        "epochs": budget.epochs or EPOCHS[budget.scale],
        "batch_size": SMALL_BATCH if budget.small else 256,
        "optimizer": kind.optimizer,
        "lr": kind.lr,
        "weight_decay": kind.weight_decay,
        "schedule": _schedule(kind, model, protocol),
        "precision": budget.precision,
        "validation": protocol.validation,
    }
    if model == "mlp":
        widths = "-".join(map(str, protocol.widths))
        base["widths"] = SMALL_WIDTHS if budget.small else widths
    if model == "convnet":
        base["dropout_at_evaluation"] = protocol.dropout_at_evaluation
    if kind is LW:
        base |= {"alpha": 1.0, "beta": 1.0, "initial": protocol.initial}
        base["refresh"] = protocol.refresh
        return base
    return base | _own_defaults(kind, {*base, "widths", "momentum", "folds"})


def _own_defaults(kind: type[Method], taken: Collection[str]) -> dict[str, Any]:
    """Hyper-parameters of a method's own: they change the answer, so that they are settings, too."""
    own = {f.name: f.default for f in fields(kind) if isinstance(f.default, str | int | float)}
    if clash := sorted(set(own) & set(taken)):
        raise InputError(
            f"the method {kind.name!r} has a hyper-parameter {clash[0]!r}, which is a setting of "
            "training. Give it another name."
        )
    return own


def _check_grid(kind: type[Method], base: Collection[str]) -> None:
    """A name that nothing reads would be searched all the same, and every point be the same."""
    known = {*base, "momentum", *(field.name for field in fields(kind))}
    for name, values in kind.grid.items():
        if name not in known:
            near = near_matches(name, known)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
            raise InputError(
                f"the grid of the method {kind.name!r} names {name!r}, which is neither a "
                f"hyper-parameter of it nor a setting of training{hint}"
            )
        if not isinstance(values, tuple | list):
            raise InputError(
                f"the grid of the method {kind.name!r} has {name}={values!r}; give a tuple of values."
            )


def _schedule(kind: type[Method], model: str, protocol: Protocol) -> str:
    """LW's by the protocol; the others' as their authors have it."""
    if kind is LW:
        return protocol.schedule
    return "proden" if kind.name == "proden" and model == "convnet" else "constant"


def _searched(
    kind: type[Method],
    dataset: str,
    condition: str,
    method: str,
    model: str,
    budget: Budget,
    fixed: Mapping[str, Scalar],
) -> list[Point]:
    if budget.search == "grid":
        return _product(kind.grid, fixed, budget)
    if budget.search == "equal":
        own = dict(kind.grid) | {name: LW.grid[name] for name in ("lr", "weight_decay")}
        protocol = get_protocol(budget.protocol)
        shared = {"optimizer": ("sgd",), "schedule": (protocol.schedule,)}
        return _product(own | shared, fixed, budget)
    if budget.search == "published":
        found = published_point(dataset, condition, method, model)
        if found is not None:
            return [found]
    note = "" if budget.search == "none" else "none published: the default of this package"
    return [Point({"lr": kind.lr, "weight_decay": kind.weight_decay}, note)]


def _product(
    grid: Mapping[str, tuple[Any, ...]], fixed: Mapping[str, Scalar], budget: Budget
) -> list[Point]:
    """All combinations of what is not dictated; a small budget takes the upper two of each axis."""
    axes = {name: values for name, values in grid.items() if name not in fixed}
    if budget.small:
        axes = {name: _upper_middle(values) for name, values in axes.items()}
    return [
        Point(dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values())
    ]


def _upper_middle(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return values if len(values) <= 2 else values[-3:-1]


def _classical_points(method: str, budget: Budget) -> list[Point]:
    validation = {"validation": get_protocol(budget.protocol).validation}
    if budget.search in ("grid", "equal"):
        found = _product(CLASSICAL[method], {}, budget)
        return [Point(validation | dict(point.values)) for point in found]
    return [Point(validation)]
