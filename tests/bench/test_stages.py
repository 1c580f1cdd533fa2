"""Searches in rounds: what each round lays out, who chooses among what, and every way to be cut."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amongst.bench import runner as runner_module
from amongst.bench.estimate import check_data
from amongst.bench.execute import LocalExecutor, Options
from amongst.bench.plans import Plan, Request, make_plan, reproduce_command
from amongst.bench.record import Record, Trial
from amongst.bench.render import _figure, to_markdown
from amongst.bench.report import build_report, read_report, to_html
from amongst.bench.rounds import advance, at_most, next_round
from amongst.bench.runner import Outcome, bind_plan, dry_run, run_plan
from amongst.bench.store import Store
from amongst.bench.tables import Entry, collect
from amongst.bench.words import notes
from amongst.errors import InputError

FULL, SHORT = 40, 5
Values = Callable[[Trial], tuple[float, float]]
"""(covering, oracle) of a trial; the test accuracy follows the second."""


def request(plan: str = "demo", **more: Any) -> Request:
    """One cell of 8 points (LW: 2 learning rates × 2 decays × 2 β), in three rounds."""
    rounds: dict[str, Any] = {"search_seeds": 1, "screen": SHORT, "keep": 0.25}
    narrow = {"methods": ("lw-sigmoid",), "conditions": ("q=0.1",), "seeds": 5}
    return Request(plan, **({"search": "grid"} | narrow | rounds | more))


def place(trial: Trial) -> int:
    """0 to 7: the number of the setting in its grid."""
    grid = [t.settings for t in make_plan(request(screen=None, keep=None)).cells[0].trials]
    names = [_place(settings) for settings in grid]
    return names.index(_place(trial.settings))


def _place(settings: Any) -> tuple[Any, ...]:
    return tuple(settings[name] for name in ("lr", "weight_decay", "beta"))


def records(trials: Iterable[Trial], values: Values) -> list[Record]:
    found = []
    for trial in trials:
        covering, oracle = values(trial)
        metrics = {"covering_val_last10": covering, "accuracy_val_last10": oracle}
        found.append(Record(trial, metrics | {"accuracy_last10": oracle}))
    return found


def run_out(plan: Plan, values: Values, known: Sequence[Record] = ()) -> list[list[Trial]]:
    """The rounds that a runner would go through, with made-up results."""
    kept, rounds = list(known), []
    while trials := next_round(advance(plan, kept), {record.key for record in kept}):
        rounds.append(list(trials.values()))
        kept += records(rounds[-1], values)
    return rounds


def everything(plan: Plan, values: Values) -> list[Record]:
    return [r for trials in run_out(plan, values) for r in records(trials, values)]


def rising(trial: Trial) -> tuple[float, float]:
    """Covering prefers the last points, the oracle the first."""
    i = place(trial)
    return 0.5 + 0.01 * i, 0.9 - 0.01 * i


def only(plan: Plan, found: Sequence[Record]) -> Entry:
    (entry,) = collect(found, plan).entries.values()
    return entry


# Which trials each round lays out


def test_three_rounds_and_what_is_in_each() -> None:
    short, search, final = run_out(make_plan(request()), rising)
    assert [(place(t), t.seed, t.settings["epochs"]) for t in short] == [
        (i, 0, SHORT) for i in range(8)
    ]
    assert {(place(t), t.seed, t.settings["epochs"]) for t in search} == {
        (i, 0, FULL) for i in (6, 7, 0, 1)
    }
    assert {(place(t), t.seed) for t in final} == {(i, s) for i in (7, 0) for s in (1, 2, 3, 4)}


def test_every_long_trial_is_one_of_the_whole_grid() -> None:
    whole = make_plan(request(search_seeds=None, screen=None, keep=None))
    _, search, final = run_out(make_plan(request()), rising)
    assert {t.key for t in search + final} <= {t.key for t in whole.trials}


def test_search_seeds_alone_search_the_whole_grid_at_full_length() -> None:
    search, final = run_out(make_plan(request(screen=None, keep=None, search_seeds=2)), rising)
    assert {(place(t), t.seed, t.settings["epochs"]) for t in search} == {
        (i, s, FULL) for i in range(8) for s in (0, 1)
    }
    assert {(place(t), t.seed) for t in final} == {(i, s) for i in (7, 0) for s in (2, 3, 4)}


def test_cells_keep_step() -> None:
    """A cell that has chosen waits for one that still searches, so that populations are large."""
    plan = make_plan(request(conditions=("q=0.1", "q=0.3"), screen=None, keep=None))
    *searched, last = next_round(plan, ()).values()
    found = records(searched, rising)
    assert list(next_round(advance(plan, found), {r.key for r in found})) == [last.key]
    found += records([last], rising)
    later = next_round(advance(plan, found), {r.key for r in found}).values()
    assert len(later) == 2 * 2 * 4
    assert {t.condition for t in later} == {"q=0.1", "q=0.3"}


def test_screening_alone_goes_on_with_all_seeds() -> None:
    short, search = run_out(make_plan(request(search_seeds=None, seeds=2)), rising)
    assert len(short) == 8 * 2
    assert {(place(t), t.seed) for t in search} == {(i, s) for i in (6, 7, 0, 1) for s in (0, 1)}


@pytest.mark.parametrize(("keep", "count"), [(0.01, 1), (0.25, 2), (0.26, 3), (1.0, 8)])
def test_the_part_that_goes_on_is_rounded_up_and_never_empty(keep: float, count: int) -> None:
    plan = make_plan(request(keep=keep, criterion="oracle"))
    assert len(run_out(plan, rising)[1]) == count


def test_a_quarter_goes_on_unless_told() -> None:
    plan = make_plan(request(keep=None, criterion="oracle"))
    assert [place(t) for t in run_out(plan, rising)[1]] == [0, 1]


def test_cells_keep_step_and_an_absent_one_holds_up_nobody() -> None:
    plan = make_plan(request(methods=("cc", "lw-sigmoid"), conditions=("q=0.1", "q=0.3")))
    first = records(plan.cells[0].screening, lambda trial: (0.5, 0.5))
    later = advance(plan, first)
    assert [len(cell.trials) for cell in later.cells] == [1, 0, 0, 0], "known, but not run yet"
    assert {t.settings["epochs"] for t in next_round(later, {r.key for r in first}).values()} == {
        SHORT
    }
    alone = replace(plan, cells=(plan.cells[0], *(replace(c, absent="-") for c in plan.cells[1:])))
    due = next_round(advance(alone, first), {record.key for record in first})
    assert {t.settings["epochs"] for t in due.values()} == {FULL}


def test_a_method_without_epochs_has_no_short_round() -> None:
    asked = request("table2", datasets=("lost",), methods=("plecoc", "cc"), conditions=(),
                    seeds=None)  # fmt: skip
    cells = make_plan(asked).cells
    assert [bool(cell.screening) for cell in cells] == [cell.slot.model != "-" for cell in cells]
    classical = next(cell for cell in cells if cell.slot.model == "-")
    assert len(classical.trials) == 10 * 3
    assert not classical.pool, "with one seed there is one round"


def test_what_a_figure_dictates_stays_dictated_in_every_round() -> None:
    fixed = make_plan(Request("figure2", search="grid", search_seeds=1, screen=5))
    whole = make_plan(Request("figure2", search="grid"))
    assert all(cell.screening for cell in fixed.cells)
    assert {t.key for cell in fixed.cells for t in cell.pool} == {t.key for t in whole.trials}


# Who chooses among what


def test_the_cell_is_the_mean_over_all_seeds_of_the_choice_among_the_whole_grid() -> None:
    plan = make_plan(request())
    entry = only(plan, everything(plan, rising))
    assert (entry.n, entry.planned, entry.considered, entry.pending) == (5, 5, 8, 0)
    assert entry.mean == pytest.approx(83)
    assert entry.criterion == "covering_val_last10"
    assert not entry.oracle


def test_the_oracle_is_a_second_column_that_costs_nothing() -> None:
    found = everything(make_plan(request()), rising)
    oracle = make_plan(request(criterion="oracle"))
    assert run_out(oracle, rising, found) == []
    entry = only(oracle, found)
    assert (entry.n, entry.oracle, entry.considered) == (5, True, 8)
    assert entry.mean == pytest.approx(90)
    assert only(oracle, everything(oracle, rising)).keys == entry.keys


def test_the_oracle_is_marked_even_if_its_short_round_left_one() -> None:
    plan = make_plan(request(keep=0.01, criterion="oracle"))
    assert only(plan, everything(plan, rising)).oracle


def test_the_search_seeds_decide_even_if_more_seeds_would_say_otherwise() -> None:
    """The oracle's finalist has the better covering over five seeds, and does not get the cell."""

    def values(trial: Trial) -> tuple[float, float]:
        if trial.seed == 0:
            return rising(trial)
        return (0.99, 0.9) if place(trial) == 0 else (0.1, 0.5)

    plan = make_plan(request(screen=None, keep=None))
    entry = only(plan, everything(plan, values))
    assert entry.n == 5
    assert _place(entry.settings) == _place(plan.cells[0].pool[-1].settings)


def test_true_labels_change_nothing_in_a_column_chosen_without_them() -> None:
    """What only the oracle passed on turns out best by covering: it is trained, and not chosen."""

    def values(trial: Trial) -> tuple[float, float]:
        covering, oracle = rising(trial)
        late = trial.settings["epochs"] == FULL and place(trial) == 0
        return (0.99 if late else covering), oracle

    plan = make_plan(request())
    found = everything(plan, values)
    blind = [replace(r, metrics={n: v for n, v in r.metrics.items() if n != "accuracy_val_last10"})
             for r in everything(plan, lambda t: (values(t)[0], float("nan")))]  # fmt: skip
    assert len(blind) < len(found)
    with_oracle, without = only(plan, found), only(plan, blind)
    assert with_oracle.settings == without.settings
    assert place(Trial("d", "c", "m", "mlp", 0, settings=with_oracle.settings)) == 7


def test_a_criterion_that_was_not_asked_for_shows_how_little_it_has() -> None:
    def risky(trial: Trial) -> float:
        return abs(place(trial) - 1) / 10

    found = [
        replace(r, metrics=dict(r.metrics) | {"risk_val_last10": risky(r.trial)})
        for r in everything(make_plan(request()), rising)
    ]
    plan = make_plan(request(criterion="risk"))
    entry = only(plan, found)
    assert (entry.n, entry.planned, entry.pending) == (1, 5, 0)
    assert "".join(_figure(entry)) == "89.00 1/5"
    assert place(Trial("d", "c", "m", "mlp", 0, settings=entry.settings)) == 1
    assert "1 of 1 cells lack some of their repeats." in notes(collect(found, plan))
    wider = make_plan(request(criterion="risk", keep=0.5))
    table = collect(found, wider)
    assert next(iter(table.entries.values())).pending == 2
    assert any("the search is not finished" in note for note in notes(table))


def test_what_diverged_loses_and_counts_as_done() -> None:
    def failing(trials: Iterable[Trial], bad: Callable[[Trial], bool]) -> list[Record]:
        return [
            Record(r.trial, error="diverged") if bad(r.trial) else r
            for r in records(trials, rising)
        ]

    def settle(bad: Callable[[Trial], bool]) -> tuple[Plan, list[Record]]:
        plan, kept = make_plan(request()), []
        while due := next_round(advance(plan, kept), {r.key for r in kept}):
            kept += failing(due.values(), bad)
        return plan, kept

    plan, found = settle(lambda t: place(t) in (7, 0))
    assert {place(r.trial) for r in found if r.trial.settings["epochs"] == FULL} == {5, 6, 1, 2}
    plan, found = settle(lambda t: t.settings["epochs"] == FULL and place(t) == 7)
    assert place(Trial("d", "c", "m", "mlp", 0, settings=only(plan, found).settings)) == 6
    plan, found = settle(lambda t: t.seed == 3)
    entry = only(plan, found)
    assert (entry.n, entry.failed, entry.planned) == (4, 1, 5)
    plan, found = settle(lambda t: True)
    entry = only(plan, found)
    assert (entry.n, entry.failed) == (0, 5), "one setting goes on, so that the cell says why"
    assert len(found) == 8 + 1 + 4


def test_without_true_labels_nothing_is_trained_for_the_oracle() -> None:
    plan = make_plan(request())
    _, search, final = run_out(plan, lambda trial: (rising(trial)[0], float("nan")))
    assert {place(t) for t in search} == {6, 7}
    assert {place(t) for t in final} == {7}


def test_folds_of_two_seeds_screen_and_choose_apart() -> None:
    asked = request("compare", datasets=("digits",), folds=2, quick=True, seeds=2, search_seeds=None,
                    epochs=FULL, models=("mlp",))  # fmt: skip
    plan = make_plan(asked)

    def values(trial: Trial) -> tuple[float, float]:
        i = place(trial)
        return (0.5 + 0.01 * i if trial.seed == 0 else 0.9 - 0.01 * i), 0.5 + 0.01 * i

    _, search = run_out(plan, values)
    by_seed = {seed: {place(t) for t in search if t.seed == seed} for seed in range(2)}
    assert by_seed == {0: {6, 7}, 1: {0, 1, 6, 7}}
    assert only(plan, everything(plan, values)).values == pytest.approx((57, 50, 57, 50))


def test_search_seeds_are_refused_where_each_seed_has_folds_of_its_own() -> None:
    folds = {"datasets": ("digits",), "folds": 2, "quick": True, "epochs": FULL, "models": ("mlp",)}
    with pytest.raises(InputError, match=r"search_seeds=1 is fewer than seeds=2.*Leave it out"):
        check_data(make_plan(request("compare", seeds=2, **folds)))
    check_data(make_plan(request("compare", seeds=1, **folds)))
    check_data(make_plan(request("compare", seeds=2, **folds | {"folds": None})))


def test_each_fold_screens_and_chooses_for_itself() -> None:
    asked = request("compare", datasets=("digits",), folds=3, quick=True, seeds=None, epochs=FULL,
                    models=("mlp",))  # fmt: skip
    plan = make_plan(asked)

    def values(trial: Trial) -> tuple[float, float]:
        i = place(trial)
        return (0.5 + 0.01 * i if trial.fold == 0 else 0.9 - 0.01 * i), 0.5 + 0.01 * i

    short, search = run_out(plan, values)
    assert len(short) == 8 * 3
    by_fold = {f: {place(t) for t in search if t.fold == f} for f in range(3)}
    assert by_fold == {0: {6, 7}, 1: {0, 1, 6, 7}, 2: {0, 1, 6, 7}}
    found = everything(plan, values)
    entry = only(plan, found)
    assert entry.repeats == ((0, 0), (0, 1), (0, 2))
    assert entry.values == pytest.approx((57, 50, 50))
    chosen = {r.trial.fold: place(r.trial) for r in found if r.key in entry.keys}
    assert chosen == {0: 7, 1: 0, 2: 0}
    partial = [r for r in found if r.trial.fold != 2 or r.trial.settings["epochs"] == FULL]
    due = next_round(advance(plan, partial), {r.key for r in partial})
    assert {(t.fold, t.settings["epochs"]) for t in due.values()} == {(2, SHORT)}
    assert only(plan, partial).n == 2, "a fold whose short round is open has no choice yet"


# What was asked for, and what is said about it


def test_an_old_request_is_what_it_was() -> None:
    """Its text is a key of the store: were it to change, reports would show tables twice."""
    assert json.dumps(Request("table1", search="grid").to_dict(), sort_keys=True) == (
        '{"conditions": [], "criterion": "covering", "datasets": [], "epochs": null, '
        '"folds": null, "methods": [], "metric": "", "models": [], "plan": "table1", '
        '"precision": "float32", "protocol": "default", "quick": false, "search": "grid", '
        '"seeds": null}'
    )
    plan = make_plan(Request("table1", search="grid"))
    assert not plan.staged
    assert advance(plan, []) is plan
    assert list(next_round(plan, ())) == [trial.key for trial in plan.trials]
    assert Request(**request().to_dict()) == request()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"search": "published"}, "search_seeds=1 is for the search of a grid"),
        ({"search_seeds": 0}, "search_seeds=0"),
        ({"search_seeds": 6}, "search_seeds=6"),
        ({"screen": 40}, "no short round before 40 epochs"),
        ({"screen": 0}, "screen=0"),
        ({"keep": 0.0}, "keep=0"),
        ({"keep": 1.5}, "keep=1.5"),
        ({"screen": None}, "keep=0.25 is the share that goes on"),
    ],
)
def test_rounds_that_make_no_sense_are_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        request(**more)


def test_the_report_knows_every_record_and_how_the_choice_was_made(tmp_path: Path) -> None:
    plan = make_plan(request())
    found = [replace(r, trial=r.trial.with_data("0" * 64)) for r in everything(plan, rising)]
    with Store(tmp_path / "s.sqlite") as store:
        store.add_request(request().to_dict())
        store.add_request(request(criterion="oracle").to_dict())
        store.add_request(Request("demo", methods=("cc",), conditions=("q=0.1",)).to_dict())
        store.add_all(found)
    report = read_report(tmp_path / "s.sqlite")
    assert len(report.tables) == 2, "no trial is left over, and an empty plan shows nothing"
    ours, oracle = (next(iter(table.entries.values())) for table in report.tables)
    assert (ours.n, ours.considered, ours.oracle) == (5, 8, False)
    assert (oracle.n, oracle.considered, oracle.oracle) == (5, 8, True)
    text = to_markdown(report.tables[0])
    assert "the best of up to 8 by covering rate of held-out rows, mean of the last ten epochs; " \
        "after 5 epochs the best 25% went on; searched with 1 seed." in text.replace("\\_", "_")  # fmt: skip
    command = reproduce_command(report.tables[0].plan)
    assert "--search grid --search-seeds 1 --screen 5 --keep 0.25" in command
    assert command.replace(" ", " ") in to_html(report).replace("&#x27;", "'")
    assert len(build_report(found, [plan]).tables) == 1


def test_the_cost_is_a_bound_that_shrinks_and_ends_at_the_truth(tmp_path: Path) -> None:
    plan = make_plan(request(methods=("cc", "lw-sigmoid")))
    kept: list[Record] = []
    bounds = []
    total = sum(map(len, run_out(plan, _mixed)))
    while True:
        known = advance(plan, kept)
        done = {record.key for record in kept}
        bounds.append(len(known.trials) + len(at_most(known, done)))
        due = next_round(known, done)
        if not due:
            break
        kept += records(due.values(), _mixed)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] == (4 + 8) + (2 + 4) + 2 * 2 * 4
    assert bounds[-1] == total == len(kept)
    cost = dry_run(request(methods=("cc", "lw-sigmoid")), Options(device="cpu", workers=1))
    assert (cost.trials, cost.later) == (bounds[0], bounds[0] - 12)
    assert str(cost).startswith("12 trials known by now, then at most 22 more; 0 in the store")
    short = replace(plan.request, search_seeds=None, screen=None, keep=None)
    assert dry_run(short, Options(device="cpu", workers=1)).later == 0


def _mixed(trial: Trial) -> tuple[float, float]:
    number = int(trial.key[:8], 16) / 2**32
    return number, 1 - number


# Real runs


TINY = Request("demo", methods=("cc",), conditions=("q=0.1", "q=0.5"), seeds=2, epochs=2,
               search="grid", search_seeds=1, screen=1, keep=0.5)  # fmt: skip


def finished(path: Path) -> tuple[dict[str, object], str, Outcome]:
    """Run what is missing; the numbers of all records, and the table."""
    plan = bind_plan(make_plan(TINY))
    with Store(path) as store:
        outcome = run_plan(plan, store, LocalExecutor("cpu", workers=1))
        found = store.records()
    numbers: dict[str, object] = {r.key: (r.metrics, r.curves) for r in found}
    return numbers, to_markdown(collect(found, plan)), outcome


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], str, Outcome]:
    return finished(tmp_path_factory.mktemp("whole") / "s.sqlite")


def test_a_run_goes_through_its_rounds_and_a_second_one_has_nothing_to_do(
    undisturbed: tuple[dict[str, object], str, Outcome], tmp_path: Path
) -> None:
    numbers, table, outcome = undisturbed
    assert outcome.ran == outcome.trials == len(numbers)
    assert (outcome.had, outcome.shared) == (0, 0)
    again = finished(tmp_path / "s.sqlite")
    assert again[:2] == (numbers, table)
    plan, rounds = bind_plan(make_plan(TINY)), []
    with Store(tmp_path / "s.sqlite") as store:
        last = run_plan(plan, store, LocalExecutor("cpu", workers=1), on_round=rounds.append)
    assert (last.ran, last.had, rounds) == (0, len(numbers), [])


LIVES = """
import json, os, signal, sys
import torch
from amongst.bench.execute import LocalExecutor
from amongst.bench.plans import Request, make_plan
from amongst.bench.runner import bind_plan, run_plan
from amongst.bench.store import Store
from amongst.bench.trial import run_trial

class Mortal(LocalExecutor):
    '''Killed as soon as it is asked for more than one record.'''
    chunk, left = 3, 1
    def map(self, trials):
        for record in super().map(trials):
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1
            yield record

torch.set_num_threads(1)
plan = bind_plan(make_plan(Request(**json.loads(sys.argv[1]))))
run_trial(plan.trials[0])
deaths, killed = 0, True
while killed:
    pid = os.fork()
    if pid == 0:
        with Store(sys.argv[2]) as store:
            run_plan(plan, store, Mortal("cpu", workers=1))
        os._exit(0)
    killed = os.waitpid(pid, 0)[1] == signal.SIGKILL
    deaths += killed
print(deaths)
"""


def test_killed_after_every_single_record_it_ends_as_if_undisturbed(
    undisturbed: tuple[dict[str, object], str, Outcome], tmp_path: Path
) -> None:
    """So it is killed inside each round, and at each of their borders."""
    numbers, table, outcome = undisturbed
    command = [sys.executable, "-c", LIVES, json.dumps(TINY.to_dict()), str(tmp_path / "s.sqlite")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert int(done.stdout) == outcome.trials - 1
    found, shown, last = finished(tmp_path / "s.sqlite")
    assert last.ran == 0
    assert (found, shown) == (numbers, table)


class Instant:
    """Made-up results at once; beside them, what another runner does meanwhile."""

    name, chunk, notice = "local", 2, None

    def __init__(self, beside: Callable[[Sequence[Trial]], None]) -> None:
        self.beside = beside
        self.ran: list[Trial] = []

    def map(self, trials: Sequence[Trial]) -> Iterator[Record]:
        for record in records(trials, rising):
            self.ran.append(record.trial)
            yield record
        self.beside(trials)

    def close(self) -> None:
        pass


def test_a_second_runner_waits_for_the_round_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two trials of each round are in other hands, and come only when everyone waits for them."""
    monkeypatch.setattr(runner_module, "POLL_SECONDS", 0.0)
    plan, waits = make_plan(request()), []
    with Store(tmp_path / "s.sqlite") as mine, Store(tmp_path / "s.sqlite") as other:
        taken: list[Trial] = []

        def take(known: Plan) -> None:
            due = next_round(known, mine.keys())
            taken[:] = [due[key] for key in other.claim(due, 2)]

        def report(event: str, record: Record | None) -> None:
            if event.startswith("waiting"):
                waits.append(len(taken))
                other.add_all(records(taken, rising))
                taken.clear()

        executor = Instant(lambda trials: None)
        outcome = run_plan(plan, mine, executor, report=report, on_round=take)
        found = mine.records()
    assert waits == [2, 2, 2]
    assert (outcome.shared, outcome.had) == (6, 0)
    assert {r.key for r in found} == {r.key for r in everything(plan, rising)}
    assert only(plan, found).n == 5


def test_a_record_that_comes_between_two_looks_at_the_store_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last one of a round is added just after the runner has read the records."""
    plan = make_plan(request())
    with Store(tmp_path / "s.sqlite") as store:
        look, kept = store.records, list(records(plan.trials, rising))
        store.add_all(kept[:-1])

        def late(**options: Any) -> list[Record]:
            found = look(**options)
            store.add_all(kept[-1:])
            return found

        monkeypatch.setattr(store, "records", late)
        run_plan(plan, store, Instant(lambda trials: None))
        monkeypatch.undo()
        assert only(plan, store.records()).n == 5
