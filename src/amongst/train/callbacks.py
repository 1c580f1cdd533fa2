"""What looks on while a network trains: measures, a bar, a report, and early stopping."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from rich.progress import TextColumn
from torch import Tensor

from amongst.bars import Bar, counting
from amongst.data.features import Features, check_features
from amongst.errors import InputError
from amongst.losses import classifier_consistent
from amongst.train.run import Callback, Training, predict_scores


@dataclass(frozen=True, eq=False)
class Watch:
    """Something to measure after every epoch.

    Parameters
    ----------
    name : the column of the history.
    features : what to score.
    measure : scores (n, K) → one number, e.g. a function of `amongst.metrics`. A population asks it
        once for all its members, (M, n, K) → (M,), where that gives the same on random scores, and
        else one by one.
    """

    name: str
    features: Features
    measure: Callable[[Tensor], Any]

    def __post_init__(self) -> None:
        check_features(f"features of the watch {self.name!r}", self.features)

    def value(self, scores: Tensor) -> Tensor:
        """What is measured of the scores (n, K) of one model, shape ().

        >>> Watch("mean", Features(torch.zeros(1, 2)), lambda scores: float(scores.mean())).value(
        ...     torch.ones(1, 3)
        ... )
        tensor(1.)
        """
        value = torch.as_tensor(self.measure(scores))
        if value.numel() != 1:
            raise InputError(
                f"the watch {self.name!r} gives a value of shape {tuple(value.shape)} for scores of "
                f"shape {tuple(scores.shape)}; it must give one number.",
                code="shape",
            )
        return value.reshape(())


def moved(
    watch: Iterable[Watch], device: torch.device, dtype: torch.dtype | None = None
) -> list[Watch]:
    """The same things on another device, or seen in another precision; those that look at one set
    of rows still share it."""
    watched = list(watch)
    seen = {id(item.features): item.features for item in watched}
    there = {key: features.to(device, dtype) for key, features in seen.items()}
    return [replace(item, features=there[id(item.features)]) for item in watched]


class Watching(Callback):
    """Measures after every epoch; things that look at one set of rows share its scores."""

    def __init__(self, watch: Sequence[Watch]) -> None:
        self.watch = watch

    def measure(self, run: Training) -> Mapping[str, float]:
        scored: dict[int, Tensor] = {}
        record = {}
        for item in self.watch:
            if id(item.features) not in scored:
                with run.as_kept():
                    found = predict_scores(run.model, item.features, run.settings)
                scored[id(item.features)] = found
            record[item.name] = float(item.value(scored[id(item.features)]))
        return record


class TrainingBar(Callback):
    """A progress bar: epoch, loss, covering rate, time left.

    >>> bar = TrainingBar("LW", show=False)
    """

    def __init__(self, title: str, show: bool = True) -> None:
        self.bar = Bar(*counting(TextColumn("{task.fields[measured]}")), show=show)
        self.task = self.bar.add_task(title, total=None, measured="")

    def begin(self, run: Training) -> None:
        self.bar.start()
        self.bar.update(self.task, total=run.settings.epochs)
        if run.records:
            self.after_epoch(run)

    def after_epoch(self, run: Training) -> None:
        last = run.records[-1]
        measured = f"loss {last['loss']:.4f}  covering {last['covering']:.1%}"
        self.bar.update(self.task, completed=run.epoch, measured=measured)

    def close(self) -> None:
        self.bar.stop()


class Report(Callback):
    """Tell somebody of every epoch, who may say that it is enough.

    Parameters
    ----------
    tell : (epoch, the epoch's record) → whether the training need not go on.

    Examples
    --------
    >>> enough = Report(lambda epoch, record: record["covering"] == 1.0)
    """

    def __init__(self, tell: Callable[[int, Mapping[str, float]], bool]) -> None:
        self.tell = tell

    def after_epoch(self, run: Training) -> None:
        if self.tell(run.epoch, run.records[-1]):
            run.stopped = True


class EarlyStopping(Callback):
    """Ends where the surprise at candidate sets no longer falls, and brings the best epoch back.

    The surprise is the mean of −log Σ_{z∈s} p_z over rows that do not train, the column ``risk`` of
    the history. It needs no true label.

    Parameters
    ----------
    features, inside : of these rows; inside is bool, shape (n, K).
    patience : epochs without a lower risk after which it ends.

    Examples
    --------
    >>> import torch
    >>> early = EarlyStopping(Features(torch.zeros(2, 3)), torch.ones(2, 2, dtype=torch.bool), 5)
    >>> early.best, early.ended
    (inf, False)
    """

    def __init__(self, features: Features, inside: Tensor, patience: int) -> None:
        self.features, self.inside, self.patience = features, inside, patience
        self.begin()

    def begin(self, run: Training | None = None) -> None:
        """See `Callback`."""
        self.best, self.since, self.ended = math.inf, 0, False
        self.values: dict[str, Tensor] = {}

    def measure(self, run: Training) -> Mapping[str, float]:
        """See `Callback`."""
        with run.as_kept():
            scores = predict_scores(run.model, self.features, run.settings).float()
        return {"risk": float(classifier_consistent(scores, self.inside.to(scores.device)).mean())}

    def after_epoch(self, run: Training) -> None:
        """See `Callback`."""
        risk = run.records[-1]["risk"]
        self.since += 1
        if risk < self.best:
            self.best, self.since = risk, 0
            with run.as_kept():
                self.values = {n: t.clone() for n, t in run.model.state_dict().items()}
        run.stopped = self.ended = self.since >= self.patience

    def end(self, run: Training) -> None:
        """See `Callback`."""
        if self.values:
            run.averages = None  # the values are as they are kept
            run.model.load_state_dict(self.values)
