"""Measured figures on the pages are those of the files in results/; the population page runs."""

from __future__ import annotations

import doctest
import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

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


@pytest.mark.parametrize("name", SCRIPT.PAGES)
def test_the_page_says_what_was_measured(name: str) -> None:
    text = (ROOT / name).read_text()
    written = SCRIPT.filled(text, SCRIPT.PAGES[name](SCRIPT.RESULTS))
    assert written == text, "run python scripts/readme_numbers.py"


@pytest.mark.parametrize("name", ["gpu_population", "gpu_convnet"])
def test_the_files_say_where_and_when(name: str) -> None:
    content = json.loads((ROOT / "results" / f"{name}.json").read_text())
    assert {"device", "torch", "python", "date"} <= content["machine"].keys()
    assert {"revision", "notes", "ceilings", "rows"} <= content.keys()


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
