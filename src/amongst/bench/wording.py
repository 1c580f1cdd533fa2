"""Small words for people: choices within a plan or a store, lines as they are."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from amongst.checks import check_choice
from amongst.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["check_within", "tell"]


def tell(console: Console, line: str, style: str = "") -> None:
    """Print a line as it is, so that paths and commands in it can be copied whole."""
    console.print(line, style=style or None, highlight=False, markup=False, soft_wrap=True)


def check_within(
    name: str, value: str, options: Collection[str], place: str, elsewhere: Collection[str]
) -> str:
    """Return `value` if it is one of `options`; else say if it is one at all.

    Parameters
    ----------
    name : of the argument.
    options : what `place` has.
    place : a plan, or a store.
    elsewhere : all that there is.

    Examples
    --------
    >>> check_within("methods", "ipal", ["rc", "cc"], "table1", ["rc", "cc", "ipal"])
    Traceback (most recent call last):
    amongst.errors.InputError: methods='ipal' is not in table1. Choose from: cc, rc.
    """
    if value in elsewhere and value not in options:
        choices = ", ".join(sorted(options))
        raise InputError(f"{name}={value!r} is not in {place}. Choose from: {choices}.")
    return check_choice(name, value, options)
