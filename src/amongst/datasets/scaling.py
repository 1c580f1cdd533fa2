"""Preprocessing as the paper has it, fitted on training rows only: (x − shift) / scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from amongst.checks import check_choice, check_number
from amongst.errors import InputError

__all__ = ["Scaling", "ScalingKind", "fit_scaling"]

ScalingKind = Literal["unit", "channel", "standard", "none"]
CHUNK_ROWS = 2000
Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Scaling:
    """x ↦ (x − shift) / scale, where `shift` and `scale` broadcast against one row of x.

    Bytes can stay bytes until they are on the device: there, ``(x.float() - shift) / scale`` is
    the same map. Features that come as float64 lose least if `apply` runs before they are cast.

    Attributes
    ----------
    kind : which rule made it.
    shift, scale : float64, shape () for one number, (C, 1, 1) for channels, (d,) for columns.

    Examples
    --------
    >>> halves = Scaling("standard", np.array([1.0]), np.array([2.0]))
    >>> halves.apply(np.array([[1.0], [5.0]]))
    array([[0.],
           [2.]], dtype=float32)
    """

    kind: ScalingKind
    shift: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]

    def apply(self, x: Array) -> npt.NDArray[np.float32]:
        """The scaled features as float32, of the shape of `x`."""
        precise = np.float64 if x.dtype == np.float64 else np.float32
        scaled: Array = np.subtract(x, self.shift.astype(precise), dtype=precise)
        scaled /= self.scale.astype(precise)
        small: npt.NDArray[np.float32] = scaled.astype(np.float32, copy=False)
        return small


def fit_scaling(x_train: Array, kind: ScalingKind, *, top: float = 255.0) -> Scaling:
    """Fit the preprocessing on training rows; test rows are never seen here.

    Parameters
    ----------
    x_train : training rows, shape (n, …).
    kind :
        * ``"unit"``: x / top, pixels to [0, 1] (MNIST family);
        * ``"channel"``: each channel to mean 0 and variance 1 over the training pixels of
          images (n, C, height, width) (CIFAR-10);
        * ``"standard"``: each column to mean 0 and variance 1 over the training rows; a constant
          column is only shifted (tabular sets);
        * ``"none"``: as they are.
    top : the largest value that a pixel can have, for ``"unit"``.

    Returns
    -------
    Scaling

    Examples
    --------
    >>> x = np.array([[0.0, 7.0], [4.0, 7.0]])
    >>> fit_scaling(x, "standard").apply(x)
    array([[-1.,  0.],
           [ 1.,  0.]], dtype=float32)
    >>> fit_scaling(np.zeros((2, 4, 4), np.uint8), "unit").scale
    array(255.)
    """
    check_choice("kind", kind, get_args(ScalingKind))
    if not len(x_train):
        raise InputError("x_train has no rows; a scaling is fitted on at least one.")
    if kind == "standard":
        return _standard(x_train)
    if kind == "channel":
        return _channel(x_train)
    scale = check_number("top", top, low=0, open_low=True) if kind == "unit" else 1.0
    return Scaling(kind, np.array(0.0), np.array(scale))


def _standard(x: Array) -> Scaling:
    constant = x.max(axis=0) == x.min(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = x.mean(axis=0, dtype=np.float64)
        scale = np.where(constant, 1.0, x.std(axis=0, dtype=np.float64))
    if np.isfinite(x).all():
        _check_spread(x, np.isfinite(mean) & np.isfinite(scale), "large", "Divide")
        _check_spread(x, scale > 0, "small", "Multiply")
    return Scaling("standard", mean, scale)


def _check_spread(x: Array, good: npt.NDArray[np.bool_], kind: str, remedy: str) -> None:
    if good.all():
        return
    column = int(np.argmin(good))
    largest = float(np.abs(x.reshape(len(x), -1)[:, column]).max())
    raise InputError(
        f"the features of column {column} reach {largest:.2g}, too {kind} for a standard deviation. "
        f"{remedy} them, or take their logarithm."
    )


def _channel(x: Array) -> Scaling:
    """Exact from the histogram of each channel's bytes, a few rows at a time."""
    if x.ndim != 4 or x.dtype != np.uint8:
        raise InputError(
            f"x_train has shape {x.shape} and type {x.dtype}; kind='channel' wants uint8 images of "
            "shape (n, channels, height, width). Use kind='standard' for columns."
        )
    counts = np.zeros((x.shape[1], 256))
    for start in range(0, len(x), CHUNK_ROWS):
        for channel in range(x.shape[1]):
            values = x[start : start + CHUNK_ROWS, channel].ravel()
            counts[channel] += np.bincount(values, minlength=256)
    levels = np.arange(256.0)
    share = counts / counts.sum(axis=1, keepdims=True)
    mean = share @ levels
    deviation = np.sqrt((share * (levels - mean[:, None]) ** 2).sum(axis=1))
    scale = np.where(deviation > 0, deviation, 1.0)
    return Scaling("channel", mean[:, None, None], scale[:, None, None])
