"""The few rows that go through a network of one's own before a population trains."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from amongst.accel.population import Member, train_population
from amongst.accel.population.alone import _are_close
from amongst.algorithms import LW
from amongst.errors import InputError
from amongst.train import Features, Settings

N, D, K = 12, 4, 3
FEATURES = Features(torch.randn(N, D, generator=torch.Generator().manual_seed(0)))
INSIDE = torch.eye(K, dtype=torch.bool).repeat(N // K, 1)
SETTINGS = Settings(epochs=1, batch_size=4)
MEMBERS = [Member(LW(), INSIDE, replace(SETTINGS, seed=seed)) for seed in range(2)]


class Turned(nn.Module):
    """Holds a tensor that is no buffer, and so stays in float32."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.turn = nn.Linear(D, K), torch.eye(D).flip(0)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x @ self.turn)


def test_a_network_that_keeps_to_float32_trains_in_float32() -> None:
    model = Turned()
    result = train_population(FEATURES, MEMBERS, model=model, device="cpu", backend="eager")
    assert result.history(0)["loss"].notna().all()


class Odd(nn.Linear):
    """Cannot be stacked: what it does depends on a number."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) if float(x.sum()) else x


@pytest.mark.parametrize("model", ["linear", Odd(D, K)])
def test_a_backend_that_there_is_not_is_told_first(model: str | nn.Module) -> None:
    with pytest.raises(InputError, match=r"backend='egaer'.*'eager'") as caught:
        train_population(FEATURES, MEMBERS, model=model, device="cpu", backend="egaer")
    assert "cannot train" not in str(caught.value)


def test_scores_are_close_to_a_hundredth_of_the_largest() -> None:
    theirs = torch.tensor([100.0, 0.0, torch.nan])
    assert _are_close(torch.tensor([100.0, 0.9, torch.nan]), theirs)
    assert not _are_close(torch.tensor([100.0, 1.1, torch.nan]), theirs)
    assert not _are_close(torch.tensor([100.0, 0.0, 0.0]), theirs)
