"""What a newcomer does to a population: other data under an old checkpoint, modules and methods of
one's own, and arguments that are nearly right."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self
from unittest import mock

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from amongst.accel.population import Member, Progress, plan_memory, train_population
from amongst.accel.population.cohort import form_cohort
from amongst.accel.population.member import arrange
from amongst.algorithms import CC, LW, Method
from amongst.candidates import CandidateSets, uniform
from amongst.errors import AmongstWarning, FileFormatError, InputError
from amongst.metrics import accuracy
from amongst.models import MLP, build_model
from amongst.train import Features, Settings, TrainingData, Watch, train
from amongst.train.checkpoint import Pause

N, D, K = 60, 4, 3
SETTINGS = Settings(epochs=3, batch_size=16, precision="float64")


def features(seed: int = 0) -> Features:
    return Features(torch.randn(N, D, generator=torch.Generator().manual_seed(seed)))


def sets() -> CandidateSets:
    labels = np.random.default_rng(0).integers(K, size=N)
    return uniform(labels, 0.4, seed=0)


INSIDE = torch.from_numpy(sets().to_mask())
MEMBER = Member(LW(), INSIDE, SETTINGS)


def population(
    members: list[Member] | None = None, data: Features | None = None, **options: Any
) -> Any:
    options = {"model": "linear", "device": "cpu"} | options
    return train_population(data or features(), members or [MEMBER], **options)


def alone(model: nn.Module, method: Method | None = None) -> nn.Module:
    """What the single engine makes of it."""
    data = TrainingData(features().to("cpu", torch.float64), INSIDE)
    network = build_model(model, (D,), K, 0).double()
    return train(network, data, method or LW(), SETTINGS).model


def assert_same(ours: nn.Module, theirs: nn.Module) -> None:
    for left, right in ((ours.named_parameters(), theirs.named_parameters()),
                        (ours.named_buffers(), theirs.named_buffers())):  # fmt: skip
        found, expected = dict(left), dict(right)
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            torch.testing.assert_close(found[name], value, msg=lambda m, n=name: f"{n}: {m}")


# --- checkpoints -------------------------------------------------------------------------------


def affine(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Linear(D, K)


def mean_score(scores: Tensor, inside: Tensor | None = None) -> Tensor:
    return scores.mean((-1, -2))


HELD = replace(MEMBER, rows=torch.arange(40), held=torch.arange(40, 50))
OTHERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "features": (population, lambda **k: population(data=features(1), **k)),
    "scale": (
        population,
        lambda **k: population(data=replace(features(), scale=torch.tensor(2.0)), **k),
    ),
    "held rows": (
        lambda **k: population([HELD], held={"mean": mean_score}, **k),
        lambda **k: population(
            [replace(HELD, held=torch.arange(50, 60))], held={"mean": mean_score}, **k
        ),
    ),
    "initial weights": (
        lambda **k: population(**k | {"model": affine(0)}),
        lambda **k: population(**k | {"model": affine(1)}),
    ),
    "watched rows": (
        lambda **k: population(watch=[Watch("mean", features(), mean_score)], **k),
        lambda **k: population(watch=[Watch("mean", features(1), mean_score)], **k),
    ),
    "one more watch": (
        population,
        lambda **k: population(watch=[Watch("mean", features(), mean_score)], **k),
    ),
    "fewer epochs": (
        population,
        lambda **k: population([replace(MEMBER, settings=replace(SETTINGS, epochs=2))], **k),
    ),
}


@pytest.mark.parametrize("backend", ["eager", "alone"])
@pytest.mark.parametrize("what", OTHERS)
def test_a_checkpoint_is_of_one_population_only(what: str, backend: str, tmp_path: Path) -> None:
    first, other = OTHERS[what]
    first(checkpoint=tmp_path, backend=backend)
    found, expected = other(checkpoint=tmp_path, backend=backend), other(backend=backend)
    assert found.columns == expected.columns
    for column in expected.columns:
        torch.testing.assert_close(found.last(column), expected.last(column))


@pytest.mark.parametrize("backend", ["eager", "alone"])
def test_the_same_population_goes_on_from_its_checkpoint(backend: str, tmp_path: Path) -> None:
    """From equal values in other memory: nothing is trained again."""
    seen: list[Progress] = []
    for _ in range(2):
        seen.clear()
        copy = replace(HELD, inside=INSIDE.clone(), held=torch.arange(40, 50))
        population(
            [copy], checkpoint=tmp_path, backend=backend, on_epoch=seen.append, model=affine(0),
            watch=[Watch("test", features(), mean_score)], held={"mean": mean_score},
        )  # fmt: skip
    assert not seen
    assert len(list(tmp_path.iterdir())) == 1


def test_a_truncated_checkpoint_is_named(tmp_path: Path) -> None:
    population(checkpoint=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(FileFormatError, match=f"{file.name}.*Delete it"):
        population(checkpoint=tmp_path)


def test_checkpoint_every_is_at_least_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="checkpoint_every=0"):
        population(checkpoint=tmp_path, checkpoint_every=0)


# --- methods of one's own ----------------------------------------------------------------------


class Fivefold(LW):
    """LW's name and numbers, another loss."""

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        return 5 * super().loss(scores, inside, weights)


@dataclass(frozen=True)
class Gated(LW):
    """Its gate opens during training."""

    gate: float | Tensor = 0.0

    def at(self, progress: float) -> Self:
        return replace(self, gate=self.gate + progress)

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        return (1 + self.gate) * super().loss(scores, inside, weights)


@dataclass(frozen=True)
class OpenlyGated(Gated):
    leaves: ClassVar[tuple[str, ...]] = (*LW.leaves, "gate")


class Total(CC):
    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        return super().loss(scores, inside, weights).mean()


def test_methods_of_two_classes_with_one_name_stay_apart() -> None:
    methods = [LW(), Fivefold(), LW(beta=2.0), Fivefold(beta=2.0)]
    result = population([replace(MEMBER, method=method) for method in methods])
    for i, method in enumerate(methods):
        expected = population([replace(MEMBER, method=method)], backend="alone")
        assert_same(result.model(i), expected.model(0))


def test_a_loss_written_anew_is_not_left_to_a_kernel() -> None:
    """Nor are methods of two classes of one name that were made by one function."""

    def made() -> Method:
        class Twin(LW):
            pass

        return Twin()

    methods = [LW(), Fivefold(), made(), made()]
    members = [replace(MEMBER, method=method) for method in methods]
    ordered = [members[i] for i in arrange(members)[0]]
    groups = form_cohort(ordered, features(), "linear", {}).groups
    assert len(groups) == 4
    for group in groups:
        assert (group.form is None) == isinstance(group.method, Fivefold)


def test_what_changes_during_training_is_a_leaf() -> None:
    with pytest.raises(InputError, match=r"'lw' changes gate.*leaves only"):
        population([replace(MEMBER, method=Gated())])
    method = OpenlyGated()
    result = population([replace(MEMBER, method=method)])
    expected = population([replace(MEMBER, method=method)], backend="alone")
    assert_same(result.model(0), expected.model(0))


def test_a_loss_of_the_wrong_shape_is_named() -> None:
    with pytest.raises(InputError, match=r"'cc' gives a tensor of shape \(\); .* \(1, 16\)"):
        population([replace(MEMBER, method=Total())])


# --- modules of one's own ----------------------------------------------------------------------


def frozen() -> nn.Module:
    """One parameter that is not trained."""
    model = nn.Sequential(nn.Linear(D, 5), nn.ReLU(), nn.Linear(5, K))
    model[0].weight.requires_grad_(False)
    return model


def frozen_mlp() -> nn.Module:
    model = MLP((D,), K, widths=(5,))
    model[1].weight.requires_grad_(False)
    return model


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.head = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, K)
        self.b.weight = self.a.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.b(self.a(x).relu()))


class Unsaved(nn.Module):
    """A buffer that state_dict leaves out, and a parameter that nothing depends on."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.unused = nn.Linear(D, K), nn.Linear(2, 2)
        self.register_buffer("factor", torch.full((D,), 2.0), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x * self.factor)


class Functional(nn.Module):
    """A layer that is never called, and a tensor that is no buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.shift = nn.Linear(D, K), torch.ones(D, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x + self.shift, self.layer.weight, self.layer.bias)


class Centred(nn.Module):
    """A running mean that forward assigns anew."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(D, K)
        self.register_buffer("mean", torch.zeros(D))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.mean(0).detach()
        return self.layer(x - self.mean)


def cumulative() -> nn.Module:
    return nn.Sequential(nn.Linear(D, 5), nn.BatchNorm1d(5, momentum=None), nn.Linear(5, K))


def cumulative_mlp() -> nn.Module:
    model = MLP((D,), K, widths=(5,))
    model[2].momentum = None
    return model


def spectral() -> nn.Module:
    return nn.Sequential(nn.utils.spectral_norm(nn.Linear(D, 5)), nn.Linear(5, K))


def curved_mlp() -> nn.Module:
    """An MLP that is none any more."""
    model = MLP((D,), K, widths=(5,))
    model[3] = nn.Tanh()
    return model


@pytest.mark.parametrize("make", [frozen, frozen_mlp, Tied, Unsaved, Functional])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_an_ordinary_module_trains_as_it_does_alone(
    make: Callable[[], nn.Module], optimizer: str
) -> None:
    torch.manual_seed(0)
    model = make()
    members = [
        replace(MEMBER, settings=replace(SETTINGS, optimizer=optimizer, seed=seed))
        for seed in (0, 1)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", AmongstWarning)
        result = population(members, model=model)
    expected = population(members, model=model, backend="alone")
    assert len(result.waves) == 1
    for i in range(2):
        assert_same(result.model(i), expected.model(i))
    torch.testing.assert_close(result.scores(features()), expected.scores(features()))


@pytest.mark.parametrize("make", [Centred, cumulative, cumulative_mlp, spectral, curved_mlp])
def test_a_module_that_cannot_be_stacked_trains_alone(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    model = make()
    with pytest.raises(InputError, match=r"backend='eager' cannot train.*Use backend='alone'"):
        population(model=model, backend="eager")
    with pytest.warns(AmongstWarning, match="one after another"):
        result = population(model=model)
    expected = alone(model)
    assert_same(result.model(0), expected)
    scores = expected.eval()(features().values.double())
    torch.testing.assert_close(result.scores(features())[0], scores.detach())


def test_random_layers_are_stacked_all_the_same() -> None:
    model = nn.Sequential(nn.Linear(D, 5), nn.Dropout(0.5), nn.BatchNorm1d(5), nn.Linear(5, K))
    assert len(population([MEMBER, MEMBER], model=model, backend="eager").waves) == 1


def test_what_they_draw_depends_on_the_seed_and_the_epoch_only(tmp_path: Path) -> None:
    """Else the same seeds would give other networks at each call, and after each checkpoint."""
    model = nn.Sequential(nn.Linear(D, 5), nn.Dropout(0.5), nn.Linear(5, K))
    before = torch.get_rng_state()
    whole = population(model=model).model(0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(3)

    def stop(progress: Progress) -> None:
        if progress.epoch == 2:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"checkpoint": tmp_path, "checkpoint_every": 1, "model": model}
    with pytest.raises(KeyboardInterrupt), mock.patch.object(Pause, "over", return_value=True):
        population(on_epoch=stop, **options)
    assert_same(population(**options).model(0), whole)
    other = replace(MEMBER, settings=replace(SETTINGS, seed=1), model_seed=MEMBER.initial_seed)
    assert not torch.equal(population([other], model=model).model(0)[0].weight, whole[0].weight)


@pytest.mark.parametrize("backend", ["auto", "eager", "alone"])
@pytest.mark.parametrize("classes", [1, 7])
def test_a_network_with_other_classes_is_refused(classes: int, backend: str) -> None:
    with pytest.raises(InputError, match=rf"tensor of shape \(\d+, {classes}\); .*, 3\)"):
        population(model=nn.Linear(D, classes), backend=backend)


def test_a_network_for_other_features_and_one_without_parameters_are_refused() -> None:
    with pytest.raises(InputError, match=r"cannot score a batch of shape \(4, 4\)"):
        population(model=nn.Linear(D + 1, K))
    still = nn.Linear(D, K).requires_grad_(False)
    with pytest.raises(InputError, match="no parameter to train"):
        population(model=still)


# --- members and results -----------------------------------------------------------------------


def test_masks_and_rows_come_as_people_have_them() -> None:
    rows, held = np.arange(40), np.arange(40, N)
    ways = [sets(), sets().to_mask(), sets().mask, INSIDE]
    members = [Member(LW(), way, SETTINGS, rows=rows, held=held) for way in ways]  # type: ignore[arg-type]
    assert plan_memory(members, features(), "linear").members == 4
    result = population(members)
    for i in range(len(ways)):
        assert_same(result.model(i), result.model(3))


def test_a_mask_of_numbers_is_refused() -> None:
    with pytest.raises(InputError, match=r"dtype torch.int64 .* expected bool"):
        population([Member(LW(), np.ones((N, K), dtype=np.int64))])  # type: ignore[arg-type]


def test_asking_for_what_was_not_measured() -> None:
    result = population()
    with pytest.raises(InputError, match=r"column='los'.*did you mean 'loss'"):
        result.last("los")
    with pytest.raises(InputError, match="epochs=0"):
        result.last("loss", 0)


@pytest.mark.parametrize("backend", ["auto", "alone"])
def test_what_is_watched_may_be_written_for_one_model(backend: str) -> None:
    """As `train` takes it: on the axes (n, K) of one model, and giving a plain number."""
    truth = torch.arange(len(features())) % K
    measures: dict[str, Callable[[Tensor], Any]] = {
        "written for any": lambda g: accuracy(g, truth),
        "written for one": lambda g: (g.argmax(1) == truth).float().mean(),
        "a plain number": lambda g: float((g.argmax(-1) == truth).float().mean()),
        "of numpy": lambda g: (g.numpy().argmax(1) == truth.numpy()).mean(),
    }
    watch = [Watch(name, features(), measure) for name, measure in measures.items()]
    members = [Member(LW(beta=beta), INSIDE, SETTINGS) for beta in (0.0, 1.0, 4.0)]
    result = train_population(features(), members, device="cpu", watch=watch, backend=backend)
    expected = result.last("written for any")
    for name in measures:
        torch.testing.assert_close(result.last(name), expected, check_dtype=False)
    cross_entropy = Watch("ce", features(), lambda g: nn.functional.cross_entropy(g, truth))
    train_population(features(), members, device="cpu", watch=[cross_entropy], backend=backend)


def test_two_columns_of_one_name_are_refused() -> None:
    for name in ("loss", "epoch"):
        with pytest.raises(InputError, match=f"would be called {name!r}"):
            population(watch=[Watch(name, features(), mean_score)])
    held = {"mean": mean_score}
    with pytest.raises(InputError, match="would be called 'mean'"):
        population(watch=[Watch("mean", features(), mean_score)], held=held)
