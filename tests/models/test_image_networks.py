"""Networks for images: their layers against what they are said to be, and what they take."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from amongst.errors import InputError, MissingDependencyError
from amongst.models import MODELS, FastNet, ImageNetwork, build_model
from amongst.models.features import features_and_scores
from amongst.models.images import whitening

IMAGE_NETWORKS = [
    name
    for name, kind in MODELS.items()
    if isinstance(kind, type) and issubclass(kind, ImageNetwork)
]
every = pytest.mark.parametrize("name", IMAGE_NETWORKS)
SMALL = {"fastnet": (8, 8, 12), "resnet18": (4, 4, 8, 8), "wrn28": (4, 4, 8)}


def made(name: str, shape: tuple[int, ...] = (3, 32, 32)) -> nn.Module:
    return build_model(name, shape, 5, seed=0, widths=SMALL[name])


@every
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 28, 28), (28, 28), (3, 8, 8), (4, 40, 24)])
def test_images_of_many_shapes_become_scores(name: str, shape: tuple[int, ...]) -> None:
    network = made(name, shape)
    x = torch.rand(6, *shape) * 255
    network.prepare(x)  # type: ignore[operator]
    features, scores = features_and_scores(network, x)
    assert scores.shape == (6, 5)
    assert features.ndim == 2
    scores.sum().backward()
    assert all(p.grad is not None for p in network.parameters() if p.requires_grad)


@every
def test_the_scale_of_pixels_makes_no_difference(name: str) -> None:
    x = torch.rand(8, 3, 16, 16)
    a, b = made(name), made(name)
    a.prepare(x)  # type: ignore[operator]
    b.prepare(x * 100 - 7)  # type: ignore[operator]
    torch.testing.assert_close(a.eval()(x), b.eval()(x * 100 - 7), rtol=1e-3, atol=1e-3)


@every
@pytest.mark.parametrize("shape", [(784,), (3, 7, 9), (32, 32, 3)])
def test_what_are_no_images_is_refused(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError) as caught:
        made(name, shape)
    assert (caught.value.code, caught.value.argument) == ("no-images", "model")


def test_sizes_are_those_of_the_papers() -> None:
    """He et al. have 11.2 million parameters with this stem, Zagoruyko and Komodakis 36.5 million."""
    counts = {
        name: sum(p.numel() for p in build_model(name, (3, 32, 32), 10, 0).parameters())
        for name in ("resnet18", "wrn28")
    }
    assert counts == {"resnet18": 11_173_962, "wrn28": 36_479_194}


def test_whitening_whitens() -> None:
    """Answers on patches of correlated images have second moments of 1 and are uncorrelated."""
    torch.manual_seed(0)
    x = F.avg_pool2d(torch.rand(200, 3, 18, 18), 3, 1).double()
    x = (x - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), keepdim=True)
    answers = F.conv2d(x, whitening(x, least=0.0)).transpose(0, 1).flatten(1)
    moments = answers @ answers.T / answers.shape[1]
    torch.testing.assert_close(moments, torch.eye(12).double(), rtol=0, atol=1e-6)


def test_the_layers_of_fastnet() -> None:
    """Written out with functions of torch."""
    network = FastNet((3, 32, 32), 10, widths=(8, 8, 16))
    x = torch.rand(64, 3, 32, 32)
    network.prepare(x)
    assert torch.equal(network.whiten.weight[:12], -network.whiten.weight[12:])
    assert [n for n, p in network.named_parameters() if not p.requires_grad] == [
        "whiten.weight",
        *(f"groups.{i}.{at}.weight" for i in range(3) for at in ("first.2", "body.1", "body.4")),
    ]
    network.eval()
    z = (x - x.mean((0, 2, 3), keepdim=True)) / x.std((0, 2, 3), correction=0, keepdim=True)
    z = F.gelu(F.conv2d(z, network.whiten.weight))
    weights = {n: p for n, p in network.named_parameters() if n.startswith("groups")}
    for i in range(3):
        z = F.max_pool2d(F.conv2d(z, weights[f"groups.{i}.first.0.weight"], padding=1), 2)
        z = start = F.gelu(z / (1 + 1e-5) ** 0.5)
        z = F.conv2d(z, weights[f"groups.{i}.body.0.weight"], padding=1)
        z = F.conv2d(F.gelu(z / (1 + 1e-5) ** 0.5), weights[f"groups.{i}.body.3.weight"], padding=1)
        z = F.gelu(z / (1 + 1e-5) ** 0.5 + start)
    expected = F.max_pool2d(z, 3).flatten(1) @ network.head.weight.T / 9
    torch.testing.assert_close(network(x), expected, rtol=1e-3, atol=1e-4)


def test_convolutions_start_as_the_identity() -> None:
    layer = FastNet((3, 32, 32), 10, widths=(30, 8, 8)).groups[0].first[0]  # type: ignore[union-attr, index]
    x = torch.rand(2, 24, 6, 6)
    torch.testing.assert_close(layer(x)[:, :24], x)  # type: ignore[operator]


def test_only_the_first_images_prepare_a_network() -> None:
    network = FastNet((3, 8, 8), 3, widths=(4, 4, 4))
    network.prepare(torch.rand(20, 3, 8, 8))
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    network.prepare(torch.rand(20, 3, 8, 8) + 1)
    assert all(torch.equal(before[name], tensor) for name, tensor in network.state_dict().items())


def test_timm_normalises_as_it_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a stand-in with the two functions that are asked of timm."""
    asked: dict[str, Any] = {}

    def create_model(name: str, **options: Any) -> nn.Module:
        if name == "gone":
            raise RuntimeError("Unknown model (gone)")
        asked.update(options, name=name)
        return nn.Sequential(nn.Flatten(), nn.LazyLinear(options["num_classes"]))

    config = {"mean": (0.5, 0.25, 0.0), "std": (1.0, 2.0, 0.5)}
    data = SimpleNamespace(resolve_model_data_config=lambda network: config)
    monkeypatch.setitem(
        sys.modules,
        "timm",
        SimpleNamespace(create_model=create_model, data=data),  # type: ignore[arg-type]
    )
    network = build_model("timm:resnet50", (3, 32, 32), 5, 0)
    assert asked == {"name": "resnet50", "pretrained": True, "num_classes": 5, "in_chans": 3}
    network.prepare(torch.rand(4, 3, 32, 32))  # type: ignore[operator]
    assert network.mean.flatten().tolist() == [0.5, 0.25, 0.0]  # type: ignore[operator, union-attr]
    assert network(torch.rand(2, 3, 32, 32)).shape == (2, 5)
    fresh = build_model("timm:vit:untrained", (3, 32, 32), 5, 0)
    assert (asked["name"], asked["pretrained"], bool(fresh.ready)) == ("vit", False, False)
    with pytest.raises(InputError) as caught:
        build_model("timm:gone", (3, 32, 32), 5, 0)
    assert (caught.value.code, caught.value.argument) == ("no-network", "model")


def test_timm_is_named_where_it_is_missing() -> None:
    try:
        import timm  # noqa: F401
    except ImportError:
        with pytest.raises(MissingDependencyError):
            build_model("timm:resnet18", (3, 32, 32), 10, 0)
    else:
        network = build_model("timm:resnet18:untrained", (3, 32, 32), 10, 0)
        assert network(torch.rand(2, 3, 32, 32)).shape == (2, 10)
