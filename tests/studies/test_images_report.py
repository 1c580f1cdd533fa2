"""The page of the image experiments says what the committed evidence says, and what was not run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from amongst.bench.plans import Request, make_plan
from amongst.bench.record import Record
from amongst.bench.store import Store
from amongst.cli.app import app
from amongst.errors import DataNotFoundError
from images_report import EVIDENCE, PAGE, Found, headline, page
from lw2021.evidence import pack

ROOT = Path(__file__).parents[2]
ASKED = (
    Request("images", methods=("cc", "lw-views"), conditions=("q=0.5", "q=0.7"), precision="bf16"),
    Request("images-wide", conditions=("q=0.7",), seeds=1, precision="bf16"),
    Request("images-parts", conditions=("q=0.5",), seeds=2, epochs=40),
)


@pytest.fixture
def some(tmp_path: Path) -> Found:
    """Three plans, run in part: all seeds of a cell reach 95 percent, 0.1 more for each seed."""
    with Store(tmp_path / "images.sqlite") as store:
        for request in ASKED:
            store.add_request(request.to_dict())
            store.add_all(map(result, make_plan(request).trials[:7]))
    pack([tmp_path / "images.sqlite"], tmp_path / "images")
    return Found.read(tmp_path / "images")


def result(trial) -> Record:  # type: ignore[no-untyped-def]
    accuracy = 0.95 + 0.001 * trial.seed
    metrics = {"accuracy_final": accuracy, "accuracy_plain": 0.94, "training_seconds": 60.0}
    return Record(trial, metrics, {"accuracy_test": (0.9, 0.94)}, seconds=70.0, device="GPU")


def test_the_committed_page_is_that_of_the_committed_evidence() -> None:
    assert (ROOT / "docs" / PAGE).read_text() == page(Found.read(EVIDENCE)), "run make images"


def test_every_cell_has_its_numbers_or_says_that_it_was_not_run(some: Found) -> None:
    text = page(some)
    assert "| LW with views | **95.10 ± 0.10** | **95.00 (1 seed)** |" in text
    assert "| CC | **95.10 ± 0.10** | not run |" in text
    assert "| LW with views | q=0.5 | 60.0 | 94.00 ± 0.00 | – |" in text
    assert "Not run by now: 168 cells of 171" in text.replace("\n", " ")
    assert "`amongst reproduce images --precision bf16`" in text
    assert "### Wide, 120 epochs, bf16" in text
    assert "| as it is | **95.05 ± 0.07 (2 seeds)** |" in text
    assert "Not run by now: `amongst reproduce images-own`." in text


def test_a_goal_is_reached_or_missed_by_so_much(some: Found) -> None:
    found = [
        line for line in page(some).splitlines() if " in 1.0 min |" in line or " in 60 s |" in line
    ]
    assert len(found) == 2
    assert found[0].endswith("| 96.00 in 60 s | not run | – | – |")
    assert found[1].endswith("| 95.50 in 60 s | 95.10 ± 0.10 | 60 | missed by 0.40 |")


def test_the_headline_sets_the_records_beside_ours(some: Found) -> None:
    lines = headline(some).splitlines()
    assert lines[0].endswith(
        "| LW with views, 80 epochs, bf16 | LW with views, wide, 120 epochs, bf16 |"
    )
    half = next(line for line in lines if line.startswith("| q=0.5 |"))
    assert half.startswith(
        "| q=0.5 | 97.05, CRDPLL (ICML 2022), WRN-34-10, 200 epochs | 95.41, WSC"
    )
    assert half.endswith("| 95.10 ± 0.10, 60 s | not run |")
    assert not any(line.startswith("| q=0.1 |") for line in lines)


def test_one_command_writes_the_page_of_whatever_a_folder_holds(
    some: Found, tmp_path: Path
) -> None:
    words = ["evidence", "pages", str(tmp_path / "images"), "--docs", str(tmp_path / "docs")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert [path.name for path in (tmp_path / "docs").iterdir()] == [PAGE]
    assert (tmp_path / "docs" / PAGE).read_text() == page(some)
    none = CliRunner().invoke(app, [*words[:2], str(tmp_path / "none")])
    assert isinstance(none.exception, DataNotFoundError)


def test_without_evidence_the_headline_says_how_to_get_some() -> None:
    assert "amongst reproduce images" in headline(Found(None, ()))


def test_a_failed_cell_says_so(tmp_path: Path) -> None:
    trials = make_plan(ASKED[1]).trials
    with Store(tmp_path / "s.sqlite") as store:
        store.add_request(ASKED[1].to_dict())
        store.add_all(replace(result(t), metrics={}, error="diverged") for t in trials)
    pack([tmp_path / "s.sqlite"], tmp_path / "s")
    assert "failed" in page(Found.read(tmp_path / "s"))
