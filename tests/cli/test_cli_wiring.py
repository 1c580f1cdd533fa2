"""Every option reaches what it names: nothing is trained here, what would be is looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import amongst
from amongst.bench import Record, Store, Trial
from amongst.bench import report as reports
from amongst.bench.execute import Options
from amongst.bench.plans import Request
from amongst.bench.sources import OwnFile
from amongst.bench.tables import Significance
from amongst.cli import bench
from amongst.cli.app import app
from amongst.data import read_table
from amongst.errors import InputError
from amongst.selection import SearchResult
from amongst.selection.portfolio import learner
from lw2021 import evidence as folders


def run(words: str, *more: object) -> str:
    answer = CliRunner().invoke(app, [*words.split(), *map(str, more)], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `reproduce` and `compare` would run."""
    found: list[Any] = []
    monkeypatch.setattr(bench, "run_all", lambda *given: found.extend(given))
    return found


@pytest.fixture
def birds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cells = ("wren,wren", "owl;kite,owl")
    lines = [f"r{i},{i % 2},{i % 3},{i / 7},{cells[i % 2]}" for i in range(24)]
    Path("birds.csv").write_text(
        "id,wing,beak,size,seen,true\n" + "\n".join(lines) + "\n", encoding="utf-8"
    )
    return Path("birds.csv")


ALL = (
    "--datasets Kuzushiji-MNIST --datasets digits --methods RC,cc --models linear,mlp --seeds 3 "
    "--epochs 7 --search grid --search-seeds 2 --screen 5 --keep 0.5 --refit --criterion risk "
    "--protocol paper --precision float64 --quick --device cpu --engine ray --workers 2 "
    "--ray-address auto --store here.sqlite --dry-run"
)
BOTH: dict[str, Any] = {
    "models": ("linear", "mlp"),
    "seeds": 3,
    "epochs": 7,
    "search": "grid",
    "search_seeds": 2,
    "screen": 5,
    "keep": 0.5,
    "refit": True,
    "criterion": "risk",
    "quick": True,
}


def test_reproduce_asks_for_what_was_typed(asked: list[Any]) -> None:
    run("reproduce table3 beyond", "--conditions", "case 1", *ALL.split())
    first, second = (
        Request(
            plan,
            datasets=("kmnist", "digits"),
            methods=("rc", "cc"),
            conditions=("case 1",),
            protocol="paper",
            precision="float64",
            **BOTH,
        )
        for plan in ("table3", "beyond")
    )
    options = Options("ray", "cpu", 2, ray_address="auto")
    assert asked == [[first, second], options, Path("here.sqlite"), True]


@pytest.mark.parametrize(
    "plan", ["table1", "table2", "table3", "figure1", "figure2", "beyond", "demo"]
)
def test_reproduce_by_default(plan: str, asked: list[Any]) -> None:
    run(f"reproduce {plan}")
    assert asked == [[Request(plan)], Options(), Path("amongst.sqlite"), False]


@pytest.mark.parametrize(
    ("option", "values", "more"),
    [
        ("search", ["none", "published", "grid", "equal"], ""),
        ("criterion", ["approximated", "covering", "risk", "oracle"], " --search grid"),
        ("protocol", ["default", "paper", "official"], ""),
    ],
)
def test_every_choice_has_the_name_that_the_plans_know(
    option: str, values: list[str], more: str, asked: list[Any]
) -> None:
    for value in values:
        run(f"reproduce table1 --{option} {value}{more}")
    assert [getattr(requests[0], option) for requests in asked[::4]] == values


@pytest.mark.parametrize("engine", ["auto", "local", "population", "ray"])
def test_every_engine_is_one(engine: str, asked: list[Any]) -> None:
    run(f"reproduce demo --engine {engine}")
    assert asked[1] == Options(engine)


COLUMNS = (
    "--candidates seen --truth true --features wing,beak --ignore size --separator ; --empty full "
    "--kind strings"
)


def test_compare_asks_for_what_was_typed(birds: Path, asked: list[Any]) -> None:
    words = ALL.replace("--datasets Kuzushiji-MNIST --datasets digits ", "")
    words = words.replace("--protocol paper --precision float64 ", "")
    run(f"compare birds.csv {COLUMNS} --folds 4 --conditions real {words}")
    (request,), options, store, dry = asked
    again = (
        "birds.csv --candidates seen --truth true --features wing,beak --ignore size --separator ; "
        "--empty full --kind strings"
    )
    assert request == Request(
        "compare",
        datasets=("birds",),
        methods=("rc", "cc"),
        conditions=("real",),
        folds=4,
        own=tuple(again.split()),
        **BOTH,
    )
    read: dict[str, Any] = {
        "candidates": ("seen",),
        "truth": "true",
        "features": ("wing,beak",),
        "ignore": ("size",),
    }
    read |= {"separator": ";", "empty": "full", "kind": "strings", "guess": True}
    read |= {"mixed": True, "outside": "some"}
    assert {name: dict(file.options) for name, file in options.files.items()} == {"birds": read}
    files = {"birds": OwnFile("birds.csv", options.files["birds"].options)}
    columns = read_table("birds.csv", **read).columns
    assert (columns.candidates, columns.features) == (("seen",), ("wing", "beak"))
    assert options == Options("ray", "cpu", 2, files, "auto")
    assert (store, dry) == (Path("here.sqlite"), True)


def test_compare_by_default(birds: Path, asked: list[Any]) -> None:
    birds.write_text(birds.read_text(encoding="utf-8").replace(";", "|"), encoding="utf-8")
    run("compare birds.csv --ignore id,true")
    (request,), options, store, dry = asked
    assert request == Request(
        "compare",
        datasets=("birds",),
        folds=5,
        epochs=100,
        search="none",
        metric="covering_test_last10",
        own=("birds.csv", "--ignore", "id,true"),
        rows=19,
    )
    read = dict(options.files["birds"].options)
    assert read == {
        "ignore": ("id,true",),
        "separator": "|",
        "guess": True,
        "mixed": True,
        "outside": "some",
    }
    assert read_table("birds.csv", **read).columns.candidates == ("seen",)
    assert (options.engine, options.device, options.workers) == ("auto", "auto", None)
    assert (store, dry) == (Path("amongst.sqlite"), False)


@pytest.mark.parametrize(
    ("words", "folds"),
    [("digits", 5), ("digits --quick", 3), ("mnist --quick", None), ("mnist --folds 2", 2)],
)
def test_folds_of_a_catalogue_dataset(words: str, folds: int | None, asked: list[Any]) -> None:
    """Data that come with their test rows are not folded unless that is asked for."""
    run(f"compare {words}")
    (request,), options, *_ = asked
    assert request.folds == folds
    assert (request.metric, request.own, options.files) == ("", (), None)


def test_report_tests_as_it_was_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []
    real = reports.read_report

    def read(store: Path, **given: Any) -> Any:
        heard.append(given)
        return real(store)

    monkeypatch.setattr(reports, "read_report", read)
    with Store(tmp_path / "s.sqlite") as store:
        store.add(Record(Trial("digits", "q=0.1", "cc", "mlp", 0), {"accuracy_last10": 0.5}))
    run("report", tmp_path / "s.sqlite")
    told = ["--test", "t", "--alpha", "0.2", "--holm", "--metric", "accuracy_final"]
    page = tmp_path / "r.html"
    said = run("report", tmp_path / "s.sqlite", *told, "--html", page, "--title", "Of birds")
    assert heard == [
        {"metric": "", "significance": Significance("wilcoxon", 0.05, "none")},
        {"metric": "accuracy_final", "significance": Significance("t", 0.2, "holm")},
    ]
    assert "<title>Of birds</title>" in page.read_text("utf-8")
    assert said == f"written to {page}\n"


@pytest.mark.parametrize(
    ("words", "search", "own"),
    [
        ("", "grid_search", {}),
        ("--trials 7 --batch 3 --no-prune", "optuna_search", {"trials": 7, "study": None}),
        ("--study s.db --study-name mine", "optuna_search", {"trials": 50, "study": "s.db"}),
    ],
)
def test_search_asks_for_what_was_typed(
    words: str, search: str, own: dict[str, Any], birds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []

    def instead(estimator: Any, frame: Any, sets: Any, **given: Any) -> SearchResult:
        heard.extend((estimator, frame, sets, given))
        raise InputError("seen")

    monkeypatch.setattr(f"amongst.selection.{search}", instead)
    options = "--criterion covering --validation 0.25 --method average --psi hinge --model linear "
    options += f"--epochs 3 --batch-size 8 --device cpu --seed 5 --quiet {words}"
    read = ["--candidates", "seen", "--separator", ";", "--index", "id", "--ignore", "true,size"]
    answer = CliRunner().invoke(app, ["search", str(birds), *read, *options.split()])
    assert str(answer.exception) == "seen"
    estimator, frame, sets, given = heard
    assert ("grid" in given) == (search == "grid_search")
    given.pop("grid", None)
    assert isinstance(estimator, amongst.AverageClassifier)
    assert (estimator.psi, estimator.model, estimator.epochs) == ("hinge", "linear", 3)
    assert (estimator.batch_size, estimator.device) == (8, "cpu")
    assert frame.columns.tolist() == ["wing", "beak"]
    assert sets.classes.tolist() == ["kite", "owl", "wren"]
    if own:
        name, most = ("mine", 16) if "mine" in words else ("amongst", 3)
        own = {"study_name": name, "batch": most, "prune": "--no-prune" not in words} | own
    shared = {"criterion": "covering", "validation": 0.25, "refit": False, "random_state": 5}
    assert given == shared | {"verbose": False} | own


def test_search_by_default(birds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []

    def instead(estimator: Any, frame: Any, sets: Any, **given: Any) -> SearchResult:
        heard.extend((estimator, given))
        raise InputError("seen")

    monkeypatch.setattr("amongst.selection.grid_search", instead)
    words = f"search {birds} --separator ; --ignore id,true --out model".split()
    assert str(CliRunner().invoke(app, words).exception) == "seen"
    estimator, given = heard
    assert isinstance(estimator, amongst.LWClassifier)
    expected = {"model": "mlp", "epochs": 100, "batch_size": "auto", "device": "auto"}
    assert {name: estimator.get_params()[name] for name in expected} == expected
    assert {"lr": [0.05], "weight_decay": [1e-3], "beta": ["auto"]} in given.pop("grid")
    expected = {"criterion": "risk", "validation": 0.1, "refit": True, "random_state": 0}
    assert given == expected | {"verbose": True}


def test_fit_trains_as_it_was_told(birds: Path) -> None:
    read = "--candidates seen --separator ; --truth true --index id --ignore size --kind strings"
    options = (
        "--method lw --psi sigmoid --beta 2 --model linear --epochs 2 --batch-size 8 --lr 0.02 "
    )
    options += "--weight-decay 0.003 --device cpu --seed 5 --checkpoint kept --quiet --empty full"
    run(f"fit {birds} --out model {read} {options}")
    model = amongst.load("model")
    expected = {
        "psi": "sigmoid",
        "beta": 2.0,
        "model": "linear",
        "epochs": 2,
        "batch_size": 8,
        "lr": 0.02,
        "weight_decay": 0.003,
        "device": "cpu",
        "random_state": 5,
        "verbose": False,
    }
    assert {name: model.get_params()[name] for name in expected} == expected
    assert Path("kept").is_file()
    assert model.feature_names_in_.tolist() == ["wing", "beak"]
    told = {"candidates": ["seen"], "truth": "true", "features": None, "ignore": ["size"]}
    told |= {"index": "id", "separator": ";", "empty": "full", "kind": "strings"}
    told |= {"hierarchy": None, "raters": "votes", "rater": None, "header": None}
    assert model.metadata_ == told


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", amongst.AutoClassifier(random_state=0, verbose=True)),
        ("--budget 5s --seed 3 --device cpu --quiet",
         amongst.AutoClassifier(budget="5s", device="cpu", random_state=3)),
        ("--method plknn --folds 3",
         amongst.AutoClassifier(methods={"plknn": amongst.PLKNNClassifier()}, folds=3,
                                random_state=0, verbose=True)),
        ("--method LW", amongst.LWClassifier(random_state=0, verbose=True)),
        ("--epochs 7", amongst.LWClassifier(epochs=7, random_state=0, verbose=True)),
        ("--method ipal", amongst.IPALClassifier()),
        ("--method forest --seed 3", learner("forest").set_params(random_state=3)),
    ],
)  # fmt: skip
def test_fit_tries_many_methods_unless_one_or_a_setting_of_one_is_named(
    words: str, expected: Any, birds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []

    def instead(estimator: Any, *_: object) -> None:
        heard.append(estimator)
        raise InputError("seen")

    for kind in {type(expected), amongst.AutoClassifier}:
        monkeypatch.setattr(kind, "fit", instead)
    words = f"fit {birds} --separator ; --ignore id,true --out model {words}"
    assert str(CliRunner().invoke(app, words.split()).exception) == "seen"
    assert [repr(estimator) for estimator in heard] == [repr(expected)]
    assert heard[0].encodes


def test_pack_and_unpack_say_how_much(tmp_path: Path) -> None:
    store, folder, again = (tmp_path / name for name in ("s.sqlite", "kept [1]", "again.sqlite"))
    with Store(store) as kept:
        for seed in range(3):
            kept.add(Record(Trial("digits", "q=0.1", "cc", "mlp", seed), {"accuracy_last10": 0.5}))
    said = run("evidence pack", store, "--into", folder, "--revision", "1234abcd")
    size = sum(path.stat().st_size for path in folder.iterdir()) / 2**20
    assert said == f"3 trials in {folder}, {size:.2f} MiB\n"
    assert {record.revision for record in folders.read_evidence(folder).records} == {"1234abcd"}
    assert run("evidence unpack", folder, "--store", again) == f"3 new trials in {again}\n"
    assert run("evidence unpack", folder, "--store", again) == f"0 new trials in {again}\n"
    with Store(again) as kept:
        assert len(kept) == 3


@pytest.mark.parametrize(
    "words", ["evidence pack s.sqlite --into", "evidence pages kept --docs", "demo --out"]
)
def test_a_file_in_the_place_of_a_folder(words: str, birds: Path) -> None:
    answer = CliRunner().invoke(app, [*words.split(), str(birds)])
    option = words.split()[-1]
    assert isinstance(answer.exception, InputError)
    assert str(answer.exception) == f"{option} birds.csv is a file; name a folder."


def test_a_version() -> None:
    assert run("--version") == f"amongst {amongst.__version__}\n"


def test_every_command_is_there() -> None:
    help_ = run("--help")
    for name in ("describe", "fit", "predict", "disambiguate", "search", "datasets", "demo", "theory",
                 "reproduce", "compare", "results", "report", "evidence", "classical"):  # fmt: skip
        assert f"│ {name} " in help_
        assert run(f"{name} --help")
