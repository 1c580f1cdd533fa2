"""reproduce, compare, results and demo, as a person types them."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from amongst.bench import Record, Store, Trial, read_records
from amongst.bench.export import read_requests
from amongst.bench.payload import payload
from amongst.bench.places import Place, method_title
from amongst.bench.plans import Request, make_plan, reproduce_command
from amongst.bench.render import to_markdown
from amongst.bench.report import read_report
from amongst.cli import bench
from amongst.cli.files import Labelled
from amongst.cli.results import results
from amongst.errors import AmongstError, DataNotFoundError, InputError

app = typer.Typer(pretty_exceptions_enable=False)
for command in (bench.reproduce, bench.compare, results, bench.demo):
    app.command()(command)

QUICK = ["table1", "--quick", "--epochs", "1", "--seeds", "2", "--methods", "cc,lw"]


def run(*arguments: str) -> str:
    outcome = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return re.sub(r"\s+", " ", outcome.output)


@pytest.fixture
def blobs(tmp_path: Path) -> Path:
    rows = [f"{y + i / 50},{y},{'x|y' if i % 4 == 0 else 'xyz'[y]},{'xyz'[y]}"
            for i in range(20) for y in range(2)]  # fmt: skip
    path = tmp_path / "blobs.csv"
    path.write_text("a,b,labels,true\n" + "\n".join(rows) + "\n")
    return path


def test_reproduce_quick_ends_in_a_table_and_goes_on_from_its_store(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    first = run("reproduce", *QUICK, "--store", str(store), "--workers", "1")
    assert "LW-Sigmoid" in first
    assert "18 trials run" in first
    again = run("reproduce", *QUICK, "--store", str(store), "--workers", "1")
    assert "0 trials run" in again
    assert "18 were in" in again
    assert [p.name for p in tmp_path.iterdir()] == ["s.sqlite"]


def test_the_oracle_is_a_second_column_over_the_same_trials(tmp_path: Path) -> None:
    store = str(tmp_path / "s.sqlite")
    grid = ["table1", "--quick", "--epochs", "1", "--methods", "cc", "--conditions", "q=0.1",
            "--search", "grid", "--store", store, "--workers", "1"]  # fmt: skip
    run("reproduce", *grid)
    oracle = run("reproduce", *grid, "--criterion", "oracle")
    assert "0 trials run" in oracle
    assert "†" in oracle


def test_a_grid_in_rounds_ends_with_all_seeds_of_what_it_chose(tmp_path: Path) -> None:
    store = str(tmp_path / "s.sqlite")
    rounds = ["table1", "--quick", "--epochs", "2", "--methods", "cc", "--conditions", "q=0.1",
              "--seeds", "3", "--search", "grid", "--search-seeds", "1", "--screen", "1",
              "--keep", "0.5", "--store", store, "--workers", "1"]  # fmt: skip
    assert "4 trials known by now, then at most 8 more" in run("reproduce", *rounds, "--dry-run")
    said = run("reproduce", *rounds)
    assert "this round: 4 trials of 1 epoch; then at most 8 more" in said
    assert "over 3 repeats" in said
    assert "best of up to 4 by covering rate of held-out rows" in said
    assert "; after 1 epoch the best 50% went on" in said
    again = run("reproduce", *rounds, "--criterion", "oracle")
    assert "0 trials run" in again
    assert "over 3 repeats" in again
    assert "0 to run" in run("reproduce", *rounds, "--dry-run")


def test_compare_in_rounds_without_true_labels_asks_for_none(blobs: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "s.sqlite")
    said = run("compare", str(blobs), "--ignore", "true", "--methods", "cc,plknn", "--models",
               "linear", "--folds", "3", "--epochs", "3", "--search", "grid", "--screen", "1",
               "--keep", "0.1", "--quick", "--workers", "1", "--store", store)  # fmt: skip
    assert "PL-kNN" in said
    found = read_records(store, method="cc")
    assert [r.trial.settings["epochs"] for r in found].count(1) == 3 * 4
    assert [r.trial.settings["epochs"] for r in found].count(3) == 3 * 1


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    said = run("reproduce", "table1", "--search", "grid", "--dry-run", "--store", str(store),
               "--device", "cpu")  # fmt: skip
    assert "11,820 trials" in said
    assert "days" in said
    assert "GiB" in said
    assert not list(tmp_path.iterdir())


def test_compare_on_ones_own_file_with_and_without_the_truth(blobs: Path, tmp_path: Path) -> None:
    common = ["--methods", "cc,plknn", "--models", "linear", "--folds", "3", "--epochs", "3",
              "--workers", "1"]  # fmt: skip
    store = str(tmp_path / "a.sqlite")
    said = run("compare", str(blobs), *common, "--truth", "true", "--store", store)
    assert "CC" in said
    assert "PL-kNN" in said
    assert all("accuracy_final" in r.metrics for r in read_records(store))
    other = str(tmp_path / "b.sqlite")
    said = run("compare", str(blobs), *common, "--ignore", "true", "--store", other)
    assert "covering rate, the share of predictions that are candidates" in " ".join(said.split())
    found = read_records(other)
    assert {r.trial.dataset for r in found} == {"blobs"}
    assert all("covering_test_last10" in r.metrics for r in found)
    assert str(tmp_path) not in "".join(map(repr, found))


READINGS: dict[str, list[str]] = {
    "named columns": ["-c", "labels", "--truth", "true"],
    "other features": ["--truth", "true", "--features", "a", "--search", "published"],
    "no truth": ["--ignore", "true,b", "--separator", "|", "--epochs", "2"],
}


def test_the_command_of_a_report_makes_its_table_again(
    blobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my data").mkdir()
    blobs = blobs.rename(tmp_path / "my data" / "blobs.csv").relative_to(tmp_path)
    quick = ["--methods", "cc,plknn", "--folds", "2", "--epochs", "1", "--workers", "1"]
    for path in (blobs, blobs.absolute(), blobs):  # three names of one file are no three tables
        for reading in READINGS.values():
            run("compare", str(path), *quick, *reading)
    tables = read_report("amongst.sqlite").tables
    assert len(tables) == len(READINGS)
    for table in tables:
        keys = {key for entry in table.filled for key in entry.keys}
        words = shlex.split(reproduce_command(table.plan))
        run(*words[1:], "--store", f"{table.plan.title}.sqlite", "--workers", "1")
        assert {r.key for r in read_records(f"{table.plan.title}.sqlite")} == keys
    shown = [table.plan for table in tables]
    assert len(set(map(reproduce_command, shown))) == len(READINGS)
    trials = payload(read_records("amongst.sqlite"), tables)
    assert set(trials["trials"]["command"]) == set(range(2 * len(READINGS)))


def test_a_comparison_that_no_command_can_make_names_none() -> None:
    mine = Request("compare", datasets=("birds",), protocol="paper")
    assert reproduce_command(make_plan(mine)) == ""
    assert reproduce_command(make_plan(replace(mine, protocol="default"))).endswith(
        "path/to/birds --epochs 250 --search published"
    )


def test_what_a_method_refuses_is_told_with_its_reason_and_the_rest_goes_on(
    tmp_path: Path,
) -> None:
    """In sets of nearly all labels PL-ECOC finds no row that tells two halves of them apart."""
    store = str(tmp_path / "s.sqlite")
    said = run("compare", "digits", "--methods", "plecoc,plknn", "--conditions", "q=0.95",
               "--folds", "2", "--workers", "1", "--store", store)  # fmt: skip
    assert "4 trials run" in said
    assert "2 failed" in said
    reasons = {r.error for r in read_records(store) if r.failed}
    assert {r.trial.method for r in read_records(store) if r.failed} == {"plecoc"}
    shown = f"{method_title('plecoc')}, digits, q=0.95"
    assert any(f"{shown}: {reason}" in said for reason in reasons)
    assert "no result yet" not in said
    (table,) = read_report(store).tables
    assert [entry.n for entry in table.entries.values()] == [0, 2]
    assert "Give more rows, or smaller candidate sets." in to_markdown(table)
    assert re.search("settings failed accuracy.* 2 1 2 –", run("results", store))


def test_compare_on_several_datasets_of_the_catalogue(tmp_path: Path) -> None:
    """All of them count, not the first alone; a file with a comma in its name is a file."""
    assert bench._own("Lost, MSRCv2,lost", Labelled()) == (("lost", "msrcv2"), None)
    path = tmp_path / "lost,old.csv"
    path.write_text("x,labels\n1.5,a|b\n0.5,b\n")
    assert bench._own(str(path), Labelled(candidates=["labels"]))[0] == ("lost,old",)
    plan = make_plan(Request("compare", datasets=("lost", "msrcv2"), search="none", epochs=100))
    assert {cell.slot.dataset for cell in plan.cells} == {"lost", "msrcv2"}
    assert reproduce_command(plan) == "amongst compare lost,msrcv2"
    assert "compare msrcv2 " in reproduce_command(plan, Place("msrcv2", "real", "rc", "mlp"))


def test_compare_on_a_dataset_of_the_catalogue(tmp_path: Path) -> None:
    said = run("compare", "digits", "--conditions", "q=0.3", "--methods", "cc", "--models",
               "linear", "--folds", "2", "--epochs", "1", "--workers", "1",
               "--store", str(tmp_path / "s.sqlite"))  # fmt: skip
    assert "Comparison on digits" in said


LONG = ("fashion_mnist", "case 2", "lw-cross_entropy", "convnet")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        for seed, accuracy in enumerate((0.1, 0.98765)):
            store.add(Record(Trial(*LONG, seed), {"accuracy_last10": accuracy}, seconds=60.0))
    return path


@pytest.mark.parametrize("columns", ["80", None])
def test_results_are_whole_in_eighty_columns_and_in_a_pipe(
    stored: Path, columns: str | None
) -> None:
    asked = CliRunner().invoke(app, ["results", str(stored)], env={"COLUMNS": columns})
    lines = asked.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.strip() == "Fashion-MNIST, case 2" for line in lines)
    assert any(re.match(r" *LW-Cross entropy, convnet +2 +1 +– +10.00–98.77 *$", x) for x in lines)


def test_a_pipe_folds_no_name(stored: Path) -> None:
    name = "data of mine [1] " * 10 + "end"
    with Store(stored) as store:
        store.add(Record(Trial(name, "real", "rc", "linear", 0), {"accuracy_last10": 0.5}))
    outcome = CliRunner().invoke(app, ["results", str(stored)], env={"COLUMNS": None})
    assert f"{name}, real" in outcome.output
    narrow = CliRunner().invoke(app, ["results", str(stored)], env={"COLUMNS": "60"})
    assert "…" not in narrow.output


def test_results_show_and_export(tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    run("reproduce", *QUICK, "--conditions", "q=0.1", "--store", str(store), "--workers", "1")
    assert "6 trials" in run("results", str(store))
    assert "2 trials" in run("results", str(store), "--methods", "cc")
    said = run("results", str(store), "--export", str(tmp_path / "out.csv"), "--curves")
    assert "6 records written" in said
    assert len(read_records(tmp_path / "out.csv")) == 6
    assert read_requests(tmp_path / "out.csv") == read_requests(store)
    assert "6 trials" in run("results", str(tmp_path / "out.csv"))


def test_the_demo_leaves_a_table_a_picture_and_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from amongst.bench import demo as module
    from amongst.bench.plans import Request

    small, found = Request("demo", seeds=2, epochs=1), module.find_labels(60, 1, 2)
    monkeypatch.setattr(module, "Request", lambda name, methods: replace(small, methods=methods))
    monkeypatch.setattr(module, "find_labels", lambda: found)
    said = run("demo", "--out", str(tmp_path / "demo"))
    assert "±" in said
    assert "LW-Sigmoid" not in said  # what the demo shows as ours is the default
    assert f"was found for {int(found.right.sum()):,}" in said
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert {"demo.sqlite", "demo.html"} <= names
    assert set(re.findall(r"written to \S*/demo/(\S+)", said)) == names
    if "demo.png" in names:
        assert (tmp_path / "demo" / "demo.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "demo" / "demo.html").read_text("utf-8")
    cards = re.findall(r'<li class="card (right|wrong)">', page)
    assert cards == ["right" if found.right[row] else "wrong" for row in found.shown]
    assert page.count("<img") == len(cards)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (["reproduce", "table1", "--datasets", "mnst"], InputError, "did you mean 'mnist'"),
        (["reproduce", "table1", "--methods", "rcc"], InputError, "did you mean 'rc'"),
        (["reproduce", "table1", "--conditions", "q=2"], InputError, "condition='q=2'"),
        (["reproduce", "table1", "--ray-address", "auto"], InputError, "engine='ray'"),
        (["compare", "nowhere.csv"], DataNotFoundError, "neither a file nor a name"),
        (["compare", "mnistt"], DataNotFoundError, "Did you mean mnist"),
        (["compare", "lost,mnistt"], DataNotFoundError, "'mnistt' is neither a file"),
        (["compare", "lost,mnist"], InputError, "mnist comes with test rows and lost without"),
        (["compare", ","], DataNotFoundError, "',' is neither"),
        (["results", "nowhere.sqlite"], AmongstError, "no result store"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: list[str],
    kind: type[Exception],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=re.escape(words)):
        run(*arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    store = tmp_path / "s.sqlite"
    options = ["reproduce", "demo", "--seeds", "3", "--epochs", "20", "--engine", "local",
               "--workers", "1", "--device", "cpu", "--store", str(store)]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "amongst", *options], stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and not (store.is_file() and _count(store)):
        time.sleep(0.05)
    process.send_signal(number)
    said = " ".join(process.communicate()[1].split())
    assert process.returncode != 0
    assert re.search(r"stopped: \d+ of 45 trials are in", said)
    assert (
        f"amongst reproduce demo --seeds 3 --epochs 20 --engine local --workers 1 --device cpu --store {store}"
        in said
    )
    with Store(store) as kept:
        assert 1 <= len(kept) < 45
        assert kept.others() == []


def _count(store: Path) -> int:
    try:
        with Store(store, readonly=True) as kept:
            return len(kept)
    except AmongstError:
        return 0
