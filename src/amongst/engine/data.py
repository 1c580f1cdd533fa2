"""Data that lives on the device: features as they came, scaled batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from amongst.candidates import as_candidates
from amongst.defaults import made_on_cpu
from amongst.errors import InputError
from amongst.tensors import on_host

__all__ = [
    "Features",
    "TrainingData",
    "check_features",
    "check_masks",
    "training_data",
    "weighed",
]


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

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Features:
        """The same features on another device, or seen in another precision."""
        dtype = dtype or self.dtype
        keep = self.values.dtype if self.values.dtype == torch.uint8 else dtype
        return Features(
            self.values.to(device, keep),
            None if self.shift is None else self.shift.to(device, dtype),
            None if self.scale is None else self.scale.to(device, dtype),
            dtype,
        )

    @classmethod
    @made_on_cpu()
    def of(cls, values: Any, shift: Any = None, scale: Any = None) -> Features:
        """From arrays, or a tensor on any device.

        uint8 stays uint8 and is scaled batch by batch; anything else is scaled here, in float64,
        before it becomes float32, so that a large offset costs no digits.

        >>> Features.of(np.array([[1e9, 1e9 + 1]]), shift=1e9).values
        tensor([[0., 1.]])
        """
        array = np.asarray(on_host(values))
        if array.dtype.kind not in "biuf":
            array = _numbers(array)
        for name, value in (("shift", shift), ("scale", scale)):
            _check_constant(name, value, array.shape[1:])
        if array.dtype == np.uint8:
            tensor = torch.from_numpy(np.ascontiguousarray(array))
            return cls(tensor, _constant(shift), _constant(scale))
        if shift is not None:
            array = array - np.asarray(shift, dtype=np.float64)
        if scale is not None:
            array = array / np.asarray(scale, dtype=np.float64)
        return cls(torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)))


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Features and candidate masks, row by row, on one device.

    Parameters
    ----------
    features : n examples.
    inside : bool, shape (n, K).
    importance : factor of each row's loss, shape (n,), 0 or more; None for 1.

    Examples
    --------
    >>> data = TrainingData(Features(torch.zeros(2, 4)), torch.tensor([[True, False], [True, True]]))
    >>> len(data), data.n_classes
    (2, 2)
    """

    features: Features
    inside: Tensor
    importance: Tensor | None = None

    def __post_init__(self) -> None:
        check_features("features", self.features)
        self._check_places()
        check_masks("inside", self.inside)
        if self.inside.ndim != 2 or len(self.inside) != len(self.features):
            raise InputError(
                f"inside has shape {tuple(self.inside.shape)}; with {len(self.features)} rows of "
                f"features it must be ({len(self.features)}, K)."
            )
        if not len(self.features):
            raise InputError("the data have no rows.")
        if self.importance is not None:
            _check_importance(self.importance, len(self.features))

    def __len__(self) -> int:
        return len(self.features)

    @property
    def n_classes(self) -> int:
        """K."""
        return self.inside.shape[1]

    def _check_places(self) -> None:
        seen = self.features
        shifts = ("features.shift", seen.shift), ("features.scale", seen.scale)
        for name, value in (("inside", self.inside), ("importance", self.importance), *shifts):
            if isinstance(value, Tensor) and value.device != seen.device:
                raise InputError(
                    f"{name} is on {value.device}, but the features are on {seen.device}; "
                    "training_data(features, candidates, device) puts them side by side."
                )

    def seen_in(self, precision: str) -> TrainingData:
        """The same data, in float64 where that is the precision of training.

        >>> data = TrainingData(Features(torch.zeros(1, 2)), torch.tensor([[True, False]]))
        >>> data.seen_in("float64").features.dtype, data.seen_in("bf16").features.dtype
        (torch.float64, torch.float32)
        """
        if precision != "float64" or self.features.dtype == torch.float64:
            return self
        importance = None if self.importance is None else self.importance.double()
        features = self.features.to(self.features.device, torch.float64)
        return TrainingData(features, self.inside, importance)

    def importance_of(self, rows: Tensor) -> Tensor | None:
        """The factors of these rows, shape (B,), or None.

        >>> seen, inside = Features(torch.zeros(2, 4)), torch.ones(2, 3, dtype=torch.bool)
        >>> data = TrainingData(seen, inside, importance=torch.tensor([0.5, 2.0]))
        >>> data.importance_of(torch.tensor([1]))
        tensor([2.])
        """
        return None if self.importance is None else self.importance[rows]


def weighed(losses: Tensor, importance: Tensor | None) -> Tensor:
    """Each loss times its row's importance, shape (B,).

    >>> weighed(torch.tensor([3.0, 1.0]), torch.tensor([0.5, 2.0]))
    tensor([1.5000, 2.0000])
    """
    return losses if importance is None else losses * importance


def training_data(
    features: Features,
    candidates: Any,
    device: torch.device | str = "cpu",
    importance: Any = None,
) -> TrainingData:
    """Put features, candidate sets in any form `as_candidates` takes, and how much each row counts,
    if not all alike, side by side on a device.

    >>> len(training_data(Features.of(np.zeros((2, 3))), [{0, 1}, {1}]))
    2
    """
    check_features("features", features)
    sets = as_candidates(candidates)
    if len(features) != len(sets):
        raise InputError(
            f"X has {len(features)} rows, but y has {len(sets)} candidate sets; they must agree."
        )
    if importance is not None:
        importance = _as_factors(importance).to(device, features.dtype)
    inside = torch.from_numpy(sets.to_mask()).to(device)
    return TrainingData(features.to(device), inside, importance)


def _as_factors(importance: Any) -> Tensor:
    try:
        return torch.tensor(np.asarray(on_host(importance), dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"importance is a {type(importance).__name__} that does not read as numbers; expected one "
            "for each row, 0 or more."
        ) from error


def _check_importance(importance: Tensor, n: int) -> None:
    if not isinstance(importance, Tensor):
        raise InputError(
            f"importance is a {type(importance).__name__}, and must be a tensor; "
            "training_data(features, candidates, device, importance) makes one."
        )
    if importance.shape != (n,) or not bool((importance.isfinite() & (importance >= 0)).all()):
        raise InputError(
            f"importance has shape {tuple(importance.shape)} and values from {_least(importance)}; "
            f"expected {n} finite numbers, one for each row, 0 or more."
        )


def _least(values: Tensor) -> str:
    return f"{float(values.min()):g}" if values.numel() else "none"


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


def check_masks(name: str, inside: Tensor) -> None:
    """An error for what is no bool mask, and for a row without a candidate.

    >>> check_masks("inside", torch.tensor([[True, True], [False, False]]))
    Traceback (most recent call last):
    amongst.errors.InputError: inside[1] is an empty candidate set; every row needs at least one label. Drop the row, or make it all True.
    """
    if not isinstance(inside, Tensor) or inside.dtype != torch.bool:
        of = f" of dtype {inside.dtype}" if isinstance(inside, Tensor) else ""
        raise InputError(
            f"{name} is a {type(inside).__name__}{of}; expected a bool tensor of shape (n, K), as "
            "training_data(features, candidates) makes it."
        )
    is_empty = ~inside.any(-1)
    if is_empty.any():
        raise InputError(
            f"{name}[{int(is_empty.nonzero()[0])}] is an empty candidate set; every row needs at "
            "least one label. Drop the row, or make it all True."
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


def _numbers(array: Any) -> Any:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the features have dtype {array.dtype}, and not all of them are numbers: {error}."
        ) from error
