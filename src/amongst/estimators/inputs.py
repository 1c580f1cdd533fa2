"""Labels of another type than the classes, and columns that are no numbers, as people bring them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.candidates import CandidateSets
from amongst.candidates.cells import class_array, label_kinds, wrong
from amongst.checks import on_host
from amongst.errors import InputError

Labels = npt.NDArray[Any]
Floats = npt.NDArray[np.floating[Any]]

TEXT = "Encode them as numbers, as with OneHotEncoder in a pipeline, or leave them out."
HOLES = "Fill them in, as with SimpleImputer in a pipeline, or drop the rows."


def check_same_kind(given: Labels, classes: Labels) -> None:
    """An error where labels can be none of the classes, because their type is another.

    >>> check_same_kind(class_array(["1"]), class_array([1, 2]))
    Traceback (most recent call last):
    amongst.errors.InputError: y holds labels such as '1' (string), but the classes are such as 1 (number). Give labels of the type that fit had.
    """
    known = label_kinds(classes.tolist())
    for kind, label in label_kinds(given.tolist()).items():
        if kind not in known:
            own, example = next(iter(known.items()))
            problem = (
                f"holds labels such as {label!r} ({kind}), but the classes are such as {example!r} "
                f"({own})."
            )
            raise wrong("other-type", problem, "Give labels of the type that fit had.")


def as_fitted(sets: CandidateSets, classes: Labels) -> CandidateSets:
    """The sets with labels of the classes' type: pandas makes times of days, so that a day and the
    midnight that begins it are one label. Other labels stay as they are.

    >>> from amongst import as_candidates
    >>> sets = as_candidates([[datetime(2024, 5, 1).date()]])
    >>> as_fitted(sets, class_array([datetime(2024, 5, 1), datetime(2024, 5, 2)])).classes
    array(['2024-05-01T00:00:00.000000'], dtype='datetime64[us]')
    """
    given, (known, *_) = sets.classes.tolist(), label_kinds(classes.tolist())
    if known == "datetime" and set(label_kinds(given)) == {"date"}:
        labels = [datetime.combine(day, time.min) for day in given]
    elif known == "date" and all(isinstance(t, datetime) and _midnight(t) for t in given):
        labels = [midnight.date() for midnight in given]
    else:
        return sets
    return replace(sets, classes=class_array(labels))


def _midnight(moment: datetime) -> bool:
    return moment.tzinfo is None and moment.time() == time.min


def explained(X: Any, error: Exception) -> Exception:
    """The error that scikit-learn has for a data frame, with the columns that are to blame.

    >>> explained(pd.DataFrame({"id": ["R1"], "wing": [2.0]}), ValueError("could not convert"))
    InputError("X has columns that are not numbers: 'id' ('R1' in row 0). Encode them as numbers, as with OneHotEncoder in a pipeline, or leave them out.")
    """
    if not isinstance(X, pd.DataFrame) or str(error).startswith("The feature names"):
        return error
    columns = [X.iloc[:, at] for at in range(X.shape[1])]
    text = {str(c.name): c for c in columns if not _is_number(c).all()}
    if text:
        return InputError(f"X has columns that are not numbers: {_shown(text, _is_number)}. {TEXT}")
    holes = {str(c.name): c for c in columns if c.isna().any()}
    if holes:
        return InputError(f"X has columns with empty cells: {_shown(holes, pd.notna)}. {HOLES}")
    return error


def stacked(X: list[Any] | tuple[Any, ...]) -> Any:
    """Images in a list as one array; another list as it is.

    >>> stacked([np.zeros((3, 8, 8)), np.ones((3, 8, 8))]).shape
    (2, 3, 8, 8)
    """
    first: Any = X[0] if X else None
    is_array = hasattr(first, "__array__") or hasattr(first, "__array_interface__")
    if not is_array or np.ndim(first) < 2:
        return X
    arrays = [np.asarray(on_host(image)) for image in X]
    if len(sizes := {array.shape for array in arrays}) > 1:
        shapes = " and ".join(map(str, sorted(sizes)[:2]))
        problem = f"has images of {len(sizes)} shapes, such as {shapes}."
        raise InputError(problem, code="shape", argument="X", remedy="Bring them to one size.")
    return np.stack(arrays)


def _is_number(column: pd.Series) -> pd.Series:
    """Whether each cell is a number, a text that reads as one, or empty."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return pd.Series(True, index=column.index)
    if column.dtype.kind in "mM":
        return pd.Series(False, index=column.index)
    return pd.to_numeric(column.astype(object), errors="coerce").notna() | column.isna()


def _shown(columns: dict[str, pd.Series], good: Any) -> str:
    """The first columns, and of the first the first bad cell."""
    first, *others = columns
    row = int(np.argmin(np.asarray(good(columns[first]))))
    cell = columns[first].iloc[row]
    told = f"{first!r} ({'' if pd.isna(cell) else f'{cell!r} '}in row {row})"
    more = f", … ({len(columns)} in all)" if len(others) > 3 else ""
    return ", ".join([told, *map(repr, others[:3])]) + more
