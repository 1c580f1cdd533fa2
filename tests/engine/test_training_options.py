"""Options of training that every algorithm may use: rates, smoothing, averages, and resuming with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from amongst.accel.population import Member, train_population
from amongst.algorithms import CC, METHODS, PRODEN, Method
from amongst.candidates import uniform
from amongst.errors import InputError
from amongst.models import build_model
from amongst.train import Checkpoint, Features, Settings, Training, Watch, train, training_data
from amongst.train.checkpoint import fingerprint
from amongst.train.loop import start
from amongst.train.run import EXTRAS, learning_rate

X, Y = load_digits(return_X_y=True)
IMAGES = (X[:200].reshape(-1, 1, 8, 8) * 15.9).astype(np.uint8)
SETS = uniform(Y[:200], 0.3, seed=0)
DATA = training_data(Features.of(IMAGES, scale=255.0), SETS)
RECIPE: Mapping[str, Any] = {
    "lr": 0.1,
    "momentum": 0.85,
    "nesterov": True,
    "bias_lr": 64.0,
    "schedule": "triangle",
}
FAST = Settings(epochs=4, batch_size=40, lookahead=True, **RECIPE)


def network() -> nn.Module:
    return build_model("fastnet", (1, 8, 8), 10, seed=0, widths=(4, 4, 6))


def trained(settings: Settings, **more: Any) -> Training:
    return train(network(), DATA, more.pop("method", PRODEN()), settings, **more)


def weights_of(run: Training) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in run.model.state_dict().items()}


def same(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    return all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def test_what_is_not_asked_for_leaves_no_trace() -> None:
    assert not set(EXTRAS) & set(Settings().to_dict())
    assert Settings(**FAST.to_dict()) == FAST
    assert FAST.to_dict()["lookahead"] is True
    run = start(network(), DATA, CC(), Settings())
    assert len(run.optimizer.param_groups) == 1
    assert run.averages is None


def test_a_triangle_goes_up_and_down_step_by_step() -> None:
    at = [
        learning_rate(Settings(epochs=10, lr=1.0, schedule="triangle"), e)
        for e in (0, 0.5, 1, 5.5, 10)
    ]
    assert at == pytest.approx([0.2, 0.6, 1.0, 0.5, 0.0])
    rates: list[float] = []

    class Noting(nn.Module):
        def __call__(self, x: Tensor) -> Tensor:
            rates.append(run.optimizer.param_groups[0]["lr"])
            return x

    run = start(net := network(), DATA, CC(), replace(FAST, lookahead=False))
    train(net, DATA, CC(), replace(FAST, lookahead=False), training=run, augment=Noting())
    expected = [learning_rate(FAST, i / 5) for i in range(20)]
    assert rates == pytest.approx(expected)
    assert run.optimizer.param_groups[1]["lr"] == pytest.approx(64 * expected[-1])


def test_biases_of_norms_have_their_own_rate_and_the_same_decay() -> None:
    run = start(network(), DATA, CC(), replace(FAST, weight_decay=0.01))
    rest, biases = run.optimizer.param_groups
    norms = [m.bias for m in run.model.modules() if isinstance(m, nn.BatchNorm2d)]
    assert {id(p) for p in biases["params"]} == {id(p) for p in norms}
    assert biases["lr"] * biases["weight_decay"] == pytest.approx(rest["lr"] * rest["weight_decay"])
    assert sum(len(g["params"]) for g in (rest, biases)) == len(list(run.algorithm.parameters()))


def test_smoothing_a_certain_label_is_the_usual_one() -> None:
    labels = torch.from_numpy(Y[:200])
    data = training_data(DATA.features, Y[:200])
    settings = Settings(epochs=1, batch_size=200, lr=1e-9, label_smoothing=0.2)
    net = build_model("linear", (1, 8, 8), 10, seed=0)
    run = train(net, data, CC(), settings)
    expected = nn.functional.cross_entropy(
        net(DATA.features.batch(slice(None))), labels, label_smoothing=0.2
    )
    assert run.records[0]["loss"] == pytest.approx(float(expected.detach()), rel=1e-4)


@pytest.mark.parametrize("name", [n for n, kind in METHODS.items() if not issubclass(kind, Method)])
def test_every_algorithm_takes_every_option(name: str) -> None:
    method = METHODS[name]()
    for option, value in {"queue": 64, "width": 16}.items():
        if hasattr(method, option):
            setattr(method, option, value)
    settings = replace(FAST, epochs=2, averaged=0.9, label_smoothing=0.1)
    run = trained(settings, method=method, augment="gentle/random")
    assert all(bool(t.isfinite().all()) for t in run.model.state_dict().values())


def slow_lookahead(settings: Settings) -> dict[str, Tensor]:
    """Step after step, by a stepper that does nothing but call the loop's own step."""
    from amongst.train.loop import step

    run = start(net := network(), DATA, CC(), replace(settings, lookahead=False))
    live = {n: t for n, t in net.state_dict(keep_vars=True).items() if t.is_floating_point()}
    live = {
        n: t
        for n, t in live.items()
        if n not in ("mean", "std") and (t.requires_grad or "running" in n)
    }
    kept, done = {n: t.detach().clone() for n, t in live.items()}, 0

    def stepper(rows: Tensor) -> Tensor:
        nonlocal done
        counts, done = step(run, DATA, rows), done + 1
        if done % 5 == 0:
            decay = 0.95**5 * (done / 20) ** 3
            for n, t in live.items():
                kept[n] = decay * kept[n] + (1 - decay) * t.detach()
                t.data.copy_(kept[n])
        return counts

    train(net, DATA, CC(), replace(settings, lookahead=False), training=run, stepper=stepper)
    return kept


def test_lookahead_is_as_the_recipe_has_it() -> None:
    found = weights_of(trained(FAST, method=CC()))
    for name, expected in slow_lookahead(FAST).items():
        torch.testing.assert_close(found[name], expected, rtol=1e-4, atol=1e-6)


def test_averaged_weights_are_kept_and_watched() -> None:
    """With a memory of 1, the mean of all steps; the optimiser moves on from its own."""
    seen: list[Tensor] = []
    watch = Watch("mean", DATA.features, lambda scores: seen.append(scores) or 0.0)
    settings = replace(FAST, lookahead=False, averaged=1.0)
    run = trained(settings, watch=[watch])
    with torch.no_grad():
        torch.testing.assert_close(run.model(DATA.features.batch(slice(None))), seen[-1])
    plain = trained(replace(settings, averaged=0.0))
    assert not same(weights_of(run), weights_of(plain))
    assert run.averages is not None
    run.averages.show(False)
    assert same(weights_of(run), weights_of(plain))


@pytest.mark.parametrize("options", [{"lookahead": True}, {"lookahead": False, "averaged": 0.9}])
def test_a_resumed_run_is_the_undisturbed_one_bit_for_bit(tmp_path: Path, options: Any) -> None:
    settings = replace(FAST, **options)
    whole = trained(settings, augment="standard/random")
    path = tmp_path / "run.amongst"
    mark = fingerprint(DATA, PRODEN(), settings, network(), "standard/random")

    class Dies(Checkpoint):
        def after_epoch(self, run: Training) -> None:
            self.write(run)
            if run.epoch == 2:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        trained(settings, augment="standard/random", callbacks=[Dies(path, mark)])
    resumed = trained(settings, augment="standard/random", callbacks=[Checkpoint(path, mark)])
    assert resumed.epoch == 4
    assert same(weights_of(whole), weights_of(resumed))
    again = trained(settings, augment="standard/random", callbacks=[Checkpoint(path, mark)])
    assert same(weights_of(whole), weights_of(again))


def test_views_and_length_are_part_of_a_run() -> None:
    marks = {
        fingerprint(DATA, PRODEN(), settings, None, told)
        for settings in (FAST, replace(FAST, epochs=9), replace(FAST, lookahead=False))
        for told in (None, "standard")
    }
    assert len(marks) == 6


def test_smoothing_without_gradients_is_refused() -> None:
    from amongst.train.loop import smoothed

    with pytest.raises(InputError) as caught:
        smoothed(torch.zeros(2), torch.zeros(2, 3), 0.1, "mine")
    assert (caught.value.code, caught.value.argument) == ("no-effect", "label_smoothing")


def test_a_population_does_what_its_settings_ask_for() -> None:
    """What no stack can do trains alone."""
    settings = Settings(epochs=2, batch_size=50, label_smoothing=0.3)
    features = Features.of(X[:200] / 16)
    inside = torch.from_numpy(SETS.to_mask())
    result = train_population(features, [Member(CC(), inside, settings)], model="linear")
    model = build_model("linear", (64,), 10, seed=Member(CC(), inside, settings).initial_seed)
    alone = train(model, training_data(features, SETS), CC(), settings)
    assert result.history(0)["loss"].tolist() == pytest.approx(alone.history["loss"].tolist())
