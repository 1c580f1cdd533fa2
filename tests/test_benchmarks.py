"""A benchmark that is stopped keeps the rows that it has: its file is written after every variant."""

from __future__ import annotations

import importlib
import json
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LIMITS = {"float32": 1e11, "tf32": 1e11, "bf16": 1e12, "copy": 1e10}
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import one of benchmarks/, with ceilings that cost nothing."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    before = set(sys.modules)

    def load(name: str) -> ModuleType:
        measure = importlib.import_module("measure")
        monkeypatch.setattr(measure, "ceilings", lambda device: dict(LIMITS))
        return importlib.import_module(name)

    yield load
    folder = str(ROOT / "benchmarks")
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
            del sys.modules[name]


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a benchmark's main until it is interrupted."""

    def run(module: ModuleType, *words: str) -> dict[str, Any]:
        file = tmp_path / "found.json"
        monkeypatch.setattr("sys.argv", ["it", *words, "--json", str(file)])
        with pytest.raises(KeyboardInterrupt):
            module.main()
        assert [path.name for path in tmp_path.iterdir()] == [file.name]
        content: dict[str, Any] = json.loads(file.read_text())
        return content

    return run


def interrupted_after(rows: list[dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """A measurement that gives these rows, and then is stopped."""
    left = iter(rows)

    def measure(*_: object) -> dict[str, Any]:
        for row in left:
            return dict(row)
        raise KeyboardInterrupt

    return measure


def test_convnet(
    imported: Callable[[str], ModuleType], stopped: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = imported("convnet")
    times = [{"training_seconds": t, "seconds_with_evaluation": 2 * t, "precision": p}
             for t, p in ((1.0, "bf16"), (5.0, "tf32"))]  # fmt: skip
    times.append({"training_seconds": 2.0, "precision": "bf16"})
    monkeypatch.setattr(module, "timed", interrupted_after(times))
    found = stopped(
        module, "--device", "cpu", "--rows", "8", "--variants", "a-bf16,public,b-bf16,c"
    )
    assert [row["variant"] for row in found["rows"]] == ["a-bf16", "public", "b-bf16"]
    assert [row["training_ratio"] for row in found["rows"]] == [5.0, 1.0, 2.5]
    assert [row.get("ratio") for row in found["rows"]] == [5.0, 1.0, None]
    flop = 50_000 * module.flop_per_image()
    assert found["rows"][0]["product_share"] == pytest.approx(flop / 1e12)
    assert found["rows"][1]["product_share"] == pytest.approx(flop / 5 / 1e11)


def test_population(
    imported: Callable[[str], ModuleType], stopped: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = imported("population")
    slow, fast, faster = ({"members": m, "seconds_per_epoch_and_model": s}
                          for m, s in ((1, 4.0), (1, 2.0), (8, 0.5)))  # fmt: skip
    monkeypatch.setattr(module, "time_public", lambda *_: slow)
    monkeypatch.setattr(module, "time_single", lambda *_: fast)
    monkeypatch.setattr(module, "time_population", interrupted_after([faster]))
    words = "--device cpu --rows 8 --test-rows 2 --members 8,9 --backends fused,eager"
    found = stopped(module, *words.split())
    assert [row["variant"] for row in found["rows"]] == [
        "public style",
        "single engine",
        "eager float32",
    ]
    assert [row["ratio"] for row in found["rows"]] == [1.0, 2.0, 8.0]


def test_precision(
    imported: Callable[[str], ModuleType], stopped: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = imported("precision")
    monkeypatch.setattr(module, "prepared", lambda args: {})
    monkeypatch.setattr(
        module, "trained", interrupted_after([{"accuracy": 0.5}, {"accuracy": 0.75}])
    )
    found = stopped(module, "--device", "cpu")
    assert [row["difference"] for row in found["rows"]] == [0.0, 0.25]


def test_tiles(imported: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """The best so far comes with each row, also where a variant failed or lost a member."""
    pytest.importorskip("triton", reason="the fused kernels need Triton")
    module = imported("tiles")
    monkeypatch.setattr(module, "TRIED", {kind: module.TRIED[kind][:3] for kind in module.TRIED})
    monkeypatch.setattr(module, "layers", lambda *_: None)
    monkeypatch.setattr(module, "parts", lambda *_: iter([{"variant": "part"}]))
    micro = [9.0, 1.0, 7.0, *[3.0, 2.0, None], *[None] * 3, *[8.0, 6.0, 5.0, 6.0]]
    alive = [2, 1, 2] + [2] * 10
    rows = [{"microseconds": t, "alive": n} if t else {"error": "no"}
            for t, n in zip(micro, alive, strict=True)]  # fmt: skip
    monkeypatch.setattr(module, "timed", interrupted_after(rows))
    found = list(module.measured([None, None], {}, float("inf")))
    assert len(found) == 14
    tried, last = module.TRIED, found[-1][1]
    assert found[0][1].weight == tried["weight"][0][:3]
    assert last.weight == tried["weight"][2][:3]
    assert last.forward == tried["forward"][1][:2]
    assert last.backward == module.Tiles().backward
    assert (last.early, last.overlap) == (True, False)


SCRIPTS = sorted(
    path
    for folder in ("benchmarks", "studies")
    for path in (ROOT / folder).glob("*.py")
    if "__main__" in path.read_text("utf-8")
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_help_says_how_and_runs_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(path.parent))
    monkeypatch.setattr("sys.argv", [path.name, "--help"])
    before = set(sys.modules)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(path.parent)):
            del sys.modules[name]
    assert not ended.value.code
    assert capsys.readouterr().out.startswith(f"usage: {path.name}")


def test_generation_in_miniature(
    imported: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["it", "--rows", "50", "--repeats", "1"])
    imported("generation").main()
    assert capsys.readouterr().out.count("\n") == 5


def test_an_epoch_is_timed_between_two(
    imported: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["it", "--epochs", "1"])
    with pytest.raises(SystemExit, match="2"):
        imported("trials").main()
