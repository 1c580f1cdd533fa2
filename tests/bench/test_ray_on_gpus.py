"""Which GPU a task of Ray's trains on; Ray itself is not needed to say so."""

from __future__ import annotations

from typing import Any

import pytest

from amongst.bench import execute_ray
from amongst.bench.execute import Options
from amongst.bench.execute_ray import RayExecutor
from amongst.errors import AmongstWarning, InputError


class FakeRay:
    """A cluster without a GPU, to which this process is connected."""

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}


@pytest.fixture(autouse=True)
def _without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute_ray, "optional_import", lambda *_, **__: FakeRay())


def test_a_gpu_that_ray_has_not_is_refused() -> None:
    """It waited for one without end, and without a word."""
    with pytest.raises(InputError, match="device='cuda:1' needs a GPU, and Ray finds none"):
        RayExecutor(Options(engine="ray", device="cuda:1"))


def test_a_cluster_may_get_one_later() -> None:
    options = Options(engine="ray", device="cuda", ray_address="ray://head:10001")
    with pytest.warns(AmongstWarning, match="ray://head:10001 has no GPU by now"):
        assert RayExecutor(options).chunk > 1


@pytest.mark.parametrize(
    ("asked", "taken"), [("cuda:1", "cuda"), ("cuda", "cuda"), ("auto", "cpu"), ("cpu", "cpu")]
)
def test_a_task_takes_the_one_gpu_that_ray_shows_it_or_none(
    asked: str, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan for CPUs has as many tasks as cores, which must not all go to the GPU of a node."""
    seen: list[Any] = []
    monkeypatch.setattr(execute_ray, "run_together", lambda _, device, __: seen.append(device))
    monkeypatch.setattr(execute_ray, "run_trial", lambda _, device, **__: seen.append(device))
    execute_ray._work([object()], asked, None)  # type: ignore[list-item]
    assert seen == [taken]
