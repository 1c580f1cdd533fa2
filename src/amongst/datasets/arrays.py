"""Files of named arrays (NPZ): which array is what, and one clear line where it is not there."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.checks import near_matches
from amongst.errors import FileFormatError, InputError

__all__ = ["as_float", "feature_array", "feature_key", "named_array", "one_column", "read_npz"]

FEATURE_NAMES = ("X", "x", "features", "data")


def read_npz(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Every array of an `.npz` file, by name. Arrays of Python objects (pickles) are refused."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:  # NumPy, zipfile and zlib raise many kinds on a damaged file
        raise FileFormatError(f"{path} cannot be read as NPZ: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    reason = " ".join(str(error).split()) or type(error).__name__
    if "Object arrays" in reason:
        return (
            "it holds Python objects, which are not read for safety; keep candidate sets as a "
            "0/1 matrix n × K, or as strings such as 'a|b'"
        )
    if "allow_pickle" in reason or isinstance(error, TypeError):
        return "it is no archive of arrays such as np.savez writes"
    return reason


def named_array(path: Path, arrays: dict[str, Any], argument: str, key: str) -> Any:
    """The array called `key`, or an error with what there is."""
    if key in arrays:
        return arrays[key]
    near = near_matches(key, arrays)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise InputError(
        f"{argument}={key!r} is not in {path}; it holds: {', '.join(sorted(arrays))}.{hint}"
    )


def one_column(path: Path, arrays: dict[str, Any], argument: str, key: str) -> npt.NDArray[Any]:
    """The array called `key`, shape (n,); a matrix of one row or column is one, too."""
    found = np.asarray(named_array(path, arrays, argument, key))
    if found.size != max(found.shape, default=0):
        raise InputError(
            f"{argument}={key!r} of {path} has shape {found.shape}; it must hold one value for each "
            "row."
        )
    return found.reshape(-1)


def feature_array(
    path: Path, arrays: dict[str, Any], key: str | None, taken: Collection[str]
) -> npt.NDArray[Any]:
    """The features, shape (n, d): named, or called X, x, features or data, or the only one left."""
    key = key or feature_key(arrays, taken)
    if key is None:
        there = ", ".join(sorted(arrays)) or "nothing"
        raise InputError(f"which array of {path} holds the features? Pass features=…: {there}.")
    found = np.asarray(named_array(path, arrays, "features", key))
    if found.ndim < 2 or found.dtype.kind not in "biuf":
        raise InputError(
            f"features={key!r} of {path} has shape {found.shape} and type {found.dtype}; it must "
            "be numeric with one row for each example."
        )
    if not found.size:
        raise FileFormatError(f"{path}: {key!r} has no rows or no columns (shape {found.shape}).")
    return as_float(found.reshape(len(found), -1))


def feature_key(arrays: Collection[str], taken: Collection[str]) -> str | None:
    """The array that is plainly the features: by its name, or the only one left.

    >>> feature_key(["Y", "X"], taken=()), feature_key(["A", "Y"], ["Y"]), feature_key("AB", ())
    ('X', 'A', None)
    """
    free = [name for name in arrays if name not in taken]
    known = [name for name in FEATURE_NAMES if name in free]
    return next(iter(known or free)) if known or len(free) == 1 else None


def as_float(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Floats as they are; bytes and half floats as float32, which holds them; else float64.

    >>> as_float(np.array([[1, 2]], dtype=np.uint8)).dtype
    dtype('float32')
    """
    if values.dtype in (np.float32, np.float64):
        return values
    small = values.dtype.kind == "b" or values.dtype in (np.uint8, np.int8, np.float16)
    return values.astype(np.float32 if small else np.float64)
