"""What a first user met at the command line: outputs that are safe, and advice one can follow."""

from __future__ import annotations

import io
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import amongst
from amongst.candidates import uniform
from amongst.cli import main
from amongst.errors import AmongstError, AmongstWarning, InputError
from amongst.estimators import LWClassifier
from amongst.files import write_atomically

FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
QUICK = ["--model", "linear", "--epochs", "2", "--quiet"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The README's file, and a model of it."""
    folder = tmp_path_factory.mktemp("newcomer")
    data = load_iris()
    frame = pd.DataFrame(data.data, columns=FEATURES)
    frame["species"] = uniform(data.target_names[data.target], 0.3, seed=0).to_strings()
    frame.to_csv(folder / "iris.csv", index=False)
    sets = frame["species"].tolist()
    model = LWClassifier(model="linear", epochs=5, random_state=0).fit(frame[FEATURES], sets)
    model.save(folder / "iris.model", metadata={"candidates": ["species"]})
    return folder


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return int(left.value.code or 0)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that a mistake costs."""
    assert run(*arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("amongst: ")
    assert error.count("\n") == 1, error
    return error


def process(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "amongst", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def changed(home: Path, folder: Path, **columns: object) -> Path:
    frame = pd.read_csv(home / "iris.csv").assign(**columns)
    frame.to_csv(folder / "changed.csv", index=False)
    return folder / "changed.csv"


# Where answers go


def test_a_link_is_written_through_and_the_mode_is_kept(home: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    assert run("predict", home / "iris.model", home / "iris.csv", "--out", link) == 0
    assert link.is_symlink()
    assert len(pd.read_csv(target)) == 150
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "target.csv"]


def test_a_link_to_nothing_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("through_link", [False, True])
def test_a_pipe_stays_a_pipe(tmp_path: Path, through_link: bool) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_atomically(link if through_link else pipe, b"rows")
    reader.join(60)
    assert got == [b"rows"]
    assert pipe.is_fifo()
    assert link.is_symlink()


@pytest.mark.parametrize("way", ["same", "dotted", "hard", "symbolic"])
def test_an_input_is_never_an_output(
    home: Path, tmp_path: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = tmp_path / "data.csv", tmp_path / "a.model"
    data.write_bytes((home / "iris.csv").read_bytes())
    model.write_bytes((home / "iris.model").read_bytes())
    before = data.read_bytes(), model.read_bytes()

    def out(path: Path) -> str:
        return _otherwise(path, way, tmp_path)

    for arguments in (
        ("fit", data, "--out", out(data)),
        ("search", data, "--out", out(data)),
        ("search", data, "--table", out(data)),
        ("predict", model, data, "--out", out(data)),
        ("predict", model, data, "--out", out(model)),
        ("disambiguate", model, data, "--out", out(data)),
        ("report", data, "--csv", out(data)),
        ("results", data, "--export", out(data)),
    ):
        assert "is also read from; name another file" in refused(capsys, *arguments)
    assert (data.read_bytes(), model.read_bytes()) == before


def test_two_forms_of_a_report_are_not_written_to_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, same = tmp_path / "page", tmp_path / "folder" / ".." / "page"
    said = refused(capsys, "report", tmp_path / "s.sqlite", "--html", page, "--csv", same)
    assert f"--html and --csv both name {same}; name two files." in said


def _otherwise(path: Path, way: str, folder: Path) -> str:
    other = folder / f"{way}-{path.name}"
    if way == "hard" and not other.exists():
        other.hardlink_to(path)
    if way == "symbolic" and not other.exists():
        other.symlink_to(path)
    return {"same": str(path), "dotted": f"{folder}/./{path.name}"}.get(way, str(other))


def test_a_place_that_cannot_be_written_is_said_first(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device", "/somewhere/.p.csv.ju50up_g")

    monkeypatch.setattr("amongst.cli.files.tempfile.TemporaryFile", full)
    out = home / "p.csv"
    error = refused(capsys, "predict", home / "iris.model", home / "iris.csv", "--out", out)
    assert f"--out {out}: the folder {home} cannot be written to (No space" in error


def test_saving_names_the_path_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="is a folder; name a file"):
        write_atomically(tmp_path, b"")

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere/.m.ju50up_g")

    monkeypatch.setattr("amongst.files.open", denied, raising=False)
    with pytest.raises(OSError, match="m' cannot be written: Permission denied") as raised:
        write_atomically(tmp_path / "m", b"")
    assert isinstance(raised.value, AmongstError)
    assert "ju50up_g" not in str(raised.value)


def test_a_folder_that_is_not_there_is_named_by_its_option(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(capsys, "search", home / "iris.csv", "--table", home / "no" / "x.csv")
    assert error.startswith(f"amongst: --table {home}/no/x.csv: the folder {home}/no does not")


def test_a_link_into_a_folder_that_is_not_there_names_that_folder(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "no" / "x.csv")
    error = refused(capsys, "search", home / "iris.csv", "--table", tmp_path / "link.csv")
    assert f"link.csv: the folder {tmp_path}/no does not exist; make it first." in error


def test_standard_output(
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("predict", home / "iris.model", home / "iris.csv", "--out", "-") == 0
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert len(lines) == 151
    assert lines[0].startswith("row,label,confidence")
    assert not list(tmp_path.iterdir())


def test_a_model_is_not_printed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "name a file" in refused(capsys, "fit", home / "iris.csv", "--out", "-")


@pytest.mark.parametrize(
    ("ending", "read"),
    [
        ("csv", pd.read_csv),
        ("txt", pd.read_csv),
        ("tsv", pd.read_table),
        ("parquet", pd.read_parquet),
    ],
)
def test_the_ending_says_the_format(home: Path, tmp_path: Path, ending: str, read: object) -> None:
    out = tmp_path / f"p.{ending}"
    assert run("predict", home / "iris.model", home / "iris.csv", "--out", out) == 0
    found = read(out)  # type: ignore[operator]
    assert found.columns[:3].tolist() == ["row", "label", "confidence"]
    assert len(found) == 150


def test_an_unknown_ending(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("p.xlsx", "p"):
        out = tmp_path / name
        error = refused(capsys, "predict", home / "iris.model", home / "iris.csv", "--out", out)
        assert "must be .csv, .tsv, .txt or .parquet, or - for standard output" in error


# Where data come from


def fed(pipe: Path, content: bytes) -> threading.Thread:
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    return writer


@pytest.mark.parametrize("name", ["pipe", "pipe.csv", "63"])
def test_a_pipe_is_read(
    home: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fed(tmp_path / name, (home / "iris.csv").read_bytes())
    assert run("describe", tmp_path / name) == 0
    assert "150" in capsys.readouterr().out


def test_a_mistake_in_a_pipe_names_the_pipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fed(tmp_path / "pipe", b"a,a,labels\n1,2,x|y\n3,4,x\n")
    assert f"{tmp_path}/pipe has two columns" in refused(capsys, "describe", tmp_path / "pipe")


def test_standard_input_is_read_and_what_is_found_goes_on(
    home: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """``… | amongst predict model - --out - | …``"""
    model, rows = home / "iris.model", (home / "iris.csv").read_text()
    piped = process("predict", model, "-", "--out", "-", input=rows)
    assert run("predict", model, home / "iris.csv", "--out", "-") == 0
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout == capsysbinary.readouterr().out.decode() != ""


def test_standard_input_without_rows_or_without_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = SimpleNamespace(isatty=lambda: False, buffer=io.BytesIO())
    monkeypatch.setattr(sys, "stdin", nothing)
    assert "amongst: - is empty" in refused(capsys, "describe", "-")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    assert "- is standard input, and nothing is piped into it" in refused(capsys, "describe", "-")


# What is said

PYTHON = ("ignore=", "features=", "empty=", "outside=", "classes=", "as_candidates", "study_name")


@pytest.mark.parametrize(
    ("columns", "options", "advice"),
    [
        (
            {"species": [""] + ["a|b"] * 149},
            ["-c", "species"],
            "Pass --empty drop to leave such rows out, or pass --empty full",
        ),
        ({"truth": "none"}, ["--truth", "truth"], "Correct the rows, or leave --truth out"),
        ({"species": "a"}, ["-c", "species"], "('a'); a classifier needs at least two. Check the"),
        (
            {},
            [word for name in FEATURES for word in ("--ignore", name)],
            "there is no column to learn from",
        ),
        ({}, ["--epochs", "0"], "--epochs 0 must be"),
        ({}, ["--batch-size", "0"], "--batch-size 0 must be"),
        ({}, ["--truth", "trth"], "--truth: "),
        ({}, ["--device", "gpu"], "--device gpu is unknown; choose auto, cpu or cuda."),
        ({}, ["--psi", "x"], "ramp, sigmoid, squared_hinge."),
    ],
)
def test_advice_that_can_be_followed_here(
    home: Path,
    tmp_path: Path,
    columns: dict[str, object],
    options: list[str],
    advice: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = changed(home, tmp_path, **columns)
    error = refused(capsys, "fit", file, "--out", tmp_path / "m", "--quiet", *options)
    assert advice in error
    assert not [word for word in PYTHON if word in error]


@pytest.mark.parametrize(
    ("columns", "advice"),
    [
        ({"sepal_length": "long"}, "Encode them as in the file that the model was fitted on."),
        ({"sepal_length": np.nan}, "Fill them in, or drop the rows."),
    ],
)
def test_a_column_that_the_model_needs_is_not_to_be_left_out(
    home: Path,
    tmp_path: Path,
    columns: dict[str, object],
    advice: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = changed(home, tmp_path, **columns)
    out = tmp_path / "p.csv"
    error = refused(capsys, "predict", home / "iris.model", file, "--out", out)
    assert advice in error
    assert "ignore" not in error


def test_a_feature_that_is_not_there(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.read_csv(home / "iris.csv").drop(columns="petal_width").to_csv(tmp_path / "n.csv")
    out = tmp_path / "p.csv"
    error = refused(capsys, "predict", home / "iris.model", tmp_path / "n.csv", "--out", out)
    assert "n.csv has no column 'petal_width', which the model was fitted on;" in error


@pytest.mark.parametrize("cell", ["setosa", "setosa, virginica", "setosa; virginica"])
@pytest.mark.parametrize("command", ["describe", "fit", "search"])
def test_candidates_that_cannot_be_guessed_are_asked_for(
    home: Path, tmp_path: Path, cell: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = changed(home, tmp_path, species=cell)
    out = [] if command == "describe" else ["--out", tmp_path / "m"]
    error = refused(capsys, command, file, *out)
    assert "Name it with --candidates. Its columns: " in error
    assert error.endswith(" species.\n")


def test_a_warning_is_one_line_without_code(home: Path, tmp_path: Path) -> None:
    file = changed(home, tmp_path, species=["a; b", "c"] * 75)
    done = process("describe", file, "-c", "species")
    assert done.returncode == 0
    assert done.stderr.startswith("amongst: warning: no cell contains the separator '|'")
    assert done.stderr.endswith("Is --separator ';' meant?\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.filterwarnings("default")
def test_each_warning_once_and_none_on_what_will_change(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def noisy(*_: object) -> None:
        for _unused in range(2):
            warnings.warn("mind the step", AmongstWarning, stacklevel=2)
            warnings.warn("overflow encountered in square", RuntimeWarning, stacklevel=1)
            warnings.warn("old", FutureWarning, stacklevel=1)

    monkeypatch.setattr("amongst.cli.tables._draw_sizes", noisy)
    assert run("describe", home / "iris.csv") == 0
    assert capsys.readouterr().err.splitlines() == [
        "amongst: warning: mind the step",
        "amongst: warning: some feature values are too large to compute with; rescale them.",
    ]


# Search


@pytest.mark.parametrize("url", ["mysql://me:secret@x/y", "http://x"])
def test_a_database_that_cannot_be_used(
    home: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    error = refused(capsys, "search", home / "iris.csv", "--trials", 1, "--study", url, *QUICK)
    assert error.startswith("amongst: --study ")
    assert "Use sqlite:///file.db or postgresql://user@host/database" in error
    assert "secret" not in error


def test_a_study_that_was_begun_otherwise(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    options = ["--trials", 1, "--study", tmp_path / "s.db", "--batch", 1, *QUICK]
    assert run("search", home / "iris.csv", *options) == 0
    capsys.readouterr()
    error = refused(capsys, "search", home / "iris.csv", *options, "--epochs", 3)
    assert "Use another --study-name" in error


def test_the_help_says_how_many_trials(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search", "--help") == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "50 with --study" in text


@pytest.mark.parametrize("share", ["0", "1", "1.5", "nan"])
def test_the_share_held_out(home: Path, share: str, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(capsys, "search", home / "iris.csv", "--validation", share)
    assert f"--validation {float(share)} must be a number between 0 and 1" in error


def test_numbers_are_whole_on_eighty_columns(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    monkeypatch.setenv("COLUMNS", "80")
    assert run("search", home / "iris.csv", "--trials", 6, *QUICK) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("│")]) == 6
    assert not any("…" in line for line in lines)
    assert max(map(len, lines)) <= 80


# Ctrl-C


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_interrupted_fit_says_how_to_go_on(
    number: signal.Signals, home: Path, tmp_path: Path
) -> None:
    out, kept = tmp_path / "m", tmp_path / "kept"
    options = ["--out", out, "--checkpoint", kept, "--epochs", 100_000, "--quiet"]
    command = [sys.executable, "-m", "amongst", "fit", home / "iris.csv", *options]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True) as running:
        while not kept.exists() and running.poll() is None:
            time.sleep(0.05)
        running.send_signal(number)
        running.send_signal(number)  # a second one ends no sooner, and tells nothing else
        error = running.communicate()[1]
    assert running.returncode in (130, -number)  # -number: as Python ended
    assert error == f"amongst: interrupted; the same command goes on from {kept}.\n"
    assert kept.exists()
    assert not out.exists()


def test_an_interrupted_fit_without_a_checkpoint(
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LWClassifier, "fit", interrupted)
    assert run("fit", home / "iris.csv", "--out", tmp_path / "m", *QUICK) == 130
    assert capsys.readouterr().err == "amongst: interrupted; no model was written.\n"
    assert not (tmp_path / "m").exists()


INTERRUPTED_IMPORT = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from amongst.cli import main
main(["describe", "nowhere.csv"])
"""


def test_imports_can_be_interrupted() -> None:
    command = [sys.executable, "-c", INTERRUPTED_IMPORT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "amongst: interrupted\n"


def test_any_command_that_is_interrupted_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lw2021.theory.verification.verify", interrupted)
    assert run("theory") == 130
    assert capsys.readouterr().err == "amongst: interrupted\n"


def test_a_table_in_the_place_of_the_model(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("predict", home / "iris.csv", home / "model", "--out", tmp_path / "p.csv") == 2
    assert "the model comes first, the file after" in capsys.readouterr().err


def test_the_package_imports_its_rooms_when_they_are_asked_for() -> None:
    code = (
        "import sys, amongst; print('torch' in sys.modules); amongst.LWClassifier; amongst.theory"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    rooms = "candidates data datasets engine errors estimators methods metrics stats theory trust"
    for name in (*amongst.__all__, *rooms.split()):
        assert getattr(amongst, name) is not None
        assert name in dir(amongst)
    assert not hasattr(amongst, "nothing")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_output_without_our_signs_is_written_to_all_the_same(home: Path, encoding: str) -> None:
    """As a pipe on Windows, or LANG=C: the box, the bars and β are not in its encoding."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for arguments in (["--help"], ["describe", home / "iris.csv"]):
        done = process(*arguments, env=environment, encoding=encoding)
        assert (done.returncode, done.stderr) == (0, "")
