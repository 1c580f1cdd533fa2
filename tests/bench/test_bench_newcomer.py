"""What a person meets who has not read the manual: mistakes are named, nothing is promised."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from amongst.bench import Record, Store, Trial, estimate, sources
from amongst.bench.execute import Options
from amongst.bench.plans import Request, make_plan
from amongst.bench.runner import dry_run, run_request
from amongst.cli.app import main
from amongst.data import Dataset
from amongst.errors import InputError

Say = Callable[..., tuple[int, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Run the command line in an empty folder: exit status, and all that it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        out, err = capsys.readouterr()
        return int(end.value.code or 0), re.sub(r"\s+", " ", out + err)

    return run


@pytest.fixture
def iris(tmp_path: Path) -> str:
    cells = [(i, y) for i in range(20) for y in range(3)]
    rows = [f"{y + i / 100},{y},{'x|y' if i % 4 == 0 else 'xyz'[y]}" for i, y in cells]
    (tmp_path / "iris.csv").write_text("a,b,species\n" + "\n".join(rows) + "\n")
    return "iris.csv"


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Three methods under two conditions, without any training."""
    methods = ("cc", "lw-sigmoid", "lw-cross_entropy")
    request = Request("demo", methods=methods, conditions=("q=0.1", "q=0.3"), seeds=2)
    with Store(tmp_path / "demo.sqlite") as kept:
        kept.add_request(request.to_dict())
        kept.add_all(
            Record(trial.with_data("d"), {"accuracy_last10": 0.9, "accuracy_final": 0.8})
            for trial in make_plan(request).trials
        )
    return "demo.sqlite"


NO_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_the_oracle_needs_the_truth(
    say: Say, iris: str, tmp_path: Path, more: tuple[str, ...]
) -> None:
    code, said = say(
        "compare", iris, "-c", "species", "--criterion", "oracle", "--search", "grid", "--folds",
        "3", "--epochs", "2", "--methods", "lw-sigmoid", "--models", "linear", *more
    )  # fmt: skip
    assert code == 2
    assert "--criterion oracle chooses by true labels, and 'iris' has none" in said
    assert "Name their column with --truth, or use --criterion covering." in said
    assert [path.name for path in tmp_path.iterdir()] == ["iris.csv"]


def test_the_oracle_needs_the_truth_of_the_catalogue_too(monkeypatch: pytest.MonkeyPatch) -> None:
    blind = Dataset("digits", np.zeros((9, 2)), np.full(9, -1), None, None, ("a", "b"), "standard")
    monkeypatch.setattr(estimate, "open_dataset", lambda name, files=None: blind)
    with pytest.raises(InputError, match=r"'digits' has none\. Use criterion='covering'"):
        dry_run(Request("demo", criterion="oracle", search="grid"), Options(device="cpu"))


def test_folds_of_data_with_a_test_part_are_refused(say: Say) -> None:
    """Each fold would train on all training rows, and be tested on the same test rows."""
    code, said = say("compare", "mnist", "--conditions", "q=0.1", "--folds", "5", "--dry-run")
    assert code == 2
    assert "--folds 5 divides data without a test part, and 'mnist' has one of its own" in said


@pytest.mark.parametrize("precision", ["bf16", "tf32"])
@pytest.mark.parametrize("device", ["cpu", pytest.param("auto", marks=NO_GPU)])
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_cpu_does_not_pretend(
    say: Say, tmp_path: Path, precision: str, device: str, more: tuple[str, ...]
) -> None:
    code, said = say("reproduce", "demo", "--precision", precision, "--device", device, *more)
    assert code == 2
    assert f"--precision {precision} needs a GPU" in said
    assert "Use --precision float32" in said
    assert not list(tmp_path.iterdir())


def test_ray_on_cpus_does_not_pretend_either() -> None:
    with pytest.raises(InputError, match="precision='bf16' needs a GPU"):
        dry_run(Request("demo", precision="bf16"), Options(engine="ray"))


def test_a_gpu_elsewhere_can_be_planned_for() -> None:
    narrow = {"datasets": ("mnist",), "methods": ("cc",), "seeds": 1}
    found = dry_run(Request("table1", precision="bf16", **narrow), Options(device="cuda"))
    slow = dry_run(Request("table1", **narrow), Options(device="cpu", workers=1))
    assert found.trials == slow.trials == 3
    assert found.seconds < slow.seconds / 100


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_network_for_images_is_not_planned_for_rows(
    say: Say, iris: str, tmp_path: Path, more: tuple[str, ...]
) -> None:
    """A dry run told how long it would take, and the networks before it in the plan were trained."""
    code, said = say("compare", iris, "-c", "species", "--models", "mlp,convnet", *more)
    assert code == 2
    assert "--models convnet needs images of shape (channels, height, width)" in said
    assert "but a row of 'iris' has shape (2,). Use --models mlp." in said
    assert [path.name for path in tmp_path.iterdir()] == ["iris.csv"]
    for name in ("mnist", "digits"):
        words = ("compare", name, "--conditions", "q=0.3", "--models", "convnet", "--dry-run")
        assert f"a row of '{name}' has shape" in say(*words)[1]
    assert say("compare", "cifar10", *words[2:], "--seeds", "1")[0] == 0


def test_an_unknown_precision_is_refused_in_a_dry_run(say: Say) -> None:
    code, said = say("reproduce", "demo", "--precision", "fp16", "--dry-run")
    assert code == 2
    assert "--precision fp16 is unknown; did you mean 'bf16'" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--screen 5", "--screen 5 is for the search of a grid, and --search published has"),
        ("--screen 5", "Use --search grid or --search equal, or leave it out."),
        ("--search grid --keep 0.3", "--keep 0.3 is the share that goes on"),
        ("--search grid --keep 0.3", "set --screen … to its epochs."),
        (
            "--search grid --protocol official",
            "Use --protocol default, --protocol paper or --search",
        ),
        ("--refit --protocol official", "--refit has nothing to add: --protocol official trains"),
    ],
)
def test_what_a_search_needs_is_said_in_options(say: Say, options: str, words: str) -> None:
    code, said = say("reproduce", "table1", *options.split())
    assert code == 2
    assert words in said


def test_what_quick_cannot_do_is_said_in_options(say: Say) -> None:
    code, said = say("reproduce", "table2", "--quick", "--datasets", "lost,msrcv2")
    assert code == 2
    assert "--quick runs on digits alone, not on --datasets 'lost,msrcv2'; leave out" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("results", "STORE", "--export", "out.xlsx"), "--export out.xlsx must end in .parquet or"),
        (("report", "STORE", "--alpha", "3"), "--alpha 3.0 must be a number between 0 and 1"),
        (("datasets", "info", "digits", "--plot", "x.gif"), "--plot x.gif must end in .png"),
        (("datasets", "info", "digits", "--plot", "."), "--plot . is a folder; name a file"),
    ],
)
def test_a_wrong_value_is_said_of_its_option(
    say: Say, store: str, arguments: tuple[str, ...], words: str
) -> None:
    code, said = say(*(store if word == "STORE" else word for word in arguments))
    assert code == 2
    assert words in said


def test_a_file_that_is_no_export_is_named(say: Say, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    code, said = say("results", "mine.csv")
    assert code == 2
    assert "mine.csv is not an export of a result store (no column 'seed')." in said


@pytest.mark.parametrize("form", [(), ("--csv", "f.csv"), ("--latex", "f.tex")])
def test_an_unknown_metric_is_refused(
    say: Say, store: str, tmp_path: Path, form: tuple[str, ...]
) -> None:
    code, said = say("report", store, "--metric", "foo", *form)
    assert code == 2
    assert "--metric foo is unknown. Choose from: accuracy_final, accuracy_last10." in said
    assert [path.name for path in tmp_path.iterdir()] == [store]
    assert "80.00" in say("report", store, "--metric", "accuracy_final")[1]


@pytest.mark.parametrize(
    ("plan", "variants"),
    [
        ("table1", ("lw-sigmoid", "lw-cross_entropy")),
        ("table2", ("lw-cross_entropy",)),
        ("figure1", ("lw-sigmoid",)),
        ("figure2", ("lw-sigmoid",)),
        ("demo", ("lw-sigmoid", "lw-cross_entropy")),
        ("compare", ("lw-sigmoid", "lw-cross_entropy")),
    ],
)
def test_lw_means_those_variants_that_the_plan_has(plan: str, variants: tuple[str, ...]) -> None:
    request = Request(plan, methods=("lw",), datasets=("digits",) if plan == "compare" else ())
    assert request.methods == variants
    assert {trial.method for trial in make_plan(request).trials} == set(variants)


def test_a_request_with_lw_is_kept_as_the_one_that_spells_it_out() -> None:
    short = Request("table2", methods=("rc", "lw"))
    long = Request("table2", methods=("rc", "lw-cross_entropy"))
    assert short.to_dict() == long.to_dict()


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--datasets", "digts", "--datasets digts is unknown; did you mean 'digits'"),
        ("--datasets", "mnist", "--datasets mnist is not in demo.sqlite. Choose from: digits."),
        ("--methods", "foo", "--methods foo is unknown. Choose from: cc, lw, lw-cross_entropy,"),
        ("--methods", "lww", "did you mean 'lw'"),
        ("--methods", "ipal", "--methods ipal is not in demo.sqlite. Choose from: cc, lw,"),
        ("--conditions", "q=.7", "'q=0.7' is not in demo.sqlite. Choose from: q=0.1, q=0.3."),
        ("--conditions", "cases 1", "did you mean 'case 1'"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--export", "f.csv")])
def test_results_refuse_what_the_store_does_not_have(
    say: Say, store: str, tmp_path: Path, option: str, value: str, words: str, more: tuple[str, ...]
) -> None:
    code, said = say("results", store, option, value, *more)
    assert code == 2
    assert words in said
    assert [path.name for path in tmp_path.iterdir()] == [store]


def test_results_understand_what_reproduce_understands(say: Say, store: str) -> None:
    assert "12 trials" in say("results", store)[1]
    assert "6 trials" in say("results", store, "--conditions", "q=.3")[1]
    assert "8 trials" in say("results", store, "--methods", "lw")[1]
    assert "2 trials" in say("results", store, "--methods", "CC", "--conditions", "q = 0.30")[1]


def test_results_that_do_not_meet_are_refused(say: Say, store: str, tmp_path: Path) -> None:
    with Store(tmp_path / store) as kept:
        kept.add(Record(Trial("lost", "real", "ipal", "-", 0), {"accuracy_final": 0.5}))
    code, said = say("results", store, "--methods", "ipal", "--datasets", "digits")
    assert code == 2
    assert "no record of demo.sqlite has these" in said


def test_an_export_of_nothing_or_to_nowhere_is_refused(
    say: Say, store: str, tmp_path: Path
) -> None:
    Store(tmp_path / "empty.sqlite").close()
    code, said = say("results", "empty.sqlite", "--export", "f.csv")
    assert (code, "nothing to export" in said) == (2, True)
    code, said = say("results", store, "--export", "nowhere/f.csv")
    assert (code, "the folder nowhere does not exist" in said) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [store, "empty.sqlite"]


@pytest.fixture
def no_data(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has nothing of the catalogue but digits."""
    sources._opened.cache_clear()
    for name in ("AMONGST_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path_factory.mktemp("nothing")))


@pytest.mark.usefixtures("no_data")
def test_a_dry_run_says_which_data_are_not_here(say: Say) -> None:
    code, said = say("reproduce", "table2", "--datasets", "soccer_player", "--dry-run")
    assert code == 2
    assert "Soccer Player is left out: soccer_player: Soccer Player.mat is not in" in said
    assert "none of the data of this plan can be had here" in said
    code, said = say(
        "reproduce", "table2", "--datasets", "soccer_player,lost", "--methods", "ipal", "--dry-run"
    )
    assert code == 0
    assert "Soccer Player is left out" in said
    assert "Lost is not here; the run downloads it first." in said
    assert "10 trials, 0 in the store, 10 to run" in said


@pytest.mark.usefixtures("no_data")
def test_a_dry_run_beside_a_store_downloads_nothing(
    say: Say, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amongst.data.loading.fetch_entry", lambda found: pytest.fail(found.name))
    said = say("reproduce", "table1", "--datasets", "mnist", "--dry-run", "--store", store)[1]
    assert "MNIST is not here" in said
    assert "75 to run" in said


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_what_the_run_refuses_the_dry_run_refuses(
    say: Say, iris: str, tmp_path: Path, more: tuple[str, ...]
) -> None:
    (tmp_path / "folder").mkdir()
    for arguments, words in (
        (("reproduce", "demo", "--store", "folder"), "--store folder is a folder; name a file."),
        (("compare", iris, "--folds", "61"), "--folds 61 is more than the 60 rows of 'iris'"),
        (("compare", "digits"), "--conditions real needs candidate sets, and 'digits' has none"),
        (("compare", iris, "--conditions", "q=0.1"), "makes candidate sets from true labels"),
    ):
        code, said = say(*arguments, *more)
        assert (code, words in said) == (2, True), said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "iris.csv"]


def test_the_hint_can_be_pasted_and_one_is_singular(say: Say) -> None:
    small = ("reproduce", "demo", "--seeds", "1", "--methods", "cc", "--conditions", "q=.1",
             "--epochs", "1", "--workers", "1", "--store", "x y.sqlite")  # fmt: skip
    assert "1 trial, 0 in the store, 1 to run" in say(*small, "--dry-run")[1]
    said = say(*small)[1]
    assert "amongst report 'x y.sqlite' --html report.html" in said
    assert "1 trial run in" in said
    assert "over 1 repeat." in said
    assert "x y.sqlite: 1 trial, " in say("results", "x y.sqlite")[1]
    assert "1 record written to" in say("results", "x y.sqlite", "--export", "f.csv")[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--methods", "ipal"), "--methods ipal is not in table1. Choose from: cc, lw, lw-cross_"),
        (("--methods", "lww"), "--methods lww is unknown; did you mean 'lw'?"),
        (("--datasets", "lost"), "--datasets lost is not in table1."),
        (("--conditions", "case1"), "--conditions 'case 1' is not in table1."),
        (("--models", "linear"), "--models linear is not in table1."),
    ],
)
def test_what_another_plan_has_is_not_unknown(
    say: Say, arguments: tuple[str, ...], words: str
) -> None:
    code, said = say("reproduce", "table1", *arguments, "--dry-run")
    assert (code, words in said) == (2, True), said


def test_every_error_begins_alike(say: Say) -> None:
    said = say("datasets", "info", "lst")[1]
    assert said.startswith("amongst: 'lst' is unknown; did you mean 'lost'")


def test_a_run_from_python_is_refused_as_well(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="precision='bf16' needs a GPU"):
        run_request(Request("demo", precision="bf16"), tmp_path / "s", Options(device="cpu"))
    assert not list(tmp_path.iterdir())


def test_the_evidence_is_read_in_pandas_as_the_page_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    root = Path(__file__).parents[2]
    block = (root / "docs" / "report.md").read_text().partition("In pandas")[2]
    monkeypatch.chdir(root)
    found: dict[str, Any] = {}
    exec(block.partition("```python\n")[2].partition("```")[0], found)
    assert len(found["settings"]) == len(found["trials"])
    assert "0.736" in capsys.readouterr().out  # IPAL on Lost, in docs/classical.md as well
    trial = found["curves"].index[0]
    last = found["trials"].loc[trial, "metric.accuracy_last10"]
    assert found["curves"].loc[trial][-10:].mean() == pytest.approx(last, abs=1e-3)
