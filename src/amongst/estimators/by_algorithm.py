"""An estimator class for every algorithm of the registry, made from its hyper-parameters."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, field, make_dataclass
from functools import cache
from typing import Any

from amongst.algorithms import Recipe
from amongst.algorithms._base import hyper_parameters
from amongst.errors import InputError
from amongst.estimators.base import PartialLabelClassifier
from amongst.estimators.neural import NeuralClassifier
from amongst.registry import ALGORITHMS

ROOM = "amongst.estimators"

DOC = """{title}: a classifier from candidate labels.

{about}
{presets}
Other parameters and attributes: see `NeuralClassifier`.

Examples
--------
>>> from {room} import {name}
>>> model = {name}(model="linear", epochs=5).fit([[0.], [1.], [2.]], ["a|b", "b", "a"])
>>> model.classes_.tolist(), model.n_iter_
(['a', 'b'], 5)
"""


def estimator_for(name: str) -> type[PartialLabelClassifier]:
    """The estimator class of an algorithm by its name in the registry.

    >>> estimator_for("proden").__name__, estimator_for("ipal").__name__
    ('PRODENClassifier', 'IPALClassifier')
    """
    found: Any = ALGORITHMS.choose(name)
    bases = found.__mro__ if isinstance(found, type) else ()
    if PartialLabelClassifier in bases:
        return found  # type: ignore[no-any-return]
    if Recipe in bases:
        return estimator_of(found)
    raise InputError(
        f"{name!r} of the package {ALGORITHMS.source(name)} is a {type(found).__name__}; an algorithm "
        "is a subclass of Method, Algorithm or PartialLabelClassifier.",
        code="no-algorithm",
    )


@cache
def estimator_of(recipe: Any) -> type[NeuralClassifier]:
    """The estimator that trains a network by this algorithm; its signature has the algorithm's
    hyper-parameters beside those of `NeuralClassifier`.

    >>> estimator_of(ALGORITHMS["clpl"])().get_params()["form"]
    'mean'
    """
    name = f"{recipe.__name__}Classifier"
    own = {n: d for n, d in hyper_parameters(recipe).items() if n not in recipe.switches}
    types = {f.name: f.type for f in recipe.__dataclass_fields__.values()}
    given = [(n, types.get(n, Any), _field(n, recipe.preset.get(n, d))) for n, d in own.items()]
    preset = [(n, Any, _field(n, d)) for n, d in recipe.preset.items() if n not in own]
    about = inspect.cleandoc(recipe.__doc__ or "").partition("\nExamples\n---")[0].rstrip()
    presets = "".join(
        f"\nHere `{n}` is ``{json.dumps(d)}`` by default, where `{recipe.__name__}Loss` has "
        f"``{json.dumps(own[n])}``.\n"
        for n, d in recipe.preset.items()
        if n in own
    )
    doc = DOC.format(title=recipe.title, about=about, presets=presets, name=name, room=ROOM)
    made = make_dataclass(
        name,
        [*given, *preset],
        bases=(NeuralClassifier,),
        namespace={"method": recipe, "__doc__": doc},
        kw_only=True,
        eq=False,
        repr=False,
    )
    made.__module__ = ROOM
    return made


def _field(name: str, default: Any) -> Any:
    if default is MISSING:
        raise InputError(
            f"the hyper-parameter {name!r} has no default; give it one, as an estimator needs.",
            code="no-default",
        )
    return field(default=default)


class Estimators(Mapping[str, type[PartialLabelClassifier]]):
    """Every estimator class by its name, ours and those of installed packages.

    >>> Estimators()["LWClassifier"].method.title
    'LW'
    """

    def __getitem__(self, name: str) -> type[PartialLabelClassifier]:
        return estimator_for(self._algorithm(name))

    def package(self, name: str) -> str:
        """What brings the class of that name: ``"amongst"``, or another package.

        >>> Estimators().package("LWClassifier")
        'amongst'
        """
        return ALGORITHMS.source(self._algorithm(name))

    def _algorithm(self, name: str) -> str:
        for key in self._likely_first(name):
            try:
                found = estimator_for(key)
            except InputError:  # of another package, and broken: an error where it is asked for
                if ALGORITHMS.source(key) == "amongst":
                    raise
                continue
            if found.__name__ == name:
                return key
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (estimator_for(key).__name__ for key in ALGORITHMS)

    def __len__(self) -> int:
        return len(ALGORITHMS)

    def _likely_first(self, name: str) -> list[str]:
        """So that a class of ours imports no other package."""
        guess = re.sub("classifier$", "", name.lower())
        return sorted(ALGORITHMS, key=lambda key: (key.replace("-", "") != guess, key))
