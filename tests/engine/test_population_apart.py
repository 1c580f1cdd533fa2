"""Members that look alike, or measures that fit by chance: each member still has its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch import Tensor

from amongst.candidates import uniform
from amongst.engine import Features, Settings, training_data
from amongst.engine.checkpoint import fingerprint
from amongst.engine.population import Member, train_population
from amongst.engine.population.checkpoint import mark_of_member
from amongst.methods import CC, LW, METHODS, Method
from amongst.methods.base import described

N, D, K = 40, 4, 3
SETTINGS = Settings(epochs=2, batch_size=16, precision="float64")
FEATURES = Features(torch.randn(N, D, generator=torch.Generator().manual_seed(0)))
SETS = uniform(np.arange(N) % K, 0.4, seed=0)
INSIDE = torch.from_numpy(SETS.to_mask())


@dataclass(frozen=True)
class Priced(CC):
    """CC times a price that stands in a table too large for its repr to show."""

    table: Tensor = field(default_factory=lambda: torch.ones(50, 50))

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        return super().loss(scores, inside, weights) * self.table[25, 25]


def priced(price: float) -> Priced:
    table = torch.ones(50, 50)
    table[25, 25] = price
    return Priced(table=table)


def losses(method: Method, backend: str) -> list[float]:
    members = [Member(method, INSIDE, SETTINGS)]
    result = train_population(FEATURES, members, model="linear", device="cpu", backend=backend)
    return result.history(0)["loss"].tolist()


def test_methods_with_tensors_of_one_repr_train_apart() -> None:
    """The second one trained with the table of the first."""
    methods = [priced(1.0), priced(3.0)]
    assert repr(methods[0]) == repr(methods[1])
    members = [Member(method, INSIDE, SETTINGS) for method in methods]
    result = train_population(FEATURES, members, model="linear", device="cpu")
    for i, method in enumerate(methods):
        assert result.history(i)["loss"].tolist() == pytest.approx(losses(method, "alone"))


def test_methods_with_tensors_of_one_repr_have_checkpoints_of_their_own() -> None:
    methods = [priced(1.0), priced(3.0), priced(1.00001)]
    data = training_data(FEATURES, SETS)
    assert len({fingerprint(data, method, SETTINGS) for method in methods}) == 3
    assert len({mark_of_member(Member(method, INSIDE, SETTINGS), {}) for method in methods}) == 3


@pytest.mark.parametrize("method", [*(kind() for kind in METHODS.values()), LW(beta=0.1, fade=0.5)])
def test_a_method_without_tensors_is_described_by_its_repr(method: Method) -> None:
    """Checkpoints of earlier versions go on."""
    assert described(method) == repr(method)
