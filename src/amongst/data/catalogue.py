"""The datasets of the paper, and some that its users ask for: what ``catalogue.toml`` says of each."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from amongst.checks import check_choice

if TYPE_CHECKING:
    from amongst.data.features import ScalingKind


HERE = Path(__file__).parent
_LINES = (HERE / "SHA256SUMS").read_text("utf-8").splitlines()
_STORED = tomllib.loads((HERE / "catalogue.toml").read_text("utf-8"))
CONTENT_SHA256: dict[str, dict[str, str]] = _STORED["sha256"]
"""Of what CIFAR-10's batches hold, whichever files they are in."""
SHA256 = {name: sha256 for sha256, name in (line.split("  ", 1) for line in _LINES)}
"""Of each file, under the name of its dataset; as ``sha256sum`` writes and checks them."""

Layout = Literal["embedded", "idx", "cifar", "cifar10n", "mat", "arff", "csv", "h5", "crowd"]


@dataclass(frozen=True)
class File:
    """One file of a dataset.

    Attributes
    ----------
    name : its official name.
    sha256 : of the whole file; None where no published file was at hand.
    urls : public origins, tried in this order; none where it must be put there by hand.
    other_names : names under which the same bytes go around.
    """

    name: str
    sha256: str | None
    urls: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it may have on disk.

        >>> File("Yahoo! News.mat", None, other_names=("yahoo_news.mat",)).names
        ('Yahoo! News.mat', 'yahoo_news.mat')
        """
        return (self.name, *self.other_names)


@dataclass(frozen=True)
class Entry:
    """A dataset of the catalogue: what it is, where it comes from, and what to expect of it.

    Attributes
    ----------
    name, title : for code, and for people.
    layout : which reader takes its files.
    n_train, n_test : rows; `n_test` is 0 where there is no official split.
    row : shape of one row of features.
    n_classes : K.
    mean_size : mean |s_i| of its candidate sets, to two digits; None where they are generated.
    truth_inside : the share of rows whose true label is among the candidates.
    scaling, top : the paper's preprocessing, see `fit_scaling`.
    class_names : K names, or none where only numbers are known.
    licence, terms : short, and in full where that says more; an asterisk means that it is commonly
        given so, and was not checked.
    citation, source : whom to cite, and where they publish it.
    used_for : what the paper used it for.
    note : what else to know.
    truth_key : the key of the true labels in a .mat file.
    folders : where its files are looked for, below each data folder.
    files : its files; empty where it comes with a package.

    Examples
    --------
    >>> from amongst.data import entry
    >>> entry("lost").n, entry("lost").d, entry("lost").n_classes
    (1122, 108, 16)
    """

    name: str
    title: str
    layout: Layout
    n_train: int
    row: tuple[int, ...]
    n_classes: int
    scaling: ScalingKind
    licence: str
    citation: str
    source: str
    used_for: str
    n_test: int = 0
    mean_size: float | None = None
    truth_inside: float = 1.0
    top: float = 255.0
    class_names: tuple[str, ...] = ()
    terms: str = ""
    note: str = ""
    truth_key: str = "target"
    folders: tuple[str, ...] = ()
    files: tuple[File, ...] = ()

    @property
    def n(self) -> int:
        """All rows."""
        return self.n_train + self.n_test

    @property
    def d(self) -> int:
        """Features of a row."""
        return prod(self.row)

    @property
    def is_partial(self) -> bool:
        """Whether it comes with candidate sets."""
        return self.mean_size is not None

    @property
    def names_of_classes(self) -> tuple[str, ...]:
        """K names; numbers where there are no better ones."""
        return self.class_names or tuple(map(str, range(self.n_classes)))

    @property
    def home(self) -> str:
        """The folder that a download goes to, below the cache."""
        return next((folder for folder in self.folders if folder), self.name)

    @property
    def can_be_fetched(self) -> bool:
        """Whether every file has a public origin from which it can be downloaded."""
        return all(file.urls for file in self.files)


def _entry(name: str, given: dict[str, Any]) -> Entry:
    """An entry; each of its files is at each of its origins."""
    origins, others = given.pop("origins", ()), given.pop("others", {})
    files = [
        File(
            file,
            SHA256.get(f"{name}/{file}"),
            tuple(origin + file for origin in origins),
            tuple(others.get(file, ())),
        )
        for file in given.pop("files", ())
    ]
    if "home" in given:
        given["folders"] = (given.pop("home").format(name), name, "")
    lists = {n: tuple(value) for n, value in given.items() if isinstance(value, list)}
    return Entry(name, files=tuple(files), **given | lists)


_LIKE = _STORED["like"] | {"": {}}
CATALOGUE = tuple(
    _entry(name, _LIKE[own.pop("like", "")] | own) for name, own in _STORED["datasets"].items()
)
"""Every dataset that `load` knows by name."""


def names() -> list[str]:
    """The names of all datasets, in the order of the catalogue.

    >>> names()[:5]
    ['digits', 'mnist', 'fashion_mnist', 'kmnist', 'cifar10']
    """
    return [entry.name for entry in CATALOGUE]


def entry(name: str) -> Entry:
    """What the catalogue says of a dataset.

    >>> entry("yahoo_news").mean_size
    1.91
    >>> entry("minst")
    Traceback (most recent call last):
    amongst.errors.InputError: name='minst' is unknown; did you mean 'mnist' or ... Choose from: ...
    """
    check_choice("name", name, names())
    return next(found for found in CATALOGUE if found.name == name)
