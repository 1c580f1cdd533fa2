"""Partial-label methods, one file each. To add one: a file here, and a line in `METHODS`."""

from collections.abc import Mapping
from types import MappingProxyType

from amongst.checks import check_choice
from amongst.methods.average import Average
from amongst.methods.base import LossForm, Method, Optimizer, Refresh
from amongst.methods.cc import CC
from amongst.methods.clpl import CLPL
from amongst.methods.lw import LW
from amongst.methods.minimum import Minimum
from amongst.methods.proden import PRODEN
from amongst.methods.protocol import PROTOCOLS, Protocol, get_protocol
from amongst.methods.rc import RC

__all__ = [
    "CC",
    "CLPL",
    "LW",
    "METHODS",
    "PRODEN",
    "PROTOCOLS",
    "RC",
    "Average",
    "LossForm",
    "Method",
    "Minimum",
    "Optimizer",
    "Protocol",
    "Refresh",
    "get_method",
    "get_protocol",
]


def _registry(*methods: type[Method]) -> Mapping[str, type[Method]]:
    by_name: dict[str, type[Method]] = {}
    for method in methods:
        other = by_name.setdefault(method.name, method)
        if other is not method:
            raise RuntimeError(
                f"{other.__name__} and {method.__name__} share the name {method.name!r}; rename one."
            )
    return MappingProxyType(by_name)


METHODS = _registry(LW, RC, CC, PRODEN, Average, Minimum, CLPL)
"""Every method by its name."""


def get_method(name: str) -> type[Method]:
    """The method of that name.

    >>> get_method("proden").title
    'PRODEN'
    """
    return METHODS[check_choice("method", name, METHODS)]
