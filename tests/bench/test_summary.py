"""The first screen of a report, word for word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from amongst.bench import Record
from amongst.bench.plans import Request, make_plan
from amongst.bench.tables import Ranking, Table, collect
from amongst.bench.words import overview

LW = "lw-cross_entropy"
SHIFTS = {("rc", "q=0.1"): 0.05, (LW, "q=0.1"): 0.0, ("rc", "q=0.3"): 0.25, (LW, "q=0.3"): -3.0}
"""Points to the paper's RC 98.44 ± 0.11 and 98.29 ± 0.05, LW 98.89 ± 0.06 and 98.81 ± 0.06."""


def papers(shifts: dict[tuple[str, str], float]) -> tuple[list[Record], Table]:
    """A part of Table 1, one trial of 100 s in each cell."""
    conditions = tuple(dict.fromkeys(condition for _, condition in shifts))
    plan = make_plan(Request("table1", ("mnist",), ("rc", LW), conditions=conditions, seeds=1))
    records = [
        Record(
            t, {"accuracy_last10": (cell.slot.published.mean + shifts[place]) / 100}, seconds=100
        )
        for cell in plan.cells
        for t in cell.trials
        if cell.slot.published and (place := (t.method, t.condition))
    ]
    return records, collect(records, plan)


def own() -> tuple[list[Record], Table]:
    """A comparison that is not the paper's."""
    plan = make_plan(Request("demo", methods=("rc", "cc"), conditions=("q=0.1",), seeds=1))
    good = {"rc": 0.9, "cc": 0.8}
    records = [Record(t, {"accuracy_last10": good[t.method]}) for t in plan.trials]
    return records, collect(records, plan)


PAPERS = (
    "RC and LW-Cross entropy are each best in 1 of 2 comparisons. The paper's best method is ours "
    "too in 1 of 2. Against the paper from −3.00 (LW-Cross entropy; MNIST, q=0.3) to +0.25 (RC; "
    "MNIST, q=0.3)."
)


def test_a_table_of_the_paper_is_held_against_it() -> None:
    """Distances are 0, 0.05, 0.25 and 3; two standard errors of the paper 0.054 and 0.098 at q=0.1."""
    records, table = papers(SHIFTS)
    told = overview(records, [table])
    assert told.findings == (("", PAPERS),)
    assert told.figures == (
        ("4", "of 4", "planned trials finished"),
        ("4", "of 4", "cells with a result"),
        ("2", "of 4", "within two standard errors of the paper"),
        ("0.15", "points", "median distance to the paper"),
        ("6.7", "min", "of training in all"),
    )
    assert told.alerts == ()


def test_a_table_of_ones_own_is_not() -> None:
    records, table = own()
    told = overview(records, [table])
    assert told.findings == (("", "Best: RC."),)
    assert [what for _, _, what in told.figures] == [
        "planned trials finished",
        "cells with a result",
        "of training in all",
    ]


def test_two_tables_are_told_by_their_titles_and_counted_together() -> None:
    (first, papers_table), (second, own_table) = papers(SHIFTS), own()
    told = overview(first + second, [papers_table, own_table])
    assert told.findings == (
        (papers_table.plan.title, PAPERS),
        (own_table.plan.title, "Best: RC."),
    )
    assert told.figures[1:3] == (
        ("6", "of 6", "cells with a result"),
        ("2", "of 4", "within two standard errors of the paper"),
    )


def test_one_method_that_is_best_everywhere_is_named_alone() -> None:
    _, table = papers(SHIFTS | {(LW, "q=0.3"): 0.0})
    ((_, text),) = overview([], [table]).findings
    assert text.startswith(
        "LW-Cross entropy is best in 2 of 2 comparisons. The paper's best method"
    )
    assert "ours too in 2 of 2." in text


def test_without_trials_there_is_nothing_to_find() -> None:
    told = overview([], [collect([], own()[1].plan)])
    assert told.findings == ()
    assert told.figures == (
        ("0", "of 2", "planned trials finished"),
        ("0", "of 2", "cells with a result"),
    )


@pytest.mark.parametrize(("p", "words"), [(0.05, "differ"), (0.06, "cannot be told apart")])
def test_mean_ranks_differ_at_five_percent(p: float, words: str) -> None:
    table = replace(own()[1], ranking=Ranking(("RC", "CC"), (1.0, 2.0), 7, p, 0.5))
    ((_, text),) = overview([], [table]).findings
    assert f"Mean ranks over 7 comparisons {words} (Friedman, " in text


def test_doubts_are_said_once_there_is_more_than_one_version() -> None:
    records, table = own()
    twin = replace(records[0], trial=records[0].trial.with_data("0" * 64), revision="5a2387d")
    assert overview([*records, twin], [table]).alerts == (
        "Results on digits come from 2 versions of its data.",
        "Results come from 2 revisions of the software.",
    )


def test_one_table_of_the_oracles_is_said() -> None:
    _, plain = own()
    first, *others = plain.entries.items()
    marked = replace(plain, entries=dict([(first[0], replace(first[1], oracle=True)), *others]))
    (told,) = overview([], [plain, marked]).alerts
    assert told == "Some settings were chosen by the oracle, which reads true labels (marked †)."


def test_a_winner_that_met_nobody_agrees_with_nobody() -> None:
    plan = make_plan(Request("table1", ("mnist",), (LW,), conditions=("q=0.1", "q=0.3"), seeds=1))
    records = [Record(t, {"accuracy_last10": 0.98}) for t in plan.trials]
    ((_, text),) = overview(records, [collect(records, plan)]).findings
    assert "ours too" not in text
