from __future__ import annotations

import pytest
import torch
from torch import nn

from amongst.errors import InputError
from amongst.models import MLP, ModelSpec, build_model


def test_sizes_of_the_paper() -> None:
    mlp = build_model("mlp", (784,), 10, seed=0)
    assert sum(p.numel() for p in mlp.parameters()) == 784 * 300 + 3 * 300**2 + 4 * 600 + 3010
    hidden = [layer for layer in mlp if isinstance(layer, nn.Linear)][:-1]
    assert all(layer.bias is None for layer in hidden)
    convnet = build_model("convnet", (3, 32, 32), 10, seed=0)
    convolutions = [m for m in convnet.modules() if isinstance(m, nn.Conv2d)]
    assert [c.out_channels for c in convolutions] == [128] * 3 + [256] * 3 + [512, 256, 128]
    assert [c.padding for c in convolutions] == [(1, 1)] * 6 + [(0, 0)] * 3


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        ("linear", (5,)),
        ("mlp", (4, 6)),
        ("convnet", (1, 28, 28)),
        (lambda shape, k: nn.Linear(shape[0], k), (5,)),
        (nn.Linear(5, 3), (5,)),
    ],
)
def test_batch_to_scores(spec: object, shape: tuple[int, ...]) -> None:
    model = build_model(spec, shape, 3, seed=0)  # type: ignore[arg-type]
    assert model(torch.zeros(2, *shape)).shape == (2, 3)


def test_seeded_and_without_touching_the_global_generator() -> None:
    before = torch.get_rng_state()
    first, same, other = (build_model("mlp", (6,), 3, seed=s, widths=(8,)) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    a, b, c = (m[1].weight for m in (first, same, other))  # type: ignore[index]
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_a_module_is_copied() -> None:
    mine = nn.Linear(2, 2)
    assert build_model(mine, (2,), 2, seed=0) is not mine


def test_dropout_at_evaluation_is_a_switch() -> None:
    x = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    for at_evaluation in (False, True):
        model = build_model("convnet", (3, 32, 32), 10, 0, dropout_at_evaluation=at_evaluation)
        model.eval()
        with torch.no_grad():
            assert torch.equal(model(x), model(x)) is not at_evaluation


def test_convnet_needs_images() -> None:
    with pytest.raises(InputError, match="model='mlp'"):
        build_model("convnet", (784,), 10, seed=0)


@pytest.mark.parametrize("spec", [MLP, nn.Linear(5, 3), lambda shape, k: nn.Linear(*shape, k)])
def test_options_that_would_be_ignored_are_refused(spec: ModelSpec) -> None:
    """The network had the widths of the paper, whatever was asked for."""
    with pytest.raises(InputError, match="widths would be ignored"):
        build_model(spec, (5,), 3, seed=0, widths=(8,))
