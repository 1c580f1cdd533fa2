"""What estimators without a network share: scaled rows, and a state that is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from amongst.checks import check_choice
from amongst.data import fit_scaling
from amongst.errors import InputError
from amongst.estimators.base import PartialLabelClassifier, check_row_size
from amongst.estimators.classical._neighbours import Floats
from amongst.files import Arrays
from amongst.trust import tempered

SCALINGS = ("standard", "unit", "standard+unit")
"""Columns to mean 0 and variance 1; rows to length 1; the one, then the other."""


@dataclass(frozen=True, eq=False)
class Scaler:
    """x ↦ (x − shift) / scale, and then, with `unit`, x / ‖x‖ (a row of zeros stays).

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
        if not np.isfinite(length).all():
            row = int(np.argmin(np.isfinite(length)))
            raise InputError(
                f"row {row} of X reaches {np.abs(flat[row]).max():.2g}, too large for distances "
                "between rows. Divide the features, or take their logarithm."
            )
        return scaled / np.where(length > 0, length, 1.0) if self.unit else scaled


def fit_scaler(X: npt.NDArray[Any], kind: str | None) -> Scaler:
    """Fit on training rows, as `fit_scaling` does; a constant column is only shifted.

    >>> fit_scaler(np.array([[0.0, 7.0], [4.0, 7.0]]), "standard")(np.array([[2.0, 8.0]]))
    array([[0., 1.]])
    """
    if kind is not None:
        check_choice("scaling", kind, SCALINGS)
    flat = np.asarray(X, dtype=np.float64).reshape(len(X), -1)
    shift, scale = np.zeros(flat.shape[1]), np.ones(flat.shape[1])
    if kind is not None and kind.startswith("standard"):
        fitted = fit_scaling(flat, "standard")
        shift, scale = fitted.shift, fitted.scale
    return Scaler(shift, scale, _has_unit(kind))


class ScaledClassifier(PartialLabelClassifier):
    """Scales rows by `scaler_`, and names the attributes that a saved file has."""

    arrays: ClassVar[tuple[str, ...]]
    facts: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """By name, with the value where an older file has none."""
    parts: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """`FeatureMap`s and `Machines` by name, each with its class."""
    scaling: str | None
    kernel: str
    scaler_: Scaler

    def _get_state(self) -> tuple[Arrays, dict[str, Any]]:
        arrays = {name: getattr(self, f"{name}_") for name in self.arrays}
        arrays |= {"scaler/shift": self.scaler_.shift, "scaler/scale": self.scaler_.scale}
        for name in self.parts:
            arrays |= getattr(self, f"{name}_").arrays(name)
        return arrays, {name: getattr(self, f"{name}_") for name in self.facts}

    def _set_state(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        unit = _has_unit(self.scaling)
        self.scaler_ = Scaler(arrays["scaler/shift"], arrays["scaler/scale"], unit)
        for name in self.arrays:
            setattr(self, f"{name}_", arrays[name])
        for name, default in self.facts.items():
            setattr(self, f"{name}_", facts.get(name, default))
        for name, part in self.parts.items():
            kernel = getattr(self, "kernel_", None) or self.kernel
            setattr(self, f"{name}_", part.from_arrays(arrays, name, kernel))


class TemperedClassifier(ScaledClassifier):
    """Has found a temperature, by the candidate sets of the training rows."""

    temperature_: float

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """Softmax of the scores at `temperature_`, shape (n, K); `calibrate` has it from new rows."""
        proba = tempered(self._checked_scores(X), self.temperature_)
        return np.asarray(self._calibrated(proba), dtype=np.float64)


def _has_unit(kind: str | None) -> bool:
    return kind is not None and kind.endswith("unit")
