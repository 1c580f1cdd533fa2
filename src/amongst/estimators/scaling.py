"""Scaling of features, fitted on the training rows and kept with the estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from amongst.archive import Arrays
from amongst.checks import check_choice
from amongst.datasets import fit_scaling
from amongst.errors import InputError
from amongst.estimators.base import check_row_size

__all__ = ["SCALINGS", "Scaler", "fit_scaler"]

Floats = npt.NDArray[np.float64]

SCALINGS = ("standard", "unit", "standard+unit")
"""Columns to mean 0 and variance 1; rows to length 1; the one, then the other."""


@dataclass(frozen=True, eq=False)
class Scaler:
    """x ↦ (x − shift) / scale, and then, with `unit`, x / ‖x‖ (a row of zeros stays).

    Examples
    --------
    >>> Scaler(np.zeros(2), np.ones(2), unit=True)(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    shift: Floats
    scale: Floats
    unit: bool

    def __call__(self, X: npt.NDArray[Any]) -> Floats:
        """Scaled rows, shape (n, d); images are flattened."""
        check_row_size(X, len(self.shift))
        flat = np.ascontiguousarray(X, dtype=np.float64).reshape(len(X), -1)
        with np.errstate(over="ignore"):
            scaled: Floats = (flat - self.shift) / self.scale
            length = np.linalg.norm(scaled, axis=1, keepdims=True)
        _check_lengths(flat, length)
        if not self.unit:
            return scaled
        units: Floats = scaled / np.where(length > 0, length, 1.0)
        return units

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What `from_arrays` rebuilds it from."""
        return {"scaler/shift": self.shift, "scaler/scale": self.scale}

    @classmethod
    def from_arrays(cls, arrays: Arrays, kind: str | None) -> Scaler:
        """The inverse of `arrays`, for the same kind of scaling."""
        return cls(arrays["scaler/shift"], arrays["scaler/scale"], _has_unit(kind))


def fit_scaler(X: npt.NDArray[Any], kind: str | None) -> Scaler:
    """Fit on training rows, as `fit_scaling` does; a constant column is only shifted.

    >>> fit_scaler(np.array([[0.0, 7.0], [4.0, 7.0]]), "standard")(np.array([[2.0, 8.0]]))
    array([[0., 1.]])
    """
    if kind is not None:
        check_choice("scaling", kind, SCALINGS)
    flat = np.asarray(X, dtype=np.float64).reshape(len(X), -1)
    if kind is None or not kind.startswith("standard"):
        return Scaler(np.zeros(flat.shape[1]), np.ones(flat.shape[1]), _has_unit(kind))
    fitted = fit_scaling(flat, "standard")
    return Scaler(fitted.shift, fitted.scale, _has_unit(kind))


def _check_lengths(flat: Floats, length: Floats) -> None:
    """An error where the square of a scaled row's length is beyond what a float holds."""
    if np.isfinite(length).all():
        return
    row = int(np.argmin(np.isfinite(length)))
    raise InputError(
        f"row {row} of X reaches {np.abs(flat[row]).max():.2g}, too large for distances between "
        "rows. Divide the features, or take their logarithm."
    )


def _has_unit(kind: str | None) -> bool:
    return kind is not None and kind.endswith("unit")
