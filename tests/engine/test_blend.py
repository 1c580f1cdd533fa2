"""A method whose weights remember what they were: moving averages, candidates struck out for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from amongst.accel.population import Member, train_population
from amongst.accel.population.cohort import Group
from amongst.algorithms import PRODEN, RC, Method, Refresh
from amongst.errors import InputError
from amongst.models import build_model
from amongst.train import Features, Settings, TrainingData, split_seed, train

N, K, D = 50, 4, 3
SETTINGS = Settings(epochs=3, batch_size=16, lr=0.5, seed=5)


@dataclass(frozen=True)
class Slow(PRODEN):
    """φ·old + (1 − φ)·new."""

    name: ClassVar[str] = "slow"
    phi: float = 0.5

    def blend(self, old: Tensor, new: Tensor) -> Tensor:
        return self.phi * old + (1 - self.phi) * new


@dataclass(frozen=True)
class Struck(RC):
    """A candidate that is once below a fifth of a row's best never comes back."""

    name: ClassVar[str] = "struck"
    pass_: Refresh = "post"

    @property
    def when(self) -> Refresh:
        return self.pass_

    def blend(self, old: Tensor, new: Tensor) -> Tensor:
        kept = new * (old > 0)
        kept = kept * (kept >= kept.amax(-1, keepdim=True) / 5)
        return kept / kept.sum(-1, keepdim=True)


def data() -> TrainingData:
    torch.manual_seed(0)
    inside = torch.rand(N, K) < 0.6
    inside[torch.arange(N), torch.randint(K, (N,))] = True
    return TrainingData(Features(torch.randn(N, D)), inside)


def trained(method: Method) -> Tensor:
    """The weights that the single engine ends with."""
    torch.manual_seed(1)
    weights = train(nn.Linear(D, K), data(), method, SETTINGS).weights
    assert weights is not None
    return weights


def test_nothing_old_and_nothing_new() -> None:
    """φ = 0 is PRODEN to the last bit; φ = 1 keeps what `init` gave."""
    assert torch.equal(trained(Slow(phi=0.0)), trained(PRODEN()))
    torch.testing.assert_close(trained(Slow(phi=1.0)), PRODEN().init(data().inside))


@pytest.mark.parametrize("when", ["same", "post", "epoch"])
def test_a_row_is_blended_with_its_own_old_weights(when: Refresh) -> None:
    """What is struck out stays out: no weight that was 0 is ever more, whatever the scores say."""

    class Watched(Struck):
        def blend(self, old: Tensor, new: Tensor) -> Tensor:
            after = super().blend(old, new)
            assert not after[old == 0].any()
            return after

    weights = trained(Watched(pass_=when))
    struck = data().inside & (weights == 0)
    assert struck.any()
    assert not weights[~data().inside].any()
    torch.testing.assert_close(weights.sum(-1), torch.ones(N))


@pytest.mark.parametrize(
    "method", [Slow(), Struck(pass_="same"), Struck(), Struck(pass_="epoch")], ids=str
)
def test_a_population_blends_as_one_model_does(method: Method) -> None:
    features, inside = data().features, data().inside
    members = [Member(m, inside, SETTINGS) for m in (PRODEN(), method)]
    both = train_population(
        features, members, model="linear", backend="eager", device="cpu", keep_weights=True
    )
    network = build_model("linear", (D,), K, split_seed(SETTINGS.seed)[0])
    alone = train(network, data(), method, SETTINGS)
    plain, blended = both.weights(0), both.weights(1)
    assert plain is not None
    torch.testing.assert_close(blended, alone.weights)
    assert not torch.equal(plain, alone.weights)  # type: ignore[arg-type]


def test_no_kernel_knows_it() -> None:
    """Its loss is PRODEN's, for which there is a kernel, but the kernel writes new weights alone."""
    assert Group(slice(0, 1), PRODEN(), None, PRODEN()).form is not None
    assert Group(slice(0, 1), Slow(), None, Slow()).form is None


def test_another_shape_is_refused() -> None:
    class Wrong(Slow):
        def blend(self, old: Tensor, new: Tensor) -> Tensor:
            return new.sum(-1)

    with pytest.raises(InputError, match=r"blend\(old, new\) of the method 'slow'"):
        trained(Wrong())
