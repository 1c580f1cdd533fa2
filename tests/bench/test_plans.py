"""Plans: the paper's cells, grids and settings, and every request that makes no sense."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import amongst.bench
from amongst.bench.execute import Options
from amongst.bench.paper import ABLATION, BETAS, TABLES, published_cells
from amongst.bench.plans import Request, make_plan
from amongst.bench.points import method_labels, published_point
from amongst.bench.record import Record, Trial
from amongst.bench.request import PLANS
from amongst.bench.rounds import choose
from amongst.errors import InputError


def test_the_published_cells_are_shipped_with_the_package() -> None:
    path = Path(str(amongst.bench.__file__)).parent / "data" / "tables.json"
    stored = json.loads(path.read_text("utf-8"))
    for table in TABLES:
        means = [cell["mean"] for cell in stored[table]]
        assert [cell.published.mean for cell in published_cells(table)] == means


@pytest.mark.parametrize(("table", "cells"), [("table1", 60), ("table2", 55), ("table3", 60)])
def test_every_cell_of_a_table_is_planned_once(table: str, cells: int) -> None:
    plan = make_plan(Request(table))
    places = Counter(
        (c.slot.dataset, c.slot.condition, c.slot.method, c.slot.model) for c in plan.cells
    )
    assert len(places) == cells == len(plan.cells)
    assert set(places.values()) == {1}
    assert all(cell.slot.published for cell in plan.cells)
    assert {cell.slot.method for cell in plan.cells} <= set(method_labels())


@pytest.mark.parametrize(
    ("method", "points"),
    [("lw-sigmoid", 50), ("lw-cross_entropy", 50), ("proden", 25), ("rc", 36), ("cc", 36)],
)
def test_grids_have_the_papers_size(method: str, points: int) -> None:
    request = Request("table1", datasets=("mnist",), conditions=("q=0.1",), methods=(method,),
                      search="grid")  # fmt: skip
    (cell,) = make_plan(request).cells
    assert len(cell.trials) == 5 * points
    assert len({trial.key for trial in cell.trials}) == 5 * points


def test_the_paper_protocol_of_table_1() -> None:
    request = Request("table1", datasets=("mnist",), methods=("lw-sigmoid",), protocol="paper")
    first = make_plan(request).trials[0].settings
    assert first == {
        "alpha": 1.0, "batch_size": 256, "beta": 2.0, "epochs": 250, "initial": "paper",
        "lr": 0.05, "optimizer": "sgd", "precision": "float32", "refresh": "epoch",
        "schedule": "halving", "validation": 0.1, "weight_decay": 1e-3,
        "widths": "300-300-300-300",
    }  # fmt: skip


def test_the_official_protocol_holds_out_nothing_and_reports_the_last_ten() -> None:
    plan = make_plan(Request("table1", datasets=("cifar10",), protocol="official"))
    settings = plan.cells[-1].trials[0].settings
    assert (settings["validation"], settings["refresh"]) == (0.0, "post")
    assert settings["dropout_at_evaluation"] is True
    assert plan.report == "accuracy_last10"


def test_methods_have_their_own_optimisers_and_schedules() -> None:
    plan = make_plan(Request("table1", datasets=("cifar10",), conditions=("q=0.1",)))
    found = {c.slot.method: c.trials[0].settings for c in plan.cells}
    assert [found[m]["optimizer"] for m in ("rc", "cc", "proden", "lw-sigmoid")] == [
        "adam", "adam", "sgd", "sgd",
    ]  # fmt: skip
    assert found["proden"]["schedule"] == "proden"
    assert found["cc"]["schedule"] == "constant"


def test_equal_search_gives_every_method_one_grid_and_one_optimiser() -> None:
    request = Request("table1", datasets=("mnist",), conditions=("q=0.1",), search="equal")
    for cell in make_plan(request).cells:
        settings = [trial.settings for trial in cell.trials]
        assert {(s["optimizer"], s["schedule"]) for s in settings} == {("sgd", "exponential")}
        assert len({(s["lr"], s["weight_decay"]) for s in settings}) == 25


def test_published_settings_are_the_papers_or_say_whose_they_are() -> None:
    exact = published_point("cifar10", "q=0.3", "lw-cross_entropy", "convnet")
    assert exact is not None
    assert (dict(exact.values), exact.note) == (
        {"lr": 0.01, "weight_decay": 1e-2, "beta": 2.0},
        "",
    )
    nearest = published_point("kmnist", "case 3", "lw-sigmoid", "mlp")
    assert nearest is not None
    assert nearest.note == "nearest published setting: MNIST, q=0.3"
    lost = published_point("lost", "real", "proden", "linear")
    assert lost is not None
    assert (lost.values["batch_size"], lost.note) == (100, "")
    assert published_point("mnist", "q=0.1", "rc", "mlp") is None


def test_a_published_point_inside_the_grid_is_one_trial() -> None:
    narrow = {"datasets": ("mnist",), "methods": ("lw-sigmoid",), "conditions": ("q=0.1",)}
    published = make_plan(Request("table1", **narrow)).trials
    grid = make_plan(Request("table1", **narrow, search="grid")).trials
    assert {trial.key for trial in published} <= {trial.key for trial in grid}


def test_figures_have_four_panels() -> None:
    for name, variants in (("figure1", len(BETAS)), ("figure2", len(ABLATION))):
        plan = make_plan(Request(name))
        assert len(plan.cells) == 4 * variants
        assert len(plan.trials) == 4 * variants * 5


def test_table_2_is_ten_folds_and_says_so_in_its_settings() -> None:
    plan = make_plan(Request("table2", datasets=("lost",), methods=("ipal", "rc")))
    assert {trial.fold for trial in plan.trials} == set(range(10))
    assert {trial.settings["folds"] for trial in plan.trials} == {10}
    assert {trial.model for trial in plan.trials} == {"-", "linear", "mlp"}


@pytest.mark.parametrize("name", [name for name in PLANS if name != "compare"])
def test_a_miniature_of_every_plan_needs_digits_only(name: str) -> None:
    plan = make_plan(Request(name, quick=True))
    assert plan.datasets == ("digits",)
    assert len(plan.trials) <= 250
    assert {t.settings.get("epochs", 10) for t in plan.trials} == {10}
    assert "convnet" not in {t.model for t in plan.trials}


def test_a_method_without_a_network_stays_if_named() -> None:
    request = Request("table2", datasets=("lost",), models=("linear",))
    assert {cell.slot.model for cell in make_plan(request).cells} == {"linear"}
    plan = make_plan(replace(request, methods=("rc", "ipal")))
    assert [(c.slot.method, c.slot.model) for c in plan.cells] == [("ipal", "-"), ("rc", "linear")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"plan": "tabel1"}, "did you mean 'table1'"),
        ({"plan": "table1", "datasets": ("minst",)}, "did you mean 'mnist'"),
        ({"plan": "table1", "methods": ("prodem",)}, "did you mean 'proden'"),
        ({"plan": "table1", "conditions": ("case1",)}, "'case 1' is not in table1"),
        ({"plan": "table1", "conditions": ("q=1.5",)}, "did you mean 'q=0.5'"),
        ({"plan": "table1", "search": "gird"}, "did you mean 'grid'"),
        ({"plan": "table1", "criterion": "accuracy"}, "criterion='accuracy'"),
        ({"plan": "table1", "protocol": "papers"}, "did you mean 'paper'"),
        ({"plan": "table1", "search": "grid", "protocol": "official"}, "holds out none"),
        ({"plan": "table1", "seeds": 0}, "at least 1"),
        ({"plan": "table1", "precision": "float31"}, "did you mean 'float32'"),
        ({"plan": "table1", "quick": True, "datasets": ("mnist",)}, "digits alone"),
        ({"plan": "table1", "models": ("linear",)}, "models='linear' is not in table1"),
        ({"plan": "compare"}, "datasets is empty"),
        ({"plan": "compare", "datasets": ("x",), "models": ("cnn",)}, "models='cnn'"),
        ({"plan": "compare", "datasets": ("x",), "folds": 1}, "at least 2"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(options: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_plan(Request(**options))


def test_incompatible_options_are_said_before_anything_runs() -> None:
    with pytest.raises(InputError, match="ray_address is for engine='ray'"):
        Options(engine="local", ray_address="auto")
    with pytest.raises(InputError, match="did you mean 'population'"):
        Options(engine="populations")


def record(lr: float, seed: int, value: float | None, fold: int | None = None) -> Record:
    trial = Trial("digits", "q=0.1", "rc", "mlp", seed, fold, {"lr": lr})
    return Record(trial, {} if value is None else {"c": value}, error="" if value else "diverged")


def test_a_setting_is_chosen_by_its_mean_and_a_divergence_loses() -> None:
    found = [record(0.1, 0, 0.99), record(0.1, 1, None), record(0.01, 0, 0.5), record(0.01, 1, 0.6)]
    choice = choose(found, "c")
    assert (choice.settings["lr"], choice.considered, choice.oracle) == (0.01, 2, False)
    assert [r.trial.seed for r in choice.records] == [0, 1]


def test_a_setting_that_is_not_finished_is_left_aside() -> None:
    found = [record(0.1, 0, 0.99), record(0.01, 0, 0.5), record(0.01, 1, 0.6)]
    assert choose(found, "c").settings["lr"] == 0.01


def test_each_fold_chooses_for_itself() -> None:
    found = [record(lr, 0, value, fold) for lr, fold, value in
             [(0.1, 0, 0.9), (0.01, 0, 0.8), (0.1, 1, 0.1), (0.01, 1, 0.2)]]  # fmt: skip
    choice = choose(found, "c")
    assert [(r.trial.fold, r.trial.settings["lr"]) for r in choice.records] == [(0, 0.1), (1, 0.01)]


def test_of_a_risk_the_lowest_is_best() -> None:
    pair = [Record(record(lr, 0, 0.5).trial, {"risk_val": lr}) for lr in (0.1, 0.2)]
    assert choose(pair, "risk_val").settings["lr"] == 0.1


def test_the_oracle_is_marked_and_nothing_to_choose_is_refused() -> None:
    pair = [
        Record(record(lr, 0, 0.5).trial, {"accuracy_val": value}) for lr, value in ((1, 1), (2, 2))
    ]
    assert choose(pair, "accuracy_val").oracle
    with pytest.raises(InputError, match="empty"):
        choose([], "c")


@pytest.mark.parametrize(("condition", "rate"), [("q=0.6", "q=0.5"), ("q=0.45", "q=0.5")])
def test_the_nearest_published_setting_is_the_nearest(condition: str, rate: str) -> None:
    """A rate between those of the paper's tables had the setting of q=0.1."""
    point = published_point("mnist", condition, "lw-sigmoid", "mlp")
    assert point is not None
    assert point.note == f"nearest published setting: MNIST, {rate}"
    exact = published_point("mnist", rate, "lw-sigmoid", "mlp")
    assert exact is not None
    assert point.values == exact.values


def test_trials_are_of_the_data_that_are_there() -> None:
    plan = make_plan(Request("table1", datasets=("mnist", "kmnist"), methods=("rc",)))
    bound = plan.bind({"mnist": "5a2387d"}, {"kmnist": "no file"})
    assert {(trial.dataset, trial.data_digest) for trial in bound.trials} == {("mnist", "5a2387d")}
    assert [cell.absent for cell in bound.cells] == [""] * 3 + ["no file"] * 3


def test_one_cell_in_rounds_makes_a_plan_in_rounds() -> None:
    """IPAL has no epochs to shorten."""
    asked = Request("table2", ("lost",), ("ipal", "rc"), search="grid", screen=5)
    plan = make_plan(asked)
    assert [bool(cell.pool) for cell in plan.cells] == [False, True, True]
    assert plan.staged
    assert not make_plan(replace(asked, methods=("ipal",))).staged


def test_a_comparison_is_named_by_its_data() -> None:
    assert (
        make_plan(Request("compare", ("lost", "mnist"), ("rc",))).title
        == "Comparison on Lost, MNIST"
    )


def test_lw_is_short_for_methods_alone() -> None:
    with pytest.raises(InputError) as caught:
        make_plan(Request("table1", datasets=("lv",)))
    assert "lw" not in str(caught.value)
    with pytest.raises(InputError, match="'lw'"):
        make_plan(Request("table1", methods=("lv",)))
