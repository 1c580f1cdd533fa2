"""Members that look alike, or measures that fit by chance: each member still has its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from amongst.accel.population import Member, train_population
from amongst.accel.population.checkpoint import mark_of_member
from amongst.algorithms import CC, LW, METHODS, Method
from amongst.algorithms._base import described
from amongst.candidates import uniform
from amongst.errors import AmongstWarning, InputError
from amongst.models import build_model
from amongst.train import Features, Settings, Watch, train, training_data
from amongst.train.checkpoint import fingerprint

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


@dataclass(frozen=True)
class Scaled(LW):
    """Starting weights that depend on a leaf."""

    def init(self, inside: Tensor) -> Tensor:
        return self.alpha * super().init(inside)


@pytest.mark.parametrize("m", [2, N])
def test_starting_weights_may_depend_on_a_leaf(m: int) -> None:
    """With as many members as rows, each row had another member's."""
    settings = replace(SETTINGS, epochs=1, batch_size=N)
    methods = [Scaled(alpha=1.0 + i) for i in range(m)]
    members = [Member(method, INSIDE, settings) for method in methods]
    result = train_population(FEATURES, members, model="linear", device="cpu")
    expected = [replace(LW(), alpha=(1.0 + i) ** 2, beta=1.0 + i) for i in range(m)]
    alike = [Member(method, INSIDE, settings) for method in expected]
    plain = train_population(FEATURES, alike, model="linear", device="cpu")
    torch.testing.assert_close(result.last("loss"), plain.last("loss"))


class Projected(nn.Module):
    """A random projection that is neither a parameter nor a buffer."""

    def __init__(self, shape: tuple[int, ...], n_classes: int) -> None:
        super().__init__()
        self.projection = torch.randn(shape[0], 8)
        self.head = nn.Linear(8, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head((x @ self.projection.to(x.dtype)).relu())


def test_what_a_seed_draws_outside_of_the_state_is_each_member_s_own() -> None:
    """All members were trained with the projection of the first."""
    members = [Member(LW(), INSIDE, replace(SETTINGS, seed=seed)) for seed in (0, 1)]
    with pytest.warns(AmongstWarning, match=r"one after another.*a parameter or a buffer"):
        result = train_population(FEATURES, members, model=Projected, device="cpu")
    for i, member in enumerate(members):
        model = build_model(Projected, (D,), K, member.initial_seed)
        run = train(model, training_data(FEATURES, SETS), member.method, member.settings)
        assert result.history(i)["loss"].tolist() == pytest.approx(run.history["loss"].tolist())
    with pytest.raises(InputError, match="a parameter or a buffer"):
        train_population(FEATURES, members, model=Projected, device="cpu", backend="eager")


MEASURES: dict[str, Callable[[Tensor], Any]] = {
    "any": lambda g: g.softmax(-1).amax(-1).mean(-1),
    "last": lambda g: g.softmax(1).amax(1).mean(0),
    "mixed": lambda g: g.softmax(1).amax(-1).mean(-1),
    "sure": lambda g: (g.softmax(1).amax(1) > 0.99).float().mean(0),
    "entry": lambda g: g[0, 1],
}


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_for_one_model_that_fits_many_by_chance(name: str) -> None:
    """With as many members as classes, or axes counted from either end, shapes agree by chance."""
    members = [
        Member(LW(), INSIDE, replace(SETTINGS, seed=seed, lr=seed + 0.1)) for seed in range(K)
    ]
    watch = [Watch(name, FEATURES, MEASURES[name])]
    result = train_population(FEATURES, members, model="linear", device="cpu", watch=watch)
    own = [MEASURES[name](scores) for scores in result.scores(FEATURES)]
    torch.testing.assert_close(result.last(name), torch.stack(own), check_dtype=False)


@pytest.mark.parametrize(("number", "at_once"), [(1.0, True), (torch.nan, True), (None, False)])
def test_a_measure_that_serves_many_is_asked_once(number: float | None, at_once: bool) -> None:
    """NaN is an answer too."""
    shapes = []

    def measure(scores: Tensor) -> Tensor:
        shapes.append(tuple(scores.shape))
        return scores.mean() if number is None else scores.mean((-2, -1)) * number

    members = [Member(LW(), INSIDE, replace(SETTINGS, seed=seed)) for seed in range(5)]
    watch = [Watch("mean", FEATURES, measure)]
    train_population(FEATURES, members, model="linear", device="cpu", watch=watch)
    assert shapes[-2:] == ([(5, N, K)] * 2 if at_once else [(N, K)] * 2)


@pytest.mark.parametrize("backend", ["eager", "alone"])
@pytest.mark.parametrize(
    ("criterion", "found"),
    [
        (lambda g, inside: g.mean(), r"shape \(\)"),
        (lambda g, inside: 1.0, "float"),
        (lambda g, inside: g.mean(-1), r"shape \(.*5\)"),
    ],
)
def test_a_criterion_of_the_wrong_shape_is_named(
    backend: str, criterion: Callable[[Tensor, Tensor], Tensor], found: str
) -> None:
    rows = torch.arange(N)
    member = Member(LW(), INSIDE, SETTINGS, rows=rows[5:], held=rows[:5])
    with pytest.raises(InputError, match=f"criterion 'mine' gives a .*{found}"):
        train_population(
            FEATURES,
            [member, member],
            model="linear",
            device="cpu",
            held={"mine": criterion},
            backend=backend,
        )
