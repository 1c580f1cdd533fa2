"""The one registry: algorithms, networks and data sets by name, ours and those of installed packages.

Ours are found in their folder: the module `proden` of `amongst.algorithms` holds the algorithm
"proden"; modules whose names begin with an underscore hold what several share. Another package brings
its own by entry points::

    [project.entry-points."amongst.algorithms"]
    mine = "amongst_mine:Mine"

Nothing is imported before it is asked for, so that names alone cost nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import resources
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from amongst.checks import check_choice
from amongst.errors import AmongstWarning, InputError, warn


class Registry(Mapping[str, Any]):
    """What there is of one kind, by name.

    Parameters
    ----------
    kind : what people call it, in the singular: ``"algorithm"``.
    group : of the entry points of other packages.
    folders : packages with a module for each of ours.
    own : further ones of ours, by name.

    Examples
    --------
    >>> "lw" in ALGORITHMS, ALGORITHMS["lw"].title
    (True, 'LW')
    """

    def __init__(
        self, kind: str, group: str, *folders: str, own: Mapping[str, Any] | None = None
    ) -> None:
        self.kind, self.group, self.folders = kind, group, folders
        self._made: dict[str, Any] = dict(own or {})

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            if name not in self._places:
                raise KeyError(name)
            self._made[name] = self._found(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._made, *self._places]))

    def __len__(self) -> int:
        return len(set(self))

    def __contains__(self, name: object) -> bool:
        return name in self._made or name in self._places

    def choose(self, name: str, argument: str = "") -> Any:
        """The one of that name, or an error with the near matches.

        >>> ALGORITHMS.choose("solr")
        Traceback (most recent call last):
        amongst.errors.InputError: algorithm='solr' is unknown; did you mean 'solar'? Choose from: ...
        """
        return self[check_choice(argument or self.kind, name, self)]

    def add(self, name: str, thing: Any) -> None:
        """Know one more, in this process only; a package brings its own by an entry point."""
        if self._made.get(name, thing) is not thing or name in self._places:
            problem = f"is the name of another {self.kind}. Choose another name."
            raise InputError(problem, code="name-taken", argument="name", got=name)
        self._made[name] = thing

    def remove(self, name: str) -> None:
        """Undo `add`."""
        del self._made[name]

    def folder(self, name: str) -> str:
        """The package of ours in which it was found; empty for one of another package, or added.

        >>> ALGORITHMS.folder("lw")
        'amongst.algorithms'
        """
        place = self._places.get(name, "")
        return place.rpartition(".")[0] if isinstance(place, str) else ""

    def source(self, name: str) -> str:
        """The package that brings it: ``"amongst"``, or the distribution of its entry point."""
        place = self._places.get(name)
        if not isinstance(place, EntryPoint):
            return "amongst"
        return place.dist.name if place.dist else place.module

    @cached_property
    def _places(self) -> dict[str, str | EntryPoint]:
        """Names, and where what they name is."""
        places: dict[str, str | EntryPoint] = {}
        for folder in self.folders:
            here = resources.files("amongst").joinpath(*folder.split(".")[1:])  # not imported
            for file in sorted(path.name for path in here.iterdir()):
                stem = file.removesuffix(".py")
                if file.endswith(".py") and not file.startswith("_"):
                    places[stem.replace("_", "-")] = f"{folder}.{stem}"
        for point in entry_points(group=self.group):
            if point.name in places or point.name in self._made:
                problem = (
                    f"{point.value} of the entry points {self.group!r} is left out: there is another "
                    f"{self.kind} {point.name!r}. Rename it in its package."
                )
                warn(AmongstWarning(problem, code="name-taken"))
            else:
                places[point.name] = point
        return places

    def _found(self, name: str) -> Any:
        place = self._places[name]
        if isinstance(place, str):
            return _named_in(importlib.import_module(place), name)
        try:
            return place.load()
        except Exception as error:  # another package's code: whatever goes wrong there
            problem = (
                f"{name!r} cannot be loaded from {place.value} of the package {self.source(name)}: "
                f"{type(error).__name__}: {error}. Mend or uninstall that package."
            )
            raise InputError(problem, code="broken-package", argument=self.kind) from error


class View(Mapping[str, Any]):
    """The part of a registry that is found in one folder, and of other packages' what fits.

    `fits` says whether something of another package belongs here; what cannot be loaded is told of, and
    left out.

    >>> networks = View(ALGORITHMS, "amongst.algorithms", lambda kind: False)
    >>> "lw" in networks, "ipal" in networks
    (True, False)
    """

    def __init__(self, registry: Registry, folder: str, fits: Callable[[Any], bool]) -> None:
        self.registry, self.of, self.fits = registry, folder, fits

    def __getitem__(self, name: str) -> Any:
        place = self.registry.folder(name) if name in self.registry else None
        if place == self.of or (place == "" and self.fits(self.registry[name])):
            return self.registry[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.registry if self._belongs(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _belongs(self, name: str) -> bool:
        if self.registry.folder(name):
            return self.registry.folder(name) == self.of
        try:
            return name in self
        except InputError as error:
            warn(AmongstWarning(str(error), code=error.code))
            return False


def _named_in(module: Any, name: str) -> Any:
    """The class of a module that has this name as its own."""
    for thing in vars(module).values():
        own = getattr(thing, "__module__", None) == module.__name__
        if own and isinstance(thing, type) and vars(thing).get("name") == name:
            return thing
    raise InputError(f"{module.__name__} has no class with name = {name!r}.", code="no-class")


ALGORITHMS = Registry(
    "algorithm", "amongst.algorithms", "amongst.algorithms", "amongst.estimators.classical"
)
"""Everything that learns from candidate sets, with a network or without."""
