"""Tables against slow references, and against the marks that the paper prints."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata

from amongst.bench import Record, Trial
from amongst.bench.paper import Published, published_cells
from amongst.bench.places import Place, lay_out
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.tables import Entry, Significance, Table, collect
from amongst.bench.words import notes
from amongst.errors import InputError

Values = dict[str, Sequence[float]]


def demo(methods: Sequence[str], seeds: int = 5, **more: Any) -> Plan:
    return make_plan(
        Request("demo", methods=tuple(methods), conditions=("q=0.1",), seeds=seeds, **more)
    )


def table_of(values: Values, rule: Significance | None = None) -> Table:
    seeds = max(map(len, values.values()))
    plan = demo(list(values), seeds)
    records = [
        Record(trial, {"accuracy_last10": values[trial.method][trial.seed] / 100})
        for trial in plan.trials
        if trial.seed < len(values[trial.method])
    ]
    return collect(records, plan, significance=rule)


def entry_of(table: Table, method: str) -> Entry:
    return next(entry for entry in table.entries.values() if entry.place.method == method)


def slow_wilcoxon(better: Sequence[float], worse: Sequence[float]) -> float:
    """P(W+ ≥ observed) by writing down all signs; no ties, no zeros."""
    gaps = np.subtract(better, worse)
    ranks = np.abs(gaps).argsort().argsort() + 1
    observed = ranks[gaps > 0].sum()
    signs = itertools.product((0, 1), repeat=len(gaps))
    sums = [np.dot(ranks, sign) for sign in signs]
    return float(np.mean([value >= observed for value in sums]))


def exact(plan: Plan) -> list[Record]:
    """Every trial gives exactly the printed mean."""
    means = {cell.slot.place: cell.slot.published for cell in plan.cells}
    return [
        Record(
            t,
            {"accuracy_last10": means[Place(t.dataset, t.condition, t.method, t.model)].mean / 100},
        )  # type: ignore[union-attr]
        for t in plan.trials
    ]


@pytest.mark.parametrize("name", ["table1", "table2", "table3"])
def test_the_printed_means_give_the_printed_marks(name: str) -> None:
    """Bold and underline follow the paper's rules, which differ between its tables."""
    plan = make_plan(Request(name))
    table = collect(exact(plan), plan)
    ours = {
        place: ("best" if e.best else "second" if e.second else "")
        for place, e in table.entries.items()
    }
    printed = {
        Place(c.dataset, c.condition, c.method, c.model): c.published.mark
        for c in published_cells(name)
    }
    odd = {place: (ours[place], printed[place]) for place in ours if ours[place] != printed[place]}
    assert odd == {}
    assert all(abs(entry.difference) < 1e-9 and entry.agrees for entry in table.filled)


def test_mean_deviation_and_interval_are_those_of_the_repeats() -> None:
    values = [98.1, 98.4, 98.2, 98.9, 98.3]
    entry = entry_of(table_of({"rc": values}), "rc")
    assert entry.mean == pytest.approx(np.mean(values))
    assert entry.std == pytest.approx(np.std(values, ddof=1))
    half = 2.7764451 * np.std(values, ddof=1) / np.sqrt(5)
    assert (entry.low, entry.high) == pytest.approx((entry.mean - half, entry.mean + half))
    assert entry.n == entry.planned == 5


def test_p_is_the_one_sided_exact_wilcoxon_of_the_best_against_each_other() -> None:
    values: Values = {
        "cc": [90.0, 91.3, 92.1, 93.7, 94.2],
        "rc": [89.1, 91.5, 91.4, 92.6, 93.9],
        "proden": [80.0, 81.0, 82.5, 83.1, 84.9],
    }
    table = table_of(values)
    assert entry_of(table, "cc").best
    assert np.isnan(entry_of(table, "cc").p)
    for method in ("rc", "proden"):
        entry = entry_of(table, method)
        assert entry.p == pytest.approx(slow_wilcoxon(values["cc"], values[method]))
        assert entry.least == pytest.approx(2.0**-5)
        assert entry.rival == "CC"
        assert entry.star == (entry.p <= 0.05)
    assert entry_of(table, "proden").p == entry_of(table, "proden").least


def test_equal_differences_are_ties_whatever_the_last_bit_says() -> None:
    base = [98.12, 97.62, 99.0, 95.1, 93.3]
    shifted = [value - 0.12 for value in base]
    entry = entry_of(table_of({"cc": base, "rc": shifted}), "rc")
    assert entry.p == 2.0**-5


def test_counts_that_differ_alike_are_ties() -> None:
    """Hits of 176 rows: 4/176 from one pair of counts is as much as from another."""
    a = np.array([99, 84, 90, 91, 83, 96, 89, 100, 97, 99])
    b = np.array([81, 80, 84, 79, 87, 92, 87, 90, 74, 85])
    shown = {
        name: [100 * float(np.float32(hits / 176)) for hits in counts]
        for name, counts in (("cc", a), ("rc", b))
    }
    ranks = rankdata(np.abs(a - b))
    sums = [np.dot(ranks, sign) for sign in itertools.product((0, 1), repeat=10)]
    exact_p = np.mean(np.array(sums) >= ranks[a > b].sum())
    assert entry_of(table_of(shown), "rc").p == pytest.approx(exact_p, abs=1e-12)


@pytest.mark.parametrize(
    ("epochs", "said"), [(10, "10 epochs: that is all"), (12, "that is most"), (20, ""), (1, "")]
)
def test_a_mean_over_the_whole_of_a_short_run_is_said(epochs: int, said: str) -> None:
    plan = demo(["cc", "rc"], epochs=epochs)
    table = collect([Record(trial, {"accuracy_last10": 0.5}) for trial in plan.trials], plan)
    assert said in notes(table)[0]
    assert ("Runs of" in notes(table)[0]) == bool(said)


def test_four_seeds_cannot_earn_a_star_and_the_note_says_so() -> None:
    table = table_of({"cc": [99.0, 98.0, 97.0, 96.0], "rc": [50.0, 51.0, 52.0, 53.5]})
    assert not entry_of(table, "rc").star
    assert any("no star can be reached" in note for note in notes(table))
    assert any("one-sided Wilcoxon" in note for note in notes(table))


def test_holm_multiplies_over_the_whole_table() -> None:
    values = {m: [90 - i + 0.1 * s for s in range(5)] for i, m in enumerate(["cc", "rc", "proden"])}
    raw = table_of(values)
    corrected = table_of(values, Significance(correction="holm"))
    assert [entry_of(raw, m).star for m in values] == [False, True, True]
    assert [entry_of(corrected, m).star for m in values] == [False, False, False]
    assert entry_of(raw, "rc").holm == pytest.approx(2 * 2.0**-5)


def test_the_t_test_is_there_by_name() -> None:
    values = {"cc": [90.0, 91.0, 92.0], "rc": [80.0, 81.1, 82.3]}
    entry = entry_of(table_of(values, Significance("t")), "rc")
    assert entry.star
    assert entry.p < 0.01


@pytest.mark.parametrize(
    "arguments", [{"test": "wilcoxn"}, {"alpha": 0.0}, {"correction": "bonferroni"}]
)
def test_a_wrong_rule_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Significance(**arguments)


def test_repeats_pair_by_seed_and_not_by_position() -> None:
    """CC misses seed 0: the comparison rests on the other four."""
    plan = demo(["cc", "rc"])
    values = {"cc": [0, 91.0, 92.0, 93.0, 94.0], "rc": [99.9, 90.0, 91.5, 92.9, 93.2]}
    records = [
        Record(trial, {"accuracy_last10": values[trial.method][trial.seed] / 100})
        for trial in plan.trials
        if (trial.method, trial.seed) != ("cc", 0)
    ]
    table = collect(records, plan)
    loser = entry_of(table, "cc")
    assert entry_of(table, "rc").best
    assert loser.pairs == 4
    assert loser.p == pytest.approx(slow_wilcoxon(values["rc"][1:], values["cc"][1:]))


def test_the_order_of_records_does_not_matter(synthetic: Callable[..., list[Record]]) -> None:
    plan = make_plan(Request("table1", datasets=("mnist",)))
    records = synthetic(plan, epochs=20)
    shuffled = random.Random(1).sample(records, len(records))
    one, two = collect(records, plan), collect(shuffled, plan)
    assert repr(one.entries) == repr(two.entries)


def test_diverged_trials_are_counted_and_left_out() -> None:
    plan = demo(["cc", "rc"], seeds=3)
    records = [
        Record(trial, error="the loss became NaN at epoch 3")
        if trial.method == "rc" or trial.seed == 2
        else Record(trial, {"accuracy_last10": 0.9})
        for trial in plan.trials
    ]
    table = collect(records, plan)
    assert (entry_of(table, "cc").n, entry_of(table, "cc").failed) == (2, 1)
    assert (entry_of(table, "rc").n, entry_of(table, "rc").failed) == (0, 3)
    assert notes(table)[-3:] == [
        "4 trials failed; a cell rests on its others, or says failed.",
        "RC, digits, q=0.1: the loss became NaN at epoch 3",
        "CC, digits, q=0.1: the loss became NaN at epoch 3",
    ]


def searched(criterion: str) -> Table:
    """The setting with the better held-out criterion has the worse test accuracy."""
    plan = demo(["rc"], seeds=2, search="grid", criterion=criterion)
    grid = sorted({str(dict(trial.settings)) for trial in plan.trials})
    records = []
    for trial in plan.trials:
        i = grid.index(str(dict(trial.settings)))
        metrics = {
            "accuracy_last10": 0.5 + 0.01 * i,
            "approximated_val_last10": 0.9 - 0.01 * i,
            "accuracy_val_last10": 0.5 + 0.01 * i,
        }
        records.append(Record(trial, metrics))
    return collect(records, plan)


def test_settings_are_chosen_by_the_criterion_never_by_the_test_rows() -> None:
    entry = entry_of(searched("approximated"), "rc")
    assert entry.mean == pytest.approx(50)
    assert entry.considered > 1
    assert entry.criterion == "approximated_val_last10"
    assert not entry.oracle


def test_the_oracle_is_marked() -> None:
    table = searched("oracle")
    assert entry_of(table, "rc").oracle
    assert table.oracle
    assert any(note.startswith("†") for note in notes(table))
    others = {place: replace(entry, oracle=False) for place, entry in table.entries.items()}
    assert not replace(table, entries=others).oracle
    one_more = Place("digits", "q=0.1", "cc", "mlp")
    assert replace(table, entries=others | {one_more: Entry(one_more, "CC", oracle=True)}).oracle


def test_agreement_is_two_standard_errors() -> None:
    plan = make_plan(Request("table1", datasets=("mnist",), methods=("rc",), conditions=("q=0.1",)))
    printed = plan.cells[0].slot.published
    assert printed is not None

    def agrees(shift: float) -> bool:
        spread = np.array([-1, -0.5, 0, 0.5, 1]) * 0.1
        records = [
            Record(t, {"accuracy_last10": (printed.mean + shift + spread[t.seed]) / 100})
            for t in plan.trials
        ]
        return next(iter(collect(records, plan).entries.values())).agrees

    error = np.sqrt(np.var([-0.1, -0.05, 0, 0.05, 0.1], ddof=1) / 5 + printed.std**2 / 5)
    assert agrees(1.98 * error)
    assert agrees(-1.98 * error)
    assert not agrees(2.02 * error)


@pytest.mark.parametrize(("fold", "repeats"), [(None, 5), (0, 10)])
def test_the_papers_error_is_over_five_seeds_or_ten_folds(fold: int | None, repeats: int) -> None:
    """One value of ours has no spread, so that 2 s′/√n′ alone is the margin."""
    limit = 2 * 3.0 / np.sqrt(repeats)

    def agrees(difference: float) -> bool:
        printed, mean = Published(90.0, 3.0), 90.0 + difference
        place = Place("lost", "real", "lw", "linear")
        return Entry(place, "LW", (mean,), ((0, fold),), mean, published=printed).agrees

    assert agrees(0.99 * limit)
    assert agrees(-0.99 * limit)
    assert not agrees(1.01 * limit)
    assert not agrees(-1.01 * limit)


def test_ranking_is_friedmans(synthetic: Callable[..., list[Record]]) -> None:
    from scipy import stats

    plan = make_plan(Request("table1"))
    table = collect(synthetic(plan, epochs=20), plan)
    assert table.ranking is not None
    assert table.ranking.blocks == 12
    methods = ["rc", "cc", "proden", "lw-sigmoid", "lw-cross_entropy"]
    columns = [[e.mean for e in table.filled if e.place.method == m] for m in methods]
    by_contest = {
        m: {e.place.contest: e.mean for e in table.filled if e.place.method == m} for m in methods
    }
    order = list(by_contest["rc"])
    columns = [[by_contest[m][contest] for contest in order] for m in methods]
    assert table.ranking.p == pytest.approx(stats.friedmanchisquare(*columns).pvalue)
    assert list(table.ranking.ranks) == sorted(table.ranking.ranks)


def test_an_unfinished_table_shows_its_holes() -> None:
    plan = make_plan(Request("table2", datasets=("lost",)))
    table = collect([], plan)
    assert table.filled == ()
    assert table.ranking is None
    assert not table.oracle
    assert table.at(None) is None
    assert collect([], plan, metric="accuracy_final").metric == "accuracy_final"
    assert notes(table)[-1] == "11 of 11 cells have no result yet."


def test_layouts_follow_the_paper() -> None:
    two = lay_out(make_plan(Request("table2")).places)
    assert list(two.groups) == ["No network", "Linear", "MLP"]
    assert two.underline == "model"
    figure = lay_out(make_plan(Request("figure1")).places)
    assert figure.columns == tuple(f"β={b}" for b in (0, 1, 2, 4, 8, 16, 32))
    assert len(set(figure.places)) == len(figure.places) == 28


def test_records_of_other_plans_do_not_enter() -> None:
    plan = demo(["rc"], seeds=1)
    own = Record(plan.trials[0], {"accuracy_last10": 0.9})
    other = Record(
        replace(plan.trials[0], settings=dict(plan.trials[0].settings) | {"epochs": 3}),
        {"accuracy_last10": 0.1},
    )
    stranger = Record(Trial("mnist", "q=0.1", "rc", "mlp", 0), {"accuracy_last10": 0.2})
    assert collect([own, other, stranger], plan).filled[0].values == (90.0,)


def test_a_plan_that_mixes_variants_keeps_every_place_apart() -> None:
    """β from the data stands in rows of its own, beside the same method with a fixed β."""
    layout = lay_out(make_plan(Request("beyond", datasets=("mnist", "fgnet"))).places)
    assert layout.columns == ("q=0.1", "q=0.3", "q=0.5", "q=0.7", "q=0.9", "real")
    labels = [row.label for row in layout.groups["MNIST"]]
    assert "LW-Sigmoid, MLP" in labels
    assert "LW-Sigmoid, MLP, β=auto" in labels
    assert len(set(layout.places)) == len(layout.places)


def test_one_figure_of_the_paper_makes_a_table_one_of_the_paper() -> None:
    table = collect([], make_plan(Request("table2", datasets=("lost",))))
    (first, entry), *others = table.entries.items()
    bare = {place: replace(other, published=None) for place, other in others}
    assert replace(table, entries={first: entry} | bare).published
    assert not replace(table, entries=bare).published


@pytest.mark.parametrize("name", ["table1", "table2", "table3", "figure1", "figure2", "beyond"])
def test_labels_tell_the_entries_of_a_contest_apart(name: str) -> None:
    table = collect([], make_plan(Request(name)))
    seen = [(entry.place.contest, entry.label) for entry in table.entries.values()]
    assert len(set(seen)) == len(seen)
