"""What each method gains by one grid for all, cells that another run of ours reaches, and ranks."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import Any

import pytest

from amongst.bench import Record
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.rounds import advance, next_round
from lw2021.evidence import Evidence
from lw2021.reproduction import reproduction_html
from lw2021.reproduction.below import why
from lw2021.reproduction.findings import in_detail, in_short
from lw2021.reproduction.found import Reproduction
from lw2021.reproduction.gains import gains
from lw2021.reproduction.ranks import ranks
from lw2021.reproduction.sheet import BELOW, Reasons, Shown

CHOSEN = ("lr", "weight_decay", "beta")
METHODS = ("cc", "lw-cross_entropy")
OWN = {"cc": 0.95, "lw-cross_entropy": 0.97}
EQUAL = {"cc": 0.989, "lw-cross_entropy": 0.972}
"""The paper has 98.56 ± 0.06 for CC and 98.89 ± 0.06 for LW."""


def request(search: str, **more: Any) -> Request:
    """Two cells of Table 1, the grid searched with one seed."""
    asked = {"search": search, "search_seeds": 1} | more
    return Request("table1", ("mnist",), METHODS, conditions=("q=0.1",), **asked)


def ran(plan: Plan, accuracies: dict[str, float]) -> list[Record]:
    """Every round of the plan, with these accuracies."""
    kept: list[Record] = []
    while trials := next_round(advance(plan, kept), {record.key for record in kept}):
        for trial in trials.values():
            values = {"accuracy_last10": accuracies[trial.method]}
            if trial.settings["validation"]:
                rank = sum(float(trial.settings.get(name, 0)) / 100 for name in CHOSEN)
                values |= dict.fromkeys(("covering_val_last10", "accuracy_val_last10"), rank)
            kept.append(Record(trial, values, created="2026-01-01"))
    return kept


def reproduction(*ways: tuple[Request, dict[str, float]]) -> Reproduction:
    found: dict[str, Record] = {}
    for asked, accuracies in ways:
        found = {record.key: record for record in ran(make_plan(asked), accuracies)} | found
    evidence = Evidence(tuple(found.values()), tuple(r.to_dict() for r, _ in ways), {})
    return Reproduction("none", evidence, Reasons(), None)


@pytest.fixture(scope="module")
def both() -> Reproduction:
    """Own grids on nine tenths of the rows, one grid for all on all of them."""
    return reproduction((request("grid"), OWN), (request("equal", refit=True), EQUAL))


def test_gains_are_means_over_cells_that_have_both(both: Reproduction) -> None:
    (told,) = gains(both)
    assert told.startswith("Table 1, one grid, optimiser and schedule for all minus each method's")
    assert "over 2 cells: CC +3.90 and LW-Cross entropy +0.20." in told
    assert "1 of these cells reach the paper so, with own grids 0." in told
    assert "for LW, whose own grid it is, nothing else differs" in told
    assert told in in_detail(both)


def test_rows_are_told_only_where_they_differ_and_one_way_alone_tells_nothing() -> None:
    (told,) = gains(reproduction((request("grid", refit=True), OWN), (request("equal", refit=True), EQUAL)))  # fmt: skip
    assert told.endswith("with own grids 0.")
    assert gains(reproduction((request("grid"), OWN))) == []


def cell(found: Reproduction, method: str) -> Shown:
    return next(s for p, s in found.tables[0].cells.items() if p.method == method and s.entry.n)


def test_a_cell_that_another_run_reaches_is_below_and_says_so(both: Reproduction) -> None:
    cc, lw = (cell(both, method) for method in METHODS)
    assert (cc.verdict, lw.verdict, lw.other) == (BELOW, BELOW, None)
    assert cc.other is not None
    assert cc.other.kind == "equal"
    assert why(cc).endswith("; within with one grid for all methods (1 seed; again on all rows)")
    assert "within with" not in why(lw)
    assert "1 of those below reach the paper in another run of ours" in in_short(both)[0]
    assert replace(cc, other=None).verdict == BELOW


def test_the_html_page_begins_with_the_findings_of_the_text(both: Reproduction) -> None:
    page = html.unescape(reproduction_html(both))
    short, detail = (
        [text.replace("`", "") for text in texts] for texts in (in_short(both), in_detail(both))
    )
    assert all(f">{text}</" in page for text in [*short, *detail] if "](" not in text)
    parts = [short[-1], "<summary>In more detail</summary>", detail[0],
             "<summary>Run by run</summary>", "<strong>Table 1: accuracy on benchmark datasets"]  # fmt: skip
    assert [page.index(part) for part in parts] == sorted(page.index(part) for part in parts)
    assert "<dd>2 <small>of 175</small></dd>" in page  # two runs, two cells of the paper
    assert "<dd>0 <small>of 2</small></dd><dt>are reproduced</dt>" in page


def ranked(records: list[Record]) -> Reproduction:
    asked = Request("table1", ("mnist",), conditions=("q=0.1",))
    return Reproduction("none", Evidence(tuple(records), (asked.to_dict(),), {}), Reasons(), None)


def test_criteria_are_judged_by_the_order_of_methods_that_they_give() -> None:
    """Five methods: covering has their order, approximated its reverse, risk swaps the best two."""
    plan = make_plan(Request("table1", ("mnist",), conditions=("q=0.1",)))
    names = list(dict.fromkeys(trial.method for trial in plan.trials))
    assert len(names) == 5
    risk = dict(zip(names, (5.0, 4.0, 3.0, 1.0, 2.0), strict=True))
    records = [
        Record(trial, {"accuracy_last10": 0.5 + place / 100, "covering_val_last10": place,
                       "approximated_val_last10": -place, "risk_val_last10": risk[trial.method]})
        for trial in plan.trials
        for place in [float(names.index(trial.method))]
    ]  # fmt: skip
    told = ranks(ranked(records))
    assert "Over 1 comparison of 4 methods or more" in told
    assert "covering rate 1.00, approximated accuracy −1.00 and estimated risk 0.80." in told
    assert "first is 0.00, 4.00 and 1.00 points behind" in told
    few = [record for record in records if record.trial.method in names[:3]]
    assert ranks(ranked(few)) == ""
    unheld = [replace(r, metrics={"accuracy_last10": 0.5}) for r in records]
    assert ranks(ranked(unheld)) == ""
