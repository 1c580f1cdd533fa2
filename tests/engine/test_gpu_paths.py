"""A newcomer's ways on a GPU, from end to end; about a minute on an H200."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from amongst import LWClassifier, load
from amongst.accel import graphs
from amongst.accel.graphs import GraphedStep, graphed_step
from amongst.accel.population import Member, train_population
from amongst.algorithms import CC, LW
from amongst.candidates import uniform
from amongst.errors import AmongstWarning, InputError
from amongst.losses import LWLoss
from amongst.metrics import accuracy
from amongst.models import build_model
from amongst.selection import PartialLabelSearchCV
from amongst.train import (
    Features,
    Settings,
    Training,
    TrainingData,
    Watch,
    loop,
    predict_scores,
    start,
    train,
)
from amongst.train.checkpoint import Keeper, load_checkpoint, save_checkpoint

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

DEVICE = "cuda"
ROWS = 256
DIGITS = load_digits()
X, Y = DIGITS.data[:1500], DIGITS.target[:1500]
SETS = uniform(Y, q=0.3, seed=0)
IMAGES = np.kron(DIGITS.images[:ROWS], np.ones((4, 4)))[:, None] * 15.9
IMAGES = IMAGES.astype(np.uint8)


def network(kind: str, **params: Any) -> LWClassifier:
    """Long enough that its steps are captured."""
    given = {"model": kind, "device": DEVICE, "random_state": 0, "epochs": 8, "batch_size": 16}
    return LWClassifier(**(given | params))


def rows(kind: str) -> tuple[Any, Any, Any]:
    """Features, candidate sets and true labels."""
    few = slice(0, ROWS)
    return (IMAGES if kind == "convnet" else X[few]), SETS[few], Y[few]


def distance(left: nn.Module, right: nn.Module) -> float:
    a, b = (
        torch.cat(
            [v.double().cpu().flatten() for v in m.state_dict().values() if v.is_floating_point()]
        )
        for m in (left, right)
    )
    return float((a - b).norm() / b.norm())


@pytest.mark.parametrize("kind", ["linear", "mlp", "convnet"])
def test_an_estimator_from_fit_to_file(kind: str, tmp_path: Path) -> None:
    features, sets, truth = rows(kind)
    fitted = network(kind).fit(features, sets)
    assert (fitted.predict(features) == truth).mean() > 0.6
    assert {p.device.type for p in fitted.model_.parameters()} == {"cpu"}
    fitted.save(tmp_path / "model.amongst")
    again = load(tmp_path / "model.amongst")
    host = load(tmp_path / "model.amongst", device="cpu")
    pickled = pickle.loads(pickle.dumps(fitted)).set_params(device="cpu")
    expected = fitted.predict_proba(features)
    np.testing.assert_allclose(again.predict_proba(features), expected, atol=1e-4)
    for other in (host, pickled):
        np.testing.assert_allclose(other.predict_proba(features), expected, atol=1e-3)
    assert len(fitted.disambiguate(features, sets)) == ROWS


@pytest.mark.parametrize("precision", ["float32", "bf16", "tf32", "float64"])
def test_every_precision_trains_and_predicts(precision: str) -> None:
    features, sets, truth = rows("mlp")
    fitted = network("mlp", precision=precision).fit(features, sets)
    assert (fitted.predict(features) == truth).mean() > 0.8


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("kind", ["mlp", "convnet"])
def test_after_an_interruption_it_goes_on(
    kind: str, optimizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, sets, _ = rows(kind)
    params = {"optimizer": optimizer, "lr": 0.01 if optimizer == "sgd" else 1e-3}
    whole = network(kind, **params).fit(features, sets)
    kept = network(kind, checkpoint=tmp_path / "run.amongst", **params)
    keep = Keeper.__call__

    def interrupted(self: Keeper, state: Training) -> None:
        keep(self, state)
        if state.epoch == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Keeper, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kept.fit(features, sets)
    monkeypatch.setattr(Keeper, "__call__", keep)
    assert (kept.n_iter_, len(kept.predict(features))) == (3, ROWS)
    kept.fit(features, sets)
    assert kept.n_iter_ == 8
    agree = (kept.predict(features) == whole.predict(features)).mean()
    assert agree > 0.9, agree


@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_weights_of_rows_are_captured(kind: str) -> None:
    features, sets, _ = rows(kind)
    weights = np.arange(ROWS) % 4
    found = network(kind).fit(features, sets, sample_weight=weights).predict_proba(features)
    host = network(kind, device="cpu").fit(features, sets, sample_weight=weights)
    plain = network(kind).fit(features, sets).predict_proba(features)
    expected = host.predict_proba(features)
    assert np.abs(found - expected).mean() < 0.2 * np.abs(plain - expected).mean()


def test_features_and_masks_may_lie_on_the_gpu() -> None:
    features, sets, _ = rows("mlp")
    far, mask = (torch.tensor(value, device=DEVICE) for value in (features, sets.to_mask()))
    ours = network("mlp", epochs=2).fit(far, mask).predict_proba(far)
    theirs = network("mlp", epochs=2).fit(features, sets).predict_proba(features)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_tensors_may_be_made_on_the_gpu_by_default() -> None:
    features, sets, _ = rows("mlp")
    expected = network("mlp").fit(features, sets).predict_proba(features)
    torch.set_default_device(DEVICE)
    try:
        found = network("mlp").fit(features, sets).predict_proba(features)
        several = network("mlp", n_init=2).fit(features, sets).predict(features)
    finally:
        torch.set_default_device(None)
    np.testing.assert_allclose(found, expected, atol=1e-2)
    assert len(several) == ROWS


@pytest.mark.parametrize("kind", ["mlp", "convnet"])
def test_a_search_trains_there(kind: str) -> None:
    features, sets, truth = rows(kind)
    estimator = network(kind, epochs=7)
    search = PartialLabelSearchCV(estimator, {"lr": [0.05, 1e-6]}, random_state=0)
    search.fit(features, sets)
    assert search.best_params_ == {"lr": 0.05}
    assert (search.predict(features) == truth).mean() > 0.5


FORKED = """
import multiprocessing, warnings
import numpy as np, torch
from amongst import LWClassifier
torch.ones(1, device="cuda")
def child(queue):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = LWClassifier(model="linear", epochs=1).fit(np.eye(3), ["a|b", "b", "c"])
    queue.put((str(model.classes_.tolist()), [str(w.message) for w in seen]))
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(queue,))
process.start()
print(queue.get(timeout=60))
process.join()
"""


def test_a_forked_process_which_cannot_use_the_gpu_takes_the_cpu_and_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=90
    )
    assert "['a', 'b', 'c']" in done.stdout, done.stderr[-2000:]
    assert "the GPU cannot be used" in done.stdout


def data_of(shape: tuple[int, ...] = (6,), n: int = 70, k: int = 4) -> TrainingData:
    generator = torch.Generator().manual_seed(0)
    inside = torch.rand(n, k, generator=generator) < 0.4
    inside[torch.arange(n), torch.randint(k, (n,), generator=generator)] = True
    features = Features(torch.randn(n, *shape, generator=generator)).to(DEVICE)
    return TrainingData(features, inside.to(DEVICE))


def on_host(data: TrainingData) -> TrainingData:
    return TrainingData(data.features.to("cpu"), data.inside.cpu())


def small(data: TrainingData) -> nn.Module:
    return build_model("mlp", data.features.shape, data.n_classes, seed=0, widths=(8,))


def convnet(data: TrainingData) -> nn.Module:
    return build_model("convnet", data.features.shape, data.n_classes, seed=0)


def captured(data: TrainingData, settings: Settings, path: Path | None = None) -> nn.Module:
    """A ConvNet with its dropout by captured steps, from the beginning or from a file."""
    state = start(convnet(data), data, LW(), settings)
    if path is not None:
        load_checkpoint(path, state, "mark")
    stepper = GraphedStep(state, data, settings, compile=False, tune=None)
    return train(state.model, data, LW(), settings, training=state, stepper=stepper).model


def test_dropout_after_a_resume_draws_what_it_would_have_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A capture draws numbers of its own, in the first epoch of a process; they are put back. With
    cuDNN's repeatable algorithms, so that nothing else can differ."""
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    data = data_of((3, 28, 28), n=40)
    settings = Settings(epochs=4, batch_size=16, lr=0.01)
    whole = captured(data, settings)
    state = start(convnet(data), data, LW(), settings)
    half = replace(settings, epochs=2)
    stepper = GraphedStep(state, data, half, compile=False, tune=None)
    train(state.model, data, LW(), half, training=state, stepper=stepper)
    save_checkpoint(tmp_path / "half", state, "mark")
    resumed = captured(data, settings, tmp_path / "half")
    monkeypatch.setattr(loop, "dropout_seed", lambda seed, epoch: 12345 + epoch)
    others = captured(data, settings)
    assert distance(resumed, whole) == 0.0 < distance(others, whole)


@pytest.mark.parametrize("batch_size", [128, 4], ids=["few steps", "captured steps"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize(("begun", "ended"), [("cpu", DEVICE), (DEVICE, "cpu")])
def test_a_training_begun_on_one_device_ends_on_the_other(
    begun: str, ended: str, optimizer: str, batch_size: int, tmp_path: Path
) -> None:
    """A CPU's optimiser is fused; its moments go on in that of the GPU, and back."""
    data = on_host(data_of())
    settings = Settings(epochs=8, batch_size=batch_size, lr=0.01, optimizer=optimizer)

    def trained(device: str, epochs: int, path: Path | None = None) -> Training:
        model = small(data).to(device)
        there = TrainingData(data.features.to(device), data.inside.to(device))
        state = start(model, there, LW(), settings)
        if path is not None:
            load_checkpoint(path, state, "mark")
        return train(model, there, LW(), replace(settings, epochs=epochs), training=state)

    save_checkpoint(tmp_path / "half", trained(begun, 3), "mark")
    moved = trained(ended, 8, tmp_path / "half")
    whole = trained(ended, 8)
    assert {p.device.type for p in moved.model.parameters()} == {ended}
    assert distance(moved.model, whole.model) < 1e-3
    assert distance(trained(ended, 3).model, whole.model) > 1e-2


def test_an_optimiser_of_ones_own_stays() -> None:
    data, settings = data_of(), Settings(epochs=30, batch_size=16)
    model = small(data).to(DEVICE)
    state = start(model, data, LW(), settings)
    assert isinstance(graphed_step(state, data, settings), GraphedStep)
    own = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    run = train(model, data, LW(), settings, training=Training(model, own, state.weights))
    assert run.optimizer is own
    assert run.epoch == 30


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("kind", ["ours", "own"])
def test_a_training_goes_on_on_another_device_and_back(kind: str, optimizer: str) -> None:
    data = data_of()
    host = on_host(data)
    settings = Settings(epochs=30, batch_size=16, lr=0.001, optimizer=optimizer)
    whole, moved = (small(data) if kind == "ours" else own_network() for _ in range(2))
    moved.load_state_dict(whole.state_dict())
    train(whole, host, LW(), settings)
    state = None
    for epochs, place in ((10, host), (20, data), (30, host)):
        part = replace(settings, epochs=30)
        state = stopped(moved, place, part, epochs, state)
    assert distance(moved, whole) < 1e-2


def own_network() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))


class _Enough(Exception):
    pass


def stopped(
    model: nn.Module, data: TrainingData, settings: Settings, epoch: int, state: Training | None
) -> Training:
    """A training up to some epoch of many."""
    found: list[Training] = []

    def on_epoch(run: Training) -> None:
        found[:] = [run]
        if run.epoch == epoch:
            raise _Enough

    with pytest.raises(_Enough):
        train(model, data, LW(), settings, training=state, on_epoch=on_epoch)
    return found[0]


def test_a_model_on_the_gpu_scores_features_on_the_host() -> None:
    data = data_of()
    run = train(small(data), data, LW(), Settings(epochs=1))
    near, far = (predict_scores(run.model, f) for f in (data.features, data.features.to("cpu")))
    torch.testing.assert_close(near, far)
    with pytest.raises(InputError, match="inside is on cpu, but the features are on cuda:0"):
        TrainingData(data.features, data.inside.cpu())


class Pixels(nn.Module):
    """A network of one's own, which is not captured."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Conv2d(3, 32, 3)
        self.head = nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.head(self.body(x).relu().mean((-2, -1)))
        return scores


def test_float32_is_float32_for_convolutions_too() -> None:
    """PyTorch's own choice is tf32, which has three digits."""
    data, settings = data_of((3, 16, 16)), Settings(epochs=3, batch_size=16)
    near, far = Pixels(), Pixels()
    far.load_state_dict(near.state_dict())
    train(near, on_host(data), LW(), settings)
    train(far, data, LW(), settings)
    assert distance(far, near) < 1e-4


@contextmanager
def set_by_the_new_way() -> Iterator[None]:
    matrices, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn.conv  # type: ignore[attr-defined]
    before = matrices.fp32_precision, convolutions.fp32_precision
    matrices.fp32_precision, convolutions.fp32_precision = "tf32", "ieee"
    try:
        yield
    finally:
        matrices.fp32_precision, convolutions.fp32_precision = before


def test_precision_that_was_set_by_the_new_way_stops_nothing() -> None:
    if not hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        pytest.skip("needs torch 2.9")
    images, sets, _ = rows("convnet")
    with set_by_the_new_way():
        network("convnet", epochs=7).fit(images, sets)
        network("mlp", epochs=7, n_init=2).fit(X[:ROWS], sets)


def population(members: list[Member], data: TrainingData, **options: Any) -> Any:
    given = {"device": DEVICE, "model": "mlp", "options": {"widths": (8,)}}
    return train_population(data.features.to("cpu"), members, **(given | options))


def test_measures_may_keep_labels_on_the_host_and_answer_there() -> None:
    data = data_of()
    truth = data.inside.float().argmax(-1).cpu()

    def in_numpy(scores: Tensor) -> Tensor:
        return torch.as_tensor(scores.cpu().numpy().max((-2, -1)))

    watch = [
        Watch("accuracy", data.features, lambda scores: accuracy(scores, truth)),
        Watch("largest", data.features, in_numpy),
    ]
    member = Member(LW(), data.inside.cpu(), Settings(epochs=2, batch_size=16))
    held = replace(member, rows=torch.arange(50), held=torch.arange(50, 70))
    options: dict[str, Any] = {"watch": watch, "held": {"mine": lambda g, _: g.mean((1, 2)).cpu()}}
    result = population([held, held], data, **options)
    assert result.history(1)[["accuracy", "largest", "mine"]].notna().all(axis=None)
    train(small(data), data, LW(), member.settings, watch=watch)


def test_dropout_in_a_captured_population_is_drawn_anew_and_by_its_seed() -> None:
    data = data_of()
    net = nn.Sequential(nn.Linear(6, 64), nn.Dropout(0.5), nn.Linear(64, 4))
    still = Settings(epochs=3, batch_size=70, lr=1e-9, weight_decay=0.0)
    member = Member(CC(), data.inside.cpu(), still)
    torch.manual_seed(1)
    first = population([member], data, model=net, options={}).history(0)["loss"].tolist()
    torch.manual_seed(2)
    again = population([member], data, model=net, options={}).history(0)["loss"].tolist()
    assert first == pytest.approx(again)
    assert len({round(loss, 5) for loss in first}) == 3


@pytest.mark.parametrize("classes", [200, 300, 600])
def test_many_classes_train_in_bf16(classes: int) -> None:
    """Up to 256 by fused kernels, whose tiles of more would not fit the shared memory."""
    data = data_of(k=classes)
    members = [
        Member(LW(), data.inside.cpu(), Settings(epochs=3, lr=0.01, precision=precision))
        for precision in ("bf16", "float32")
    ]
    coarse, exact = population(members, data).last("loss").tolist()
    assert coarse == pytest.approx(exact, rel=0.05)


def test_without_a_compiler_a_population_is_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs.shutil, "which", lambda _: None)
    assert graphs.why_not_built() is not None
    data = data_of()
    member = Member(LW(), data.inside.cpu(), Settings(epochs=2, precision="bf16"))
    assert population([member], data).diverged == [None]


def test_a_population_that_does_not_fit_is_halved() -> None:
    """Wherever memory ends: in the stack, in a warm-up or in a capture."""
    data = data_of((784,), n=512)
    settings = Settings(epochs=1, batch_size=256)
    members = [Member(LW(), data.inside.cpu(), replace(settings, seed=i)) for i in range(128)]
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    for gigabytes in (0.6, 1.0, 1.4):
        room = torch.cuda.memory_reserved() + gigabytes * 2**30
        torch.cuda.set_per_process_memory_fraction(room / total)
        try:
            with pytest.warns(AmongstWarning, match="did not fit the memory; trying half"):
                result = population(members, data, options={})
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
            torch.cuda.empty_cache()
        assert result.diverged == [None] * 128


KILLED = """
import sys
from pathlib import Path
import torch
from amongst.train import Features, Settings
from amongst.accel.population import Member, alone, train_population
from amongst.algorithms import LW
alone.SECONDS = 0.0
generator = torch.Generator().manual_seed(0)
inside = torch.eye(4, dtype=torch.bool)[torch.arange(160) % 4]
features = Features(torch.randn(160, 3, 28, 28, generator=generator))
settings = Settings(epochs=int(sys.argv[2]), batch_size=16, lr=0.01, schedule="constant")
def tell(progress):
    print(progress.epoch, progress.earlier, flush=True)
train_population(features, [Member(LW(), inside, settings)], model="convnet", backend="alone",
                 device=sys.argv[3], checkpoint=sys.argv[1], on_epoch=tell)
print("done", flush=True)
"""


def test_a_convnet_of_a_population_that_is_killed_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "kept"), "200", DEVICE]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    for line in child.stdout:
        if line.split()[0] == "5":
            break
    child.kill()
    child.wait()
    child.stdout.close()
    again = subprocess.run(command, capture_output=True, text=True, timeout=120)
    lines = again.stdout.split("\n")
    assert "done" in lines, again.stderr[-3000:]
    assert int(lines[0].split()[1]) >= 1


def test_a_reproduction_that_is_killed_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    words = ["reproduce", "demo", "--seeds", "2", "--epochs", "40", "--precision", "bf16"]
    command = [sys.executable, "-m", "amongst", *words, "--device", DEVICE, "--store", str(store)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen(command, **quiet)  # type: ignore[call-overload]
    ends = time.monotonic() + 60
    while not store.exists() and time.monotonic() < ends and child.poll() is None:
        time.sleep(0.1)
    time.sleep(1)
    child.kill()
    child.wait()
    again = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert again.returncode == 0, again.stderr[-3000:]
    from amongst.bench.store import Store

    with Store(store, readonly=True) as kept:
        records = kept.records(curves=False)
    assert len(records) == 30
    assert {record.trial.settings["precision"] for record in records} == {"bf16"}
    assert not any(record.failed for record in records)


def own_loop(criterion: LWLoss, steps: int = 60) -> list[float]:
    """PyTorch's recipe for mixed precision, with row numbers that stay on the host."""
    torch.manual_seed(0)
    x = torch.tensor(X[:ROWS], dtype=torch.float32, device=DEVICE) / 16
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler, losses = torch.amp.GradScaler(DEVICE), []
    for _ in range(steps):
        index = torch.randperm(ROWS)[:64]
        with torch.autocast(DEVICE, dtype=torch.float16):
            scores = model(x[index.to(DEVICE)])
            loss = criterion(scores, index)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        criterion.update(scores.detach(), index)
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize("psi", ["cross_entropy", "sigmoid"])
def test_a_loss_in_a_loop_of_ones_own(psi: str) -> None:
    criterion = LWLoss(SETS[:ROWS], psi=psi).to(DEVICE)
    losses = own_loop(criterion)
    assert losses[-1] < losses[0]
    assert criterion.weights.device.type == torch.device(DEVICE).type
    there = {name: value.cpu() for name, value in criterion.state_dict().items()}
    fresh = LWLoss(SETS[:ROWS], psi=psi).to(DEVICE)
    fresh.load_state_dict(there)
    assert torch.equal(fresh.weights, criterion.weights)


def test_a_loss_that_stayed_on_the_host_says_so() -> None:
    criterion, scores = LWLoss(SETS[:ROWS]), torch.zeros(4, 10, device=DEVICE)
    with pytest.raises(InputError, match=r"scores is on cuda:0, but the loss is on cpu; move"):
        criterion(scores, torch.arange(4))


def test_a_loss_is_compiled_and_captured() -> None:
    criterion = LWLoss(SETS[:ROWS], check=False).to(DEVICE)
    scores, index = torch.randn(64, 10, device=DEVICE), torch.arange(64, device=DEVICE)
    expected = criterion(scores, index)
    graph = torch.cuda.CUDAGraph()
    criterion.update(scores, index)
    criterion(scores, index)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        found = criterion(scores, index)
        criterion.update(scores, index)
    fresh = LWLoss(SETS[:ROWS]).to(DEVICE)
    criterion.load_state_dict(fresh.state_dict())
    graph.replay()
    torch.testing.assert_close(found, expected)
    fresh.update(scores, index)
    torch.testing.assert_close(criterion.weights, fresh.weights)
    if graphs.why_not_built() is None:
        torch.compiler.reset()
        compiled = torch.compile(fresh)
        torch.testing.assert_close(compiled(scores, index), fresh(scores, index))


NCCL = """
import json
import torch
import torch.distributed as dist
from amongst.losses import LWLoss
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
ours, theirs = (LWLoss([{0, 1}, {2}, {0, 2}]).cuda() for _ in range(2))
scores = torch.tensor([[3.0, 1.0, 0.0], [0.0, 1.0, 2.0]], device="cuda")
ours.update(scores, torch.tensor([2, 0]), group=dist.group.WORLD)
theirs.update(scores, torch.tensor([2, 0]))
print(json.dumps(torch.equal(ours.weights, theirs.weights)))
dist.destroy_process_group()
"""


@pytest.mark.skipif(not torch.distributed.is_nccl_available(), reason="needs NCCL")
def test_weights_are_gathered_between_gpus() -> None:
    done = subprocess.run([sys.executable, "-c", NCCL], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) is True
