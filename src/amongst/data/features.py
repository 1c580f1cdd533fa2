"""Features as a network sees them, (x − shift) / scale: how that is fitted, and rows on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from amongst.checks import check_choice, check_number, on_host
from amongst.devices import made_on_cpu
from amongst.errors import InputError

__all__ = ["Features", "Scaling", "ScalingKind", "fit_scaling"]

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


@dataclass(frozen=True, eq=False)
class Features:
    """n examples on a device, and the affine map to what the network sees: (x − shift) / scale.

    uint8 images stay uint8 in memory; only a batch of them becomes floating point.

    Parameters
    ----------
    values : shape (n, ...).
    shift, scale : broadcast over one example; None for none.

    Examples
    --------
    >>> pixels = Features(torch.tensor([[0, 255]], dtype=torch.uint8), scale=torch.tensor(255.0))
    >>> pixels.batch(torch.tensor([0]))
    tensor([[0., 1.]])
    """

    values: Tensor
    shift: Tensor | None = None
    scale: Tensor | None = None
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        if not isinstance(self.values, Tensor):
            raise InputError(
                f"Features holds a tensor, not a {type(self.values).__name__}; use Features.of(X)."
            )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def device(self) -> torch.device:
        """Where the values are."""
        return self.values.device

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one example."""
        return tuple(self.values.shape[1:])

    def batch(self, rows: Tensor | slice) -> Tensor:
        """What the network sees of these rows, floating point, shape (B, ...)."""
        x = self.values[rows].to(self.dtype)
        if self.shift is not None:
            x = x - self.shift
        return x if self.scale is None else x / self.scale

    def part(self, rows: Any) -> Features:
        """Some of the examples, a copy.

        >>> len(Features(torch.zeros(3, 2)).part([0, 2]))
        2
        """
        return Features(self.values[rows], self.shift, self.scale, self.dtype)

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Features:
        """The same features on another device, or seen in another precision."""
        dtype = dtype or self.dtype
        keep = self.values.dtype if self.values.dtype == torch.uint8 else dtype
        return replace(
            self,
            values=self.values.to(device, keep),
            shift=None if self.shift is None else self.shift.to(device, dtype),
            scale=None if self.scale is None else self.scale.to(device, dtype),
            dtype=dtype,
        )

    @classmethod
    @made_on_cpu()
    def of(
        cls, values: Any, shift: Any = None, scale: Any = None, names: Sequence[str] | None = None
    ) -> Features:
        """From arrays, or a tensor on any device; `names` are those of the columns, for messages.

        uint8 stays uint8 and is scaled batch by batch; anything else is scaled here, in float64,
        before it becomes float32, so that a large offset costs no digits.

        >>> Features.of(np.array([[1e9, 1e9 + 1]]), shift=1e9).values
        tensor([[0., 1.]])
        """
        array = np.asarray(on_host(values))
        if array.dtype.kind not in "biuf":
            array = array.astype(np.float64)
        for name, value in (("shift", shift), ("scale", scale)):
            _check_constant(name, value, array.shape[1:])
        if array.dtype == np.uint8:
            tensor = torch.from_numpy(np.ascontiguousarray(array))
            return cls(tensor, _constant(shift), _constant(scale))
        scaled = array
        with np.errstate(over="ignore", invalid="ignore"):
            if shift is not None:
                scaled = scaled - np.asarray(shift, dtype=np.float64)
            if scale is not None:
                scaled = scaled / np.asarray(scale, dtype=np.float64)
            small = np.ascontiguousarray(scaled, dtype=np.float32)
        _check_narrowed(array, small, names)
        return cls(torch.from_numpy(small))


@dataclass(frozen=True, eq=False)
class SparseFeatures(Features):
    """n rows of few values other than 0; only a batch of them becomes dense.

    Parameters
    ----------
    values : those of all rows, one row behind another, shape (m,).
    columns : where each is in its row, shape (m,).
    starts : where each row begins in these, shape (n + 1,).
    width : d.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> rows = SparseFeatures.of_matrix(csr_array([[0.0, 2.0], [0.0, 0.0], [3.0, 0.0]]))
    >>> rows.batch(torch.tensor([2, 0]))
    tensor([[3., 0.],
            [0., 2.]])
    """

    columns: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))
    starts: Tensor = field(default_factory=lambda: torch.zeros(1, dtype=torch.int64))
    width: int = 0

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.width,)

    def batch(self, rows: Tensor | slice) -> Tensor:
        if isinstance(rows, slice):
            rows = torch.arange(len(self), device=self.device)[rows]
        counts = self.starts[rows + 1] - self.starts[rows]
        owner = torch.repeat_interleave(torch.arange(len(rows), device=self.device), counts)
        first = torch.repeat_interleave(self.starts[rows] - counts.cumsum(0) + counts, counts)
        at = first + torch.arange(len(owner), device=self.device)
        found = torch.zeros(len(rows), self.width, dtype=self.dtype, device=self.device)
        found[owner, self.columns[at]] = self.values[at].to(self.dtype)
        return found if self.scale is None else found / self.scale

    def part(self, rows: Any) -> Features:
        """Some of the examples, dense."""
        return Features(self.batch(rows), dtype=self.dtype)

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Features:
        moved = super().to(device, dtype)
        return replace(moved, columns=self.columns.to(device), starts=self.starts.to(device))  # type: ignore[call-arg]

    @classmethod
    def of_matrix(cls, matrix: Any, scale: Any = None) -> SparseFeatures:
        rows = matrix.tocsr()
        with np.errstate(over="ignore"):
            small = rows.data.astype(np.float32)
        if (wrong := np.flatnonzero(~np.isfinite(small))).size:
            row = np.searchsorted(rows.indptr, wrong[0], side="right") - 1
            raise _too_large(int(row), str(rows.indices[wrong[0]]), float(rows.data[wrong[0]]))
        parts = (small, *map(np.int64, (rows.indices, rows.indptr)))
        values, columns, starts = map(torch.from_numpy, parts)
        return cls(
            values,
            None,
            None if scale is None else torch.tensor(scale, dtype=torch.float32),
            torch.float32,
            columns,
            starts,
            rows.shape[1],
        )


def check_features(name: str, value: Any) -> None:
    """An error for what is no `Features`: how to scale it is for a person to say.

    >>> check_features("features", np.eye(2))
    Traceback (most recent call last):
    amongst.errors.InputError: features is a ndarray; expected Features, such as Features.of(X, shift=X.mean(0), scale=X.std(0)).
    """
    if not isinstance(value, Features):
        raise InputError(
            f"{name} is a {type(value).__name__}; expected Features, such as "
            "Features.of(X, shift=X.mean(0), scale=X.std(0))."
        )


def _constant(value: Any) -> Tensor | None:
    return None if value is None else torch.as_tensor(np.asarray(value, dtype=np.float32))


def _check_constant(name: str, value: Any, shape: tuple[int, ...]) -> None:
    """A shift or scale must not make more of an example than there is."""
    if value is None:
        return
    try:
        made = np.broadcast_shapes(np.shape(value), (1, *shape))
    except ValueError:
        made = ()
    if made != (1, *shape):
        raise InputError(
            f"{name} has shape {np.shape(value)}, but one example has shape {shape}; it must be one "
            f"number, or broadcast over one example, as X.mean(0) does."
        )


def _check_narrowed(array: Any, small: Any, names: Sequence[str] | None) -> None:
    """A number that float32 cannot hold once it is scaled would make every score of its row NaN."""
    if np.isfinite(small).all() or not np.isfinite(array).all():
        return
    row, *place = (int(at[0]) for at in np.nonzero(~np.isfinite(small)))
    named_one = names is not None and len(place) == 1
    column = repr(names[place[0]]) if named_one else ", ".join(map(str, place))  # type: ignore[index]
    raise _too_large(row, column, float(array[(row, *place)]))


def _too_large(row: int, column: str, value: float) -> InputError:
    return InputError(
        f"row {row} of the features holds {value:g} in column {column}, too large to compute with.",
        code="too-large",
        at=row,
        got=value,
        remedy=("mend it if it stands for a missing value", "drop the row", "take logarithms"),
    )
