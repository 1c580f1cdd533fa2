"""Settings chosen by held-out rows, and networks trained again on all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amongst.bench.execute import LocalExecutor
from amongst.bench.plans import Plan, Request, make_plan, reproduce_command
from amongst.bench.record import Record, Trial
from amongst.bench.rounds import advance, at_most, next_round
from amongst.bench.runner import bind_plan, run_plan
from amongst.bench.sources import trial_data
from amongst.bench.store import Store
from amongst.bench.tables import collect
from amongst.bench.words import notes
from amongst.errors import InputError
from lw2021.evidence import pack
from lw2021.reproduction import Reproduction, reproduction_markdown
from lw2021.reproduction.sheet import make_sheet
from lw2021.runs import find_runs, search_words

NARROW: dict[str, Any] = {"methods": ("cc",), "conditions": ("q=0.1",)}


def request(**more: Any) -> Request:
    """One cell of four settings, three seeds."""
    return Request("demo", **(NARROW | {"search": "grid", "seeds": 3, "refit": True} | more))


def record(trial: Trial) -> Record:
    """Covering prefers large rates, the oracle small ones; on all rows nothing is held out."""
    rate = float(trial.settings["lr"])
    if not trial.settings["validation"]:
        return Record(trial, {"accuracy_last10": 0.9 + 0.001 * trial.seed})
    metrics = {"covering_val_last10": rate, "accuracy_val_last10": 1 - rate}
    return Record(trial, metrics | {"accuracy_last10": 0.5})


def run_out(plan: Plan) -> tuple[list[list[Trial]], list[Record]]:
    """The rounds of a runner, and all their records."""
    kept: list[Record] = []
    rounds: list[list[Trial]] = []
    while trials := next_round(advance(plan, kept), {r.key for r in kept}):
        rounds.append(list(trials.values()))
        kept += map(record, rounds[-1])
    return rounds, kept


def facts(trials: Sequence[Trial]) -> set[tuple[Any, ...]]:
    return {(t.settings["lr"], t.seed, t.settings["validation"]) for t in trials}


@pytest.mark.parametrize("search_seeds", [None, 1])
def test_held_out_rows_choose_and_all_seeds_train_again_on_all_rows(
    search_seeds: int | None,
) -> None:
    plan = make_plan(request(search_seeds=search_seeds))
    (search, last), kept = run_out(plan)
    low, high = sorted({float(t.settings["lr"]) for t in search})
    seeds = range(search_seeds or 3)
    assert facts(search) == {(lr, s, 0.1) for lr in (low, high) for s in seeds}
    assert len(search) == 4 * len(seeds)
    assert facts(last) == {(lr, s, 0.0) for lr in (low, high) for s in range(3)}
    (entry,) = collect(kept, plan).entries.values()
    assert entry.values == pytest.approx((90.0, 90.1, 90.2))
    assert (entry.settings["lr"], entry.settings["validation"]) == (high, 0.0)
    assert (entry.criterion, entry.considered) == ("covering_val_last10", 4)
    by_truth = replace(plan, request=replace(plan.request, criterion="oracle"))
    (oracle,) = collect(kept, by_truth).entries.values()
    assert (oracle.settings["lr"], oracle.n, oracle.oracle) == (low, 3, True)


def test_until_then_the_cell_is_empty_and_says_what_is_left() -> None:
    plan = make_plan(request(search_seeds=1))
    search = list(next_round(plan, set()).values())
    found = [record(trial) for trial in search]
    (entry,) = collect(found, plan).entries.values()
    assert (entry.n, entry.planned, entry.pending) == (0, 3, 0)
    assert len(at_most(plan, {r.key for r in found[:1]})) == 2 * 3
    assert len(next_round(advance(plan, found), {r.key for r in found})) == 2 * 3


def test_without_a_search_nothing_is_held_out() -> None:
    plan = make_plan(Request("table1", ("mnist",), **NARROW, refit=True))
    assert {t.settings["validation"] for t in plan.trials} == {0.0}
    other = make_plan(Request("table1", ("mnist",), **NARROW))
    assert {t.settings["validation"] for t in other.trials} == {0.1}
    assert not {t.key for t in plan.trials} & {t.key for t in other.trials}


def test_requests_of_older_stores_stay_what_they_were() -> None:
    old, new = Request("table1"), Request("table1", refit=True)
    assert "refit" not in old.to_dict()
    assert Request(**new.to_dict()) == new
    assert reproduce_command(make_plan(new)) == "amongst reproduce table1 --refit"


def test_a_protocol_without_held_out_rows_has_nothing_to_add() -> None:
    with pytest.raises(InputError, match="refit=True has nothing to add: protocol='official'"):
        Request("table1", protocol="official", refit=True)


def test_words() -> None:
    assert search_words(request(search_seeds=1)).endswith("(1 seed; again on all rows)")
    assert search_words(Request("table1", refit=True)) == "published settings (all rows)"
    plan = make_plan(request(search_seeds=1))
    told = " ".join(notes(collect(run_out(plan)[1], plan)))
    assert "searched with 1 seed; then trained again on all training rows" in told


def test_a_table_shows_the_run_on_all_rows_first() -> None:
    held = Request("table1", ("mnist",), **NARROW, search="grid", search_seeds=1)
    again = replace(held, refit=True)
    kept = {r.key: r for asked in (held, again) for r in run_out(make_plan(asked))[1]}
    runs = find_runs([make_plan(held), make_plan(again)], list(kept.values()))
    (shown,) = make_sheet("table1", runs).filled
    assert shown.run is runs[1]
    assert shown.entry.mean == pytest.approx(90.2)
    assert [len(run.records) for run in runs] == [36 + 2 * 4, 2 * 5]


def test_a_real_run_trains_on_all_rows_and_goes_on(tmp_path: Path) -> None:
    plan = bind_plan(make_plan(request(seeds=2, epochs=1, search_seeds=1)))
    with Store(tmp_path / "s.sqlite") as store:
        first = run_plan(plan, store, LocalExecutor("cpu", workers=1))
        again = run_plan(plan, store, LocalExecutor("cpu", workers=1))
        found = store.records()
    assert (again.ran, again.had) == (0, first.ran)
    last = [r for r in found if not r.trial.settings["validation"]]
    assert last
    assert all("covering_val" not in r.metrics and "accuracy_last10" in r.metrics for r in last)
    rows = {len(trial_data(r.trial).kept) for r in last}
    held = {len(trial_data(r.trial).kept) for r in found if r.trial.settings["validation"]}
    assert min(rows) > max(held)


def test_cells_on_all_rows_are_marked(tmp_path: Path) -> None:
    asked = Request("table1", ("mnist",), **NARROW, refit=True)
    with Store(tmp_path / "s.sqlite") as store:
        store.add_all(run_out(make_plan(asked))[1])
        store.add_request(asked.to_dict())
    pack([tmp_path / "s.sqlite"], tmp_path / "e")
    page = reproduction_markdown(Reproduction.read(tmp_path / "e"))
    assert "90.20 ± 0.16** ✗ ‡ °<br>paper" in page.replace("\u00a0", " ")
