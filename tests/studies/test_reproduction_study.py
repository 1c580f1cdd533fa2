"""The study beside the evidence, and what the page says of schedules."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from amongst.bench import Record, Trial
from amongst.bench.plans import Request, make_plan
from amongst.stats import paired_t
from lw2021.evidence import Evidence
from lw2021.reproduction.findings import _everywhere, _remains, _wins, in_detail
from lw2021.reproduction.found import Reproduction
from lw2021.reproduction.margins import Contest, Margin, contests
from lw2021.reproduction.sheet import Reasons, make_sheet
from lw2021.reproduction.study import study_entries

RESULTS = Path(__file__).parents[2] / "results"
METHODS = ("rc", "cc", "proden", "lw-sigmoid", "lw-cross_entropy")


def made(folder: Path) -> pd.DataFrame:
    """Five tuned methods with five seeds, shuffled, and rows that are not of tuned methods."""
    rng = np.random.default_rng(0)
    rows = [
        {"dataset": "mnist", "stage": "tuned", "method": m, "q": 0.1, "seed": s,
         "accuracy": 80 + 4 * i + rng.normal()}
        for i, m in enumerate(METHODS) for s in range(5)
    ]  # fmt: skip
    rows += [{**row, "stage": "tune", "accuracy": 1.0} for row in rows[:9]]
    table = pd.DataFrame(rows)
    table.sample(frac=1, random_state=0).to_csv(folder / "defaults.csv", index=False)
    return table[table["stage"] == "tuned"]


def test_margins_of_the_study_are_those_of_its_tuned_rows_seed_by_seed(tmp_path: Path) -> None:
    rows, sheet = made(tmp_path), make_sheet("table1", [])
    entries = study_entries(tmp_path, sheet.layout.places)
    assert {place.method for place in entries} == set(METHODS)
    assert {place.where for place in entries} == {"MNIST, q=0.1"}
    margin = contests(sheet, {"study": [entries]})[0].ours["study"]
    first, second = (rows[rows["method"] == m].sort_values("seed")["accuracy"].to_numpy()
                     for m in ("lw-cross_entropy", "proden"))  # fmt: skip
    assert margin.value == pytest.approx((first - second).mean())
    assert margin.p == pytest.approx(paired_t(first, second))


def test_the_committed_study_has_the_figures_of_its_own_page() -> None:
    """docs/defaults.md shows the same means."""
    page = (RESULTS.parent / "docs" / "defaults.md").read_text("utf-8")
    line = re.search(r"\| MNIST \| PRODEN, tuned \| ([\d.]+) ± ([\d.]+)", page)
    assert line is not None
    entries = study_entries(RESULTS, make_sheet("table1", []).layout.places)
    found = next(e for p, e in entries.items() if (p.where, p.method) == ("MNIST, q=0.1", "proden"))
    assert (f"{found.mean:.2f}", f"{found.std:.2f}") == line.groups()
    assert len(entries) == 45


def grid_of(methods: tuple[str, ...]) -> Reproduction:
    """Whole grids of some methods, without numbers that matter."""
    request = Request("table1", ("mnist",), methods, conditions=("q=0.1",), search="grid", seeds=1)
    names = ("covering_val_last10", "accuracy_val_last10", "accuracy_last10")
    trials: tuple[Trial, ...] = make_plan(request).trials
    records = [Record(trial, dict.fromkeys(names, 0.5), created="2026-01-01") for trial in trials]
    return Reproduction("none", Evidence(tuple(records), (request.to_dict(),), {}), Reasons(), None)


def test_schedules_are_told_where_grids_differ_in_them() -> None:
    told = [text for text in in_detail(grid_of(METHODS)) if "not alike" in text]
    assert len(told) == 1
    assert (
        "the learning rate of LW falls during training, that of CC, PRODEN and RC stays" in told[0]
    )
    assert "`--search equal`) was run for 0 of these 1 comparisons" in told[0]
    alike = grid_of(METHODS[3:])
    assert not [text for text in in_detail(alike) if "not alike" in text]


def test_lw_wins_truly_where_every_way_of_tuning_says_so() -> None:
    ahead, level = Margin(0.5, "lw", "rc", 0.01), Margin(0.1, "lw", "rc", 0.6)
    ways = {"A": {"grid": ahead, "study": Margin(0.3, "lw", "cc", 0.04)},
            "B": {"grid": ahead, "study": level},
            "C": {"grid": ahead, "published": level},
            "D": {"grid": ahead, "oracle": ahead}}  # fmt: skip
    told = _everywhere([Contest(where, level, ours) for where, ours in ways.items()])
    assert told.endswith("in 1 of 2 comparisons: A (+0.30 to +0.50).")
    assert _everywhere([Contest("A", level, {"grid": ahead})]) == ""


def test_the_margin_that_remains_is_of_comparisons_tuned_both_ways() -> None:
    def contest(plan: str, paper: float, **ours: float) -> Contest:
        margins = {way: Margin(value, "lw", "rc") for way, value in ours.items()}
        return Contest("A", Margin(paper, "lw", "rc"), margins, plan)

    told = _remains([contest("table1", 2.0, grid=1.0, equal=-0.25),
                     contest("table1", 1.0, grid=0.5, equal=0.75),
                     contest("table1", 9.0, grid=9.0),
                     contest("table3", 9.0, equal=9.0)])  # fmt: skip
    assert len(told) == 1
    assert "remains in Table 1" in told[0]
    assert "over the 2 comparisons" in told[0]
    assert (
        "+1.50 in the paper; here +0.75 with each method's own grid, +0.25 with one grid" in told[0]
    )


def test_what_was_not_tested_is_no_comparison_and_no_place_is_named_where_all_are_level() -> None:
    level, untested = Margin(0.1, "lw", "rc", 0.6), Margin(9.0, "lw", "rc")
    told = _wins(
        [Contest(w, level, {"grid": m}) for w, m in (("A", level), ("B", untested))], "grid"
    )
    assert told.endswith(
        "finds LW ahead in 0 of 1 comparisons, behind in 0, and no difference in 1."
    )
    assert _wins([Contest("B", level, {"grid": untested})], "grid") == ""


def test_five_percent_is_significant() -> None:
    sides = [Margin(value, "lw", "rc", p).side for value, p in ((2.0, 0.05), (-2.0, 0.05), (2.0, 0.051))]  # fmt: skip
    assert sides == [1, -1, 0]
