"""Data frames at the estimators' door: which column is no number, and whether rows belong together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from amongst.errors import AmongstWarning, InputError

__all__ = ["check_numbers", "check_order", "explained"]

TEXT = "Encode them as numbers, as with OneHotEncoder in a pipeline, or leave them out."
HOLES = "Fill them in, as with SimpleImputer in a pipeline, or drop the rows."


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


def check_numbers(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as numbers or bools: scikit-learn lets dates pass, and categories as objects.

    >>> check_numbers(np.array(["2024-05-01"], dtype="datetime64[D]"))
    Traceback (most recent call last):
    amongst.errors.InputError: X holds values of type datetime64[D]; make numbers of them, such as days since a first day.
    """
    if X.dtype.kind in "mM":
        raise InputError(
            f"X holds values of type {X.dtype}; make numbers of them, such as days since a first day."
        )
    if X.dtype != object:
        return X
    numbers = X.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InputError(f"X holds NaN or infinity. {HOLES}")
    return numbers


def check_order(X: Any, y: Any, name: str = "y", stacklevel: int = 3) -> None:
    """A warning where X and y have the same rows by their index, but in another order.

    Its place is `stacklevel` calls up: that of whoever called an estimator.

    >>> X, y = pd.DataFrame({"wing": [1.0, 2.0]}), pd.Series(["owl", "kite"])
    >>> check_order(X, y), check_order(X.to_numpy(), y[::-1])
    (None, None)
    """
    pandas = isinstance(X, pd.DataFrame) and isinstance(y, pd.DataFrame | pd.Series)
    if not pandas or len(X) != len(y) or X.index.equals(y.index):
        return
    if set(X.index) == set(y.index):
        warnings.warn(
            f"X and {name} have the same index in another order; the first row of X is taken with "
            f"the first of {name}, whatever their index says. If the index is right, pass "
            f"{name}.loc[X.index]; if not, {name}.reset_index(drop=True) and likewise X.",
            AmongstWarning,
            stacklevel=stacklevel,
        )


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
