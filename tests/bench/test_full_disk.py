"""A full disk, a worker that was killed, a cluster that is not there: one line each."""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from safetensors import SafetensorError

from amongst import load
from amongst.accel.population import checkpoint
from amongst.bench import Trial, figures
from amongst.bench.execute import Options, spread
from amongst.bench.execute_population import run_group
from amongst.bench.figures import Figure, Panel, Series, draw
from amongst.bench.record import Scalar
from amongst.bench.runner import make_executor
from amongst.cli import main
from amongst.errors import AmongstError, AmongstWarning, InputError, StoreError

FULL = "No space left on device"


def test_a_population_goes_on_without_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(tensors: object, path: Path, **_: object) -> None:
        path.write_bytes(b"half")
        raise SafetensorError(f"Error while serializing: I/O error: {FULL}")

    settings: dict[str, Scalar] = {"epochs": 2, "widths": "8", "validation": 0.1}
    group = [Trial("digits", "q=0.1", "cc", "mlp", seed, settings=settings) for seed in (0, 1)]
    undisturbed = run_group(group)
    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.warns(AmongstWarning) as told:
        found = run_group(group, checkpoint=tmp_path / "populations")
    assert {str(warning.message.code) for warning in told} == {"no-checkpoint"}
    assert [r.metrics for r in found] == [r.metrics for r in undisturbed]
    assert not any((tmp_path / "populations").iterdir())


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system refuses to let a file grow further, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    table = tmp_path / "rows.csv"
    table.write_text("x,candidates\n" + "0.5,a|b\n1.5,b\n" * 10)
    return table


@pytest.mark.filterwarnings("default")  # as outside of pytest
def test_a_fit_goes_on_without_its_checkpoint(
    rows: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The network takes 1.1 MB, the checkpoint, with the optimiser's state, twice as much."""
    out, kept = rows.with_name("m.amongst"), rows.with_name("kept")
    line = f"fit {rows} --epochs 2 --quiet --device cpu --out {out} --checkpoint {kept}"
    with files_of_at_most(3 << 19), pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 0
    told = capfd.readouterr().err
    assert "warning: no checkpoint is kept" in told
    assert len(told.splitlines()) == 1
    assert load(out).classes_.tolist() == ["a", "b"]
    assert not kept.exists()


def test_a_disk_without_room_is_said_before_the_training(
    rows: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amongst.cli.training.Training.estimator", None)
    with files_of_at_most(1 << 19), pytest.raises(SystemExit):
        main(["fit", str(rows), "--out", str(rows.with_name("m.amongst"))])
    assert "cannot be written to" in capfd.readouterr().err
    assert list(rows.parent.iterdir()) == [rows]


def test_a_trained_model_is_kept_elsewhere_where_its_disk_is_full(rows: Path) -> None:
    """A real file system, which takes the probe and not the model."""
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this system lets nobody mount a file system of their own (unshare -rm)")
    disk = rows.with_name("disk")
    disk.mkdir()
    fit = [sys.executable, "-m", "amongst", "fit", "rows.csv", "--epochs", "1", "--quiet"]
    line = f"mount -t tmpfs -o size=1040k none disk && exec {shlex.join(fit)} --out disk/m.amongst"
    command = ["unshare", "-rm", "sh", "-c", line]
    done = subprocess.run(command, cwd=rows.parent, capture_output=True, text=True, check=False)
    (kept,) = rows.parent.glob("m-*.amongst")
    assert done.returncode == 2, done.stderr
    assert f"The trained model is kept in {kept}." in done.stderr
    assert "Traceback" not in done.stderr
    assert load(kept).classes_.tolist() == ["a", "b"]


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
