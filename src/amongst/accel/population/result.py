"""What is measured after each epoch, how far a population is, and what it leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pandas as pd
import torch
from rich.progress import TextColumn
from torch import Tensor, nn

from amongst.accel.population.cohort import Cohort
from amongst.accel.population.member import Member
from amongst.accel.population.plan import MemoryPlan, scored_at_a_time
from amongst.accel.stacked import SoloNetwork, StackedNetwork
from amongst.bars import Bar, counting
from amongst.checks import check_choice, check_integer
from amongst.data.features import Features
from amongst.errors import InputError
from amongst.losses.functions import check_shape
from amongst.metrics import accuracy
from amongst.train.callbacks import Watch
from amongst.train.run import learning_rate

NOISE = 10.0
"""Size of the random scores on which a measure is tried: many rows certain, many not."""

Criterion = Callable[[Tensor, Tensor], Tensor]
"""Scores (..., n, K) and masks (..., n, K) to values (...), e.g. of `amongst.metrics`."""


@torch.no_grad()
def score(
    network: StackedNetwork | SoloNetwork, features: Features, index: Tensor | None = None
) -> Tensor:
    """Scores (M, n, K) of shared rows, or of each member's own rows `index` (M, n)."""
    n = len(features) if index is None else index.shape[1]
    at_a_time = max(1, min(n, scored_at_a_time(features.device) // len(network)))
    chunks = []
    for a in range(0, n, at_a_time):
        rows = slice(a, a + at_a_time)
        x = features.batch(rows if index is None else index[:, rows])
        chunks.append(network.evaluate(x, shared=index is None))
    return chunks[0] if len(chunks) == 1 else torch.cat(chunks, 1)


def serve_many(cohort: Cohort, watch: Sequence[Watch]) -> set[Watch]:
    """Those of the watches whose measures take the scores of many models at once, (M, n, K), and
    give what they give for each by itself.

    A result of the right shape does not prove it: ``scores.softmax(1)`` means the classes of one
    model, and the rows of many. So each measure is tried on random scores of two models.
    """

    def serves(item: Watch) -> bool:
        shape = 2, len(item.features), cohort.candidates.n_classes
        noise = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        scores = NOISE * noise.to(cohort.device, cohort.features.dtype)
        try:
            values = item.measure(scores)
            own = torch.stack([item.value(one) for one in scores])
        except Exception:
            return False
        fits = isinstance(values, Tensor) and values.shape == scores.shape[:1]
        return fits and torch.allclose(values.double().cpu(), own.double().cpu(), equal_nan=True)

    return {item for item in watch if serves(item)}


def measure_watched(cohort: Cohort, watch: Sequence[Watch], many: set[Watch]) -> list[Tensor]:
    """One value (M,) for each thing watched; things that look at one set of rows share scores.
    Those in `many` are asked once for all members."""
    scored: dict[int, Tensor] = {}
    values = []
    for item in watch:
        key = id(item.features)
        if key not in scored:
            moved = item.features.to(cohort.device, cohort.features.dtype)
            scored[key] = score(cohort.network, moved)
        if item in many:
            values.append(torch.as_tensor(item.measure(scored[key])))
        else:
            own = torch.stack([item.value(one) for one in scored[key]])
            values.append(own.to(cohort.device))
    return values


@dataclass(frozen=True, eq=False)
class Held:
    """The members' held rows, on the device for the whole training.

    Attributes
    ----------
    index : shape (M, n), rows of the features.
    inside : shape (M, n, K), their candidate masks; one tensor, so that a criterion may keep what
        it works out from it.
    truth : shape (M, n), their true labels, or None.
    """

    index: Tensor
    inside: Tensor
    truth: Tensor | None

    @classmethod
    def of(cls, cohort: Cohort) -> Held | None:
        """Of a cohort; None if its members hold nothing out."""
        rows = [member.held for member in cohort.members if member.held is not None]
        if not rows:
            return None
        index = torch.stack([own.long() for own in rows]).to(cohort.device)
        known = [m.held_truth for m in cohort.members if m.held_truth is not None]
        truth = torch.stack(known).to(cohort.device) if known else None
        return cls(index, cohort.candidates.of(index), truth)


def measure_held(
    cohort: Cohort, held: Held | None, criteria: Mapping[str, Criterion]
) -> list[Tensor]:
    """One value (M,) for each criterion, on each member's own held rows and candidate sets; and,
    where members carry the truth of these rows, the accuracy that an oracle would choose by."""
    if held is None:
        return [torch.full((len(cohort),), torch.nan, device=cohort.device) for _ in criteria]
    if not criteria and held.truth is None:
        return []
    scores = score(cohort.network, cohort.features, held.index)
    values = [judged(name, criterion, scores, held.inside) for name, criterion in criteria.items()]
    if held.truth is not None:
        values.append(accuracy(scores, held.truth))
    return values


def judged(name: str, criterion: Criterion, scores: Tensor, inside: Tensor) -> Tensor:
    """What a criterion says of scores (M, n, K): one value for each member, shape (M,)."""
    values = criterion(scores, inside)
    advice = "One value for each member: let it work on the last two axes only."
    check_shape(f"the criterion {name!r}", values, scores.shape[:1], advice)
    return values


@dataclass(eq=False)
class Progress:
    """Where training stands. Values stay on the device until someone looks.

    Attributes
    ----------
    total, done : member-epochs to train, and trained.
    earlier : of those done, the ones that a checkpoint brought along.
    epoch, members : of the wave that trains now.
    indices : the wave's members by their place in the population, in the order of `values`.
    columns, values : what was measured last; shape (members, columns), on the device.
    plans : the memory plan of each group of members in lockstep.

    Examples
    --------
    >>> seen = Progress(total=4, done=2, columns=("loss",), values=torch.tensor([[3.0], [1.0], [2.0]]))
    >>> seen.summary("loss"), seen.best()
    ((1.0, 2.0, 3.0), 1.0)
    """

    total: int
    callback: Callable[[Progress], None] | None = None
    done: int = 0
    epoch: int = 0
    members: int = 0
    indices: tuple[int, ...] = ()
    columns: tuple[str, ...] = ()
    values: Tensor = field(default_factory=lambda: torch.empty(0, 0))
    began: float = field(default_factory=time.perf_counter)
    plans: list[MemoryPlan] = field(default_factory=list)
    earlier: int = 0

    def advance(
        self, indices: Sequence[int], epoch: int, columns: tuple[str, ...], values: Tensor
    ) -> None:
        self.indices, self.members = tuple(indices), len(indices)
        self.done += self.members
        self.epoch, self.columns, self.values = epoch, columns, values
        if self.callback is not None:
            self.callback(self)

    def go_on(self, members: int, epochs: int) -> None:
        """So many epochs of a wave were done before, and came from a checkpoint."""
        self.done += members * epochs
        self.earlier += members * epochs

    @property
    def seconds_left(self) -> float:
        """If the rest goes as fast as what is done here."""
        elapsed = time.perf_counter() - self.began
        return elapsed * (self.total - self.done) / max(self.done - self.earlier, 1)

    def best(self, column: str | None = None) -> float:
        """The best member's value of a column: the smallest loss, the largest of anything else."""
        low, _, high = self.summary(column)
        return low if (column or self.columns[-1]) == "loss" else high

    def summary(self, column: str | None = None) -> tuple[float, float, float]:
        """Smallest, median and largest value of a column (the last one by default)."""
        name = check_choice("column", column, self.columns) if column else self.columns[-1]
        place = self.columns.index(name)
        values = self.values[:, place]
        alive = values[~values.isnan()].cpu()
        if not len(alive):
            return (float("nan"),) * 3
        return float(alive.min()), float(alive.median()), float(alive.max())


@contextmanager
def population_bar(
    title: str, column: str | None = None, show: bool = True
) -> Iterator[Callable[[Progress], None]]:
    """An `on_epoch` that moves a bar: best and median member, time left.

    Parameters
    ----------
    column : what to show of the members, by default what was measured last.

    Examples
    --------
    >>> with population_bar("LW", show=False) as on_epoch:
    ...     callable(on_epoch)
    True
    """
    with Bar(*counting(TextColumn("{task.fields[text]}")), show=show) as bar:
        task = bar.add_task(title, total=None, text="")

        def on_epoch(progress: Progress) -> None:
            if not bar.tasks[0].completed:
                for plan in progress.plans:
                    bar.console.print(str(plan))
            name = column or progress.columns[-1]
            median = progress.summary(column)[1]
            text = f"{name} best {progress.best(column):.4f} median {median:.4f}"
            bar.update(task, total=progress.total, completed=progress.done, text=text)

        yield on_epoch


@dataclass(frozen=True, eq=False)
class Wave:
    """Members that trained together, by their place in the population.

    Attributes
    ----------
    indices : places in the population, in the order of the stack.
    network : on the CPU.
    values : shape (epochs, m, columns).
    seconds : shape (epochs,).
    diverged : shape (m,), the epoch in which the loss became NaN or infinite, 0 for never.
    weights : for each member its method's final weights, shape (n, K), or None.
    """

    indices: tuple[int, ...]
    network: StackedNetwork | SoloNetwork
    values: Tensor
    seconds: Tensor
    diverged: Tensor
    weights: tuple[Tensor | None, ...]


class PopulationResult:
    """A trained population.

    Attributes
    ----------
    members : as they were given.
    columns : names of what was measured each epoch.
    waves : the parts in which it was trained.

    Examples
    --------
    >>> from amongst.train import Features, Settings
    >>> from amongst.accel.population import train_population
    >>> from amongst.algorithms import CC
    >>> pair = [Member(CC(), torch.eye(2, dtype=torch.bool), Settings(epochs=2))] * 2
    >>> result = train_population(Features(torch.eye(2)), pair, model="linear", device="cpu")
    >>> len(result), result.last("covering").shape, result.model(1)(torch.eye(2)).shape
    (2, torch.Size([2]), torch.Size([2, 2]))
    """

    def __init__(
        self, members: Sequence[Member], columns: Sequence[str], waves: Sequence[Wave]
    ) -> None:
        self.members, self.columns = tuple(members), tuple(columns)
        self.waves = tuple(waves)
        self._place = {
            index: (wave, slot) for wave in waves for slot, index in enumerate(wave.indices)
        }

    def __len__(self) -> int:
        return len(self.members)

    @property
    def diverged(self) -> list[int | None]:
        """For each member, the epoch in which its loss became NaN or infinite, or None."""
        found = (self._place[i] for i in range(len(self)))
        return [int(wave.diverged[slot]) or None for wave, slot in found]

    def history(self, i: int) -> pd.DataFrame:
        """Member i's epochs: epoch, lr, loss, covering, what was watched, seconds."""
        wave, slot = self._found(i)
        table = pd.DataFrame(wave.values[:, slot].double().numpy(), columns=list(self.columns))
        epochs = range(len(table))
        table.insert(0, "epoch", [epoch + 1 for epoch in epochs])
        table.insert(1, "lr", [learning_rate(self.members[i].settings, e) for e in epochs])
        return table.assign(seconds=wave.seconds.numpy() / len(wave.indices))

    def last(self, column: str, epochs: int = 1) -> Tensor:
        """A column's mean over the last epochs, shape (M,); NaN where a member diverged."""
        place = self.columns.index(check_choice("column", column, self.columns))
        check_integer("epochs", epochs, low=1)
        found = (self._place[i] for i in range(len(self)))
        return torch.stack([wave.values[-epochs:, slot, place].mean() for wave, slot in found])

    def model(self, i: int) -> nn.Module:
        """Member i as a plain module, in evaluation mode."""
        wave, slot = self._found(i)
        return wave.network.member(slot)

    def _found(self, i: int) -> tuple[Wave, int]:
        if i not in self._place:
            raise InputError(f"there is no member {i}; they are 0 to {len(self) - 1}.")
        return self._place[i]

    def weights(self, i: int) -> Tensor | None:
        """The final weights of member i's method, shape (n, K), or None."""
        wave, slot = self._found(i)
        return wave.weights[slot]

    def scores(self, features: Features) -> Tensor:
        """Scores of all members on the CPU, shape (M, n, K)."""
        pieces: dict[int, Tensor] = {}
        for wave in self.waves:
            found = score(wave.network, features.to("cpu", wave.network.dtype))
            pieces |= dict(zip(wave.indices, found, strict=True))
        return torch.stack([pieces[i] for i in range(len(self))])
