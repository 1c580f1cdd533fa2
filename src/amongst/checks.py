"""Small argument checks that produce one clear sentence."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real

from amongst.errors import InputError

__all__ = [
    "check_choice",
    "check_integer",
    "check_number",
    "check_share",
    "near_matches",
]


def near_matches(value: object, options: Iterable[str]) -> list[str]:
    """Options that look like `value`, best first.

    >>> near_matches("mnst", ["mnist", "kmnist", "birdsong"])
    ['mnist', 'kmnist']
    """
    return difflib.get_close_matches(str(value), list(options), n=3, cutoff=0.5)


def check_choice(name: str, value: object, options: Iterable[str]) -> str:
    """Return `value` if it is one of `options`, else an error with the near matches.

    >>> check_choice("psi", "sigmoid", ["sigmoid", "ramp"])
    'sigmoid'
    >>> check_choice("psi", "sigmod", ["sigmoid", "ramp"])
    Traceback (most recent call last):
    amongst.errors.InputError: psi='sigmod' is unknown; did you mean 'sigmoid'? Choose from: ramp, sigmoid.
    """
    known = sorted(options)
    if isinstance(value, str) and value in known:
        return value
    near = near_matches(value, known)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "."
    raise InputError(f"{name}={value!r} is unknown{hint} Choose from: {', '.join(known)}.")


def check_number(
    name: str,
    value: object,
    *,
    low: float | None = None,
    high: float | None = None,
    open_low: bool = False,
) -> float:
    """Return `value` as a float inside [low, high] (or (low, high] with `open_low`).

    >>> check_number("q", 0.3, low=0, high=1)
    0.3
    >>> check_number("q", 1.5, low=0, high=1)
    Traceback (most recent call last):
    amongst.errors.InputError: q=1.5 must be a number between 0 and 1.
    """
    number = _number(value)
    above = low is None or (number > low if open_low else number >= low)
    if above and (high is None or number <= high) and math.isfinite(number):
        return number
    raise InputError(f"{name}={value!r} must be a number{_interval(low, high, open_low)}.")


def check_share(name: str, value: object) -> float:
    """Return `value` as a float inside (0, 1).

    >>> check_share("validation", 1)
    Traceback (most recent call last):
    amongst.errors.InputError: validation=1 must be a number between 0 and 1, both excluded.
    """
    if 0 < (number := _number(value)) < 1:
        return number
    raise InputError(f"{name}={value!r} must be a number between 0 and 1, both excluded.")


def check_integer(name: str, value: object, *, low: int | None = None) -> int:
    """Return `value` as an int of at least `low`.

    >>> check_integer("epochs", 0, low=1)
    Traceback (most recent call last):
    amongst.errors.InputError: epochs=0 must be a whole number of at least 1.
    """
    good = isinstance(value, Integral) and not isinstance(value, bool)
    if good and (low is None or int(value) >= low):  # type: ignore[call-overload]
        return int(value)  # type: ignore[call-overload, no-any-return]
    bound = "" if low is None else f" of at least {low}"
    raise InputError(f"{name}={value!r} must be a whole number{bound}.")


def _number(value: object) -> float:
    """`value` as a float; NaN for what is no number, infinity for what is too large for one."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _interval(low: float | None, high: float | None, open_low: bool) -> str:
    if low is not None and high is not None:
        return f" between {low:g} and {high:g}" + (f", {low:g} excluded" if open_low else "")
    if low is not None:
        return f" above {low:g}" if open_low else f" of at least {low:g}"
    return "" if high is None else f" of at most {high:g}"
