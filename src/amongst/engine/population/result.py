"""What a population leaves: histories, flags, and any member as a plain module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor, nn

from amongst.checks import check_choice, check_integer
from amongst.engine.data import Features
from amongst.engine.population.evaluate import score
from amongst.engine.population.member import Member
from amongst.engine.settings import learning_rate
from amongst.errors import InputError
from amongst.models.stacked import ScoredNetwork

__all__ = ["PopulationResult", "Wave"]


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
    network: ScoredNetwork
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
    >>> from amongst.engine import Features, Settings
    >>> from amongst.engine.population import train_population
    >>> from amongst.methods import CC
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
