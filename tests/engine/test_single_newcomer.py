"""What a person's own module, method and data meet in `train`: right numbers, or one sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn

from amongst.engine import Features, Settings, Training, TrainingData, Watch, train
from amongst.engine.population import Member, train_population
from amongst.errors import AmongstWarning, InputError
from amongst.methods import CC, LW, Method
from amongst.methods.base import Refresh
from amongst.metrics import accuracy

N, D, K = 40, 4, 3
SETTINGS = Settings(epochs=2, batch_size=16)


def problem(dtype: torch.dtype = torch.float32) -> TrainingData:
    generator = torch.Generator().manual_seed(0)
    inside = torch.rand(N, K, generator=generator) < 0.4
    inside[torch.arange(N), torch.randint(K, (N,), generator=generator)] = True
    values = torch.randn(N, D, generator=generator, dtype=torch.float64)
    return TrainingData(Features(values.to(dtype), dtype=dtype), inside)


def trained(data: TrainingData, precision: str = "float32", model: object = None) -> Training:
    torch.manual_seed(0)
    chosen = nn.Linear(D, K, dtype=torch.float64).float() if model is None else model
    return train(chosen, data, LW(), replace(SETTINGS, precision=precision))  # type: ignore[arg-type]


def test_float64_means_float64() -> None:
    """Of float32 features too, and what is watched with them."""
    labels = torch.zeros(N, dtype=torch.int64)
    watch = [Watch("accuracy", problem().features, lambda scores: accuracy(scores, labels))]
    settings = replace(SETTINGS, precision="float64")
    run = train(nn.Linear(D, K), problem(), LW(), settings, watch=watch)
    assert next(run.model.parameters()).dtype == torch.float64
    assert run.weights is not None
    assert run.weights.dtype == torch.float64


def test_features_in_float64_need_no_more_than_that() -> None:
    run = trained(problem(torch.float64))
    again = trained(problem(torch.float64), "float64")
    torch.testing.assert_close(run.model.weight, again.model.weight, rtol=0, atol=0)


@dataclass(frozen=True)
class Mine(Method):
    """A method of a person's own, with faults to choose from."""

    name: ClassVar[str] = "mine"
    title: ClassVar[str] = "Mine"
    scalar: bool = False
    refresh: Refresh = "never"
    weighs: bool = False

    @property
    def when(self) -> Refresh:
        return self.refresh

    def init(self, inside: Tensor) -> Tensor | None:
        return inside.float() if self.weighs else None

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        losses = CC().loss(scores, inside, None)
        return losses.mean() if self.scalar else losses


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (Mine(scalar=True), r"loss of the method 'mine' has shape \(\) .* \(16,\)"),
        (Mine(refresh="epoch"), "'mine' has when='epoch', but init"),
        (Mine(refresh="same", weighs=True), "'mine' has when='same', but no update"),
    ],
)
def test_a_faulty_method_is_told_what_it_lacks(method: Method, words: str) -> None:
    with pytest.raises(InputError, match=words):
        train(nn.Linear(D, K), problem(), method, SETTINGS)


class Pair(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (nn.Linear(D + 1, K), r"cannot score a batch of shape \(16, 4\) .*mat1"),
        (nn.Sequential(nn.Linear(D, K), Pair()), r"gives a tuple; .* shape \(16, 3\)"),
    ],
)
def test_a_model_that_does_not_fit_is_one_sentence(model: nn.Module, words: str) -> None:
    with pytest.raises(InputError, match=words):
        train(model, problem(), CC(), SETTINGS)


def test_masks_and_rows_must_agree() -> None:
    with pytest.raises(InputError, match=r"inside has shape \(2, 3\); with 4 rows"):
        TrainingData(Features(torch.zeros(4, D)), torch.ones(2, K, dtype=torch.bool))
    with pytest.raises(InputError, match="no rows"):
        TrainingData(Features(torch.zeros(0, D)), torch.ones(0, K, dtype=torch.bool))


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"lr": float("inf")}, {"weight_decay": 1e400}])
def test_settings_that_no_run_can_have(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("precision", ["bf16", "tf32"])
def test_what_a_cpu_cannot_do_is_said(precision: str) -> None:
    settings = replace(SETTINGS, precision=precision)
    with pytest.warns(AmongstWarning, match=f"'{precision}' is for a GPU.*float32"):
        train(nn.Linear(D, K), problem(), CC(), settings)
    members = [Member(CC(), problem().inside, settings)]
    with pytest.warns(AmongstWarning, match=f"'{precision}' is for a GPU.*float32"):
        train_population(problem().features, members, model="linear", device="cpu")
