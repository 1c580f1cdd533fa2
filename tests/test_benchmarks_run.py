"""Every benchmark runs, in miniature and on a CPU: all variants come back, and a failed one is told."""

from __future__ import annotations

import importlib
import json
import math
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

FOLDER = Path(__file__).parents[1] / "benchmarks"
Import = Callable[[str], ModuleType]
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Import]:
    """Import one of benchmarks/, and forget it afterwards."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(FOLDER)):
            del sys.modules[name]


@pytest.fixture
def run(imported: Import, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a benchmark's main with these words; what it wrote."""

    def main(name: str, *words: str) -> dict[str, Any]:
        file = tmp_path / "found.json"
        monkeypatch.setattr("sys.argv", [name, *words, "--json", str(file)])
        imported(name).main()
        content: dict[str, Any] = json.loads(file.read_text(), parse_constant=pytest.fail)
        return content

    return main


def check_rows(rows: list[dict[str, Any]], names: list[str]) -> None:
    """All variants, none failed, every number finite and none negative."""
    assert [row["variant"] for row in rows] == names
    assert not [row["error"] for row in rows if "error" in row]
    for row in rows:
        numbers = {key: value for key, value in row.items() if isinstance(value, int | float)}
        assert numbers
        assert all(math.isfinite(value) and value >= 0 for value in numbers.values()), row


POPULATION = ["--device", "cpu", "--rows", "40", "--test-rows", "10", "--members", "4"]
POPULATION += ["--batch-size", "16", "--epochs", "1"]


def test_population(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    found = run("population", *POPULATION, "--precisions", "float32,float64")
    rows = found["rows"]
    check_rows(rows, ["public style", "single engine", "eager float32", "eager float64"])
    each = [row["seconds_per_epoch_and_model"] for row in rows]
    assert min(each) > 0
    assert rows[0]["ratio"] == 1
    assert [row["ratio"] for row in rows] == pytest.approx([each[0] / value for value in each])
    assert [row["members"] for row in rows] == [1, 1, 4, 4]
    assert [row.get("alive") for row in rows] == [None, None, 4, 4]
    assert set(found["ceilings"]) == {"float32", "copy"}
    assert min(found["ceilings"].values()) > 0
    assert capsys.readouterr().out.count("eager float32") == 2  # as it comes, and in the table


def test_a_failed_variant_is_told_at_the_end(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are measured and printed all the same, and the status is not that of success."""
    words = [*POPULATION, "--mixed", "--no-baselines", "--precisions", "bf16,float32", "--backends"]
    with pytest.raises(SystemExit) as ended:
        run("population", *words, "eager,graph")
    failed = "eager bf16 mixed, graph bf16 mixed, graph float32 mixed"
    assert ended.value.code == f"3 of 4 variants failed: {failed}"
    rows = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert ["error" in row for row in rows] == [True, False, True, True]
    assert rows[1]["alive"] == 4
    assert "bf16 is for a GPU" in rows[0]["error"]
    assert "needs a GPU" in rows[3]["error"]
    table = capsys.readouterr().out.splitlines()[-4:]
    assert [line.split("  ")[0] for line in table] == [row["variant"] for row in rows]


def test_quick_needs_no_compiler(imported: Import, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.argv", ["it", "--quick", "--device", "cpu"])
    assert imported("population").arguments().backends == "eager"


CONVNET = ["--device", "cpu", "--rows", "2", "--batches", "1", "--batch-size", "1", "--variants"]


def test_convnet(run: Run) -> None:
    names = ["public", "single-float32", "stacked-float32-2"]
    rows = run("convnet", *CONVNET, ",".join(names))["rows"]
    check_rows(rows, names)
    assert (rows[0]["training_ratio"], rows[0]["ratio"]) == (1, 1)
    assert all(row["training_seconds"] > 0 and row["product_share"] > 0 for row in rows)
    assert [row["precision"] for row in rows] == ["float32"] * 3
    assert ["ratio" in row for row in rows] == [True, True, False]


SINGLE = ["--rows", "40", "--test-rows", "10", "--epochs", "1"]
WAYS = ["public-code style", "amongst, second pass", "amongst, same pass"]


def test_single(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    found = run("single", *SINGLE, "--no-memory")
    assert list(found["seconds"]) == WAYS
    assert all(math.isfinite(value) and value > 0 for value in found["seconds"].values())
    lines = capsys.readouterr().out.splitlines()[-3:]
    assert [line.split("  ")[0] for line in lines] == WAYS
    assert lines[0].split()[-1] == "1.00"


def test_peak_memory_of_one_way(imported: Import, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["it", *SINGLE])
    module = imported("single")
    assert module.peak_memory(WAYS[2], module.arguments()) > 50  # PyTorch alone takes more


def test_classical_at_scale(run: Run) -> None:
    words = "scale --only plknn --part 0.02 --workers 1"
    rows = run("classical", *words.split())["rows"]
    check_rows(rows, ["plknn"])
    assert (rows[0]["rows"], rows[0]["columns"], rows[0]["classes"]) == (349, 279, 171)


def test_each_classical_run(imported: Import, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, on few classes: PALOC has a machine for every two of them."""
    module = imported("classical")
    shapes = {"soccer": (400, 9, 7, 2.09), "yahoo": (300, 8, 6, 1.91)}
    monkeypatch.setattr(module, "SHAPES", shapes)
    names = list(module.runs(1))
    rows = [{"variant": name} | module.one(name, 1, 0.2) for name in names]
    check_rows(rows, names)
    assert [row["rows"] for row in rows] == [80, 80, 80, 80, 60]
    assert [row["candidates"] for row in rows] == pytest.approx([2.09] * 4 + [1.91], rel=0.1)
    assert all(row["covering"] >= row["accuracy"] for row in rows)


def test_a_failed_classical_run_is_told_at_the_end(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="3 of 3 variants failed: IPAL, "):
        run("classical", "settings", "--only", "IPAL", "--data", "nothing")
    assert "nothing" in json.loads((tmp_path / "found.json").read_text())["rows"][0]["error"]


def test_classical_settings(run: Run, data_folder: Path) -> None:
    rows = run("classical", "settings", "--only", "PL-kNN", "--data", "lost")["rows"]
    check_rows(rows, [f"PL-kNN, {scaling}" for scaling in ("standard", "standard+unit", "unit")])
    assert all(100 > row["covering"] > row["accuracy"] > 0 for row in rows)


def test_precision(run: Run) -> None:
    words = (
        "--dataset digits --device cpu --rows 60 --seeds 2 --epochs 1 --precisions float32,float64"
    )
    found = run("precision", *words.split())
    rows = found["rows"]
    check_rows([row | {"difference": 0} for row in rows], ["float32", "float64"])
    assert rows[0]["difference"] == 0
    assert abs(rows[1]["difference"]) < 0.02
    assert all(len(row["each"]) == 2 and row["accuracy"] > 0 for row in rows)


def test_a_cpu_has_no_figures_of_a_gpus_precision(run: Run) -> None:
    words = "--dataset digits --device cpu --rows 60 --seeds 1 --epochs 1 --precisions tf32"
    with pytest.raises(SystemExit, match="1 of 1 variants failed: tf32"):
        run("precision", *words.split())


def test_selection_study(imported: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "study.csv"
    words = ["--models", "linear", "--seeds", "1", "--rows", "60", "--device", "cpu"]
    words += ["--cases", "digits q=0.1", "--out", str(file)]
    module = imported("selection_study")
    monkeypatch.setattr(module, "EPOCHS", {"linear": 5})
    monkeypatch.setattr("sys.argv", ["it", *words])
    module.main()
    table = pd.read_csv(file)
    assert table["criterion"].tolist() == ["chance", *module.CRITERIA, "oracle"]
    assert (table["points"] == 36).all()
    assert (table["regret"] >= 0).all()
    assert table["accuracy"].between(0, 100, inclusive="right").all()
    assert np.allclose(
        table["accuracy"] + table["regret"], (table["accuracy"] + table["regret"])[0]
    )


def test_loading(
    imported: Import,
    data_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["it", "--repeats", "1", "--datasets", "mnist"])
    module = imported("loading")
    module.main()
    head, line = (text.split("  ") for text in capsys.readouterr().out.splitlines())
    cells = [cell.strip() for cell in line if cell]
    assert len(cells) == len([cell for cell in head if cell]) == len(module.HEADER)
    assert cells[:2] == ["mnist", "idx.gz"]
    seconds, memory = float(cells[2]), float(cells[-1])
    assert seconds > 0
    assert 0.5 < memory < 5
    assert cells[6] == "55"  # MB of 70,000 images of 28 × 28


def test_loading_without_data_says_so(
    imported: Import, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AMONGST_DATA", str(tmp_path))
    monkeypatch.setenv("AMONGST_CACHE", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["it"])
    with pytest.raises(SystemExit, match="AMONGST_DATA has none of mnist"):
        imported("loading").main()


def test_an_official_batch_is_a_pickle_of_python_2(imported: Import) -> None:
    pixels = np.arange(2 * 3072).reshape(2, 3072).astype(np.uint8)
    raw = imported("loading").official_batch(pixels, np.array([3, 9]))
    found = pickle.loads(raw, encoding="latin1")
    assert found["labels"] == [3, 9]
    assert np.array_equal(found["data"], pixels)


def test_trials(
    imported: Import, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "--members 5 --epochs 2 --device cpu"
    monkeypatch.setattr("sys.argv", ["it", *words.split()])
    imported("trials").main()
    _, head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["run", "before", "an", "epoch", "after", "seconds"]
    for line, name in zip(lines, ("first", "second"), strict=True):
        run, *numbers = line.split()
        before, epoch, after, whole = map(float, numbers)
        assert run == name
        assert epoch > 0
        assert before + epoch + after <= whole + 0.02  # rounded to hundredths


def test_tiles(run: Run) -> None:
    """Without time for a sweep: the whole step, and each of its kernels."""
    if not torch.cuda.is_available():
        with pytest.raises(SystemExit, match="2"):
            run("tiles")
        return
    found = run("tiles", "--members", "2", "--seconds", "0")
    check_rows(found["rows"], [row["variant"] for row in found["rows"]])
    assert len(found["rows"]) > 10
    assert set(found["best"]) >= {"forward", "backward", "weight", "early", "overlap"}
