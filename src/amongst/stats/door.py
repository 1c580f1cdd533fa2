"""What a person gives becomes an array of numbers, or an error that names it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from amongst.errors import InputError

__all__ = ["Floats", "as_numbers"]

Floats = npt.NDArray[np.float64]


def as_numbers(name: str, values: npt.ArrayLike) -> Floats:
    """The values in double precision.

    >>> as_numbers("a", [1, 2])
    array([1., 2.])
    >>> as_numbers("a", ["high", "low"])
    Traceback (most recent call last):
    amongst.errors.InputError: a must be numbers, in rows of one length: could not convert string ...
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers, in rows of one length: {error}.") from error
