"""The fused kernels compute what the portable path computes.

They run on a GPU, or, with TRITON_INTERPRET=1, in Triton's interpreter on the CPU.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from amongst.accel.population import Member
from amongst.accel.population.cohort import Cohort, form_cohort
from amongst.accel.population.member import arrange
from amongst.accel.population.step import advance
from amongst.algorithms import CC, CLPL, LW, PRODEN, RC, Average, Method, Minimum
from amongst.losses import PSIS
from amongst.train import Features, Settings

HAS_TRITON = importlib.util.find_spec("triton") is not None
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"

pytestmark = pytest.mark.skipif(
    not HAS_TRITON or (DEVICE == "cpu" and not INTERPRETED),
    reason="needs Triton, and a GPU or TRITON_INTERPRET=1",
)

N, K = 45, 5
METHODS: list[Method] = [
    *(LW(psi=psi.name, beta=0.5, alpha=1.5) for psi in PSIS.values() if psi.trainable),
    *(LW(psi="sigmoid", refresh=when, beta=2.0) for when in ("same", "post", "epoch")),
    LW(initial="official", refresh="post", beta=8.0),
    LW(beta=8.0, fade=1.0),
    RC(),
    CC(),
    PRODEN(),
    Average(),
    Average(psi="ramp"),
    Minimum(),
    Minimum(psi="hinge"),
    CLPL(),
    CLPL(form="mean"),
]


def masks(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    inside = torch.rand(N, K, generator=generator) < 0.4
    inside[torch.arange(N), torch.randint(K, (N,), generator=generator)] = True
    inside[0] = True
    return inside


def cohort_of(
    methods: list[Method], model: str = "mlp", subset: bool = False, **changes: object
) -> Cohort:
    members = []
    for i, method in enumerate(methods):
        for optimizer in ("sgd", "adam"):
            settings = Settings(batch_size=20, lr=0.01 * (1 + i / 9), optimizer=optimizer, seed=i)
            rows = torch.randperm(N)[:37] if subset else None
            members.append(Member(method, masks(i), replace(settings, **changes), rows=rows))
    members = [members[i] for i in arrange(members)[0]]
    torch.manual_seed(0)
    pixels = torch.randint(256, (N, 7, 3)).to(torch.uint8)
    features = Features(pixels, torch.rand(7, 3) * 99, torch.tensor(60.0)).to(DEVICE)
    options = {"widths": (19, 24)} if model == "mlp" else {}
    return form_cohort(members, features, model, options, pad=True)


def both_ways(
    cohort: Cohort, epochs: int = 2, **tiles: bool
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    from amongst.accel.population.fused import FusedStep, Tiles

    outcomes = []
    start = {name: value.clone() for name, value in cohort.state().items()}
    for fused in (False, True):
        for name, value in cohort.state().items():
            value.copy_(start[name])
        step = FusedStep(cohort, Tiles(**tiles)) if fused else advance
        for epoch in range(epochs):
            cohort.begin_epoch(epoch)
            for size in cohort.sizes:
                step(cohort, size)
        final = {name: value.clone() for name, value in cohort.state().items()}
        outcomes.append(final | {"totals": cohort.totals.clone()})
    return outcomes[0], outcomes[1]


def assert_agree(portable: dict[str, Tensor], fused: dict[str, Tensor]) -> None:
    assert portable.keys() == fused.keys()
    for name, value in portable.items():
        torch.testing.assert_close(
            fused[name], value, rtol=5e-3, atol=1e-4, msg=lambda m, n=name: f"{n}: {m}"
        )


LAUNCHES = [{"early": on, "overlap": on} for on in (False, True)]


@pytest.mark.parametrize("tiles", LAUNCHES, ids=["plain", "early and overlapping"])
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_each_method_agrees_with_the_portable_path(method: Method, tiles: dict[str, bool]) -> None:
    with torch.no_grad():
        assert_agree(*both_ways(cohort_of([method]), epochs=1, **tiles))


@pytest.mark.parametrize("model", ["mlp", "linear"])
@pytest.mark.parametrize("subset", [False, True])
@pytest.mark.parametrize("tiles", LAUNCHES, ids=["plain", "early and overlapping"])
def test_a_mixed_population_agrees(model: str, subset: bool, tiles: dict[str, bool]) -> None:
    with torch.no_grad():
        assert_agree(*both_ways(cohort_of(METHODS[::3], model, subset), **tiles))


def test_a_leverage_that_fades_reaches_the_kernel() -> None:
    cohort = cohort_of([LW(beta=8.0, fade=1.0), LW(beta=8.0)], epochs=3)
    with torch.no_grad():
        assert_agree(*both_ways(cohort, epochs=3))


def test_dead_members_do_not_move() -> None:
    from amongst.accel.population.fused import FusedStep

    cohort = cohort_of([LW(), CC(), RC()])
    cohort.alive[::2] = False
    before = {name: value.clone() for name, value in cohort.state().items()}
    with torch.no_grad():
        cohort.begin_epoch(0)
        FusedStep(cohort)(cohort, cohort.sizes[0])
    for i in range(len(before)):
        name = f"parameter.{i}"
        if name in before:
            now = cohort.state()[name]
            assert torch.equal(now[::2], before[name][::2])
    moved = cohort.state()["parameter.0"][1::2] - before["parameter.0"][1::2]
    assert bool((moved != 0).flatten(1).any(1).all())


def test_a_nan_kills_one_member_only() -> None:
    from amongst.accel.population.fused import FusedStep

    cohort = cohort_of([LW(psi="sigmoid"), CC()])
    cohort.network.parameters[0][1, 0, 0] = torch.nan
    with torch.no_grad():
        cohort.begin_epoch(0)
        FusedStep(cohort)(cohort, cohort.sizes[0])
    expected = [i != 1 for i in range(len(cohort))]
    assert cohort.alive.tolist() == expected
    for group in cohort.groups:
        assert group.weights is None or bool(group.weights.isfinite().all())
