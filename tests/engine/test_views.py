"""Views: what each does to a batch, by its law; none changes what it is given."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from amongst.errors import InputError
from amongst.models import seeded
from amongst.train.views import (
    OPERATIONS,
    STEPS,
    VIEWS,
    AtPrediction,
    Views,
    as_augment,
    crop,
    cutout,
    jitter,
    operated,
    shift,
)

ALL = [*VIEWS, *STEPS, "flip", "gentle/random"]
PLACES = torch.arange(64.0).view(1, 1, 8, 8)


def images(n: int = 6, channels: int = 3, side: int = 12) -> Tensor:
    return torch.rand(n, channels, side, side, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("text", ALL)
@pytest.mark.parametrize("channels", [1, 3])
def test_a_view_is_another_batch_of_the_same_shape_and_seed(text: str, channels: int) -> None:
    x = images(channels=channels)
    kept, views = x.clone(), Views(text)
    found = []
    for seed in (0, 0, 1):
        with seeded(seed):
            found.append(views.of(x, 2, torch.arange(6), epoch=1))
    assert torch.equal(x, kept)
    assert all(view.shape == x.shape and bool(view.isfinite().all()) for view in found[0])
    assert all(torch.equal(a, b) for a, b in zip(found[0], found[1], strict=True))
    assert not torch.equal(found[0][0], found[0][1])
    if text != "flip":  # which rows are mirrored is known beforehand
        assert not torch.equal(found[0][1], found[2][1])


def test_grey_images_need_no_channel() -> None:
    x = images(channels=1)
    for text in ALL:
        with seeded(0):
            with_channel = Views(text).of(x, 2)
        with seeded(0):
            without = Views(text).of(x.squeeze(1), 2)
        assert all(torch.equal(a.squeeze(1), b) for a, b in zip(with_channel, without, strict=True))


def test_a_row_is_seen_both_ways_in_turn() -> None:
    x, rows = images(40), torch.arange(100, 140)
    flip = Views("flip")
    first, again, third = (flip.of(x, 2, rows, epoch) for epoch in range(3))
    assert torch.equal(first[0], again[0].flip(-1))
    assert torch.equal(first[0], first[1].flip(-1))
    assert torch.equal(first[0], third[0])
    mirrored = (first[0] != x).flatten(1).any(1)
    assert 5 < int(mirrored.sum()) < 35
    alone = flip.of(x[7:8], 2, rows[7:8], 0)  # it hangs on the row, not on the batch
    assert torch.equal(alone[0], first[0][7:8])


def test_shift_moves_by_whole_pixels_and_reflects() -> None:
    """Against padding by reflection, for each of the 25 moves, all of which occur."""
    n = 3000
    with seeded(0):
        seen = shift(PLACES.expand(n, 1, 8, 8), 2)
    padded = torch.nn.functional.pad(PLACES, (2, 2, 2, 2), "reflect")
    moves = {(i, j): padded[0, 0, i : i + 8, j : j + 8] for i in range(5) for j in range(5)}
    counts = torch.tensor(
        [[int((seen == moves[i, j]).flatten(1).all(1).sum()) for j in range(5)] for i in range(5)]
    )
    assert int(counts.sum()) == n
    assert (counts > 60).all()
    assert (counts < 190).all()


def test_cutout_takes_a_square_everywhere_alike() -> None:
    n = 4000
    with seeded(0):
        seen = cutout(
            torch.ones(n, 1, 8, 8) * torch.tensor([1.0, 2.0]).repeat(n // 2).view(n, 1, 1, 1), 5
        )
    gone = (seen == 1.5).squeeze(1)
    assert (gone.sum((1, 2)) == 25).all()
    shares = gone.float().mean(0)
    assert float(shares[0, 0]) == pytest.approx(1 / 16, abs=0.015)
    assert (shares[3:5, 3:5] == 1).all()


def test_a_crop_keeps_an_affine_picture_within_itself() -> None:
    ramp = torch.linspace(-1, 1, 32).expand(500, 1, 32, 32)
    with seeded(0):
        seen = crop(ramp, 0.25)
    assert seen.min() >= -1.0001
    assert seen.max() <= 1.0001
    widths = seen[:, 0, 0, -1] - seen[:, 0, 0, 0]
    assert 0.85 < float(widths.min()) < 1
    assert float(widths.max()) <= 2.0001


def test_jitter_has_the_means_and_bounds_it_says() -> None:
    x = images(4000, 3, 2)
    with seeded(0):
        seen = jitter(x, 0.4)
    ratio = seen.mean((1, 2, 3)) / x.mean((1, 2, 3))
    assert float(ratio.mean()) == pytest.approx(1, abs=0.01)
    assert float(ratio.min()) > 0.599
    assert float(ratio.max()) < 1.401
    assert float(ratio.std()) == pytest.approx(0.8 / 12**0.5, rel=0.05)


def slow(name: str, x: Tensor, s: float) -> Tensor:
    """One image after one operation, from its definition; colours lie in [0, 1]."""
    factor, size, mean = 1 + 0.9 * s, abs(s), x.mean(0, keepdim=True)
    low, high = x.amin((1, 2), keepdim=True), x.amax((1, 2), keepdim=True)
    rules: dict[str, Callable[[], Tensor]] = {
        "identity": lambda: x,
        "brightness": lambda: x * factor,
        "contrast": lambda: mean.mean() + (x - mean.mean()) * factor,
        "saturation": lambda: mean + (x - mean) * factor,
        "solarize": lambda: torch.where(x >= 1 - size, 1 - x, x),
        "posterize": lambda: (x * (2 ** (8 - 4 * size) - 1)).round() / (2 ** (8 - 4 * size) - 1),
        "stretch": lambda: (x - low) / (high - low),
    }
    return rules[name]().clamp(0, 1)


@pytest.mark.parametrize(
    "name", ["identity", "brightness", "contrast", "saturation", "solarize", "posterize", "stretch"]
)
def test_colours_of_randaugment(name: str) -> None:
    x = images(5)
    x[0, 0, 0, :2] = torch.tensor([0.0, 1.0])
    strength = torch.tensor([-1.0, -0.3, 0.0, 0.5, 1.0])
    seen = operated(x, torch.full((5,), OPERATIONS.index(name)), strength)
    expected = torch.stack([slow(name, row, float(s)) for row, s in zip(x, strength, strict=True)])
    torch.testing.assert_close(seen, expected, rtol=0, atol=1e-5)


def test_moves_of_randaugment() -> None:
    x = images(2, side=11)
    middle = x[:, :, 5, 5]
    turned = operated(x, torch.full((2,), OPERATIONS.index("rotate")), torch.tensor([1.0, -1.0]))
    torch.testing.assert_close(turned[:, :, 5, 5], middle)
    moved = operated(
        PLACES.repeat(2, 1, 1, 1), torch.tensor([4, 5]), torch.tensor([0.125 / 0.3] * 2)
    )
    torch.testing.assert_close(moved[0, 0, :, :-1], PLACES[0, 0, :, 1:])
    torch.testing.assert_close(moved[1, 0, :-1], PLACES[0, 0, 1:])


def test_each_operation_is_drawn_as_often() -> None:
    """A batch of one picture: those that nothing happens to are a 13th, but for small strengths."""
    x = images(1, side=8).expand(2600, 3, 8, 8)
    with seeded(0):
        same = (STEPS["randaugment"](x, 1) == x).flatten(1).all(1)
    assert 150 < int(same.sum()) < 300


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("flip+shif", "unknown"),
        ("shift=far", "no-such-number"),
        ("cutout=-1", "no-such-number"),
        (3, "type"),
    ],
)
def test_what_is_no_view(given: object, code: str) -> None:
    with pytest.raises(InputError) as caught:
        as_augment(given)
    assert (caught.value.code, caught.value.argument) == (code, "augment")


def test_rows_of_a_table_have_no_views() -> None:
    with pytest.raises(InputError) as caught:
        Views("flip").of(torch.rand(4, 5), 1)
    assert (caught.value.code, caught.value.argument) == ("no-images", "augment")


def test_views_at_prediction_are_weighed() -> None:
    x = images(4)
    network = torch.nn.Flatten()
    wide = torch.nn.functional.pad(x, (1, 1, 1, 1), "reflect")
    each = [x, wide[..., :12, :12], wide[..., 2:, 2:]]
    both = [(part + part.flip(-1)).flatten(1) / 2 for part in each]
    torch.testing.assert_close(AtPrediction(network, "mirror")(x), both[0])
    expected = both[0] / 2 + both[1] / 4 + both[2] / 4
    torch.testing.assert_close(AtPrediction(network, "shifts")(x), expected)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("text", ["shift", "crop", "cutout", "jitter", "randaugment"])
def test_views_have_one_law_on_a_cpu_and_on_a_gpu(text: str) -> None:
    """Means of places and of their squares over many rows, within four standard errors."""
    x = images(1).expand(20_000, 3, 12, 12)
    with seeded(0):
        here = Views(text)(x).double()
    with seeded(0, "cuda"):
        there = Views(text)(x.cuda()).double().cpu()
    for power in (1, 2):
        a, b = here**power, there**power
        error = ((a.var(0) + b.var(0)) / len(x)).sqrt() + 1e-4
        assert float(((a.mean(0) - b.mean(0)).abs() / error).max()) < 5
