from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from amongst.accel.stacked import stack_models
from amongst.errors import InputError
from amongst.models import MLP, ConvNet, Linear, ModelSpec, build_model, seeded


def test_sizes_of_the_paper() -> None:
    mlp = build_model("mlp", (784,), 10, seed=0)
    assert sum(p.numel() for p in mlp.parameters()) == 784 * 300 + 3 * 300**2 + 4 * 600 + 3010
    hidden = [layer for layer in mlp if isinstance(layer, nn.Linear)][:-1]
    assert all(layer.bias is None for layer in hidden)
    convnet = build_model("convnet", (3, 32, 32), 10, seed=0)
    convolutions = [m for m in convnet.modules() if isinstance(m, nn.Conv2d)]
    assert [c.out_channels for c in convolutions] == [128] * 3 + [256] * 3 + [512, 256, 128]
    assert [c.padding for c in convolutions] == [(1, 1)] * 6 + [(0, 0)] * 3


def test_layers_of_the_mlp_in_their_order() -> None:
    hidden = [nn.Linear, nn.BatchNorm1d, nn.ReLU]
    assert [type(layer) for layer in MLP((2, 3), 4)] == [nn.Flatten, *4 * hidden, nn.Linear]


@pytest.mark.parametrize("name", ["linear", "mlp"])
def test_first_weights_are_glorots(name: str) -> None:
    """Uniform within ±√(6 / (fan in + fan out)), Glorot and Bengio (2010); biases are 0."""
    for layer in build_model(name, (20, 20), 100, seed=0).modules():
        if isinstance(layer, nn.Linear):
            bound = (6 / (layer.in_features + layer.out_features)) ** 0.5
            largest = layer.weight.abs().max().item()
            assert 0.99 * bound < largest <= bound
            assert layer.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)
            assert layer.bias is None or not layer.bias.any()


@torch.no_grad()
def test_the_convnet_is_what_the_paper_says() -> None:
    """Written out with functions of torch, for statistics that are not those of a fresh network."""
    net = build_model("convnet", (2, 29, 28), 3, seed=0).eval()
    generator = torch.Generator().manual_seed(0)
    for norm in (layer for layer in net.modules() if isinstance(layer, nn.BatchNorm2d)):
        norm.running_mean.normal_(generator=generator)  # type: ignore[union-attr]
    x = given = torch.randn(2, 2, 29, 28, generator=generator)
    layers = [m for m in net.modules() if isinstance(m, nn.Conv2d | nn.BatchNorm2d)]
    for i, (conv, normed) in enumerate(zip(layers[::2], layers[1::2], strict=True)):
        x = F.conv2d(x, conv.weight, padding=1 if i < 6 else 0)
        x = F.leaky_relu(normed(x), 0.01)
        x = F.max_pool2d(x, 2) if i in (2, 5) else x
    expected = x.mean((2, 3)) @ net.head.weight.T + net.head.bias  # type: ignore[union-attr, operator]
    torch.testing.assert_close(net(given), expected)
    assert all(conv.weight.shape[2:] == (3, 3) for conv in layers[::2])


def test_dropout_takes_a_quarter_of_the_channels_whole() -> None:
    body = ConvNet((1, 28, 28), 3).body
    at = [i for i, layer in enumerate(body) if isinstance(body[i - 1], nn.MaxPool2d)]
    assert len(at) == 2
    for dropout in (body[i] for i in at):
        with seeded(0):
            seen = dropout(torch.ones(100, 100, 2, 2)).flatten(2)
        assert seen.unique().tolist() == pytest.approx([0, 4 / 3])
        assert torch.equal(seen.amin(2), seen.amax(2))
        assert (seen == 0).float().mean().item() == pytest.approx(0.25, abs=0.03)


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
    copied = build_model(mine, (2,), 2, seed=0)
    assert copied is not mine
    assert torch.equal(copied.weight, mine.weight)  # type: ignore[arg-type]


def test_a_function_builds_from_the_seed() -> None:
    a, b, c = (build_model(lambda s, k: nn.Linear(s[0], k), (4,), 3, seed=i) for i in (1, 1, 2))
    assert torch.equal(a.weight, b.weight)  # type: ignore[arg-type]
    assert not torch.equal(a.weight, c.weight)  # type: ignore[arg-type]


def test_dropout_at_evaluation_is_a_switch() -> None:
    x = torch.randn(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    for at_evaluation in (False, True):
        model = build_model("convnet", (3, 32, 32), 10, 0, dropout_at_evaluation=at_evaluation)
        model.eval()
        with torch.no_grad():
            assert torch.equal(model(x), model(x)) is not at_evaluation


def test_an_unknown_network_is_named_by_its_argument() -> None:
    with pytest.raises(InputError, match=r"^model='mpl' is unknown; did you mean 'mlp'"):
        build_model("mpl", (4,), 3, seed=0)


def test_convnet_needs_images() -> None:
    for shape in ((784,), (28, 28), (1, 27, 28), (1, 28, 27), (1, 1, 28, 28)):
        with pytest.raises(InputError, match="model='mlp'") as caught:
            build_model("convnet", shape, 10, seed=0)
        assert str(caught.value).startswith("model='convnet' needs images of shape (channels, ")
        assert f"one example has shape {shape}." in str(caught.value)


def test_the_convnet_averages_over_what_is_left_of_the_image() -> None:
    model = build_model("convnet", (1, 32, 32), 3, seed=0).eval()
    x = torch.rand(2, 1, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        maps = model.body(x)
        assert maps.shape == (2, 128, 2, 2)
        pooled = nn.functional.adaptive_avg_pool2d(maps, 1).flatten(1)
        torch.testing.assert_close(model(x), model.head(pooled))


@pytest.mark.parametrize("spec", [MLP, nn.Linear(5, 3), lambda shape, k: nn.Linear(*shape, k)])
def test_options_that_would_be_ignored_are_refused(spec: ModelSpec) -> None:
    """The network had the widths of the paper, whatever was asked for."""
    with pytest.raises(InputError, match="widths would be ignored"):
        build_model(spec, (5,), 3, seed=0, widths=(8,))


def test_batch_norms_of_two_kinds_are_not_taken_for_one() -> None:
    """The written-out network has one ε for all of its layers."""
    models = [build_model("mlp", (4,), 3, seed, widths=(5, 6)) for seed in (0, 1)]
    x = torch.randn(7, 4, generator=torch.Generator().manual_seed(0))
    for model in models:
        norms = [layer for layer in model.modules() if isinstance(layer, nn.BatchNorm1d)]
        norms[0].eps = 0.5
        assert len(norms) == 2
    with torch.no_grad():
        alone = torch.stack([model.eval()(x) for model in models])
    torch.testing.assert_close(stack_models(models).evaluate(x), alone)


def test_a_function_that_gives_no_network_is_named() -> None:
    """A forgotten return was an AttributeError of None, from within."""
    with pytest.raises(InputError, match="model is a function that gives NoneType"):
        build_model(lambda in_shape, n_classes: None, (4,), 3, seed=0)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MLP(4, 3), r"in_shape=4 must be several whole numbers; give one as \(4,\)"),  # type: ignore[arg-type]
        (lambda: Linear((4.0,), 3), r"in_shape\[0\]=4.0 must be a whole number"),  # type: ignore[arg-type]
        (lambda: MLP((4,), 3, widths=8), r"widths=8 must be several"),  # type: ignore[arg-type]
        (
            lambda: MLP((4,), 3, widths=(8, 0)),
            r"widths\[1\]=0 must be a whole number of at least 1",
        ),
        (lambda: ConvNet((28, 28), 3), r"in_shape=\(28, 28\) must be \(channels, height, width\)"),
        (lambda: build_model("mlp", 4, 3, seed=0), "in_shape=4 must be several"),  # type: ignore[arg-type]
        (lambda: build_model("mlp", (4,), 0, seed=0), "n_classes=0 must be a whole number"),
    ],
)
def test_sizes_that_are_none_are_named(make: Callable[[], object], words: str) -> None:
    """28 rows of pixels were taken for channels; of the others PyTorch spoke in its own terms."""
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("mlp", {"width": (8,)}, r"model='mlp' has no option 'width'; it has: widths\.$"),
        ("linear", {"widths": (8,)}, r"model='linear' has no option 'widths'; it has none\.$"),
    ],
)
def test_an_option_that_a_network_has_not_is_named(
    name: str, options: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        build_model(name, (4,), 3, seed=0, **options)


@pytest.mark.filterwarnings("ignore:.*torch.jit.*deprecated")
@pytest.mark.parametrize(
    ("name", "shape"), [("linear", (4,)), ("mlp", (4,)), ("convnet", (1, 28, 28))]
)
def test_a_network_goes_elsewhere_for_any_number_of_rows(name: str, shape: tuple[int, ...]) -> None:
    model, x = build_model(name, shape, 3, seed=0).eval(), torch.rand(5, *shape)
    rows = {0: torch.export.Dim("rows")}
    exported = torch.export.export(model, (x[:2],), dynamic_shapes=(rows,)).module()
    for deployed in (exported, torch.jit.trace(model, x[:2])):
        for part in (x, x[:1]):
            torch.testing.assert_close(deployed(part), model(part))
