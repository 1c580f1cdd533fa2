"""On a GPU: graphs, compiled and fused steps agree with the single engine and with each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from amongst.accel.population import Member, train_population
from amongst.accel.population.backends import make_stepper
from amongst.accel.population.cohort import Cohort, form_cohort
from amongst.accel.population.member import arrange
from amongst.algorithms import CC, LW, PRODEN, RC, Method
from amongst.models import build_model
from amongst.train import Features, Settings, TrainingData, train

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

N, D, K = 300, 20, 4
WIDTHS = {"widths": (24, 19)}
METHODS: tuple[Method, ...] = (LW(), LW(psi="sigmoid", refresh="post"), RC(), CC(), PRODEN())


def features() -> Features:
    generator = torch.Generator().manual_seed(0)
    return Features(torch.randn(N, D, generator=generator)).to("cuda")


def masks(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    inside = torch.rand(N, K, generator=generator) < 0.4
    inside[torch.arange(N), torch.randint(K, (N,), generator=generator)] = True
    return inside


def members(precision: str, epochs: int = 2) -> list[Member]:
    found = []
    for i, method in enumerate(METHODS):
        for optimizer in ("sgd", "adam"):
            settings = Settings(
                epochs=epochs, batch_size=64, lr=0.005, optimizer=optimizer, seed=i,
                precision=precision,
            )  # fmt: skip
            found.append(Member(method, masks(i), settings))
    return found


def state_of(model: nn.Module) -> Tensor:
    return torch.cat([value.double().cpu().flatten() for value in model.state_dict().values()])


@pytest.mark.parametrize("backend", ["eager", "graph", "compiled"])
def test_float32_members_equal_the_single_engine(backend: str) -> None:
    chosen = members("float32")[: 3 if backend == "compiled" else None]
    result = train_population(features(), chosen, options=WIDTHS, device="cuda", backend=backend)
    for i, member in enumerate(chosen):
        network = build_model("mlp", (D,), K, member.initial_seed, **WIDTHS)
        data = TrainingData(features(), member.inside.cuda())
        alone = train(network, data, member.method, member.settings).model
        difference = state_of(result.model(i)) - state_of(alone)
        assert float(difference.norm() / state_of(alone).norm()) < 1e-4


def test_a_module_of_ones_own_with_batch_norm_trains_in_bf16() -> None:
    network = nn.Sequential(nn.Linear(D, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, K))
    coarse, exact = (
        train_population(features(), members(precision), model=network, device="cuda")
        for precision in ("bf16", "float32")
    )
    for i in range(len(METHODS) * 2):
        start = state_of(network)
        ways = [state_of(result.model(i)) - start for result in (coarse, exact)]
        assert float(torch.cosine_similarity(*ways, dim=0)) > 0.9


def stacked(precision: str) -> Cohort:
    chosen = members(precision)
    ordered = [chosen[i] for i in arrange(chosen)[0]]
    return form_cohort(ordered, features(), "mlp", dict(WIDTHS), pad=True)


def movement(cohort: Cohort, backend: str) -> Tensor:
    """How far an epoch moves each member, all parameters in one row: (M, P)."""
    before = [p.clone() for p in cohort.network.parameters]
    stepper = make_stepper(cohort, backend)
    with torch.no_grad():
        cohort.begin_epoch(0)
        for size in cohort.sizes:
            stepper(size)
    moved = zip(cohort.network.parameters, before, strict=True)
    return torch.cat([(now - then).flatten(1) for now, then in moved], 1)


@pytest.mark.parametrize("backend", ["graph", "fused"])
def test_bf16_moves_members_where_float32_does(backend: str) -> None:
    """Single updates differ by up to a tenth in bf16; the way of an epoch keeps its direction and
    length. Adam is left out: where a gradient is almost zero it steps by its sign alone."""
    if backend == "fused":
        pytest.importorskip("triton")
    exact, coarse = stacked("float32"), stacked("bf16")
    n_sgd = exact.optimizer.n_sgd
    a, b = movement(exact, "eager")[:n_sgd], movement(coarse, backend)[:n_sgd]
    assert float(torch.cosine_similarity(a, b).min()) > 0.99
    lengths = b.norm(dim=1) / a.norm(dim=1)
    assert float((lengths - 1).abs().max()) < 0.05
    torch.testing.assert_close(coarse.totals[:, 0], exact.totals[:, 0], rtol=0.05, atol=0.1)
    for ours, theirs in zip(coarse.groups, exact.groups, strict=True):
        if ours.weights is not None and theirs.weights is not None:
            assert float((ours.weights - theirs.weights).abs().mean()) < 0.02


def test_bf16_fused_equals_bf16_graph_more_closely_than_float32() -> None:
    """What is left between two bf16 paths is rounding, not method."""
    pytest.importorskip("triton")
    fused, graph = movement(stacked("bf16"), "fused"), movement(stacked("bf16"), "graph")
    n_sgd = stacked("bf16").optimizer.n_sgd
    assert float(torch.cosine_similarity(fused[:n_sgd], graph[:n_sgd]).min()) > 0.99


@pytest.mark.parametrize("backend", ["graph", "fused"])
def test_capturing_changes_nothing(backend: str) -> None:
    """Warm-up and capture leave the state bit for bit; only the replay moves it."""
    if backend == "fused":
        pytest.importorskip("triton")
    cohort = stacked("bf16")
    stepper = make_stepper(cohort, backend)
    with torch.no_grad():
        cohort.begin_epoch(0)
        before = {name: value.clone() for name, value in cohort.state().items()}
        stepper._captured(64)  # type: ignore[attr-defined]
        after = cohort.state()
    for name, value in before.items():
        assert torch.equal(after[name], value), name
    assert int(cohort.tick) == 0
    assert not cohort.totals.any()


def test_auto_trains_and_resumes(tmp_path: object) -> None:
    chosen = [replace(m, settings=replace(m.settings, epochs=4)) for m in members("bf16")]
    whole = train_population(features(), chosen, options=WIDTHS, device="cuda")
    half = [replace(m, settings=replace(m.settings, epochs=4)) for m in chosen]

    class Stop(Exception):
        pass

    def stop(progress: object) -> None:
        if progress.epoch == 2:  # type: ignore[attr-defined]
            raise Stop

    kwargs = {"options": WIDTHS, "device": "cuda", "checkpoint": tmp_path, "checkpoint_every": 1}
    with pytest.raises(Stop):
        train_population(features(), half, on_epoch=stop, **kwargs)
    resumed = train_population(features(), half, **kwargs)
    for i in range(len(chosen)):
        assert torch.equal(state_of(resumed.model(i)), state_of(whole.model(i)))


def test_running_out_of_memory_halves_the_wave() -> None:
    chosen = members("float32", epochs=1)
    free = torch.cuda.mem_get_info()[0]
    assert len(train_population(features(), chosen, options=WIDTHS, memory_limit=free).waves) == 1
    small = train_population(features(), chosen, options=WIDTHS, memory_limit=2**19)
    assert len(small.waves) > 1
