"""Plans, waves, running out of memory, members alone, and the progress bar."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from amongst.accel.population import (
    Member,
    Progress,
    plan_memory,
    population_bar,
    run,
    train_population,
)
from amongst.accel.population.cohort import Cohort, form_cohort
from amongst.accel.population.plan import available_memory
from amongst.algorithms import CC, LW, RC
from amongst.errors import AmongstWarning, InputError
from amongst.metrics import accuracy, covering_rate
from amongst.train import Features, Settings, Watch

N, D, K = 50, 6, 4
WIDTHS = {"widths": (8, 7)}


def features() -> Features:
    return Features(torch.randn(N, D, generator=torch.Generator().manual_seed(0)))


def masks(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    inside = torch.rand(N, K, generator=generator) < 0.4
    inside[torch.arange(N), torch.randint(K, (N,), generator=generator)] = True
    return inside


def members(count: int = 6, epochs: int = 2) -> list[Member]:
    settings = Settings(epochs=epochs, batch_size=16, precision="float64")
    return [Member(LW(), masks(i), replace(settings, seed=i)) for i in range(count)]


def state(model: torch.nn.Module) -> Tensor:
    return torch.cat([value.double().flatten() for value in model.state_dict().values()])


def test_a_plan_covers_what_a_cohort_holds() -> None:
    chosen = members(20)
    plan = plan_memory(chosen, features(), "mlp", dict(WIDTHS), memory_limit=2**30)
    cohort = form_cohort(chosen, features(), "mlp", dict(WIDTHS))
    tensors = [*cohort.state().values(), cohort.order, cohort.candidates.codes]
    held = sum(t.numel() * t.element_size() for t in tensors)
    assert held < plan.total < 20 * held
    assert f"{len(chosen)} members need" in str(plan)


@pytest.mark.parametrize(
    ("changes", "shared", "each"),
    [
        # rows: an order and four weights; 28 parameters, four times and in 16 bits; ten activations
        ({}, 1200 + 2 * 50 + 40 * 150, 50 * (4 + 16) + 28 * (16 + 4) + 10 * 16 * 8),
        ({"optimizer": "adam"}, 7300, 1000 + 28 * (20 + 4) + 1280),
        ({"batch_size": 99}, 7300, 1000 + 560 + 10 * 50 * 8),
        ({"method": CC()}, 7300, 50 * 4 + 560 + 1280),
        ({"rows": torch.arange(40)}, 1300 + 2 * 16 * 150, 40 * (4 + 8 + 16) + 560 + 1280),
        ({"precision": "float64"}, 1300 + 2 * 32 * 150, 50 * (4 + 32) + 28 * (32 + 4) + 2560),
        ({"precision": "bf16"}, 7300, 1000 + 560 + 1280),  # 16 bits are for a GPU
    ],
    ids=lambda value: next(iter(value), "plain") if isinstance(value, dict) else None,
)
def test_a_plan_counts_every_byte(changes: dict[str, Any], shared: int, each: int) -> None:
    """Of three members with two masks and a linear model, counted by hand."""
    own = {name: changes[name] for name in changes if name in ("method", "rows")}
    others = {name: changes[name] for name in changes if name not in own}
    settings = replace(Settings(batch_size=16), **others)
    first, second = masks(0), masks(1)
    chosen = [Member(LW(), inside, settings) for inside in (first, second, first)]
    plan = plan_memory([replace(m, **own) for m in chosen], features(), "linear", memory_limit=1)
    assert (plan.members, plan.shared, plan.each, plan.limit) == (3, shared, each, 1)


def test_waves_give_what_one_wave_gives() -> None:
    chosen = members()
    plan = plan_memory(chosen, features(), "mlp", dict(WIDTHS), memory_limit=2**30)
    whole = train_population(features(), chosen, options=WIDTHS, device="cpu")
    limit = plan.shared + 2 * plan.each
    parts = train_population(features(), chosen, options=WIDTHS, device="cpu", memory_limit=limit)
    assert [len(wave.indices) for wave in whole.waves] == [6]
    assert [len(wave.indices) for wave in parts.waves] == [2, 2, 2]
    for i in range(len(chosen)):
        torch.testing.assert_close(state(parts.model(i)), state(whole.model(i)))


def small_device(monkeypatch: pytest.MonkeyPatch, room: int) -> list[int]:
    """A device with room for so many members; the list gets the sizes that were tried."""
    tried: list[int] = []

    def form(chosen: list[Member], *rest: object, **options: object) -> Cohort:
        tried.append(len(chosen))
        if len(chosen) > room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return form_cohort(chosen, *rest, **options)

    monkeypatch.setattr(run, "form_cohort", form)
    return tried


def test_out_of_memory_halves_the_wave(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = members()
    whole = train_population(features(), chosen, options=WIDTHS, device="cpu")
    tried = small_device(monkeypatch, room=2)
    with pytest.warns(AmongstWarning, match="members did not fit"):
        result = train_population(features(), chosen, options=WIDTHS, device="cpu")
    assert tried == [6, 3, 2, 1, 3, 2, 1]
    for i in range(len(chosen)):
        torch.testing.assert_close(state(result.model(i)), state(whole.model(i)))


def test_one_member_that_does_not_fit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    small_device(monkeypatch, room=0)
    with pytest.raises(InputError, match="one member alone"):
        train_population(features(), members(1), options=WIDTHS, device="cpu")


def test_another_runtime_error_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Cohort:
        raise RuntimeError("something else")

    monkeypatch.setattr(run, "form_cohort", fail)
    with pytest.raises(RuntimeError, match="something else"):
        train_population(features(), members(2), options=WIDTHS, device="cpu")


def test_members_alone_give_what_members_in_lockstep_give(tmp_path: Path) -> None:
    """With subsets of rows, held rows, an oracle, watches, and from a checkpoint."""
    truth = torch.randint(K, (N,))
    rows, held = torch.arange(40), torch.arange(40, N)
    chosen = [
        replace(member, rows=rows, held=held, held_truth=truth[held], method=method)
        for member, method in zip(members(3), (LW(), RC(), LW(refresh="epoch")), strict=True)
    ]
    watch = [Watch("test", features(), lambda scores: accuracy(scores, truth))]
    kwargs: dict[str, object] = {"options": WIDTHS, "device": "cpu", "keep_weights": True,
                                 "watch": watch, "held": {"cover": covering_rate}}  # fmt: skip
    together = train_population(features(), chosen, **kwargs)
    for _ in range(2):
        alone = train_population(features(), chosen, backend="alone", checkpoint=tmp_path, **kwargs)
        for i in range(len(chosen)):
            torch.testing.assert_close(state(alone.model(i)), state(together.model(i)))
            ours, theirs = alone.history(i), together.history(i)
            assert list(ours.columns) == list(theirs.columns)
            for column in ("loss", "covering", "test", "cover", "oracle"):
                assert ours[column].to_numpy() == pytest.approx(theirs[column].to_numpy())
            torch.testing.assert_close(alone.weights(i), together.weights(i))


def test_a_member_alone_that_diverges_is_marked() -> None:
    good, bad = members(2, epochs=3)
    wild = replace(bad.settings, lr=1e200, momentum=0.99)
    bad = replace(bad, method=LW(psi="squared_hinge"), settings=wild)
    result = train_population(
        features(), [good, bad], model="linear", device="cpu", backend="alone"
    )
    assert result.diverged[0] is None
    assert result.diverged[1] in (1, 2, 3)
    assert bool(result.history(1)["loss"].isna().any())
    assert (result.history(1)["seconds"] > 0).tolist() == result.history(1)["loss"].notna().tolist()
    assert bool(state(result.model(1)).isfinite().all())


@pytest.mark.parametrize("backend", ["eager", "alone"])
def test_progress_tells_what_the_histories_hold(backend: str) -> None:
    heard: dict[tuple[int, int], float] = {}

    def on_epoch(progress: Progress) -> None:
        at = progress.columns.index("loss")
        for i, row in zip(progress.indices, progress.values, strict=True):
            heard[i, progress.epoch] = float(row[at])

    chosen = members(2, epochs=3)
    result = train_population(
        features(), chosen, model="linear", device="cpu", backend=backend, on_epoch=on_epoch
    )
    told = {(i, e): result.history(i)["loss"][e - 1] for i in range(2) for e in (1, 2, 3)}
    assert heard == told


def test_the_bar_shows_plan_best_and_median(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Progress] = []
    with population_bar("LW", "loss") as bar:

        def on_epoch(progress: Progress) -> None:
            seen.append(progress)
            bar(progress)

        train_population(features(), members(3), options=WIDTHS, device="cpu", on_epoch=on_epoch)
    low, median, high = seen[-1].summary("loss")
    assert low <= median <= high
    assert seen[-1].best("loss") == low
    assert seen[-1].best("covering") == seen[-1].summary("covering")[2]
    shown = " ".join(capsys.readouterr().err.split())
    assert "3 members need" in shown
    assert f"best {low:.4f} median {median:.4f}" in shown


def test_memory_is_guessed_where_the_system_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf_names")  # as on Windows
    assert available_memory("cpu") == 4 << 30
