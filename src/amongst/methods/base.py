"""What a method is: starting weights, a loss, and new weights from scores. Nothing more.

The engine owns the network, the optimiser and the loop; a method only declares when its weights
change (`refresh`) and computes on the last axis, so that it serves one model and a population.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

import numpy as np
from torch import Tensor

from amongst.errors import InputError

__all__ = ["LossForm", "Method", "Optimizer", "Refresh"]

Refresh = Literal["never", "same", "post", "epoch"]
"""When weights change: never; from the pass that gave the loss; from a second pass after the
optimiser's step; or once an epoch, for all rows."""

Optimizer = Literal["sgd", "adam"]


@dataclass(frozen=True)
class LossForm:
    """A loss in the terms of Eq. (3), for engines that have a kernel for it.

    Attributes
    ----------
    kind : where the weights of Eq. (3) come from: ``"stored"``, ``"uniform"`` (1/|s|), ``"best"``
        (all on the best candidate); or ``"consistent"``, −log Σ_{z∈s} p_z.
    psi : name of the binary loss.
    both : whether new weights are wanted outside s too.
    outside : whether the second term of Eq. (3) counts; β is 0 if not.

    Examples
    --------
    >>> LossForm("stored", psi="sigmoid", outside=True).psi
    'sigmoid'
    """

    kind: Literal["stored", "uniform", "best", "consistent"]
    psi: str = "cross_entropy"
    both: bool = False
    outside: bool = False


@dataclass(frozen=True)
class Method(ABC):
    """A partial-label method, as a value.

    A subclass is a frozen dataclass of hyper-parameters. Those named in `leaves` may also be
    tensors that broadcast over the leading axes: this is how a population mixes them.

    Attributes
    ----------
    name, title : for options, and for people; if not given, the name of the class.
    optimizer : what the paper trains it with.
    lr, weight_decay : a good start on standardised features; what the estimators use.
    grid : the paper's search space; without one a search keeps to the default setting.
    leaves : hyper-parameters that may be tensors.

    Examples
    --------
    >>> from amongst.methods import CC, LW
    >>> CC().when, LW(refresh="epoch").when, LW.leaves
    ('never', 'epoch', ('beta', 'alpha', 'fade'))
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    optimizer: ClassVar[Optimizer] = "sgd"
    lr: ClassVar[float] = 0.05
    weight_decay: ClassVar[float] = 1e-3
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType({})
    leaves: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.title = getattr(cls, "title", cls.__name__)
        cls.name = getattr(cls, "name", cls.__name__.lower())

    @property
    def when(self) -> Refresh:
        """When the weights change."""
        return "never"

    @property
    def loss_form(self) -> LossForm | None:
        """The loss as a kernel may know it; None for one of its own, which runs in plain torch."""
        return None

    def at(self, progress: float) -> Self:
        """The method as it is once this share of the epochs is done; most stay as they are.

        Only `leaves` may change: what is captured or compiled once reads nothing else anew, and a
        population refuses a method that changes more.
        """
        return self

    def init(self, inside: Tensor) -> Tensor | None:
        """The weights before the first step, shape (..., K), or None for a method without any."""
        return None

    @abstractmethod
    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        """One value a row: (..., K) → (...)."""

    def update(self, scores: Tensor, inside: Tensor) -> Tensor:
        """The weights that these scores ask for, shape (..., K)."""
        raise InputError(
            f"the method {self.name!r} has when={self.when!r}, but no update(scores, inside) to give "
            "new weights. Write one, or let when be 'never'."
        )

    def blend(self, old: Tensor, new: Tensor) -> Tensor:
        """What a row's weights become, shape (..., K): the new ones; for a moving average
        φ·old + (1 − φ)·new, for candidates that are struck out for good new · [old > 0].

        >>> import torch
        >>> from amongst.methods import LW
        >>> LW().blend(torch.tensor([1.0, 0.0]), torch.tensor([0.25, 0.75]))
        tensor([0.2500, 0.7500])
        """
        return new


def needed(method: Method, weights: Tensor | None) -> Tensor:
    """The weights, for a method that cannot do without."""
    if weights is None:
        raise InputError(
            f"weights=None, but the method {method.name!r} needs them: init(inside) gives the first."
        )
    return weights


def kernel_form(method: Method) -> LossForm | None:
    """The method's `loss_form`; None where its loss or new weights were written anew, below the class
    that says the form.

    >>> from amongst.methods import CC
    >>> class Halved(CC):
    ...     def loss(self, scores, inside, weights):
    ...         return super().loss(scores, inside, weights) / 2
    >>> kernel_form(CC()), kernel_form(Halved())
    (LossForm(kind='consistent', psi='cross_entropy', both=False, outside=False), None)
    """
    kinds = type(method).__mro__
    level = {
        name: next(i for i, kind in enumerate(kinds) if name in vars(kind))
        for name in ("loss_form", "loss", "update", "blend")
    }
    said_last = level.pop("loss_form") <= min(level.values())
    return method.loss_form if said_last else None


def in_full(value: Any) -> str:
    """A hyper-parameter as text, every digit of it: the repr of a tensor or array rounds and skips,
    so that two that differ may read alike.

    >>> from torch import tensor
    >>> repr(tensor([1.00001])) == repr(tensor([1.00002])), in_full(tensor([1.00001]))
    (True, 'torch.float32 [1.0000100135803223]')
    """
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({', '.join(map(in_full, value))})"
    is_array = isinstance(value, Tensor | np.ndarray)
    return f"{value.dtype} {value.tolist()}" if is_array else repr(value)


def described(method: Method) -> str:
    """A method as text, with all its hyper-parameters in full: equal for equal methods only."""
    values = (f"{f.name}={in_full(getattr(method, f.name))}" for f in fields(method))
    return f"{type(method).__qualname__}({', '.join(values)})"


def changed_beyond_leaves(method: Method, progress: float = 1.0) -> list[str]:
    """Names of what `at` changes besides the method's leaves, which alone are read anew where steps
    are captured or stacked."""
    now = method.at(progress)
    others = [f.name for f in fields(method) if f.name not in method.leaves]
    return [
        name for name in others if in_full(getattr(now, name)) != in_full(getattr(method, name))
    ]
