"""Measured figures on the pages are those of the files in results/; the population page runs."""

from __future__ import annotations

import doctest
import importlib.util
import json
import shutil
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from types import ModuleType
from typing import Any

import pytest
from scipy.stats import t as student

ROOT = Path(__file__).parents[1]


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "readme_numbers", ROOT / "scripts" / "readme_numbers.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load_script()


@pytest.mark.parametrize(("page", "name"), SCRIPT.BLOCKS)
def test_the_page_says_what_was_measured(page: str, name: str) -> None:
    text = (ROOT / page).read_text()
    written = SCRIPT.filled(text, name, SCRIPT.BLOCKS[page, name](SCRIPT.RESULTS))
    assert written == text, "run python scripts/readme_numbers.py"


def test_the_readme_has_three_answers_of_the_reproduction() -> None:
    assert SCRIPT.reproduced(SCRIPT.RESULTS).count("\n- ") == 2


def results(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / "results" / f"{name}.json").read_text())
    return content


def speed_words() -> str:
    """The page of measurements in one line."""
    return " ".join((ROOT / "results" / "speed.md").read_text("utf-8").split())


@pytest.mark.parametrize("name", ["gpu_population", "gpu_convnet", "gpu_precision"])
def test_the_files_say_where_and_when(name: str) -> None:
    content = results(name)
    assert {"device", "torch", "python", "date"} <= content["machine"].keys()
    assert {"revision", "notes", "rows"} <= content.keys()
    assert name == "gpu_precision" or "ceilings" in content


def test_the_page_says_what_precision_costs() -> None:
    """The differences, t, p and interval, worked out by hand from each seed's accuracy."""
    each = {row["precision"]: row["each"] for row in results("gpu_precision")["rows"]}
    found = {}
    for name in ("bf16", "tf32"):
        gaps = [100 * (a - b) for a, b in zip(each[name], each["float32"], strict=True)]
        error = stdev(gaps) / sqrt(len(gaps))
        t, reach = mean(gaps) / error, error * student.ppf(0.975, len(gaps) - 1)
        p = 2 * student.sf(abs(t), len(gaps) - 1)
        found[name] = t, p
        ends = f"{mean(gaps) - reach:+.2f} to {mean(gaps) + reach:+.2f}"
        line = f"| {mean(gaps):+.2f} | {ends} | {t:+.2f} | {p:.2f} |".replace("-", "−")
        assert line in speed_words()
        assert f"{-mean(gaps):.2f}" == "0.04"
        assert f"{reach - mean(gaps):.2f}" == "0.17"
        assert f"{reach + mean(gaps):.1f}" == "0.1"
    (t, p), (t2, p2) = found["bf16"], found["tf32"]
    words = f"t(4) = {t:.2f} and {t2:.2f}, p = {p:.2f} and {p2:.2f}".replace("-", "−")
    assert words in speed_words()
    assert min(p, p2) > 0.05


def test_the_goals_are_judged_by_the_files() -> None:
    convnet = min(results("gpu_convnet")["rows"], key=lambda row: row["training_seconds"])
    ratios = f"{convnet['training_ratio']:.1f} times in training alone"
    assert f"met, {ratios} and {convnet['ratio']:.1f} times with evaluation" in speed_words()
    assert f"**missed, at {100 * convnet['product_share']:.1f} %**" in speed_words()
    rates = [run["ceilings"]["bf16"] for run in results("gpu_convnet")["earlier"]]
    shares = [100e12 * convnet["TFLOP_per_second"] / rate for rate in rates]
    assert f"it is {min(shares):.1f} to {max(shares):.1f} %" in speed_words()
    stacked = next(r for r in results("gpu_convnet")["rows"] if r["variant"] == "stacked-bf16-2")
    slower = stacked["training_seconds"] / convnet["training_seconds"]
    assert f"{slower:.1f} times the time of one after another" in speed_words()
    mlp = next(row for row in results("gpu_population")["rows"] if row["members"] == 250)
    assert mlp["ratio"] > 1000
    assert mlp["seconds_per_epoch_and_model"] < 0.0018
    assert f"would take {100 * mlp['copy_share']:.0f} % of a step" in speed_words()
    assert f"the step is {1 / mlp['copy_share']:.1f} times its floor" in speed_words()
    cpu = results("cpu_single")["seconds"]
    faster = cpu["public-code style"] / cpu["amongst, same pass"]
    assert f"twice as fast:* missed, at {faster:.1f} times" in speed_words()


def test_the_convnet_file_is_what_the_benchmark_works_out() -> None:
    """Its derived columns, though one row was made from what was printed."""
    content, flop = results("gpu_convnet"), 50_000 * 4.466147328e9
    public = next(row for row in content["rows"] if row["variant"] == "public")
    for row in content["rows"]:
        rate = flop / row["training_seconds"]
        assert row["TFLOP_per_second"] == pytest.approx(rate / 1e12)
        assert row["product_share"] == pytest.approx(rate / content["ceilings"][row["precision"]])
        for key, ratio in (
            ("training_seconds", "training_ratio"),
            ("seconds_with_evaluation", "ratio"),
        ):
            if key in row:
                assert row[ratio] == pytest.approx(public[key] / row[key])


def test_a_cpu_file_may_be_there_or_not(tmp_path: Path) -> None:
    for name in ("gpu_population", "gpu_convnet"):
        shutil.copy(ROOT / "results" / f"{name}.json", tmp_path)
    assert "on a CPU" not in SCRIPT.readme(tmp_path)
    measured = {
        "source": "MNIST",
        "rows": 6000,
        "seconds": {"public-code style": 3.0, "amongst, same pass": 1.5},
        "peak_mib": {"public-code style": 500.0, "amongst, same pass": 400.0},
    }
    (tmp_path / "cpu_single.json").write_text(json.dumps(measured))
    assert "| amongst, same pass | 1.50 | 2.0× | 400 |" in SCRIPT.readme(tmp_path)


def test_the_population_page_runs() -> None:
    page = ROOT / "docs" / "population.md"
    failures, tried = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert tried > 5
    assert failures == 0
