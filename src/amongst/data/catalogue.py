"""The datasets of the paper, and some that its users ask for: what ``catalogue.toml`` says of each."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from amongst.checks import check_choice
from amongst.data.entries import Entry, File

__all__ = ["CATALOGUE", "entry", "names"]

HERE = Path(__file__).parent
_LINES = (HERE / "SHA256SUMS").read_text("utf-8").splitlines()
SHA256 = {name: sha256 for sha256, name in (line.split("  ", 1) for line in _LINES)}
"""Of each file, under the name of its dataset; as ``sha256sum`` writes and checks them."""


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


def _read() -> tuple[Entry, ...]:
    stored = tomllib.loads((HERE / "catalogue.toml").read_text("utf-8"))
    shared = stored["like"] | {"": {}}
    datasets = stored["datasets"].items()
    return tuple(_entry(name, shared[own.pop("like", "")] | own) for name, own in datasets)


CATALOGUE = _read()
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
