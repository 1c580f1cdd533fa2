"""What an algorithm is: networks, all that is learnt beside them, and what a step does with a batch.

`Algorithm` is the whole contract. `Method` is the short way for a loss: a frozen value with starting
weights, a loss of each row, and new weights from scores, on the last axis, so that it serves one
network and a stack of them; `LossAlgorithm` trains one network by it.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, get_args

import numpy as np
import torch
from torch import Tensor, nn

from amongst.candidates import CandidateSets
from amongst.checks import check_choice
from amongst.devices import is_out_of_memory
from amongst.errors import AmongstWarning, InputError, named, warn
from amongst.losses.functions import check_shape
from amongst.losses.known import first_with_prior, with_prior

Refresh = Literal["never", "same", "post", "epoch"]
"""When weights change: never; from the pass that gave the loss; from a second pass after the
optimiser's step; or once an epoch, for all rows."""

Optimizer = Literal["sgd", "adam"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of one optimiser step.

    Attributes
    ----------
    views : as many augmented copies of the rows as the algorithm asks for, each (B, ...).
    inside : bool, shape (B, K).
    index : shape (B,), the rows' numbers in the training data.
    progress : share of the epochs that is done, in [0, 1).
    importance : factor of each row's loss, shape (B,), or None; the loop multiplies by it.
    known : the prior π over the rows' candidates, such as votes, shape (B, K), or None.

    Examples
    --------
    >>> batch = Batch((torch.zeros(2, 4),), torch.ones(2, 3, dtype=torch.bool), torch.tensor([5, 7]))
    >>> batch.x.shape
    torch.Size([2, 4])
    """

    views: tuple[Tensor, ...]
    inside: Tensor
    index: Tensor
    progress: float = 0.0
    importance: Tensor | None = None
    known: Tensor | None = None

    @property
    def x(self) -> Tensor:
        """The first view."""
        return self.views[0]


class Rows(Protocol):
    """All training rows, as `after_epoch` sees them."""

    @property
    def inside(self) -> Tensor:
        """Candidate masks, shape (n, K)."""
        ...

    @property
    def known(self) -> Tensor | None:
        """The prior π over the candidates, shape (n, K), or None."""
        ...

    def __len__(self) -> int: ...

    def scores(self, network: nn.Module) -> Tensor:
        """Scores of all rows, not augmented, the network in evaluation mode: (n, K)."""
        ...


class Recipe:
    """What is known of an algorithm before it meets data; `begin` gives what trains.

    Attributes
    ----------
    name, title : for options, and for people; if not given, the name of the class.
    reference : where it is from.
    optimizer : what its paper trains it with.
    lr, weight_decay : a good start on standardised features; what the estimators use.
    grid : its paper's search space; without one a search keeps to the default setting.
    leaves : hyper-parameters that may be tensors over the leading axes; only they may change while
        a network trains, see `at`.
    switches : hyper-parameters that a `Protocol` sets, by the same name.
    in_loop : hyper-parameters that need a training loop, so that its `nn.Module` has them not.
    preset : defaults of the estimator where they differ from those here.
    chosen : hyper-parameters that the estimator also has with an underscore: as they were used.
    uses_prior : whether weights of candidates, such as votes, count; see `amongst.losses.known`. Where they do not, a
        warning says so.
    slows : how often an estimator whose learning rate nobody chose tries a tenth of it, where training
        diverges: a loss that grows with the square of the scores does so on many data.

    Examples
    --------
    >>> from amongst.algorithms import LW
    >>> issubclass(LW, Recipe), LW.title, LW.grid["beta"]
    (True, 'LW', (1.0, 2.0))
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str] = ""
    optimizer: ClassVar[Optimizer] = "sgd"
    lr: ClassVar[float] = 0.05
    weight_decay: ClassVar[float] = 1e-3
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = MappingProxyType({})
    leaves: ClassVar[tuple[str, ...]] = ()
    switches: ClassVar[tuple[str, ...]] = ()
    in_loop: ClassVar[tuple[str, ...]] = ()
    preset: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    chosen: ClassVar[tuple[str, ...]] = ()
    uses_prior: ClassVar[bool] = False
    slows: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ == __name__:  # a base: what derives from it is named by its own class
            return
        cls.title = getattr(cls, "title", cls.__name__)
        cls.name = getattr(cls, "name", cls.__name__.lower())

    @classmethod
    def for_sets(cls, sets: CandidateSets, protocol: Any, **given: Any) -> Self:
        """With the hyper-parameters that a person gave an estimator; what they leave to the data is
        read off the candidate sets here."""
        return cls(**given, **{name: getattr(protocol, name) for name in cls.switches})

    def begin(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> Algorithm:
        """The algorithm before its first step.

        Parameters
        ----------
        network : with its initial weights, on the device of training.
        inside : bool, shape (n, K), candidate masks of all training rows.
        dtype : of the features.
        """
        raise NotImplementedError

    def at(self, progress: float) -> Self:
        """As it is once this share of the epochs is done; most stay as they are.

        Only `leaves` may change: what is captured or compiled once reads nothing else anew, and a
        population refuses a method that changes more.
        """
        return self


class Algorithm(Recipe, nn.Module):
    """Networks, and all that is learnt beside them, as parameters and buffers: `state_dict` is
    everything, so that a checkpoint resumes it.

    A subclass is a dataclass of its hyper-parameters, declared ``@dataclass(eq=False)``; `build` makes
    its networks and buffers, and `training_step` the losses of a batch. What it draws it may draw from
    PyTorch's generator, which the loop seeds for every epoch.

    Attributes
    ----------
    views : how many augmented copies of a row it wants; the first is the gentlest.
    network : what `build` was given; `forward` and what is kept after training are this one, unless
        a subclass says otherwise.

    Examples
    --------
    >>> @dataclass(eq=False)
    ... class SmoothedCC(Algorithm):
    ...     smoothing: float = 0.1
    ...     def training_step(self, batch):
    ...         scores = self.network(batch.x)
    ...         p = scores.softmax(-1) * (1 - self.smoothing) + self.smoothing / scores.shape[-1]
    ...         return -(p * batch.inside).sum(-1).log(), scores
    >>> inside = torch.tensor([[True, True, False]])
    >>> algorithm = SmoothedCC().begin(nn.Linear(2, 3), inside, torch.float32)
    >>> algorithm(torch.zeros(1, 2)).shape
    torch.Size([1, 3])
    """

    views: int = 1
    network: nn.Module

    if TYPE_CHECKING:  # buffers have any name, and an annotation would make them hyper-parameters

        def __getattr__(self, name: str) -> Any: ...

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """An `nn.Module` before the dataclass sets its fields."""
        made = super().__new__(cls)
        nn.Module.__init__(made)
        return made

    def begin(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> Algorithm:
        """A copy of this one that has its networks; see `Recipe.begin`."""
        made = copy.deepcopy(self)
        made.build(network, inside, dtype)
        return made.to(inside.device)

    def build(self, network: nn.Module, inside: Tensor, dtype: torch.dtype) -> None:
        """Take the network, and make what is learnt beside it; see `begin`."""
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        """Scores (B, K), for prediction."""
        scores: Tensor = self.network(x)
        return scores

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss of each row, shape (B,), and the scores by which it is counted as covered, (B, K)."""
        raise NotImplementedError

    def after_step(self, batch: Batch, scores: Tensor) -> None:
        """After the optimiser's step, without gradients: weights, teacher, queue, prototypes.

        `scores` are those of `training_step`, detached.
        """

    def after_epoch(self, data: Rows, progress: float) -> None:
        """After an epoch, without gradients; `progress` is the share of epochs that is done by now."""

    def predictor(self) -> nn.Module:
        """What is kept after training: a module that gives the scores of `forward`."""
        return self.network


@dataclass(frozen=True)
class LossForm:
    """A loss in the terms of Eq. (3), for what accelerates: it has a kernel for these.

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
class Method(Recipe, ABC):
    """A partial-label loss, as a value: hyper-parameters in a frozen dataclass, and pure functions.

    Examples
    --------
    >>> from amongst.algorithms import CC, LW
    >>> CC().when, LW(refresh="epoch").when, LW.leaves
    ('never', 'epoch', ('beta', 'alpha', 'fade'))
    """

    def begin(
        self,
        network: nn.Module,
        inside: Tensor,
        dtype: torch.dtype,
        known: Tensor | None = None,
    ) -> LossAlgorithm:
        """One network that this loss trains."""
        return LossAlgorithm(network, self, first_weights(self, inside, dtype, known))

    @property
    def when(self) -> Refresh:
        """When the weights change."""
        return "never"

    @property
    def loss_form(self) -> LossForm | None:
        """The loss as a kernel may know it; None for one of its own, which runs in plain torch."""
        return None

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
            "new weights. Write one, or let when be 'never'.",
            code="no-update",
        )

    def blend(self, old: Tensor, new: Tensor) -> Tensor:
        """What a row's weights become, shape (..., K): the new ones; for a moving average
        φ·old + (1 − φ)·new, for candidates that are struck out for good new · [old > 0].

        >>> import torch
        >>> from amongst.algorithms import LW
        >>> LW().blend(torch.tensor([1.0, 0.0]), torch.tensor([0.25, 0.75]))
        tensor([0.2500, 0.7500])
        """
        return new


class LossAlgorithm(Algorithm):
    """One network, trained by a `Method`; its weights, one for each row and class, are a buffer.

    Examples
    --------
    >>> from amongst.algorithms import PRODEN
    >>> inside = torch.tensor([[True, True, False]])
    >>> PRODEN().begin(nn.Linear(2, 3), inside, torch.float32).weights
    tensor([[0.5000, 0.5000, 0.0000]])
    """

    name = title = "loss"
    weights: Tensor | None

    def __init__(self, network: nn.Module, method: Method, weights: Tensor | None) -> None:
        self.network, self.method = network, method
        self.name, self.title = method.name, method.title  # type: ignore[misc]
        self._now: tuple[float, Method, Method] | None = None
        self.register_buffer("weights", weights)

    def training_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The method's loss, in the precision of the features whatever the network computes in."""
        scores = self._scores(batch)
        old = None if self.weights is None else self.weights[batch.index]
        with _in_full_precision(scores):
            return self.now(batch.progress).loss(scores, batch.inside, old), scores

    def after_step(self, batch: Batch, scores: Tensor) -> None:
        """New weights for the batch's rows, where the method takes them at every step."""
        when = self.method.when
        if self.weights is None or when not in ("same", "post"):
            return
        if when == "post":
            scores = self._scores(batch)
        with _in_full_precision(scores):
            old = self.weights[batch.index]
            new = new_weights(self.method, scores, batch.inside, old, batch.known)
        self.weights[batch.index] = new

    def after_epoch(self, data: Rows, progress: float) -> None:
        """New weights for all rows, where the method takes them once an epoch; in place, since a
        captured graph reads them where they are."""
        if self.method.when == "epoch":
            assert self.weights is not None
            scores = data.scores(self.network)
            new = new_weights(self.method, scores, data.inside, self.weights, data.known)
            self.weights.copy_(new)

    def now(self, progress: float) -> Method:
        """The method as it is at this share of the epochs."""
        known = self._now
        if known is None or known[0] != progress or known[1] is not self.method:
            self._now = known = progress, self.method, self.method.at(progress)
        return known[2]

    def _scores(self, batch: Batch) -> Tensor:
        return scored(self.network, batch.x, batch.inside.shape[1]).to(batch.x.dtype)


def scored(network: nn.Module, x: Tensor, n_classes: int) -> Tensor:
    """Scores of a batch, shape (B, K); what a network cannot take is told in one sentence."""
    try:
        scores: Tensor = network(x)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        if is_out_of_memory(error):
            raise
        raise InputError(
            f"the model cannot score a batch of shape {tuple(x.shape)} and type {x.dtype}: "
            f"{first_line(error)}.",
            code="no-scores",
        ) from error
    check_shape("the model", scores, (len(x), n_classes), "It gives scores, one for each class.")
    return scores


def warn_unused(title: str) -> None:
    """Of weights of candidates, for which there is no place."""
    problem = f"has weights, which {title} does not use: it takes all candidates alike."
    remedy = f"Choose a method that uses them, such as {named('method', 'lw')}."
    warn(AmongstWarning(problem, code="weights-unused", argument="y", remedy=remedy))


def first_line(error: Exception) -> str:
    """Of what an error says."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def _in_full_precision(scores: Tensor) -> AbstractContextManager[Any]:
    """Inside, no autocast of the loop's counts."""
    kind = scores.device.type
    enabled = torch.is_autocast_enabled(kind)
    return torch.autocast(kind, enabled=False) if enabled else nullcontext()


def hyper_parameters(recipe: type[Recipe]) -> dict[str, Any]:
    """Names and defaults; `MISSING` for one without."""
    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(recipe)  # type: ignore[arg-type]
        if field.init
    }


def needed(method: Method, weights: Tensor | None) -> Tensor:
    """The weights, for a method that cannot do without."""
    if weights is None:
        raise InputError(
            f"weights=None, but the method {method.name!r} needs them: init(inside) gives the first.",
            code="no-weights",
        )
    return weights


def first_weights(
    method: Method,
    inside: Tensor,
    dtype: torch.dtype | None = None,
    known: Tensor | None = None,
) -> Tensor | None:
    """What the method starts from, shape (..., K), or None for one without weights.

    >>> from amongst.algorithms import CC, LW
    >>> first_weights(CC(), torch.tensor([[True, False]])) is None
    True
    >>> first_weights(LW(), torch.tensor([[True, False]]))
    tensor([[1., 1.]])
    """
    when = check_choice(f"{method.name}.when", method.when, get_args(Refresh))
    weights = method.init(inside)
    if known is not None and method.uses_prior:
        weights = first_with_prior(weights, inside, known)
    if weights is not None:
        check_shape(f"init(inside) of the method {method.name!r}", weights, inside.shape)
        return weights.to(dtype or weights.dtype)
    if when != "never":
        raise InputError(
            f"the method {method.name!r} has when={when!r}, but init(inside) gives no weights "
            "to change. Let init return them, shape (n, K), or let when be 'never'.",
            code="no-weights",
        )
    return None


def new_weights(
    method: Method, scores: Tensor, inside: Tensor, old: Tensor, known: Tensor | None = None
) -> Tensor:
    """What these scores make of the old weights, shape (..., K), in the precision of the old."""
    if known is not None and method.uses_prior:
        scores = with_prior(scores, inside, known.to(scores.dtype))
    fresh = method.update(scores, inside)
    check_shape(f"update(scores, inside) of the method {method.name!r}", fresh, inside.shape)
    blended = method.blend(old, fresh.to(old.dtype))
    check_shape(f"blend(old, new) of the method {method.name!r}", blended, inside.shape)
    return blended.to(old.dtype)


def check_losses(losses: Tensor, inside: Tensor, name: str) -> None:
    """One value a row, of masks (..., B, K)."""
    advice = "Let it work on the last axis only."
    check_shape(f"the loss of the method {name!r}", losses, inside.shape[:-1], advice)


def kernel_form(method: Method) -> LossForm | None:
    """The method's `loss_form`; None where its loss or new weights were written anew, below the class
    that says the form.

    >>> from amongst.algorithms import CC
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


def described(recipe: Recipe) -> str:
    """A recipe as text, with all its hyper-parameters in full: equal for equal ones only."""
    names = hyper_parameters(type(recipe))
    values = (f"{name}={in_full(getattr(recipe, name))}" for name in names)
    return f"{type(recipe).__qualname__}({', '.join(values)})"


def changed_beyond_leaves(method: Recipe, progress: float = 1.0) -> list[str]:
    """Names of what `at` changes besides the leaves, which alone are read anew where steps are
    captured or stacked."""
    now = method.at(progress)
    others = [name for name in hyper_parameters(type(method)) if name not in method.leaves]
    return [
        name for name in others if in_full(getattr(now, name)) != in_full(getattr(method, name))
    ]
