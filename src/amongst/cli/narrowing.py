"""Options that name data sets, methods and conditions, and the names that are meant."""

from __future__ import annotations

from typing import Annotated

import typer

from amongst.errors import InputError

__all__ = [
    "Conditions",
    "Datasets",
    "Many",
    "Methods",
    "dataset_names",
    "method_names",
    "named",
    "split",
]

Many = list[str] | None


def named(parameter: typer.CallbackParam, values: Many) -> Many:
    """Refuse an option without a name: a script's empty variable does not mean all there is."""
    if any(not split([value]) for value in values or ()):
        raise InputError(f"{parameter.opts[0]} names nothing; leave it out for all there is.")
    return values


Datasets = Annotated[
    Many, typer.Option(help="Only these; repeat it, or separate by commas.", callback=named)
]
Methods = Annotated[Many, typer.Option(help="Only these, e.g. rc,cc,proden,lw.", callback=named)]
Conditions = Annotated[
    Many, typer.Option(help="Only these, e.g. q=0.1 or 'case 1'.", callback=named)
]


def split(values: Many) -> tuple[str, ...]:
    """Values that were repeated or separated by commas.

    >>> split(["rc, cc", "lw"])
    ('rc', 'cc', 'lw')
    """
    return tuple(
        part.strip() for value in values or () for part in value.split(",") if part.strip()
    )


def method_names(values: Many) -> tuple[str, ...]:
    """In small letters.

    >>> method_names(["RC"])
    ('rc',)
    """
    return tuple(name.lower() for name in split(values))


def dataset_names(values: Many) -> tuple[str, ...]:
    """Names as the paper prints them are understood, too.

    >>> dataset_names(["Kuzushiji-MNIST,mnist"])
    ('kmnist', 'mnist')
    """
    from amongst.bench.places import DATASET_TITLES

    titles = {title.lower(): name for name, title in DATASET_TITLES.items()}
    return tuple(titles.get(value.lower(), value) for value in split(values))
