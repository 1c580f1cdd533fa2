"""Where the cells of a plan stand in a table: rows, columns, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from amongst.bench.conditions import REAL
from amongst.bench.grouping import grouped
from amongst.bench.paper import dataset_title, method_title
from amongst.bench.plans import Plan, Slot

__all__ = [
    "Layout",
    "Place",
    "Row",
    "lay_out",
    "model_title",
    "place_of",
    "row_label",
    "short_labels",
]

_MODELS = {"mlp": "MLP", "linear": "Linear", "convnet": "ConvNet", "-": ""}


class Place(NamedTuple):
    """What a cell is about; `variant` is for figures, e.g. ``"β=4"``.

    >>> Place("kmnist", "q=0.1", "rc", "mlp").where
    'Kuzushiji-MNIST, q=0.1'
    """

    dataset: str
    condition: str
    method: str
    model: str
    variant: str = ""

    @property
    def contest(self) -> tuple[str, str]:
        """Cells of one contest are compared with each other: same data, same condition."""
        return self.dataset, self.condition

    @property
    def where(self) -> str:
        """The contest for people; candidate sets that came with the data need no word."""
        condition = "" if self.condition == REAL else self.condition
        return ", ".join(filter(None, (dataset_title(self.dataset), condition)))


class Row(NamedTuple):
    """A line of a table: its group, its name, and a place for each column (None: not planned)."""

    group: str
    label: str
    places: tuple[Place | None, ...]


@dataclass(frozen=True)
class Layout:
    """How a table is laid out.

    Attributes
    ----------
    columns : their heads.
    rows : in order; rows of one group stand together.
    underline : what is underlined: ``"second"``, the second best of a contest, as in Tables 1 and
        3 of the paper; or ``"model"``, the best of each base model unless it is the best of all,
        as in Table 2.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    underline: str = "second"

    @property
    def groups(self) -> dict[str, list[Row]]:
        """Rows by group, in order."""
        return grouped(self.rows, lambda row: row.group)

    @property
    def places(self) -> tuple[Place, ...]:
        """All planned places, row by row."""
        return tuple(place for row in self.rows for place in row.places if place is not None)


def model_title(model: str) -> str:
    """The name of a base model for people; empty for a method without one.

    >>> model_title("mlp"), model_title("-")
    ('MLP', '')
    """
    return _MODELS.get(model, model)


def row_label(place: Place) -> str:
    """Method and base model.

    >>> row_label(Place("mnist", "q=0.1", "rc", "mlp")), row_label(Place("lost", "real", "ipal", "-"))
    ('RC, MLP', 'IPAL')
    """
    return ", ".join(filter(None, (method_title(place.method), model_title(place.model))))


def short_labels(places: Iterable[Place]) -> dict[Place, str]:
    """The shortest name of each place that tells it apart within every contest.

    The method, unless the variants of one method are compared; the base model, where a contest has
    the method with two of them; the variant.

    >>> one, two = Place("lost", "real", "rc", "mlp"), Place("lost", "real", "rc", "linear")
    >>> short_labels([one])[one], short_labels([one, two])[one]
    ('RC', 'RC, MLP')
    """
    found = list(places)
    models: dict[tuple[str, ...], set[str]] = {}
    for place in found:
        models.setdefault((*place.contest, place.method), set()).add(place.model)
    several = {key[2] for key, names in models.items() if len(names) > 1}
    alone = is_figure(found) and len({place.method for place in found}) == 1
    return {p: _label(p, alone, p.method in several) for p in found}


def is_figure(places: Iterable[Place]) -> bool:
    """Whether all places are variants, as in the paper's figures."""
    found = list(places)
    return bool(found) and all(place.variant for place in found)


def _label(place: Place, alone: bool, with_model: bool) -> str:
    parts = (
        "" if alone else method_title(place.method),
        model_title(place.model) if with_model else "",
        place.variant,
    )
    return ", ".join(filter(None, parts))


def place_of(slot: Slot) -> Place:
    """The place of a plan's slot."""
    return Place(slot.dataset, slot.condition, slot.method, slot.model, slot.variant)


def lay_out(plan: Plan) -> Layout:
    """Rows and columns of a plan.

    Figures have a column for each variant; real data in cross-validation a column for each data
    set, grouped by base model; all else a column for each condition, grouped by data set.

    >>> from amongst.bench.plans import Request, make_plan
    >>> layout = lay_out(make_plan(Request("table1")))
    >>> layout.columns, layout.rows[0].group, layout.rows[0].label
    (('q=0.1', 'q=0.3', 'q=0.5'), 'MNIST', 'RC, MLP')
    >>> lay_out(make_plan(Request("table2"))).columns[:3]
    ('Lost', 'MSRCv2', 'BirdSong')
    """
    places = [place_of(cell.slot) for cell in plan.cells]
    if is_figure(places):
        return Layout(*_arrange(places, _by_variant))
    if len({p.condition for p in places}) == 1 and len({p.model for p in places}) > 1:
        return Layout(*_arrange(places, _by_dataset), underline="model")
    return Layout(*_arrange(places, _by_condition))


def _by_condition(place: Place) -> tuple[str, str]:
    return place.condition, dataset_title(place.dataset)


def _by_dataset(place: Place) -> tuple[str, str]:
    return dataset_title(place.dataset), model_title(place.model) or "No network"


def _by_variant(place: Place) -> tuple[str, str]:
    return place.variant, place.where


def _arrange(
    places: Iterable[Place], rule: Callable[[Place], tuple[str, str]]
) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """`rule` gives the column and the group of a place."""
    columns: dict[str, float] = {}
    groups: dict[str, dict[str, dict[str, Place]]] = {}
    for place in places:
        column, group = rule(place)
        columns[column] = _rate(column)
        label = row_label(place) if column == place.variant else _full_label(place)
        groups.setdefault(group, {}).setdefault(label, {})[column] = place
    order = sorted(columns, key=columns.__getitem__)
    return tuple(order), tuple(
        Row(group, label, tuple(found.get(column) for column in order))
        for group, rows in groups.items()
        for label, found in rows.items()
    )


def _rate(column: str) -> float:
    """Sorts q=0.1 before q=0.7 before all else, which keeps its order."""
    return float(column.removeprefix("q=")) if column.startswith("q=") else 1.0 + 1e-9


def _full_label(place: Place) -> str:
    return ", ".join(filter(None, (row_label(place), place.variant)))
