"""The engine for one model, against a plain loop and against itself after an interruption."""

from __future__ import annotations

import multiprocessing
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from amongst import LWClassifier, as_candidates
from amongst.algorithms import CC, LW, PRODEN, RC, Average, Method
from amongst.candidates import uniform
from amongst.errors import DivergenceError, FileFormatError, InputError
from amongst.files import read_archive
from amongst.metrics import accuracy
from amongst.models import build_model
from amongst.train import (
    Checkpoint,
    Features,
    Settings,
    Training,
    TrainingData,
    Watch,
    batch_bounds,
    permutation,
    predict_scores,
    split_seed,
    start,
    train,
    training_data,
)
from amongst.train.checkpoint import Keeper, load_checkpoint, save_checkpoint
from amongst.train.loop import is_finite as _is_finite

SETTINGS = Settings(epochs=3, batch_size=16, lr=0.1, weight_decay=1e-2, seed=4)


def problem(n: int = 70, dtype: torch.dtype = torch.float64) -> TrainingData:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    x = np.eye(3)[y] + 0.4 * rng.normal(size=(n, 3))
    data = training_data(Features.of(x), uniform(y, 0.4, classes=range(3), seed=1))
    return TrainingData(data.features.to("cpu", dtype), data.inside)


def network(dtype: torch.dtype = torch.float64, name: str = "mlp") -> nn.Module:
    options = {"widths": (8, 7)} if name == "mlp" else {}
    return build_model(name, (3,), 3, seed=2, **options).to(dtype)


def plain_loop(data: TrainingData, method: Method, settings: Settings) -> nn.Module:
    """The algorithm as one would write it by hand, without the engine."""
    model = network()
    x, inside = data.features.batch(slice(None)), data.inside
    make = {"sgd": lambda p, **k: torch.optim.SGD(p, momentum=0.9, **k), "adam": torch.optim.Adam}
    optimizer = make[settings.optimizer](
        model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay
    )
    weights = method.init(inside)
    weights = None if weights is None else weights.double()
    for epoch in range(settings.epochs):
        for group in optimizer.param_groups:
            group["lr"] = settings.lr * 0.5 ** (epoch / 50)
        model.train()
        order = permutation(split_seed(settings.seed)[1], epoch, len(x))
        for a in range(0, len(x), settings.batch_size):
            rows = order[a : a + settings.batch_size]
            scores = model(x[rows])
            loss = method.loss(scores, inside[rows], None if weights is None else weights[rows])
            optimizer.zero_grad()
            loss.mean().backward()
            optimizer.step()
            if method.when == "same":
                weights[rows] = method.update(scores.detach(), inside[rows])  # type: ignore[index]
            if method.when == "post":
                weights[rows] = method.update(model(x[rows]).detach(), inside[rows])  # type: ignore[index]
        if method.when == "epoch":
            model.eval()
            weights = method.update(model(x).detach(), inside)
    return model


def assert_same(a: nn.Module, b: nn.Module, exact: bool = False) -> None:
    for name, value in a.state_dict().items():
        other = b.state_dict()[name]
        if exact:
            assert torch.equal(value, other), name
        else:
            torch.testing.assert_close(value, other, msg=name)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize(
    "method",
    [
        LW("sigmoid", 2.0),
        LW("cross_entropy", refresh="post"),
        LW("cross_entropy", refresh="epoch", initial="official"),
        PRODEN(),
        RC(),
        CC(),
        Average(),
    ],
    ids=repr,
)
def test_equal_to_a_plain_loop(method: Method, optimizer: str) -> None:
    settings = replace(SETTINGS, optimizer=optimizer, lr=0.1 if optimizer == "sgd" else 0.01)
    trained = train(network(), problem(), method, settings)
    assert_same(trained.model, plain_loop(problem(), method, settings))


def test_it_learns() -> None:
    data = problem(300, torch.float32)
    labels = torch.arange(300) % 3
    watch = [Watch("accuracy", data.features, lambda g: accuracy(g, labels))]
    settings = Settings(epochs=40, batch_size=32, seed=0)
    run = train(network(torch.float32), data, LW(), settings, watch=watch)
    assert run.history["accuracy"].iloc[-1] > 0.8
    assert run.history["covering"].iloc[-1] > run.history["covering"].iloc[0]
    assert run.history["epoch"].tolist() == list(range(1, 41))


@pytest.mark.parametrize("name", ["mlp", "linear"])
@pytest.mark.parametrize("method", [LW(), LW(refresh="epoch"), RC(), CC()], ids=repr)
def test_resuming_is_bit_identical(tmp_path: Path, method: Method, name: str) -> None:
    settings = replace(SETTINGS, epochs=6, optimizer=method.optimizer)
    data = problem(dtype=torch.float32)
    whole = train(network(torch.float32, name), data, method, settings)
    half = train(network(torch.float32, name), data, method, replace(settings, epochs=3))
    save_checkpoint(tmp_path / "run", half)
    resumed = start(network(torch.float32, name), data, method, settings)
    load_checkpoint(tmp_path / "run", resumed)
    assert resumed.epoch == 3
    train(resumed.model, data, method, settings, training=resumed)
    assert_same(whole.model, resumed.model, exact=True)
    assert whole.history.drop(columns="seconds").equals(resumed.history.drop(columns="seconds"))


def test_resuming_with_dropout_is_bit_identical(tmp_path: Path) -> None:
    def dropping() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 16), nn.Dropout(0.5), nn.Linear(16, 3))

    data = problem(dtype=torch.float32)
    whole = train(dropping(), data, CC(), SETTINGS)
    half = train(dropping(), data, CC(), replace(SETTINGS, epochs=1))
    save_checkpoint(tmp_path / "run", half)
    resumed = start(dropping(), data, CC(), SETTINGS)
    load_checkpoint(tmp_path / "run", resumed)
    train(resumed.model, data, CC(), SETTINGS, training=resumed)
    assert_same(whole.model, resumed.model, exact=True)


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    data = problem()
    state = train(network(), data, LW(), SETTINGS)
    save_checkpoint(tmp_path / "run", state, mark="one")
    with pytest.raises(InputError, match="another run"):
        load_checkpoint(tmp_path / "run", state, mark="two")


@pytest.mark.parametrize("damage", ["truncate", "flip", "foreign"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "run"
    state = train(network(), problem(), LW(), SETTINGS)
    save_checkpoint(path, state)
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[-5] ^= 1
    path.write_bytes({"truncate": content[:-100], "flip": content}.get(damage, b"hello" * 50))
    with pytest.raises(FileFormatError):
        load_checkpoint(path, state)


def test_interruption_keeps_the_last_whole_epoch() -> None:
    data, settings = problem(dtype=torch.float32), replace(SETTINGS, epochs=9)
    keeper = Keeper()
    state = start(network(torch.float32), data, LW(), settings)

    class Interrupting(Method):
        """LW that is interrupted in the middle of its fifth epoch."""

        calls = 0
        when = property(lambda self: "same")  # type: ignore[assignment]

        def init(self, inside: Tensor) -> Tensor:
            return LW().init(inside)

        def update(self, scores: Tensor, inside: Tensor) -> Tensor:
            return LW().update(scores, inside)

        def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
            Interrupting.calls += 1
            if Interrupting.calls == 4 * len(batch_bounds(70, 16)) + 3:
                raise KeyboardInterrupt
            return LW().loss(scores, inside, weights)

    with pytest.raises(KeyboardInterrupt):
        train(state.model, data, Interrupting(), settings, training=state, on_epoch=keeper)
    assert keeper.restore(state)
    assert state.epoch == 4
    expected = train(network(torch.float32), data, LW(), replace(settings, epochs=4))
    assert_same(expected.model, state.model, exact=True)


def test_nan_stops_with_epoch_rate_and_remedy() -> None:
    with pytest.raises(DivergenceError) as caught:
        train(network(name="linear"), problem(), LW("logistic"), replace(SETTINGS, lr=1e300))
    message = str(caught.value)
    assert "epoch 1" in message
    assert "learning rate 1e+300" in message
    assert "Try" in message


def test_a_last_step_that_explodes_is_told() -> None:
    """No loss comes after it: the run ended with NaN in the network and a plausible accuracy."""
    settings = replace(SETTINGS, epochs=1, batch_size=100, lr=1e308, weight_decay=1e3)
    with pytest.raises(DivergenceError, match=r"last step of epoch 1 .*learning rate 1e\+308"):
        train(network(name="linear"), problem(), LW("logistic"), settings)


def test_one_parameter_that_is_no_number_is_enough() -> None:
    model = network()
    frozen, *_, last = model.parameters()
    with torch.no_grad():
        last[-1] = torch.nan
    assert not _is_finite(model)
    last.data.zero_()
    frozen.data.fill_(torch.inf)
    assert not _is_finite(model)
    assert _is_finite(model.requires_grad_(False))


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("you tried: can't allocate memory"),
    ],
)
def test_memory_that_has_run_out_is_no_fault_of_the_model(error: Exception) -> None:
    class Hungry(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            raise error

    with pytest.raises(RuntimeError) as caught:
        train(Hungry(3, 3), problem(), CC(), SETTINGS)
    assert caught.value is error


def test_uint8_stays_uint8_and_is_scaled_by_batch() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 4), dtype=np.uint8)
    features = Features.of(pixels, shift=10.0, scale=255.0)
    assert features.values.dtype == torch.uint8
    expected = torch.tensor((pixels[3:5] - 10.0) / 255.0, dtype=torch.float32)
    torch.testing.assert_close(features.batch(slice(3, 5)), expected)
    unshifted = Features.of(pixels, scale=255.0).batch(slice(3, 5))
    torch.testing.assert_close(unshifted, torch.tensor(pixels[3:5] / 255.0, dtype=torch.float32))


def test_a_batch_too_small_for_batch_norm() -> None:
    with pytest.raises(InputError, match="model='linear'"):
        train(network(), problem(1), LW(), SETTINGS)
    train(network(name="linear"), problem(1), LW(), SETTINGS)
    train(network(), problem(33), LW(), SETTINGS)  # 16 + 17: the tail of one row is joined


def test_a_model_with_the_wrong_number_of_scores() -> None:
    with pytest.raises(InputError, match=r"shape \(16, 4\); .* \(16, 3\)"):
        train(nn.Linear(3, 4).double(), problem(), LW(), SETTINGS)


def test_lengths_must_agree() -> None:
    with pytest.raises(InputError, match="X has 2 rows, but y has 3"):
        training_data(Features.of(np.eye(2)), as_candidates([0, 1, 1]))


@pytest.mark.parametrize(
    ("name", "value"),
    [("epochs", 0), ("lr", -1.0), ("optimizer", "sdg"), ("schedule", "x"), ("batch_size", 2.5)],
)
def test_bad_settings(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        Settings(**{name: value})  # type: ignore[arg-type]


def splitmix64(x: int) -> int:
    """The finaliser in whole numbers without end, cut to 64 bits (Steele et al., OOPSLA 2014)."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


@pytest.mark.parametrize(("seed", "epoch", "n"), [(0, 0, 7), (5, 3, 200), (2**63 - 1, 499, 90)])
def test_orders_are_those_of_the_hash(seed: int, epoch: int, n: int) -> None:
    """Every stored result depends on them."""
    golden = 0x9E3779B97F4A7C15
    assert splitmix64(golden) == 0xE220A8397B1DCDAF  # the generator's first number from seed 0
    stream = splitmix64((splitmix64(seed) + epoch * golden) % 2**64)
    keys = [splitmix64((stream + row * golden) % 2**64) for row in range(n)]
    signed = [key - 2**64 if key >= 2**63 else key for key in keys]
    assert permutation(seed, epoch, n).tolist() == sorted(range(n), key=signed.__getitem__)


def test_seeds_of_the_roles_are_numpys() -> None:
    words = np.random.SeedSequence(3).generate_state(6, np.uint32).tolist()
    expected = [
        (low + 2**32 * high) // 2 for low, high in zip(words[::2], words[1::2], strict=True)
    ]
    assert list(split_seed(3)) == expected


def test_a_last_row_joins_the_batch_before_it() -> None:
    assert (batch_bounds(5, 4), batch_bounds(9, 4)) == ([(0, 5)], [(0, 4), (4, 9)])
    assert (batch_bounds(1, 4), batch_bounds(6, 4)) == ([(0, 1)], [(0, 4), (4, 6)])


def test_orders_are_permutations_that_depend_on_seed_and_epoch() -> None:
    a = permutation(1, 0, 1000)
    assert torch.equal(a.sort().values, torch.arange(1000))
    assert not torch.equal(a, permutation(1, 1, 1000))
    assert not torch.equal(a, permutation(2, 0, 1000))
    stacked = permutation(torch.tensor([1, 2]), 0, 1000)
    assert torch.equal(stacked[0], a)
    assert torch.equal(stacked[1], permutation(2, 0, 1000))
    # Positions look uniform: each row's mean position over many epochs is near the middle.
    positions = torch.stack([permutation(7, e, 50).argsort() for e in range(400)]).double()
    assert (positions.mean(0) - 24.5).abs().max() < 5 * 14.43 / 400**0.5


def fitted(path: Path | None) -> Any:
    Checkpoint.__init__.__defaults__ = (None, "", 0.0, 1.0)  # write at every epoch
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    x = np.eye(4)[y] + rng.normal(size=(400, 4))
    model = LWClassifier(epochs=60, random_state=0, checkpoint=path, batch_size=64)
    return model.fit(x, uniform(y, 0.3, seed=0)).decision_function(x)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_killed_process_resumes_to_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kill −9 in the middle, start again with the same command: the undisturbed numbers."""
    monkeypatch.setattr(Checkpoint.__init__, "__defaults__", Checkpoint.__init__.__defaults__)
    killed = tmp_path / "killed"
    process = multiprocessing.get_context("fork").Process(target=fitted, args=(killed,))
    process.start()
    while not killed.exists():
        assert process.is_alive(), "finished before it could be killed"
        time.sleep(0.001)
    process.kill()
    process.join()
    assert 0 < read_archive(killed)[1]["epoch"] < 60
    assert np.array_equal(fitted(killed), fitted(None))


def test_scores_do_not_depend_on_the_mode_the_model_was_in() -> None:
    model, data = network(), problem()
    model.train()
    first = predict_scores(model, data.features)
    assert model.training
    model.eval()
    assert torch.equal(first, predict_scores(model, data.features))


def test_history_is_a_frame() -> None:
    run: Training = train(network(), problem(), CC(), SETTINGS)
    assert list(run.history.columns) == ["epoch", "lr", "loss", "covering", "seconds"]
