"""Which columns are what, and whether the feature columns are numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.checks import near_matches
from amongst.datasets.arrays import as_float
from amongst.datasets.labels import Empty, Kind, Outside
from amongst.errors import InputError

__all__ = ["Layout", "check_columns", "check_finite", "numeric", "unknown_column"]


@dataclass(frozen=True)
class Layout:
    """The options, with `candidates` and `features` as tuples of names (None: not said)."""

    candidates: tuple[str, ...] | None
    truth: str | None
    features: tuple[str, ...] | None
    ignore: tuple[str, ...]
    index: str | None
    separator: str
    kind: Kind
    classes: tuple[Hashable, ...] | None
    empty: Empty
    outside: Outside

    def taken(self) -> set[str]:
        """Names that are not features."""
        single = {name for name in (self.truth, self.index) if name is not None}
        return single | set(self.candidates or ()) | set(self.ignore)


def numeric(path: Path, frame: pd.DataFrame) -> npt.NDArray[Any]:
    """The feature columns as one float array, or which of them are not numbers."""
    bad = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    if bad:
        raise InputError(_not_numbers(path, frame, bad))
    columns = frame.to_numpy(dtype=None if not frame.isna().any(axis=None) else np.float64)
    if columns.dtype.kind not in "biuf":
        columns = frame.to_numpy(dtype=np.float64)
    features = np.ascontiguousarray(as_float(columns))
    check_finite(path, features, tuple(frame.columns))
    return features


def _not_numbers(path: Path, frame: pd.DataFrame, bad: list[str]) -> str:
    shown = ", ".join(map(repr, bad[:5])) + (f", … ({len(bad)} in all)" if len(bad) > 5 else "")
    numbers = pd.to_numeric(frame[bad[0]], errors="coerce")
    odd = np.flatnonzero(numbers.isna() & frame[bad[0]].notna())
    row = int(odd[0]) if len(odd) else 0
    value = frame[bad[0]].iloc[row]
    mixed = " while other rows hold numbers (mixed types)" if numbers.notna().any() else ""
    return (
        f"{path}: these feature columns are not numeric: {shown}; {bad[0]!r} holds {value!r} in "
        f"row {row}{mixed}. Encode them as numbers, name them in ignore=[…], or choose columns "
        "with features=[…]."
    )


def check_finite(path: Path, features: npt.NDArray[Any], names: Sequence[str]) -> None:
    """An error that names the first column and row with NaN or infinity."""
    bad = np.flatnonzero(~np.isfinite(features).all(axis=0))
    if not len(bad):
        return
    column = int(bad[0])
    row = int(np.argmax(~np.isfinite(features[:, column])))
    what = "empty (NaN)" if np.isnan(features[row, column]) else "infinite"
    raise InputError(
        f"{path}: column {names[column]!r} is {what} in row {row} ({len(bad)} columns have such "
        "cells). Fill them in, drop the rows, or name the column in ignore=[…]."
    )


def check_columns(path: Path, frame: pd.DataFrame, layout: Layout) -> None:
    """An error that names the first column asked for that is not there, with near matches."""
    wanted = {
        "candidates": layout.candidates or (),
        "truth": () if layout.truth is None else (layout.truth,),
        "features": layout.features or (),
        "index": () if layout.index is None else (layout.index,),
        "ignore": layout.ignore,
    }
    for argument, names in wanted.items():
        for name in names:
            if name not in frame.columns:
                raise InputError(unknown_column(path, frame, argument, name))
    both = [name for name in layout.features or () if name in layout.taken()]
    if both:
        raise InputError(f"{both[0]!r} is named in features and as something else; choose one.")


def unknown_column(path: Path, frame: pd.DataFrame, argument: str, name: str) -> str:
    """The message for a column that is not there."""
    columns = [str(column) for column in frame.columns]
    near = near_matches(name, columns)
    hint = f" did you mean {' or '.join(map(repr, near))}?" if near else ""
    shown = ", ".join(columns[:12]) + (f", … ({len(columns)} in all)" if len(columns) > 12 else "")
    return f"{argument}: {path} has no column {name!r};{hint} Its columns: {shown}."
