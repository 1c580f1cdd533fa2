"""Where the cells of a plan stand in a table: rows, columns, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from amongst.bench.conditions import REAL
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
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row.group, []).append(row)
        return groups

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
    """The method alone where no contest has it with two base models; else with its model.

    >>> one, two = Place("lost", "real", "rc", "mlp"), Place("lost", "real", "rc", "linear")
    >>> short_labels([one])[one], short_labels([one, two])[one]
    ('RC', 'RC, MLP')
    """
    found = list(places)
    models: dict[tuple[str, ...], set[str]] = {}
    for place in found:
        models.setdefault((*place.contest, place.method), set()).add(place.model)
    several = {key[2] for key, names in models.items() if len(names) > 1}
    return {p: row_label(p) if p.method in several else method_title(p.method) for p in found}


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
    if any(place.variant for place in places):
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
    columns: dict[str, None] = {}
    groups: dict[str, dict[str, dict[str, Place]]] = {}
    for place in places:
        column, group = rule(place)
        columns[column] = None
        groups.setdefault(group, {}).setdefault(row_label(place), {})[column] = place
    return tuple(columns), tuple(
        Row(group, label, tuple(found.get(column) for column in columns))
        for group, rows in groups.items()
        for label, found in rows.items()
    )
