"""A training: its settings, its data, and its state, as it is at the end of an epoch."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from amongst.algorithms import Algorithm, LossAlgorithm, Method, Optimizer, Recipe
from amongst.candidates import as_candidates
from amongst.checks import check_choice, check_integer, check_number, on_host
from amongst.data.features import Features, check_features
from amongst.devices import autocast
from amongst.errors import InputError
from amongst.losses.known import prior_of

if TYPE_CHECKING:
    from amongst.train.averages import Averages

SCHEDULES: MappingProxyType[str, Callable[[float, int], float]] = MappingProxyType(
    {
        "constant": lambda epoch, epochs: 1.0,
        "cosine": lambda epoch, epochs: (1 + math.cos(math.pi * epoch / epochs)) / 2,
        "halving": lambda epoch, epochs: 0.5 ** (epoch // 50),
        "exponential": lambda epoch, epochs: 0.5 ** (epoch / 50),
        "proden": lambda epoch, epochs: 0.9 ** (epoch // 10),
        "triangle": lambda epoch, epochs: _triangle(epoch / epochs),
    }
)
"""Factor on the learning rate at each epoch, of so many: constant; falling to 0 as a half cosine;
halved at every 50th epoch (the paper's text); halved per 50 epochs continuously (its code); × 0.9
every 10 epochs (PRODEN's ConvNet); from 0.2 to 1 in the first tenth of the epochs, then down to 0,
step by step."""

STEPWISE = ("triangle",)
"""Schedules that change with every step, not with every epoch only."""

LENGTHWISE = ("cosine", "triangle")
"""Schedules that depend on the number of epochs."""

_EXTRA_NAMES = ("nesterov", "bias_lr", "label_smoothing", "lookahead", "averaged")


@dataclass(frozen=True)
class Settings:
    """Training settings.

    Attributes
    ----------
    epochs, batch_size : the paper has 250 and 256.
    lr, weight_decay, momentum : of the optimiser; momentum for SGD only.
    optimizer : ``"sgd"`` or ``"adam"``.
    schedule : a name in `SCHEDULES`.
    precision : ``"float32"``, ``"float64"``; on a GPU also ``"tf32"`` and ``"bf16"``.
    seed : of the order of rows and of dropout.
    nesterov : Nesterov's momentum, for SGD.
    bias_lr : factor on the rate of the biases of batch normalisation, which decay as others do.
    label_smoothing : ε; each loss becomes (1 − ε) · loss − ε/K · Σ_z log p_z. Of a loss that is linear in
        its targets it mixes these with 1/K for every class; of a row with one candidate it is the usual
        smoothing. What is outside s gets its share, too: smoothing says how sure a network may be at
        all, not which candidate is right.
    lookahead : every 5 steps, average with a slow copy, whose share grows as 0.95⁵ (t/T)³, and which is
        what is kept (Zhang et al., 2019).
    averaged : memory of a moving average of what is learnt, early the mean of all steps; it is kept in
        place of the last step's. 0 for none.

    Examples
    --------
    >>> Settings(epochs=10, lr=0.05).schedule
    'exponential'
    """

    epochs: int = 250
    batch_size: int = 256
    lr: float = 0.05
    weight_decay: float = 1e-3
    momentum: float = 0.9
    optimizer: Optimizer = "sgd"
    schedule: str = "exponential"
    precision: str = "float32"
    seed: int = 0
    nesterov: bool = False
    bias_lr: float = 1.0
    label_smoothing: float = 0.0
    lookahead: bool = False
    averaged: float = 0.0

    def __post_init__(self) -> None:
        check_integer("epochs", self.epochs, low=1)
        check_integer("batch_size", self.batch_size, low=1)
        check_number("lr", self.lr, low=0, open_low=True)
        check_number("weight_decay", self.weight_decay, low=0)
        check_number("momentum", self.momentum, low=0, high=1)
        check_integer("seed", self.seed, low=0)
        check_number("bias_lr", self.bias_lr, low=0, open_low=True)
        check_number("label_smoothing", self.label_smoothing, low=0, high=1)
        check_number("averaged", self.averaged, low=0, high=1)
        check_choice("optimizer", self.optimizer, ("sgd", "adam"))
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("precision", self.precision, ("float32", "float64", "tf32", "bf16"))
        for name, value in vars(self).items():
            if isinstance(value, np.generic):
                object.__setattr__(self, name, value.item())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; those of `EXTRAS` only where they are not as they are by default."""
        return {n: v for n, v in asdict(self).items() if EXTRAS.get(n, self) != v}

    @property
    def plain(self) -> bool:
        """Whether a captured or stacked step does all that these settings ask for.

        >>> Settings().plain, Settings(lookahead=True).plain
        (True, False)
        """
        extra = any(getattr(self, name) != value for name, value in EXTRAS.items())
        return not extra and self.schedule not in STEPWISE

    @property
    def needs_length(self) -> bool:
        """Whether an epoch depends on how many there are."""
        return self.lookahead or self.schedule in LENGTHWISE


EXTRAS: MappingProxyType[str, Any] = MappingProxyType(
    {f.name: f.default for f in fields(Settings) if f.name in _EXTRA_NAMES}
)
"""Settings that not everything that trains can do, and their defaults."""


def learning_rate(settings: Settings, epoch: float) -> float:
    """lr · factor(epoch), epoch counted from 0; within an epoch, with its share that is done.

    >>> learning_rate(Settings(lr=0.1, schedule="halving"), 50)
    0.05
    """
    return settings.lr * SCHEDULES[settings.schedule](epoch, settings.epochs)


def _triangle(share: float, warm: float = 0.1, start: float = 0.2) -> float:
    return start + (1 - start) * share / warm if share < warm else (1 - share) / (1 - warm)


def batch_bounds(n: int, batch_size: int) -> list[tuple[int, int]]:
    """Start and end of each batch. A last batch of one row, of which batch normalisation cannot
    take a variance, joins the one before it.

    >>> batch_bounds(10, 4)
    [(0, 4), (4, 8), (8, 10)]
    >>> batch_bounds(9, 4)
    [(0, 4), (4, 9)]
    """
    edges = [*range(0, n, batch_size), n]
    if len(edges) > 2 and edges[-1] - edges[-2] == 1:
        del edges[-2]
    return list(pairwise(edges))


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Features and candidate masks, row by row, on one device.

    Parameters
    ----------
    features : n examples.
    inside : bool, shape (n, K).
    importance : factor of each row's loss, shape (n,), 0 or more; None for 1.
    known : the prior π over the candidates, such as votes, shape (n, K); None where they weigh alike.

    Examples
    --------
    >>> data = TrainingData(Features(torch.zeros(2, 4)), torch.tensor([[True, False], [True, True]]))
    >>> len(data), data.n_classes
    (2, 2)
    """

    features: Features
    inside: Tensor
    importance: Tensor | None = None
    known: Tensor | None = None

    def __post_init__(self) -> None:
        check_features("features", self.features)
        self._check_places()
        check_masks("inside", self.inside)
        n, factors = len(self.features), self.importance
        if self.inside.ndim != 2 or len(self.inside) != n:
            raise InputError(
                f"inside has shape {tuple(self.inside.shape)}; with {n} rows of features it must be "
                f"({n}, K)."
            )
        if not n:
            raise InputError("the data have no rows.")
        if factors is None:
            return
        if factors.shape != (n,) or not bool((factors.isfinite() & (factors >= 0)).all()):
            raise InputError(
                f"importance has shape {tuple(factors.shape)}; expected {n} finite numbers, one for "
                "each row, 0 or more."
            )

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
        known = None if self.known is None else self.known.to(torch.float64)
        return TrainingData(features, self.inside, importance, known)

    def importance_of(self, rows: Tensor) -> Tensor | None:
        """The factors of these rows, shape (B,), or None.

        >>> seen, inside = Features(torch.zeros(2, 4)), torch.ones(2, 3, dtype=torch.bool)
        >>> data = TrainingData(seen, inside, importance=torch.tensor([0.5, 2.0]))
        >>> data.importance_of(torch.tensor([1]))
        tensor([2.])
        """
        return None if self.importance is None else self.importance[rows]

    def known_of(self, rows: Tensor) -> Tensor | None:
        """The prior over these rows' candidates, shape (B, K), or None."""
        return None if self.known is None else self.known[rows]

    def part(self, rows: Tensor) -> TrainingData:
        """Some rows of the data.

        >>> data = TrainingData(Features(torch.eye(3)), torch.ones(3, 2, dtype=torch.bool))
        >>> data.part(torch.tensor([0, 2])).features.values
        tensor([[1., 0., 0.],
                [0., 0., 1.]])
        """
        rows = rows.to(self.inside.device).long()
        features, importance = self.features.part(rows), self.importance_of(rows)
        return TrainingData(features, self.inside[rows], importance, self.known_of(rows))


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
        factors = torch.tensor(np.asarray(on_host(importance), dtype=np.float64))
        importance = factors.to(device, features.dtype)
    inside = torch.from_numpy(sets.to_mask()).to(device)
    known = None if sets.weights is None else prior_of(sets, features.dtype, device)
    return TrainingData(features.to(device), inside, importance, known)


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


def weighed(losses: Tensor, importance: Tensor | None) -> Tensor:
    """Each loss times its row's importance, shape (B,)."""
    return losses if importance is None else losses * importance


EVALUATION_BATCH = 1024


@torch.no_grad()
def predict_scores(
    model: nn.Module, features: Features, settings: Settings | None = None
) -> Tensor:
    """Scores (n, K) of all rows, the model in evaluation mode, on its device; in float64 if it is.

    >>> from amongst.models import build_model
    >>> import numpy as np
    >>> predict_scores(build_model("linear", (2,), 3, seed=0), Features.of(np.zeros((5, 2)))).shape
    torch.Size([5, 3])
    """
    check_features("features", features)
    was_training = model.training
    model.eval()
    device = next((p.device for p in model.parameters()), features.device)
    is_double = any(p.dtype == torch.float64 for p in model.parameters())
    dtype = torch.float64 if is_double else features.dtype
    precision = "float32" if settings is None else settings.precision
    chunks = []
    for a in range(0, len(features), EVALUATION_BATCH):
        x = features.batch(slice(a, a + EVALUATION_BATCH)).to(device, dtype)
        with autocast(x.device, precision):
            chunks.append(model(x).to(dtype))
    model.train(was_training)
    return torch.cat(chunks)


@dataclass(eq=False)
class Training:
    """A training run at the end of some epoch: all that is needed to go on.

    Attributes
    ----------
    algorithm, optimizer : with their present values.
    settings : how it is trained.
    epoch : epochs done.
    records : one dict for each epoch done.
    stopped : whether a callback asked to end here.
    averages : lookahead's slow copy, and averaged weights, if the settings ask for them; after
        training they are in the networks.

    Examples
    --------
    >>> from amongst.algorithms import CC, LossAlgorithm
    >>> algorithm = LossAlgorithm(nn.Linear(2, 2), CC(), None)
    >>> optimizer = torch.optim.SGD(algorithm.parameters())
    >>> Training(algorithm, optimizer, records=[{"epoch": 1}]).history.columns.tolist()
    ['epoch']
    """

    algorithm: Algorithm
    optimizer: torch.optim.Optimizer
    settings: Settings = field(default_factory=Settings)
    epoch: int = 0
    records: list[dict[str, float]] = field(default_factory=list)
    stopped: bool = False
    averages: Averages | None = None

    def parts(self) -> dict[str, Any]:
        """What it is made of, and shares with it."""
        return {
            "algorithm": self.algorithm.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "averages": {} if self.averages is None else self.averages.state(),
            "epoch": self.epoch,
            "records": self.records,
        }

    def install(self, parts: Mapping[str, Any]) -> None:
        """Be as the run that had these `parts`."""
        self.algorithm.load_state_dict(parts["algorithm"])
        self.optimizer.load_state_dict(copy.deepcopy(parts["optimizer"]))
        if self.averages is not None:
            self.averages.install(parts["averages"])
        self.epoch, self.records = parts["epoch"], list(parts["records"])

    def adopt(self, method: Recipe) -> None:
        """Go on by this method: a `Method` may have changed since the training was started."""
        algorithm = self.algorithm
        if isinstance(algorithm, LossAlgorithm) and isinstance(method, Method):
            algorithm.method = method
        elif algorithm.name != method.name:
            raise InputError(
                f"training is one of {algorithm.title}, and cannot go on as {method.title}; start "
                "anew.",
                code="mismatch",
            )

    def as_kept(self) -> AbstractContextManager[None]:
        """Inside, the networks are as they would be kept."""
        return nullcontext() if self.averages is None else self.averages.shown()

    @property
    def model(self) -> nn.Module:
        """What is kept after training: it maps a batch to scores."""
        return self.algorithm.predictor()

    @property
    def weights(self) -> Tensor | None:
        """The weights of a `Method`, shape (n, K), or None."""
        found: Tensor | None = getattr(self.algorithm, "weights", None)
        return found

    @property
    def history(self) -> pd.DataFrame:
        """One row for each epoch: epoch, lr, loss, covering rate, seconds, and what is watched."""
        return pd.DataFrame(self.records)


class Callback:
    """What looks on while a network trains; a subclass writes what it needs.

    Examples
    --------
    >>> class Enough(Callback):
    ...     def after_epoch(self, run):
    ...         run.stopped = run.records[-1]["loss"] < 0.1
    >>> Enough().measure(None)
    {}
    """

    def begin(self, run: Training) -> None:
        """Before the first epoch; it may bring the run to where it was."""

    def measure(self, run: Training) -> Mapping[str, float]:
        """Further columns of the epoch that just ended."""
        return {}

    def after_epoch(self, run: Training) -> None:
        """After every epoch; ``run.stopped = True`` ends the training here."""

    def interrupted(self, run: Training) -> bool:
        """After Ctrl-C: whether the run is put back to a finished epoch, with which it ends."""
        return False

    def close(self) -> None:
        """When nothing trains any more, whatever happened."""

    def end(self, run: Training) -> None:
        """At last, unless an error ended the training."""


class Kept(Callback):
    """Keeps the last finished epoch in memory: after Ctrl-C the run is put back to it, which counts.

    >>> Kept().restore(None)
    False
    """

    def __init__(self, *, survives: bool = True) -> None:
        self.survives = survives
        self._last: dict[str, Any] | None = None

    def begin(self, run: Training) -> None:
        self._last = copy.deepcopy(run.parts())

    def after_epoch(self, run: Training) -> None:
        self._last = copy.deepcopy(run.parts())

    def interrupted(self, run: Training) -> bool:
        return self.survives and self.restore(run) and run.epoch > 0

    def restore(self, run: Training) -> bool:
        """Put `run` back to its last finished epoch; False if none was finished."""
        if self._last is None:
            return False
        run.install(self._last)
        return True
