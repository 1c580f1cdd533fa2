"""What the commands print is what was found: each number and bar against its source."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner, Result

import amongst
from amongst.bench import Record, Store, Trial
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.report import read_report
from amongst.candidates import as_candidates, uniform
from amongst.cli import main
from amongst.cli.app import app
from amongst.cli.files import check_target, write_table
from amongst.errors import InputError, MissingDependencyError, as_option

QUICK = ["--model", "linear", "--epochs", "3"]


def asked(*words: object) -> Result:
    return CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "200"})


def run(*words: object) -> Result:
    answer = asked(*words)
    assert answer.exit_code == 0, answer.output
    return answer


@pytest.fixture
def iris(tmp_path: Path) -> Path:
    data = load_iris(as_frame=True)
    truth = data.target_names[data.target]
    frame = data.data.assign(species=uniform(truth, 0.3, seed=0).to_strings(), truth=truth)
    frame.to_csv(tmp_path / "iris.csv", index=False)
    return tmp_path / "iris.csv"


# One's own data


def test_fit_reports_what_the_model_does(iris: Path, tmp_path: Path) -> None:
    out, frame = tmp_path / "m", pd.read_csv(iris)
    lines = run("fit", iris, "--truth", "truth", "--out", out, *QUICK).stdout.splitlines()
    model, X = amongst.load(out), frame.iloc[:, :4]
    inside = model.score(X, as_candidates(frame["species"].tolist()))
    right = model.disambiguate(X, frame["species"].tolist())["label"].to_numpy() == frame["truth"]
    assert lines == [
        "sepal length (cm), sepal width (cm), petal length (cm), petal width (cm): numbers",
        "How often it is wrong on new rows is not known: --folds 5 estimates it.",
        f"150 rows, 3 classes; prediction amongst the candidates for {inside:.1%} of them.",
        f"accuracy on these rows: {(model.predict(X) == frame['truth']).mean():.1%}",
        f"right candidate found: {right.mean():.1%}",
        f"model written to {out}",
    ]


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_shown_unless_told_otherwise(quiet: bool, iris: Path, tmp_path: Path) -> None:
    read = [iris, "--ignore", "truth", "--out", tmp_path / "m", *QUICK, *["--quiet"][: int(quiet)]]
    assert ("3/3 loss" in run("fit", *read).stderr) is not quiet
    assert ("covering best" in run("search", *read).stderr) is not quiet


def test_a_finished_run_that_is_asked_for_again_shows_where_it_stands(
    iris: Path, tmp_path: Path
) -> None:
    """The bar stood at 0 of 3, with the loss nan."""
    words = ["fit", iris, "--ignore", "truth", "--out", tmp_path / "m", *QUICK]
    words += ["--checkpoint", tmp_path / "kept"]
    first, again = run(*words), run(*words)
    assert first.stderr.split("3/3")[1] == again.stderr.split("3/3")[1]
    assert "nan" not in first.stderr + again.stderr


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("", "is a folder; name a file."),
        ("no/kept", "the folder {home}/no does not exist; make it first."),
        ("iris.csv", "is also read from; name another file."),
    ],
)
def test_a_checkpoint_that_cannot_be_kept_is_said_before_the_training(
    place: str, words: str, iris: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amongst.LWClassifier, "fit", lambda *_: pytest.fail("it trains"))
    target = tmp_path / place
    read = ["fit", iris, "--ignore", "truth", "--out", tmp_path / "m", "--checkpoint", target]
    answer = asked(*read, *QUICK)
    assert isinstance(answer.exception, InputError)
    assert str(answer.exception).startswith(f"--checkpoint {target}")
    assert str(answer.exception).endswith(words.format(home=tmp_path))


@pytest.mark.filterwarnings("default")
def test_arrays_for_a_model_of_named_columns_are_taken_in_their_order(
    iris: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("fit", iris, "--ignore", "truth", "--out", tmp_path / "m", *QUICK)
    X = pd.read_csv(iris).iloc[:, :4].to_numpy()
    for name, columns in (("four", 4), ("three", 3)):
        np.savez(tmp_path / f"{name}.npz", X=X[:, :columns])
    predict = ["predict", str(tmp_path / "m"), str(tmp_path / "four.npz"), "--out"]
    with pytest.raises(SystemExit):
        main([*predict, str(tmp_path / "p.csv")])
    assert capsys.readouterr().err == (
        f"amongst: warning: the columns of {tmp_path / 'four.npz'} have no names; they are taken in "
        "the model's order.\n"
    )
    named = amongst.load(tmp_path / "m").predict(pd.read_csv(iris).iloc[:, :4])
    assert pd.read_csv(tmp_path / "p.csv")["label"].tolist() == named.tolist()
    answer = asked("predict", tmp_path / "m", tmp_path / "three.npz", "--out", tmp_path / "q.csv")
    assert isinstance(answer.exception, InputError)
    assert answer.exception.said("fitted", as_option) == (
        f"{tmp_path / 'three.npz'} has 3 features, and the model was fitted on 4. Choose them with "
        "--features."
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "gz", "parquet", "pq", "npz", "mat"])
def test_any_table_in_the_place_of_the_model(ending: str, iris: Path, tmp_path: Path) -> None:
    table = tmp_path / f"table.{ending}"
    table.write_bytes(b"no model at all")
    answer = asked("predict", table, iris, "--out", tmp_path / "p.csv")
    assert str(answer.exception) == f"{table} is no model; the model comes first, the file after."


def test_describe_draws_what_it_counts(tmp_path: Path) -> None:
    file = tmp_path / "sets.csv"
    sets = ["a|b"] * 1000 + ["b"] * 500 + ["a|b|c"] * 250
    pd.DataFrame({"x": 0.5, "labels": sets, "true": "b"}).to_csv(file, index=False)
    lines = run("describe", file, "--truth", "true").stdout.splitlines()
    at = lines.index("candidates per row")
    assert lines[at + 1 :] == [
        f"   1 {'█' * 20:<40} 500",
        f"   2 {'█' * 40:<40} 1,000",
        f"   3 {'█' * 10:<40} 250",
        "true label amongst the candidates: 100.0%",
    ]
    assert "sets.csv: 1 feature" in lines[0]


def test_a_search_says_what_it_wrote(iris: Path, tmp_path: Path) -> None:
    out, table = tmp_path / "m", tmp_path / "t.csv"
    words = ["search", iris, "--ignore", "truth", *QUICK, "--quiet"]
    said = run(*words, "--out", out, "--table", table).stdout.splitlines()
    assert said[-2:] == [f"51 points written to {table}", f"model written to {out}"]
    assert amongst.load(out).metadata_["candidates"] == ["species"]
    best = pd.read_csv(table).drop(columns=["seconds", "state"]).iloc[0]
    shown = [f"{float(value):.4g}" for value in best]
    settings = ", ".join(f"{n}={float(best[n]):g}" for n in ("beta", "lr", "weight_decay"))
    assert next(x for x in said if "chosen" in x).startswith(f"chosen: {settings}: risk ")
    row = next(line for line in said if line.startswith("│"))
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert [f"{float(cell):.4g}" for cell in cells] == shown
    alone = run(*words).stdout
    assert "written" not in alone
    assert sum(line.startswith("│") for line in alone.splitlines()) == 10


@pytest.mark.parametrize("device", ["auto", "cpu", "cpu:0", "cuda:1", "mps", "xpu:0"])
def test_devices_that_people_have(device: str, iris: Path, tmp_path: Path) -> None:
    """Whether one is here is found out by the engine, which says so in its own words."""
    answer = asked(
        "fit", iris, "--ignore", "truth", "--out", tmp_path / "m", *QUICK, "--device", device
    )
    assert f"--device {device} is unknown" not in str(answer.exception)


def test_brackets_are_no_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A label with "[/x]" was a traceback, "[tawny]" was left out, and paths were printed wrong."""
    monkeypatch.chdir(tmp_path)
    cells = ["owl [tawny]|kite", "kite", "owl [tawny]", "kite|wren [/x]"]
    file = Path("my [red] birds.csv")
    pd.DataFrame({"size": [0.1, 0.2, 0.5, 0.3], "seen": cells}).to_csv(file, index=False)
    described = run("describe", file).stdout
    assert "my [red] birds.csv: 1 feature" in described
    assert "3: kite, owl [tawny], wren [/x]" in described
    said = run("fit", file, "--out", "m[bold]", *QUICK, "--quiet").stdout
    assert said.endswith("model written to m[bold]\n")
    said = run("predict", "m[bold]", file, "--out", "p[bold].csv").stdout
    assert said == "4 rows written to p[bold].csv\n"
    pd.DataFrame({"size": [0.1]}).to_csv("one.csv", index=False)
    said = run("predict", "m[bold]", "one.csv", "--out", "p.csv").stdout
    assert said == "1 row written to p.csv\n"
    assert pd.read_csv("p[bold].csv").columns.tolist()[-3:] == [
        "p(kite)",
        "p(owl [tawny])",
        "p(wren [/x])",
    ]


def test_a_path_is_not_broken_in_a_pipe(iris: Path, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    words = ["fit", str(iris), "--ignore", "truth", "--out", str(folder / "m"), *QUICK, "--quiet"]
    answer = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
    assert answer.stdout.splitlines()[-1] == f"model written to {folder / 'm'}"


def test_a_package_that_is_not_here_is_asked_for_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="writing Parquet files"):
        check_target("--out", tmp_path / "p.parquet", table=True)
    check_target("--out", tmp_path / "p.csv", table=True)


def test_labels_that_parquet_does_not_hold(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    with pytest.raises(InputError, match=r"do not fit into Parquet \(.*label.*\); use \.csv\."):
        write_table(pd.DataFrame({"label": ["a", 1]}), tmp_path / "p.parquet")
    with pytest.raises(InputError, match=r"do not fit into Parquet \(.*too large.*\); use \.csv\."):
        write_table(pd.DataFrame({"label": [2**64, 1]}), tmp_path / "p.parquet")
    assert not (tmp_path / "p.parquet").exists()


# Results


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "s.sqlite"
    with Store(path) as kept:
        for seed, accuracy in enumerate((0.5, 0.75, 0.25)):
            trial = Trial("lost", "real", "rc", "mlp", seed, settings={"lr": 0.1 + seed // 2})
            kept.add(Record(trial, {"accuracy_last10": accuracy}, seconds=60.0))
        kept.add(Record(Trial("lost", "real", "rc", "mlp", 9), {}, error="it broke", seconds=1.0))
        kept.add(Record(Trial("lost", "real", "cc", "mlp", 0), {}, error="it broke"))
        one = Trial("lost", "real", "ipal", "-", 0)
        kept.add(Record(one, {"accuracy_last10": 0.625}, seconds=1.0))
    return path


def test_results_count_trials_settings_and_failures(store: Path) -> None:
    lines = [" ".join(line.split()) for line in run("results", store).stdout.splitlines()]
    assert lines[0] == "s.sqlite: 6 trials, 3.0 min of training"
    assert "data, method trials settings failed accuracy, %" in lines
    assert "Lost, real" in lines
    assert "RC, mlp 4 3 1 25.00–75.00" in lines
    assert "CC, mlp 1 1 1 –" in lines
    assert "IPAL 1 1 – 62.50" in lines


def test_several_tables_are_one_csv(tmp_path: Path) -> None:
    requests = [Request("demo", methods=("rc", "cc"), seeds=seeds) for seeds in (1, 2)]
    with Store(tmp_path / "s.sqlite") as kept:
        for request in requests:
            kept.add_request(request.to_dict())
            kept.add_all(Record(t, {"accuracy_last10": 0.5}) for t in make_plan(request).trials)
    run("report", tmp_path / "s.sqlite", "--csv", tmp_path / "r.csv")
    cells = pd.read_csv(tmp_path / "r.csv")
    tables = read_report(tmp_path / "s.sqlite").tables
    assert len(tables) == 2
    assert len(cells) == sum(len(table.entries) for table in tables)
    assert cells["mean"].dropna().tolist() == [50.0] * len(cells)


def test_a_run_ends_with_the_command_for_its_page(tmp_path: Path) -> None:
    store, page = tmp_path / "my runs.sqlite", tmp_path / "report.html"
    words = ["reproduce", "table1", "--quick", "--epochs", "1", "--seeds", "1", "--methods", "cc"]
    words += ["--conditions", "q=0.1", "--store", str(store), "--workers", "1"]
    last = run(*words).stdout.splitlines()[-1]
    hint, _, command = last.partition(": ")
    assert (hint, command.split()[0]) == ("For a page to look at", "amongst")
    told = shlex.split(command)[1:]
    assert told == ["report", str(store), "--html", "report.html"]
    assert run(*told[:-1], page).stdout == f"written to {page}\n"
    assert page.is_file()
    dry = run(*words, "--dry-run").stdout
    assert dry.startswith("1 trial, 1 in the store, 0 to run; ")
    assert dry.count("\n") == 1


def test_nothing_to_export(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite"):
        pass
    answer = asked("results", tmp_path / "s.sqlite", "--export", tmp_path / "e.csv")
    assert isinstance(answer.exception, InputError)
    assert str(answer.exception).endswith("holds no records, so that there is nothing to export.")
    assert not (tmp_path / "e.csv").exists()


def test_classical_is_measured_by_the_papers_standard_deviation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lost, in the paper: IPAL 62.37 ± 4.81, PALOC 57.80 ± 7.00, PLECOC 63.04 ± 6.72."""
    means = {"ipal": 0.6237 + 0.048, "paloc": 0.5780 + 0.0705, "plecoc": 0.6304 - 0.0680}

    def run_request(request: Request, store: Path, _: object) -> tuple[Plan, None]:
        plan = make_plan(request)
        with Store(store) as kept:
            for trial in plan.trials:
                if trial.dataset == "lost" and (trial.method, trial.fold) != ("paloc", 9):
                    shift = 0.01 if (trial.fold or 0) % 2 else -0.01
                    shift = 0.0 if trial.method == "paloc" else shift
                    kept.add(Record(trial, {"accuracy_last10": means[trial.method] + shift}))
        return plan, None

    monkeypatch.setattr("amongst.bench.runner.run_request", run_request)
    said = run("classical", "--store", tmp_path / "s.sqlite").stdout.splitlines()
    lines = [" ".join(line.split()) for line in said if line.strip() and "─" not in line]
    assert lines == [
        "Accuracy in 10-fold cross-validation, %, mean ± standard deviation over the folds",
        "data method here paper difference against one std of the paper",
        "Lost IPAL 67.17 ± 1.05 62.37 ± 4.81 +4.80 within",
        "Lost PALOC 64.85 ± 0.00 (9 of 10 folds) 57.80 ± 7.00 +7.05 above",
        "Lost PLECOC 56.24 ± 1.05 63.04 ± 6.72 -6.80 below",
    ]
