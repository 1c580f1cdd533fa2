"""Algorithms that learn from candidate sets, one file each; a file here is found by its name."""

from collections.abc import Mapping
from typing import Any

from amongst.algorithms._base import (
    Algorithm,
    Batch,
    LossAlgorithm,
    LossForm,
    Method,
    Optimizer,
    Recipe,
    Refresh,
)
from amongst.algorithms.average import Average
from amongst.algorithms.cc import CC
from amongst.algorithms.clpl import CLPL
from amongst.algorithms.lw import LW, PROTOCOLS, Protocol, get_protocol
from amongst.algorithms.minimum import Minimum
from amongst.algorithms.proden import PRODEN
from amongst.algorithms.rc import RC
from amongst.checks import check_choice
from amongst.registry import ALGORITHMS, View

__all__ = [
    "CC",
    "CLPL",
    "LW",
    "METHODS",
    "PRODEN",
    "PROTOCOLS",
    "RC",
    "Algorithm",
    "Average",
    "Batch",
    "LossAlgorithm",
    "LossForm",
    "Method",
    "Minimum",
    "Optimizer",
    "Protocol",
    "Recipe",
    "Refresh",
    "get_method",
    "get_protocol",
]


def trains_a_network(thing: Any) -> bool:
    """Whether an entry of the registry is an algorithm with a network.

    >>> trains_a_network(LW), trains_a_network(ALGORITHMS["ipal"])
    (True, False)
    """
    return isinstance(thing, type) and issubclass(thing, Recipe)


METHODS: Mapping[str, type[Any]] = View(ALGORITHMS, "amongst.algorithms", trains_a_network)
"""Every algorithm that trains a network, by its name."""


def get_method(name: str) -> type[Any]:
    """The algorithm of that name.

    >>> get_method("proden").title
    'PRODEN'
    """
    return METHODS[check_choice("method", name, METHODS)]
