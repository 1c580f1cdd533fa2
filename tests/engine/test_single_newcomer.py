"""What a person's own module, method and data meet in `train`: right numbers, or one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from amongst.accel.population import Member, PopulationResult, train_population
from amongst.algorithms import CC, LW, RC, Method
from amongst.algorithms._base import Refresh
from amongst.errors import AmongstWarning, DivergenceError, InputError
from amongst.losses import candidate_weights
from amongst.metrics import accuracy
from amongst.train import (
    Features,
    Settings,
    Training,
    TrainingData,
    Watch,
    loop,
    predict_scores,
    start,
    train,
    training_data,
)
from amongst.train import run as data_module
from amongst.train.checkpoint import Keeper, load_checkpoint, save_checkpoint

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


def in_single(method: Method) -> Training:
    return train(nn.Linear(D, K), problem(), method, SETTINGS)


def in_population(method: Method) -> PopulationResult:
    data = problem()
    members = [Member(method, data.inside, SETTINGS)]
    return train_population(data.features, members, model="linear", device="cpu")


def watch(name: str, measure: Callable[[Tensor], Any] = torch.mean) -> Watch:
    return Watch(name, problem().features, measure)


def test_float64_means_float64() -> None:
    """Of float32 features too, and what is watched with them."""
    labels = torch.zeros(N, dtype=torch.int64)
    watched = [watch("accuracy", lambda scores: accuracy(scores, labels))]
    settings = replace(SETTINGS, precision="float64")
    run = train(nn.Linear(D, K), problem(), LW(), settings, watch=watched)
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
    weighs: bool | int = False
    fresh: str = ""

    @property
    def when(self) -> Refresh:
        return self.refresh

    def init(self, inside: Tensor) -> Tensor | None:
        return inside[: None if self.weighs is True else 1].float() if self.weighs else None

    def update(self, scores: Tensor, inside: Tensor) -> Tensor:
        new = candidate_weights(scores, inside)
        kinds = {"row": new[..., :1, :], "flat": new.sum(-1), "none": None, "wide": new.double()}
        return kinds[self.fresh] if self.fresh else super().update(scores, inside)  # type: ignore[return-value]

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        losses = CC().loss(scores, inside, None)
        return losses.mean() if self.scalar else losses


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (Mine(scalar=True), r"loss of the method 'mine' gives a tensor of shape \(\); .*16"),
        (Mine(refresh="epoch"), "'mine' has when='epoch', but init"),
        (Mine(refresh="same", weighs=True), "'mine' has when='same', but no update"),
        (Mine(refresh="batch"), "mine.when='batch' is unknown"),  # type: ignore[arg-type]
        (
            Mine(refresh="same", weighs=2),
            r"init\(inside\) .*'mine' gives a tensor of shape \(1, 3\)",
        ),
        (Mine(refresh="same", weighs=True, fresh="row"), r"update.* of shape \(1, .*3\); it must"),
        (Mine(refresh="post", weighs=True, fresh="flat"), r"update.* of shape \(.*16,?\); it must"),
        (Mine(refresh="epoch", weighs=True, fresh="none"), "update.* gives a NoneType; it must"),
    ],
)
@pytest.mark.parametrize("engine", [in_single, in_population])
def test_a_faulty_method_is_told_what_it_lacks(
    engine: Callable[[Method], object], method: Method, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        engine(method)


def test_weights_of_another_precision_are_kept_in_that_of_training() -> None:
    run = in_single(Mine(refresh="same", weighs=True, fresh="wide"))
    assert run.weights is not None
    assert run.weights.dtype == torch.float32
    in_population(Mine(refresh="same", weighs=True, fresh="wide"))


def test_a_method_without_a_name_has_that_of_its_class() -> None:
    class Nameless(Method):
        def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
            return CC().loss(scores, inside, None)

    assert (Nameless().name, Nameless().title) == ("nameless", "Nameless")
    assert type("Better", (LW,), {})().name == "lw"
    in_population(Nameless())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"method": LW}, "method=<class .*LW'> must be a Method or an Algorithm, such as LW"),
        ({"method": "lw"}, "method='lw' must be a Method"),
        ({"settings": {"epochs": 2}}, "settings is a dict; it must be a Settings"),
        ({"data": (1, 2)}, r"data is a tuple; it must be a TrainingData, such as training_data\("),
        ({"model": "mlp"}, r"model='mlp' must be a Module, such as build_model\("),
        ({"model": nn.Identity()}, "no parameter to train"),
        ({"model": nn.Linear(D, K).requires_grad_(False)}, "no parameter to train"),
        ({"watch": [watch("loss")]}, "columns of the history would be called 'loss'"),
        ({"watch": [watch("a"), watch("a")]}, "columns of the history would be called 'a'"),
        ({"watch": [watch("a", lambda g: g.mean(0))]}, r"'a' gives a value of shape \(3,\)"),
    ],
)
def test_arguments_of_the_wrong_kind_are_one_sentence(wrong: dict[str, Any], words: str) -> None:
    given = {"model": nn.Linear(D, K), "data": problem(), "method": LW(), "settings": SETTINGS}
    with pytest.raises(InputError, match=words):
        train(**given | wrong)


def test_features_and_masks_of_the_wrong_kind_are_one_sentence() -> None:
    data = problem()
    rows = data.features.values.numpy()
    for call in (
        lambda: training_data(rows, data.inside.numpy()),  # type: ignore[arg-type]
        lambda: Watch("a", rows, torch.mean),  # type: ignore[arg-type]
        lambda: predict_scores(nn.Linear(D, K), rows),  # type: ignore[arg-type]
        lambda: train_population(rows, [Member(LW(), data.inside)]),  # type: ignore[arg-type]
    ):
        with pytest.raises(
            InputError, match=r"is a ndarray; expected Features, such as Features.of"
        ):
            call()
    with pytest.raises(InputError, match=r"not a ndarray; use Features.of"):
        Features(rows)  # type: ignore[arg-type]
    for mask, words in ((data.inside.int(), "Tensor of dtype torch.int32"), (rows > 0, "ndarray")):
        with pytest.raises(InputError, match=f"inside is a {words}; expected a bool tensor"):
            TrainingData(data.features, mask)  # type: ignore[arg-type]


def test_training_data_takes_candidates_as_they_come() -> None:
    data = problem()
    lists = [row.nonzero().flatten().tolist() for row in data.inside]
    assert torch.equal(training_data(data.features, lists).inside, data.inside)


def test_a_row_without_a_candidate_is_refused() -> None:
    """LW, RC, PRODEN, CLPL and Minimum trained on it in silence; CC blamed the learning rate."""
    data = problem()
    inside = data.inside.clone()
    inside[7] = False
    with pytest.raises(InputError, match=r"^inside\[7\] is an empty candidate set"):
        TrainingData(data.features, inside)
    members = [Member(LW(), data.inside, SETTINGS), Member(CC(), inside, SETTINGS)]
    with pytest.raises(InputError, match=r"members\[1\].inside\[7\] is an empty candidate set"):
        train_population(data.features, members, model="linear", device="cpu")
    others = torch.tensor([i for i in range(len(data)) if i != 7])
    chosen = [Member(CC(), inside, SETTINGS, rows=others)]
    assert train_population(data.features, chosen, model="linear", device="cpu").diverged == [None]


def test_nan_in_the_features_is_not_blamed_on_the_learning_rate() -> None:
    data = problem()
    data.features.values[3, 1] = torch.nan
    with pytest.raises(DivergenceError, match="Row 3 of the features contains NaN"):
        train(nn.Linear(D, K), data, LW(), SETTINGS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("method", [LW(), RC()])
def test_going_on_in_float64_loses_no_digit(
    tmp_path: Path, method: Method, dtype: torch.dtype
) -> None:
    """The model is put in the precision of training before a checkpoint is read into it."""
    data, settings = problem(dtype), replace(SETTINGS, epochs=4, precision="float64")

    def fresh() -> Training:
        torch.manual_seed(0)
        return start(nn.Linear(D, K), data, method, settings)

    whole, half, again = fresh(), fresh(), fresh()
    train(whole.model, data, method, settings, training=whole)
    train(half.model, data, method, replace(settings, epochs=2), training=half)
    save_checkpoint(tmp_path / "run", half)
    load_checkpoint(tmp_path / "run", again)
    train(again.model, data, method, settings, training=again)
    assert torch.equal(whole.model.weight, again.model.weight)
    assert [r["loss"] for r in whole.records] == [r["loss"] for r in again.records]


class Noted(nn.Linear):
    """A module that keeps something that is no tensor."""

    def get_extra_state(self) -> dict[str, int]:
        return {"steps": 3}

    def set_extra_state(self, state: Any) -> None:
        assert state == {"steps": 3}


def test_a_state_that_is_no_tensor_is_named(tmp_path: Path) -> None:
    keeper = Keeper()
    state = train(Noted(D, K), problem(), LW(), SETTINGS, on_epoch=keeper)
    assert keeper.restore(state)
    with pytest.raises(InputError, match="state_dict holds '_extra_state', a dict"):
        save_checkpoint(tmp_path / "run", state)
    assert not list(tmp_path.iterdir())


def test_a_state_of_another_run_is_refused() -> None:
    data = problem()
    state = train(nn.Linear(D, K), data, LW(), SETTINGS)
    more = replace(SETTINGS, epochs=SETTINGS.epochs + 1)
    with pytest.raises(InputError, match="state of another model"):
        train(nn.Linear(D, K), data, LW(), more, training=state)
    with pytest.raises(InputError, match=r"weights of shape \(\d+, 3\), but .*'cc' needs None"):
        train(state.model, data, CC(), more, training=state)
    part = TrainingData(Features(data.features.values[:20]), data.inside[:20])
    with pytest.raises(InputError, match=r"'lw' needs \(20, 3\)"):
        train(state.model, part, LW(), more, training=state)
    assert train(state.model, data, LW(), more, training=state).epoch == more.epochs


@pytest.mark.parametrize("other", [{"weight_decay": 0.5}, {"momentum": 0.0}, {"optimizer": "adam"}])
def test_a_state_with_another_optimiser_is_refused(other: dict[str, Any]) -> None:
    """It kept its own weight decay, momentum and kind, whatever the settings said."""
    state = train(nn.Linear(D, K), problem(), LW(), SETTINGS)
    more = replace(SETTINGS, epochs=SETTINGS.epochs + 1, **other)
    with pytest.raises(
        InputError, match=f"optimiser with {next(iter(other))}=.*but the settings say"
    ):
        train(state.model, problem(), LW(), more, training=state)


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


def test_scores_in_pieces_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    model, features = nn.Linear(D, K), problem().features
    whole = predict_scores(model, features)
    monkeypatch.setattr(data_module, "EVALUATION_BATCH", 16)  # 40 rows: two pieces and eight rows
    torch.testing.assert_close(predict_scores(model, features), whole)


def test_a_stepper_of_ones_own_takes_the_place_of_a_step() -> None:
    seen: list[int] = []

    def stepper(rows: Tensor) -> Tensor:
        seen.append(len(rows))
        return torch.tensor([3.0, 1.0]) * len(rows)

    model = nn.Linear(D, K)
    before = model.weight.detach().clone()
    run = train(model, problem(), CC(), SETTINGS, stepper=stepper)
    assert seen == 2 * [16, 16, 8]
    assert run.history[["loss", "covering"]].to_numpy().tolist() == [[3.0, 1.0]] * 2
    assert torch.equal(model.weight, before)


@pytest.mark.parametrize(
    ("loss", "words"),
    [(torch.nan, "the loss became nan in epoch 1"), (-torch.inf, "became -inf in"), (2.0, "")],
)
def test_a_loss_that_is_no_number_is_divergence_in_a_network_of_numbers(
    loss: float, words: str
) -> None:
    found = loop._divergence(loss, start(nn.Linear(D, K), problem(), CC(), SETTINGS))
    assert words in found
    assert bool(found) is bool(words)


def test_of_a_long_error_the_first_line_is_told() -> None:
    class Wordy(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            raise ValueError("\n  too wide\nby far")

    with pytest.raises(InputError, match=r": too wide\.$"):
        train(Wordy(D, K), problem(), CC(), SETTINGS)
