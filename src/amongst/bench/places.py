"""What a cell is about, what it is called, and where it stands in a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from amongst.bench.conditions import REAL, parse
from amongst.bench.record import grouped
from amongst.registry import ALGORITHMS

DATASET_TITLES = {
    "mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "kmnist": "Kuzushiji-MNIST",
    "cifar10": "CIFAR-10", "lost": "Lost", "msrcv2": "MSRCv2", "birdsong": "BirdSong",
    "soccer_player": "Soccer Player", "yahoo_news": "Yahoo! News", "fgnet": "FG-NET",
    "cifar10n": "CIFAR-10N", "digits": "digits",
}  # fmt: skip
METHOD_TITLES = {
    "ipal": "IPAL", "paloc": "PALOC", "plecoc": "PLECOC", "plknn": "PL-kNN", "plridge": "PL-ridge",
    "plsvm": "PL-SVM", "rc": "RC", "cc": "CC", "proden": "PRODEN",
    "lw-sigmoid": "LW-Sigmoid", "lw-cross_entropy": "LW-Cross entropy",
    "average": "Average", "minimum": "Minimum", "clpl": "CLPL", "auto": "AutoClassifier",
    "forest": "Forest", "extra-trees": "Extra trees", "boosting": "Boosted trees",
    "logistic": "Logistic regression",
}  # fmt: skip
MODEL_TITLES = {
    "mlp": "MLP", "linear": "Linear", "convnet": "ConvNet", "fastnet": "FastNet",
    "resnet18": "ResNet-18", "wrn28": "WRN-28-10", "-": "",
}  # fmt: skip
"""Names as the paper prints them, or for people."""


def dataset_title(name: str) -> str:
    """The name for people; a data set of one's own keeps its name."""
    return DATASET_TITLES.get(name, name)


def method_title(name: str) -> str:
    """The name for people."""
    own = ALGORITHMS.get(name)
    return str(METHOD_TITLES.get(name) or getattr(own, "title", name.upper()))


def model_title(model: str) -> str:
    """The name of a base model for people; empty for a method without one."""
    return MODEL_TITLES.get(model, model)


class Place(NamedTuple):
    """What a cell is about; `variant` is for figures, e.g. ``"β=4"``.

    >>> place = Place("kmnist", "q=0.1", "rc", "mlp")
    >>> place.where, place.label
    ('Kuzushiji-MNIST, q=0.1', 'RC, MLP')
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
        return _joined(dataset_title(self.dataset), condition)

    @property
    def label(self) -> str:
        """Method and base model."""
        return _joined(method_title(self.method), model_title(self.model))


class Row(NamedTuple):
    """A line of a table: its group, its name, and a place for each column (None: not planned)."""

    group: str
    label: str
    places: tuple[Place | None, ...]


@dataclass(frozen=True)
class Layout:
    """How a table is laid out."""

    columns: tuple[str, ...]  # heads, and rows in order; those of one group stand together
    rows: tuple[Row, ...]
    # what is underlined: "second", the second best of a contest, as in Tables 1 and 3 of
    # the paper; or "model", the best of each base model unless it is the best of all, as in
    # Table 2
    underline: str = "second"

    @property
    def groups(self) -> dict[str, list[Row]]:
        """Rows by group, in order."""
        return grouped(self.rows, lambda row: row.group)

    @property
    def places(self) -> tuple[Place, ...]:
        """All planned places, row by row."""
        return tuple(place for row in self.rows for place in row.places if place is not None)

    @property
    def is_figure(self) -> bool:
        """Whether all places are variants, as in the paper's figures."""
        return _are_variants(self.places)


def lay_out(places: Iterable[Place]) -> Layout:
    """Rows and columns for these places.

    Figures have a column for each variant; real data in cross-validation a column for each data
    set, grouped by base model; all else a column for each condition, grouped by data set.

    >>> layout = lay_out([Place("mnist", f"q={q}", "rc", "mlp") for q in (0.3, 0.1)])
    >>> layout.columns, layout.rows[0].group, layout.rows[0].label
    (('q=0.1', 'q=0.3'), 'MNIST', 'RC, MLP')
    """
    found = list(places)
    several = {len({p.condition for p in found}) == 1, len({p.model for p in found}) > 1} == {True}
    columns: dict[str, tuple[float, ...]] = {}
    groups: dict[str, dict[str, dict[str, Place]]] = {}
    for place in found:
        label = _joined(place.label, place.variant)
        if _are_variants(found):
            column, group, label = place.variant, place.where, place.label
        elif several:
            column, group = dataset_title(place.dataset), model_title(place.model) or "No network"
        else:
            column, group = place.condition, dataset_title(place.dataset)
        columns[column] = _rate(column)
        groups.setdefault(group, {}).setdefault(label, {})[column] = place
    order = sorted(columns, key=columns.__getitem__)
    rows = tuple(
        Row(group, label, tuple(here.get(column) for column in order))
        for group, lines in groups.items()
        for label, here in lines.items()
    )
    by_model = several and not _are_variants(found)
    return Layout(tuple(order), rows, "model" if by_model else "second")


def short_labels(places: Iterable[Place]) -> dict[Place, str]:
    """The shortest name of each place that tells it apart within every contest.

    The method, unless the variants of one method are compared; the base model, where a contest has
    the method with two of them; the variant.

    >>> one, two = Place("lost", "real", "rc", "mlp"), Place("lost", "real", "rc", "linear")
    >>> short_labels([one])[one], short_labels([one, two])[one]
    ('RC', 'RC, MLP')
    """
    found = list(places)
    models = grouped(dict.fromkeys(p._replace(variant="") for p in found), lambda p: p[:3])
    several = {key[2] for key, same in models.items() if len(same) > 1}
    alone = _are_variants(found) and len({place.method for place in found}) == 1
    return {
        p: _joined(
            "" if alone else method_title(p.method),
            model_title(p.model) if p.method in several else "",
            p.variant,
        )
        for p in found
    }


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _are_variants(places: Iterable[Place]) -> bool:
    found = list(places)
    return bool(found) and all(place.variant for place in found)


def _rate(column: str) -> tuple[float, ...]:
    """Sorts q=0.1 before q=0.7 before q=0.5 eta=0.2 before all else, which keeps its order."""
    if not column.startswith("q="):
        return (2.0,)
    said = parse(column)
    return (float(said.eta > 0 or said.rho > 1), said.rho, said.eta, said.value)
