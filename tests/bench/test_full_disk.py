"""A full disk, a worker that was killed, a cluster that is not there: one line each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from safetensors import SafetensorError

from amongst.bench import Trial, figures
from amongst.bench.execute import Options, make_executor
from amongst.bench.execute_local import spread
from amongst.bench.execute_population import run_group
from amongst.bench.figures import Figure, Panel, Series, draw
from amongst.bench.record import Scalar
from amongst.engine.population import checkpoint
from amongst.errors import AmongstError, InputError, StoreError

FULL = "No space left on device"


def test_a_checkpoint_on_a_full_disk_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(tensors: object, path: Path, **_: object) -> None:
        path.write_bytes(b"half")
        raise SafetensorError(f"Error while serializing: I/O error: {FULL}")

    monkeypatch.setattr(checkpoint, "save_file", full)
    settings: dict[str, Scalar] = {"epochs": 2, "widths": "8", "validation": 0.1}
    group = [Trial("digits", "q=0.1", "cc", "mlp", seed, settings=settings) for seed in (0, 1)]
    with pytest.raises(
        StoreError, match=f"cannot be written .*{FULL}.* run the same command again"
    ):
        run_group(group, checkpoint=tmp_path / "populations")
    assert not any((tmp_path / "populations").iterdir())


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_figure_is_there_whole_or_not_at_all(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra: pip install 'amongst[plot]'")
    line = Series("a", (1.0,), (1.0,), (1.0,), (1.0,))
    sheet = Figure("one point", "x", "y", (Panel("p", (line,)),))
    target = draw(sheet, tmp_path / f"a.{ending}")
    before = target.read_bytes()

    def full(path: Path, content: bytes) -> None:
        raise StoreError(f"{path} cannot be written: {FULL}.")

    monkeypatch.setattr(figures, "write_atomically", full)
    with pytest.raises(StoreError, match=FULL):
        draw(sheet, target)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("address", ["localhost:1", "127.0.0.1:1"])
def test_a_cluster_that_is_not_there_is_told_at_once(address: str) -> None:
    """Ray itself goes on trying without end."""
    pytest.importorskip("ray", reason="needs the extra: pip install 'amongst[ray]'")
    with pytest.raises(InputError, match=f"ray_address='{address}' cannot be reached"):
        make_executor(Options(engine="ray", device="cpu", ray_address=address))


def test_a_killed_worker_is_one_line() -> None:
    """As the system does where memory is short."""
    with pytest.raises(AmongstError, match=r"was killed.*run the same command again"):
        list(spread(os._exit, [3, 3], workers=2))
