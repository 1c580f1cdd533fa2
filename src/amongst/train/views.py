"""Views of images: augmentation of whole batches on their device, and views at prediction.

A view is text: steps joined by ``+``, each ``name`` or ``name=strength``, or a name of `VIEWS`; after a
``/`` stand the steps of all views but the first. Strengths below 1 are shares of the image's side.
Everything is drawn from PyTorch's generator of the device, which the loop seeds for every epoch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amongst.checks import check_choice
from amongst.devices import row_bits
from amongst.errors import InputError, named
from amongst.models.images import as_images

OPERATIONS = (
    "identity",
    "rotate",
    "shear across",
    "shear down",
    "move across",
    "move down",
    "brightness",
    "contrast",
    "saturation",
    "sharpness",
    "solarize",
    "posterize",
    "stretch",
)
"""What is drawn from; of the paper's, equalize is left out, which looks at histograms."""

MOVES = 6
"""Of these, how many leave colours as they are: the first ones."""

ANGLE, SHEAR, MOVE, FACTOR = math.pi / 6, 0.3, 0.3, 0.9
"""The most: 30°, shears by 0.3, moves by 0.3 of the side, factors of 1 ± 0.9."""


def randaugment(x: Tensor, times: float = 2) -> Tensor:
    """So many operations on each image, one after another, each and its strength drawn anew.

    Darkest and brightest are what they are in the batch.

    >>> randaugment(torch.rand(4, 3, 8, 8)).shape
    torch.Size([4, 3, 8, 8])
    """
    for _ in range(round(times)):
        which = torch.randint(len(OPERATIONS), (len(x),), device=x.device)
        x = operated(x, which, torch.rand(len(x), device=x.device, dtype=x.dtype) * 2 - 1)
    return x


def operated(x: Tensor, which: Tensor, strength: Tensor) -> Tensor:
    """Each image after one operation.

    Parameters
    ----------
    which : shape (B,), numbers of `OPERATIONS`.
    strength : shape (B,), from −1 to 1; where an operation has no sign, its size counts.

    Examples
    --------
    >>> x = torch.tensor([0.0, 0.5, 1.0, 0.5]).view(1, 1, 2, 2)
    >>> at = torch.tensor([OPERATIONS.index("solarize")])
    >>> operated(x, at, torch.ones(1)).flatten()
    tensor([1.0000, 0.5000, 0.0000, 0.5000])
    """
    low, high = x.amin(), x.amax()
    coloured = _coloured(x, which, strength.view(-1, 1, 1, 1), low, high)
    seen = torch.where(_is(which, "identity"), x, coloured.clamp(low, high))
    moved = ((which > 0) & (which < MOVES)).view(-1, 1, 1, 1)
    return torch.where(moved, _moved(x, which, strength), seen)


def _is(which: Tensor, name: str) -> Tensor:
    return (which == OPERATIONS.index(name)).view(-1, 1, 1, 1)


def _moved(x: Tensor, which: Tensor, strength: Tensor) -> Tensor:
    """Turned, sheared or moved; what comes in from outside is the mean colour of the batch."""

    def of(name: str, most: float) -> Tensor:
        return torch.where(which == OPERATIONS.index(name), strength * most, 0)

    angle, across, down = of("rotate", ANGLE), of("shear across", SHEAR), of("shear down", SHEAR)
    theta = torch.stack(
        (
            torch.stack((angle.cos(), across - angle.sin(), of("move across", 2 * MOVE)), 1),
            torch.stack((down + angle.sin(), angle.cos(), of("move down", 2 * MOVE)), 1),
        ),
        1,
    )
    grid = F.affine_grid(theta, list(x.shape), align_corners=False)
    mean = x.mean((0, 2, 3), keepdim=True)
    return F.grid_sample(x - mean, grid, align_corners=False) + mean


def _coloured(x: Tensor, which: Tensor, strength: Tensor, low: Tensor, high: Tensor) -> Tensor:
    size, reach = strength.abs(), (high - low).clamp(min=1e-12)
    grey = x.mean(1, keepdim=True)
    from_what = torch.where(_is(which, "brightness"), low, x)
    from_what = torch.where(_is(which, "contrast"), grey.mean((2, 3), keepdim=True), from_what)
    from_what = torch.where(_is(which, "saturation"), grey, from_what)
    from_what = torch.where(_is(which, "sharpness"), _blurred(x), from_what)
    seen = from_what + (x - from_what) * (1 + FACTOR * strength)
    bright = x >= low + reach * (1 - size)
    seen = torch.where(_is(which, "solarize") & bright, low + high - x, seen)
    steps = torch.exp2(8 - 4 * size) - 1
    coarse = low + ((x - low) / reach * steps).round() / steps * reach
    seen = torch.where(_is(which, "posterize"), coarse, seen)
    darkest, brightest = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True)
    wide = low + (x - darkest) / (brightest - darkest).clamp(min=1e-12) * reach
    return torch.where(_is(which, "stretch"), wide, seen)


def _blurred(x: Tensor) -> Tensor:
    padded = F.pad(x, (1, 1, 1, 1), "replicate")
    return F.avg_pool2d(padded, 3, stride=1)


VIEWS: Mapping[str, str] = MappingProxyType(
    {
        "gentle": "flip+shift",
        "standard": "flip+shift+cutout",
        "strong": "flip+shift+jitter+cutout=0.5",
        "random": "flip+shift+randaugment+cutout=0.5",
        "cropped": "flip+crop",
        "glyphs": "shift+cutout",
    }
)
"""Steps that go well together; grey images are glyphs as often as not, which must not be mirrored."""

Augment = Callable[[Tensor], Tensor]
"""A batch (B, ...) to a view of it, on its device."""

TTA = ("mirror", "shifts")
"""Views at prediction: the image and its mirror image; or both of these, and both shifted by a pixel up
and left, and down and right."""


def flip(x: Tensor, which: Tensor) -> Tensor:
    """Mirror the rows that `which` (B,) is true for.

    >>> flip(torch.tensor([[[[1, 2]]], [[[1, 2]]]]), torch.tensor([True, False])).flatten(1)
    tensor([[2, 1],
            [1, 2]])
    """
    return torch.where(which.view(-1, 1, 1, 1), x.flip(-1), x)


def shift(x: Tensor, by: float = 0.125) -> Tensor:
    """Move each image by up to `by` down or up, and right or left; what comes in is reflected.

    >>> shift(torch.rand(2, 3, 8, 8), 1).shape
    torch.Size([2, 3, 8, 8])
    """
    n, _, height, width = x.shape
    rows, columns = (_lines_moved(n, side, _pixels(by, side), x.device) for side in (height, width))
    each = torch.arange(n, device=x.device).view(-1, 1, 1)
    return x[each, :, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)


def crop(x: Tensor, least: float = 0.25) -> Tensor:
    """A part of each image, of a share of its area from `least` to 1 and 3:4 to 4:3 the shape, resized.

    >>> crop(torch.rand(2, 3, 8, 8)).shape
    torch.Size([2, 3, 8, 8])
    """
    n, like = len(x), x.new_empty(len(x))
    area = torch.empty_like(like).uniform_(least, 1)
    stretch = torch.empty_like(like).uniform_(math.log(3 / 4), math.log(4 / 3)).div(2).exp()
    size = area.sqrt().unsqueeze(1) * torch.stack((stretch, 1 / stretch), 1)
    size = size.clamp(max=1)
    place = (torch.rand(n, 2, device=x.device, dtype=x.dtype) * 2 - 1) * (1 - size)
    theta = torch.cat((torch.diag_embed(size), place.unsqueeze(2)), 2)
    grid = F.affine_grid(theta, list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, padding_mode="reflection", align_corners=False)


def cutout(x: Tensor, size: float = 0.375) -> Tensor:
    """A square of each image becomes the batch's mean colour (DeVries and Taylor, 2017).

    >>> cutout(torch.eye(8).repeat(2, 1, 1, 1), 4).eq(1 / 8).sum((1, 2, 3))
    tensor([16, 16])
    """
    n, _, height, width = x.shape
    down, across = (_inside(n, side, _pixels(size, side), x.device) for side in (height, width))
    gone = down.view(n, 1, -1, 1) & across.view(n, 1, 1, -1)
    return torch.where(gone, x.mean((0, 2, 3), keepdim=True), x)


def jitter(x: Tensor, strength: float = 0.4) -> Tensor:
    """Each image's brightness, contrast and saturation times 1 ± `strength`.

    >>> jitter(torch.ones(2, 3, 4, 4), strength=0.0)[0, 0, 0]
    tensor([1., 1., 1., 1.])
    """
    low, high = 1 - strength, 1 + strength
    bright, contrast, colour = x.new_empty(3, len(x), 1, 1, 1).uniform_(low, high)
    x = x * bright
    x = torch.lerp(x.mean((1, 2, 3), keepdim=True), x, contrast)
    return torch.lerp(x.mean(1, keepdim=True), x, colour)


STEPS: Mapping[str, Callable[..., Tensor]] = MappingProxyType(
    {"shift": shift, "crop": crop, "cutout": cutout, "jitter": jitter, "randaugment": randaugment}
)
"""What a view may do, besides ``"flip"``."""

Step = tuple[str, float | None]


@dataclass(frozen=True)
class Views:
    """Augmented copies of a batch.

    A mirrored row is not mirrored in the next epoch, nor in its second view: it is seen both ways as
    often as can be.

    Parameters
    ----------
    text : see above.

    Examples
    --------
    >>> views = Views("gentle/strong+randaugment=2")
    >>> views.first, views.others[-1]
    ((('flip', None), ('shift', None)), ('randaugment', 2.0))
    >>> [view.shape for view in views.of(torch.rand(4, 3, 8, 8), 2)]
    [torch.Size([4, 3, 8, 8]), torch.Size([4, 3, 8, 8])]
    """

    text: str
    first: tuple[Step, ...] = field(init=False, repr=False)
    others: tuple[Step, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        first, slash, others = self.text.partition("/")
        object.__setattr__(self, "first", _steps(first))
        object.__setattr__(self, "others", _steps(others) if slash else self.first)

    @property
    def mirrors(self) -> bool:
        """Whether images are mirrored."""
        return any(name == "flip" for name, _ in (*self.first, *self.others))

    def __call__(self, x: Tensor) -> Tensor:
        """One view of a batch whose rows nobody numbers."""
        mirrored = torch.rand(len(x), device=x.device) < 0.5
        return _seen(x, self.first, mirrored)

    def of(
        self, x: Tensor, n: int, rows: Tensor | None = None, epoch: int = 0
    ) -> tuple[Tensor, ...]:
        """So many views of a batch (B, C, H, W), or (B, H, W).

        Parameters
        ----------
        rows : their numbers in the training data, by which they are mirrored in turn.
        """
        numbers = torch.arange(len(x), device=x.device) if rows is None else rows
        turns = row_bits(numbers) + epoch
        steps = (self.first, *[self.others] * (n - 1))
        return tuple(_seen(x, each, (turns + i) % 2 == 1) for i, each in enumerate(steps))


def views_of(augment: Augment, x: Tensor, n: int, rows: Tensor, epoch: int) -> tuple[Tensor, ...]:
    """So many views of a batch, by whatever makes them."""
    if isinstance(augment, Views):
        return augment.of(x, n, rows, epoch)
    return tuple(augment(x) for _ in range(n))


def as_augment(given: Any) -> Augment | None:
    """What makes views, of a text, a list of texts or a callable; None for none.

    >>> as_augment(["flip", "shift=4"])
    Views(text='flip+shift=4')
    """
    if given is None or callable(given):
        return given  # type: ignore[no-any-return]
    if isinstance(given, str):
        made = Views(given)
    elif isinstance(given, Sequence) and all(isinstance(step, str) for step in given):
        made = Views("+".join(given))
    else:
        raise InputError(
            "must be None, 'auto', the name of a view, a list of steps, or a callable that takes a "
            "batch.",
            code="type",
            argument="augment",
            got=given,
        )
    return made


def augment_text(augment: Augment | None) -> str | None:
    """What makes views, as text: of a callable of a person's own its name.

    >>> augment_text(Views("gentle")), augment_text(nn.functional.relu)
    ('gentle', 'relu')
    """
    if augment is None or isinstance(augment, Views):
        return None if augment is None else augment.text
    return str(getattr(augment, "__qualname__", repr(augment)))


class AtPrediction(nn.Module):
    """A network that scores several views of an image, and gives their mean.

    Parameters
    ----------
    tta : ``"mirror"``, or ``"shifts"``, of whose six views the two that are not shifted count twice as
        much as each other one.

    Examples
    --------
    >>> AtPrediction(nn.Flatten(), "mirror")(torch.tensor([[[[1.0, 0.0]]]]))
    tensor([[0.5000, 0.5000]])
    """

    def __init__(self, network: nn.Module, tta: str) -> None:
        super().__init__()
        self.network, self.tta = network, tta

    def forward(self, x: Tensor) -> Tensor:
        """Mean scores (B, K)."""
        flat = x.ndim == 3
        images = as_images(x)
        parts = [images]
        if self.tta == "shifts":
            height, width = images.shape[-2:]
            wide = F.pad(images, (1, 1, 1, 1), "reflect")
            parts += [wide[..., :height, :width], wide[..., 2:, 2:]]
        scored = [self._both(part.squeeze(1) if flat else part) for part in parts]
        if len(scored) == 1:
            return scored[0]
        return scored[0] / 2 + (scored[1] + scored[2]) / 4

    def _both(self, x: Tensor) -> Tensor:
        scores: Tensor = self.network(x) / 2 + self.network(x.flip(-1)) / 2
        return scores


def _steps(text: str) -> tuple[Step, ...]:
    """The steps of one view."""
    found: list[Step] = []
    for part in filter(None, (part.strip() for part in text.split("+"))):
        if part in VIEWS:
            found += _steps(VIEWS[part])
            continue
        name, equals, value = part.partition("=")
        if name == "mixup":
            raise InputError(
                "has 'mixup', which mixes labels, too.",
                code="unknown",
                argument="augment",
                got=text,
                remedy="Use the algorithm 'mixup', or alim, papi, pals, records or solar, which mix.",
            )
        check_choice("augment", name, {*VIEWS, *STEPS, "flip"})
        found.append((name, _strength(value, text) if equals else None))
    return tuple(found)


def _strength(value: str, text: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InputError(
            f"has the strength {value!r}; it must be a number of at least 0.",
            code="no-such-number",
            argument="augment",
            got=text,
        )
    return number


def _seen(x: Tensor, steps: Sequence[Step], mirrored: Tensor) -> Tensor:
    if x.ndim not in (3, 4):
        raise InputError(
            f"is for images; one example has shape {tuple(x.shape[1:])}.",
            code="no-images",
            argument="augment",
            remedy=f"use {named('augment', None)}",
        )
    flat = x.ndim == 3
    x = as_images(x)
    for name, strength in steps:
        if name == "flip":
            x = flip(x, mirrored)
        else:
            x = STEPS[name](x) if strength is None else STEPS[name](x, strength)
    return x.squeeze(1) if flat else x


def _pixels(size: float, side: int) -> int:
    return min(round(size * side if size < 1 else size), side)


def _lines_moved(n: int, side: int, by: int, device: torch.device) -> Tensor:
    """Where each of n lines of pixels is read when it is moved, reflected at the ends: (n, side)."""
    most = min(by, side - 1)
    start = torch.randint(-most, most + 1, (n, 1), device=device)
    place = (start + torch.arange(side, device=device)).abs()
    return (side - 1) - ((side - 1) - place).abs()


def _inside(n: int, side: int, size: int, device: torch.device) -> Tensor:
    """Whether each pixel of n lines is in a stretch of `size` somewhere: (n, side)."""
    start = torch.randint(0, side - size + 1, (n, 1), device=device)
    place = torch.arange(side, device=device) - start
    return (place >= 0) & (place < size)
