"""How much each row counts: scikit-learn's `sample_weight`, read once at the door."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.errors import InputError
from amongst.tensors import on_host

__all__ = ["row_importance"]


def row_importance(sample_weight: Any, n: int) -> npt.NDArray[np.float64] | None:
    """Weights of n rows, divided by the mean of those above 0, shape (n,); None where all count
    alike. So steps are as long as without weights, whatever the unit.

    >>> row_importance([0, 1, 3], 3), row_importance(None, 3), row_importance([2, 2, 2], 3)
    (array([0. , 0.5, 1.5]), None, None)
    """
    if sample_weight is None:
        return None
    weights = _numbers(sample_weight)
    if weights.ndim > 1 or (weights.ndim == 1 and len(weights) != n):
        raise InputError(
            f"sample_weight has shape {weights.shape}; expected ({n},), one number for each row of X."
        )
    weights = np.broadcast_to(weights, n)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        row = int(np.argmin(np.isfinite(weights) & (weights >= 0)))
        raise InputError(
            f"sample_weight has {weights[row]:g} in row {row}; weights are 0 or more. Leave a row out "
            "by 0."
        )
    if not weights.any():
        raise InputError("sample_weight is zero in every row: there is nothing left to count.")
    return None if (weights == weights[0]).all() else weights / weights[weights > 0].mean()


def _numbers(sample_weight: Any) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(on_host(sample_weight), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"sample_weight is a {type(sample_weight).__name__} that does not read as numbers; "
            "expected one number for each row of X."
        ) from error
