from __future__ import annotations

import math

import pytest
import torch

from amongst.errors import InputError
from amongst.losses import PSIS, get_psi
from amongst.losses.functions import EXPONENT_CAP

NAMES = list(PSIS)
TRAINABLE = [name for name in NAMES if PSIS[name].trainable]
SYMMETRIC = [name for name in NAMES if PSIS[name].symmetric]

SLOW = {
    "sigmoid": lambda t: 1 / (1 + math.exp(t)),
    "ramp": lambda t: min(1.0, max(0.0, (1 - t) / 2)),
    "zero_one": lambda t: 0.5 if t == 0 else float(t < 0),
    "logistic": lambda t: math.log(1 + math.exp(-t)),
    "hinge": lambda t: max(0.0, 1 - t),
    "squared_hinge": lambda t: max(0.0, 1 - t) ** 2,
    "exponential": lambda t: math.exp(-t),
}


def slow_pair(name: str, row: list[float]) -> tuple[list[float], list[float]]:
    """ψ(g_z) and ψ(−g_z) from their definitions, number by number."""
    if name == "cross_entropy":
        total = sum(math.exp(g) for g in row)
        p = [math.exp(g) / total for g in row]
        return [-math.log(x) for x in p], [-math.log(1 - x) for x in p]
    return [SLOW[name](g) for g in row], [SLOW[name](-g) for g in row]


@pytest.mark.parametrize("name", NAMES)
def test_equal_to_the_definition(name: str) -> None:
    scores = torch.randn(20, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    psi = get_psi(name)
    for row, toward, away in zip(scores, psi.toward(scores), psi.away(scores), strict=True):
        slow_toward, slow_away = slow_pair(name, row.tolist())
        torch.testing.assert_close(toward, torch.tensor(slow_toward, dtype=torch.float64))
        torch.testing.assert_close(away, torch.tensor(slow_away, dtype=torch.float64))


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric(name: str) -> None:
    scores = torch.linspace(-9, 9, 37, dtype=torch.float64).unsqueeze(0)
    total = PSIS[name].toward(scores) + PSIS[name].away(scores)
    torch.testing.assert_close(total, torch.ones_like(total))


def test_which_are_symmetric() -> None:
    assert set(SYMMETRIC) == {"sigmoid", "ramp", "zero_one"}


@pytest.mark.parametrize("name", TRAINABLE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "row", [[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4], [1e4, 1e4, 1e4], [0.0, 1e4, 0.0], [50, 0, -1e4]]
)
def test_finite_at_the_extremes(name: str, dtype: torch.dtype, row: list[float]) -> None:
    for part in ("toward", "away"):
        scores = torch.tensor([row], dtype=dtype, requires_grad=True)
        values = getattr(PSIS[name], part)(scores)
        assert torch.isfinite(values).all(), (part, values)
        values.sum().backward()
        assert torch.isfinite(scores.grad).all(), (part, scores.grad)  # type: ignore[arg-type]


def test_exponential_goes_on_as_its_tangent_beyond_the_cap() -> None:
    """At margin −c the tangent is e^c (1 + (−t − c)), and its slope −e^c."""
    beyond = torch.tensor([0.0, 1.0, 100.0], dtype=torch.float64)
    margin = (-EXPONENT_CAP - beyond).requires_grad_()
    values = PSIS["exponential"].toward(margin)
    torch.testing.assert_close(values, math.exp(EXPONENT_CAP) * (1 + beyond))
    values[1:].sum().backward()
    expected = [0.0, -math.exp(EXPONENT_CAP), -math.exp(EXPONENT_CAP)]
    torch.testing.assert_close(margin.grad, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("name", NAMES)
def test_nan_stays_nan(name: str) -> None:
    scores = torch.tensor([[1.0, float("nan"), 0.0]])
    assert torch.isnan(PSIS[name].toward(scores)[0, 1])
    assert torch.isnan(PSIS[name].away(scores)[0, 1])


@pytest.mark.parametrize("name", NAMES)
def test_non_increasing_toward_and_non_decreasing_away(name: str) -> None:
    ramp = torch.zeros(41, 3, dtype=torch.float64)
    ramp[:, 1] = torch.linspace(-10, 10, 41)
    assert (PSIS[name].toward(ramp)[:, 1].diff() <= 1e-12).all()
    assert (PSIS[name].away(ramp)[:, 1].diff() >= -1e-12).all()


@pytest.mark.parametrize("name", TRAINABLE)
def test_gradcheck(name: str) -> None:
    scores = torch.randn(4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    scores.requires_grad_()
    assert torch.autograd.gradcheck(PSIS[name].toward, (scores,))
    assert torch.autograd.gradcheck(PSIS[name].away, (scores,))


def test_a_single_class_has_no_others_and_costs_nothing() -> None:
    scores = torch.tensor([[3.0], [-2.0]])
    for part in (PSIS["cross_entropy"].toward, PSIS["cross_entropy"].away):
        assert torch.equal(part(scores), torch.zeros(2, 1))


def test_unknown_name_gives_the_near_one() -> None:
    with pytest.raises(InputError, match="did you mean 'sigmoid'"):
        get_psi("sigmod")


def test_what_cannot_train_is_not_offered_for_training() -> None:
    with pytest.raises(InputError, match="Choose from") as found:
        get_psi("sigmod", trainable=True)
    assert "zero_one" not in str(found.value)
    with pytest.raises(InputError, match=r"Choose from.*zero_one"):
        get_psi("sigmod")
    with pytest.raises(InputError, match="no gradient"):
        get_psi("zero_one", trainable=True)
