"""One label, as Python has it: what NumPy and pandas wrap is unwrapped once, at the door."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.errors import InputError
from amongst.tensors import on_host

__all__ = [
    "class_array",
    "flat_labels",
    "label_kinds",
    "microseconds",
    "plain",
    "plain_labels",
    "unmasked",
    "whole_floats",
]

KINDS: tuple[tuple[str, Any], ...] = (
    ("string", str),
    ("number", int | float),
    ("datetime", datetime),
    ("date", date),
)


def plain(label: Any) -> Any:
    """A label without its wrapping; equal dates of Python, NumPy and pandas become one label.

    >>> plain(np.int64(3)), plain(np.datetime64("2024-05-01"))
    (3, datetime.date(2024, 5, 1))
    >>> plain(np.datetime64("2024-05-01T12", "ns")) == plain(pd.Timestamp("2024-05-01 12:00"))
    True
    """
    if isinstance(label, pd.Timestamp):
        _check_exact(label.nanosecond == 0, label)
        return label.to_pydatetime()
    if isinstance(label, np.generic):
        return microseconds(np.asarray(label)).item()
    return label.item() if getattr(label, "ndim", None) == 0 else label  # a tensor of one number


def plain_labels(labels: npt.ArrayLike) -> list[Any]:
    """The labels of an array, each of them plain.

    >>> plain_labels(np.array(["2024-05-01"], dtype="datetime64[ns]"))
    [datetime.datetime(2024, 5, 1, 0, 0)]
    """
    if isinstance(labels, list | tuple):
        return [plain(label) for label in labels]
    array = np.asarray(unmasked(on_host(labels)))
    if array.dtype == object:
        return [plain(label) for label in array.tolist()]
    found: list[Any] = microseconds(array).tolist()
    return found


def microseconds(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Times in nanoseconds, which Python has no type for, in microseconds; all else as it is.

    >>> microseconds(np.array(["2024-05-01"], dtype="datetime64[ns]")).dtype
    dtype('<M8[us]')
    """
    if array.dtype.kind not in "mM" or np.datetime_data(array.dtype)[0] not in ("ns", "ps"):
        return array
    coarse = array.astype(f"{array.dtype.kind}8[us]")
    lost = (coarse != array) & ~np.isnat(array)
    _check_exact(not lost.any(), array[lost][:1])
    return coarse


def unmasked(labels: Any) -> Any:
    """A masked array, or one of pandas' own types, with None where a label is missing; all else as
    it is. pandas would make floats of whole numbers beside a missing one.

    >>> unmasked(np.ma.array([3, 5], mask=[False, True])), unmasked(pd.array([3, None], dtype="Int64"))
    (array([3, None], dtype=object), array([3, None], dtype=object))
    """
    if isinstance(labels, np.ma.MaskedArray):
        return _without(labels.data, np.ma.getmaskarray(labels))
    if isinstance(getattr(labels, "dtype", None), pd.api.extensions.ExtensionDtype):
        missing = np.asarray(pd.isna(labels))
        return _without(labels, missing) if missing.any() else labels
    return labels


def flat_labels(labels: Any) -> npt.NDArray[Any]:
    """Labels in one dimension; whole numbers beyond 64 bits stay whole.

    >>> flat_labels([2**64, -1])
    array([18446744073709551616, -1], dtype=object)
    """
    try:
        array = np.asarray(labels)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim != 1 and array.shape[1:] != (1,):
        raise InputError(
            'y holds several labels in a row, but kind="labels" means one; pass kind="sets".'
        )
    listed = isinstance(labels, Sequence) and array.dtype.kind == "f"
    if listed and all(isinstance(label, int) for label in labels):
        return np.array(labels, dtype=object)
    return array.reshape(-1)


def whole_floats(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The labels, None in place of NaN; an error where one is no whole number.

    >>> whole_floats(np.array([1.0, np.nan]))
    array([1.0, None], dtype=object)
    """
    missing = np.isnan(labels)
    odd = labels[~missing & ((labels != np.floor(labels)) | np.isinf(labels))]
    if len(odd):
        row = int(np.argmax(labels == odd[0]))
        what = "infinite" if np.isinf(odd[0]) else "a continuous number"
        raise InputError(
            f"Unknown label type: y[{row}]={odd[0]} is {what}; labels are strings, whole numbers or "
            "other names of classes."
        )
    return _without(labels, missing) if missing.any() else labels


def class_array(labels: Iterable[Any]) -> npt.NDArray[Any]:
    """Labels as an array: of their own type where they have one that NumPy has, else of objects.

    >>> class_array([np.int64(3), 5]), class_array([date(2024, 5, 1)])
    (array([3, 5]), array([datetime.date(2024, 5, 1)], dtype=object))
    """
    found = [plain(label) for label in labels]
    kinds = {type(label) for label in found}
    if kinds == {str}:
        _check_ends(found)
    if kinds == {int}:
        numbers = np.array(found)
        return numbers if numbers.dtype.kind in "iu" else np.array(found, dtype=object)
    if kinds in ({float}, {bool}, {str}):
        return np.array(found)
    if kinds == {datetime} and all(label.tzinfo is None for label in found):
        return np.array(found, dtype="datetime64[us]")
    return np.fromiter(found, dtype=object, count=len(found))


def label_kinds(labels: Iterable[Any]) -> dict[str, Any]:
    """The kinds of plain labels, each with the first label of it.

    >>> label_kinds(["owl", 1, 2.0, True, ("a", 1)])
    {'string': 'owl', 'number': 1, 'tuple': ('a', 1)}
    """
    found: dict[str, Any] = {}
    for label in labels:
        names = (name for name, kind in KINDS if isinstance(label, kind))
        found.setdefault(next(names, type(label).__name__), label)
    return found


def _without(labels: Any, missing: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = np.array(labels.astype(object), dtype=object)
    found[missing] = None
    return found


def _check_ends(labels: list[str]) -> None:
    """NumPy's strings are of one length, filled with NUL, so that a NUL at the end is lost."""
    cut = next((label for label in labels if label.endswith("\0")), None)
    if cut is not None:
        raise InputError(
            f"the label {cut!r} ends in a NUL character, as text of a fixed length does. Take it "
            "off: label.rstrip('\\0')."
        )


def _check_exact(exact: bool, label: Any) -> None:
    if not exact:
        raise InputError(
            f"y contains {label!r}, but a time can be a label to the microsecond only. Round it, or "
            "make it a string."
        )
