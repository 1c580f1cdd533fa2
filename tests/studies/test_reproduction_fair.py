"""Numbers of the reproduction's page that set like beside like."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from amongst.bench import Record, Trial
from amongst.bench.places import Place
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.rounds import advance
from amongst.bench.tables import Entry
from lw2021.evidence import Evidence
from lw2021.reproduction.beyond import automatic, beyond_margins
from lw2021.reproduction.cost import PublicStyle
from lw2021.reproduction.found import Reproduction, _told
from lw2021.reproduction.sheet import Reasons

MNIST: dict[str, Any] = {"datasets": ("mnist",), "conditions": ("q=0.1",)}
NOWHERE = Path("no such folder")


def measured(plan: Plan, accuracy: float) -> list[Record]:
    """Every trial with this accuracy and a little more for each seed; the last setting is chosen."""
    return [
        Record(t, {"accuracy_last10": accuracy + t.seed / 1000, "covering_val_last10": i / 1e6,
                   "accuracy_val_last10": i / 1e6})
        for i, t in enumerate(plan.trials)
    ]  # fmt: skip


def reproduction(runs: dict[Request, list[Record]]) -> Reproduction:
    records = {r.key: r for found in runs.values() for r in found}
    asked = tuple(request.to_dict() for request in runs)
    evidence = Evidence(tuple(records.values()), asked, {})
    return Reproduction((NOWHERE / "x").as_posix(), evidence, Reasons(), None)


def test_beta_from_the_data_is_compared_with_the_same_settings_otherwise() -> None:
    """Table 1 itself may show a grid's choice, whose learning rate and weight decay differ."""
    lw = {**MNIST, "methods": ("lw-sigmoid",)}
    accuracy = {Request("table1", **lw, search="grid"): 0.95, Request("table1", **lw): 0.9,
                Request("beyond", **lw): 0.902}  # fmt: skip
    found = reproduction({r: measured(make_plan(r), value) for r, value in accuracy.items()})
    assert found.sheets["table1"].filled[0].entry.mean == pytest.approx(95.2)
    assert "of Table 1, LW-Sigmoid: +0.20 (1 cell, from +0.20 to +0.20)" in automatic(found)


@pytest.mark.parametrize(
    ("seeds", "said"), [(5, "ahead in 1 of 1 comparisons"), (1, "not tested: ")]
)
def test_where_the_paper_has_no_numbers_lw_meets_its_rivals(seeds: int, said: str) -> None:
    """The published β alone: to have two tries would not be fair."""
    asked = Request("beyond", datasets=("mnist",), conditions=("q=0.7",), seeds=seeds)
    better = {"lw-sigmoid": 0.01, "lw-cross_entropy": 0.02}
    records = [
        replace(record, metrics={"accuracy_last10": record.metrics["accuracy_last10"] + more})
        for record in measured(make_plan(asked), 0.9)
        for more in [better.get(record.trial.method, 0) + record.trial.seed % 2 / 1e4]
    ]
    records = [
        replace(r, metrics={"accuracy_last10": 0.99})
        if r.trial.settings.get("beta") == "auto"
        else r
        for r in records
    ]
    text = beyond_margins(reproduction({asked: records}), "published")
    assert said in text
    assert "MNIST, q=0.7 (+2.00)" in text


def test_a_margin_is_of_one_run() -> None:
    """LW trained again on all rows is not set beside rivals that a tenth was held out from."""
    whole = Request("table1", **MNIST, search="grid", seeds=5)
    again = replace(whole, methods=("lw-sigmoid", "lw-cross_entropy"), refit=True)
    runs = {whole: measured(make_plan(whole), 0.9)}
    last = advance(make_plan(again), runs[whole])
    later = [r for r in measured(last, 0.99) if r.trial.settings["validation"] == 0]
    found = reproduction(runs | {again: later})
    shown = {place.method: cell.entry.mean for place, cell in found.sheets["table1"].cells.items()
             if cell.entry.n}  # fmt: skip
    assert shown["lw-sigmoid"] == pytest.approx(99.2)
    assert shown["rc"] == pytest.approx(90.2)
    contest = next(c for c in found.contests if c.ours)
    assert contest.ours["grid"].value == pytest.approx(0, abs=1e-9)
    assert contest.ours["oracle"].value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("lacks", "margin"), [(0, 1.0), (1, 0.0)])
def test_a_margin_is_of_a_finished_run_where_there_is_one(lacks: int, margin: float) -> None:
    """Training again on all rows comes first, unless a seed of it is still to run."""
    whole = Request("table1", **MNIST, search="grid", seeds=5)
    again = replace(whole, refit=True)
    runs = {whole: measured(make_plan(whole), 0.9)}
    last = [
        t for t in advance(make_plan(again), runs[whole]).trials if t.settings["validation"] == 0
    ]
    later = [
        Record(t, {"accuracy_last10": 0.99 if t.method.startswith("lw") else 0.98}) for t in last
    ]
    found = reproduction(runs | {again: later[lacks:]})
    contest = next(c for c in found.contests if c.ours)
    assert contest.ours["grid"].value == pytest.approx(margin, abs=1e-9)
    assert contest.ours["oracle"].value == pytest.approx(margin, abs=1e-9)


def test_where_the_oracle_has_no_number_the_choice_without_it_stands() -> None:
    place = Place("mnist", "q=0.1", "cc", "mlp")
    own, empty = Entry(place, "CC", (90.0,), ((0, None),), 90.0), Entry(place, "CC", oracle=True)
    chosen = replace(own, oracle=True, values=(91.0,), mean=91.0)
    for oracle, told in ((empty, own), (chosen, chosen), (replace(chosen, oracle=False), own)):
        run = SimpleNamespace(
            table=SimpleNamespace(entries={place: own}),
            oracle=SimpleNamespace(entries={place: oracle}),
        )
        assert _told(run, place) is told  # type: ignore[arg-type]


@pytest.mark.parametrize("folds", [2, 10])
def test_public_style_trains_on_all_rows_but_the_fold(folds: int) -> None:
    """Lost has 1,122 rows; a fifth of them was taken off whatever the folds."""
    settings = {"epochs": 250, "validation": 0.1, "folds": folds}
    record = Record(Trial("lost", "real", "cc", "mlp", 0, 3, settings=settings))
    rows = 1122 * (1 - 1 / folds) * 0.9
    style = PublicStyle(mlp=4.0, convnet=7.0, machine="")
    assert style.seconds(record) == pytest.approx(250 * 4.0 * rows / 60_000)
