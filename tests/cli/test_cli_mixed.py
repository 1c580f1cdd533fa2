"""A CSV as people have it: columns of every kind, through every command, with no option but one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from amongst import load
from amongst.cli import main
from amongst.cli.app import app
from amongst.cli.tables import _show_leaderboard
from amongst.errors import AmongstWarning

WORDS = {
    "owl": "silent large round eyes night hunter tree hollow",
    "kite": "forked tail circling high above field slow",
    "wren": "tiny loud song hedge brown quick tail",
}
HABITATS = {"owl": [0.8, 0.1, 0.1], "kite": [0.1, 0.1, 0.8], "wren": [0.3, 0.6, 0.1]}
WINGS = {"owl": 30, "kite": 50, "wren": 6}


def birds(n: int = 120) -> tuple[pd.DataFrame, list[str]]:
    """Numbers, categories, bools, holes, dates, text, an id and a constant; and the true species."""
    rng = np.random.default_rng(0)
    truth = rng.choice(sorted(WORDS), n).tolist()
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    others = dict(zip(WORDS, [*list(WORDS)[1:], "owl"], strict=True))
    sets = [{k, others[k]} if rng.random() < 0.4 else {k} for k in truth]
    frame = pd.DataFrame(
        {
            "record_id": np.arange(n) + 5001,
            "wing": [round(WINGS[k] + rng.normal(0, 9), 1) for k in truth],
            "habitat": [rng.choice(["wood", "lake", "moor"], p=HABITATS[k]) for k in truth],
            "ringed": rng.random(n) < 0.5,
            "age": np.where(rng.random(n) < 0.2, "", rng.integers(1, 9, n).astype(str)),
            "seen": days.strftime("%Y-%m-%d"),
            "island": "Öland",
            "remarks": [" ".join(rng.choice(WORDS[k].split(), 6)) for k in truth],
            "species": ["|".join(sorted(s)) for s in sets],
        }
    )
    return frame, truth


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def warned(*arguments: object) -> set[str]:
    """The codes of the warnings of a command that goes well."""
    with pytest.warns(AmongstWarning) as told:
        answer = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert answer.exit_code == 0
    return {warning.message.code for warning in told}  # type: ignore[union-attr]


@pytest.mark.filterwarnings("default::amongst.errors.AmongstWarning")
def test_every_kind_of_column_goes_through_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frame, truth = birds()
    frame.to_csv(tmp_path / "birds.csv", index=False)
    monkeypatch.chdir(tmp_path)
    quick = [
        "--methods",
        "rc",
        "--models",
        "linear",
        "--folds",
        "2",
        "--epochs",
        "2",
        "--workers",
        "1",
    ]

    def said(*words: str) -> str:
        assert run(*words) == 0
        return capsys.readouterr().out

    assert "8 features" in said("describe", "birds.csv", "-c", "species")
    told = said("fit", "birds.csv", "-c", "species", "--out", "model", "--budget", "3s", "--quiet")
    for line in (
        "record_id: names or numbers the rows, left out",
        "habitat: 3 categories, one-hot",
        "island: the same in every row, left out",
    ):
        assert line in told
    assert "Estimated error" in told
    said("predict", "model", "birds.csv", "--out", "p.csv")
    said("disambiguate", "model", "birds.csv", "--out", "d.csv")
    assert "RC" in said("compare", "birds.csv", "-c", "species", *quick)
    for name in ("p.csv", "d.csv"):
        assert (pd.read_csv(tmp_path / name)["label"] == truth).mean() > 0.9


@pytest.mark.parametrize("method", ["ipal", "forest", "logistic"])
def test_a_named_method_takes_them_too(method: str, tmp_path: Path) -> None:
    frame, truth = birds()
    frame.to_csv(tmp_path / "birds.csv", index=False)
    model, out = tmp_path / "model", tmp_path / "p.csv"
    assert run("fit", tmp_path / "birds.csv", "--method", method, "--out", model) == 0
    new = frame.drop(columns=["species", "record_id", "island"])  # none of which is needed
    new.loc[[0, 1], ["habitat", "seen"]] = ["desert", None]
    rings = [f"{row:04d}" for row in range(len(new))]
    new.assign(ring=rings).to_csv(tmp_path / "new.csv", index=False)
    command = ["predict", model, tmp_path / "new.csv", "--out", out, "--id", "ring"]
    assert warned(*command) == {"unseen"}
    found = pd.read_csv(out, dtype={"ring": str})
    assert (found["label"] == truth).mean() > 0.9
    assert found["ring"].tolist() == rings
    assert (load(model).predict(frame) == found["label"])[2:].all()


def test_labels_that_nobody_named_are_no_features(tmp_path: Path) -> None:
    """A column of answers would be learnt, and is not there for new rows."""
    frame, truth = birds(40)
    frame.assign(truth=truth, first=truth).to_csv(tmp_path / "birds.csv", index=False)
    model, quick = tmp_path / "model", ["--method", "plknn", "--out", tmp_path / "model"]
    for ignored, left_out in (("first", "truth"), ("truth", "first")):
        command = ["fit", tmp_path / "birds.csv", *quick, "--ignore", ignored]
        assert warned(*command) == {"no-feature"}
        assert left_out not in load(model).feature_names_in_
    assert run("fit", tmp_path / "birds.csv", *quick, "--truth", "truth") == 0
    assert "first" in load(model).feature_names_in_


def test_an_id_that_looks_like_a_number_is_left_out(tmp_path: Path) -> None:
    frame, _ = birds(40)
    frame[["record_id", "wing", "species"]].to_csv(tmp_path / "birds.csv", index=False)
    command = ["fit", tmp_path / "birds.csv", "--method", "plknn", "--out", tmp_path / "m"]
    assert warned(*command) == {"no-feature"}
    assert load(tmp_path / "m").feature_names_in_.tolist() == ["wing"]
    assert run(*command, "--features", "record_id,wing") == 0
    assert load(tmp_path / "m").feature_names_in_.tolist() == ["record_id", "wing"]


def test_a_true_label_that_no_rater_gave_is_scored_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame, truth = birds(40)
    answers = frame[["wing"]].assign(anna=truth, ben=truth, truth=truth)
    wrong = answers["truth"].index[:6]
    answers.loc[wrong, ["anna", "ben"]] = [
        ["owl" if t == "wren" else "wren"] * 2 for t in truth[:6]
    ]
    answers.to_csv(tmp_path / "birds.csv", index=False)
    command = ["-c", "anna,ben", "--truth", "truth"]
    assert (
        run("fit", tmp_path / "birds.csv", *command, "--method", "plknn", "--out", tmp_path / "m")
        == 0
    )
    said = capsys.readouterr().out
    assert "6 rows, 15.0%" in said
    assert "accuracy on these rows" in said
    answers.loc[:30, "truth"] = [
        {"owl": "kite", "kite": "wren", "wren": "owl"}[t] for t in truth[:31]
    ]
    answers.to_csv(tmp_path / "birds.csv", index=False)
    assert run("describe", tmp_path / "birds.csv", *command) == 2


def test_describe_counts_classes_and_shows_names_that_look_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = ["owl|kite", "owl", "kite", "owl, kite", "kestrel", "kestrel", "kestral", "c1", "c2"]
    pd.DataFrame({"place": list("abcabcabc"), "seen": cells}).to_csv(
        tmp_path / "b.csv", index=False
    )
    assert run("describe", tmp_path / "b.csv") == 0
    said = capsys.readouterr().out
    assert [line.split()[-2:] for line in said.splitlines() if line.endswith(("kestrel", "owl"))]
    assert "'kestral' looks like 'kestrel'" in said
    assert "'owl, kite' looks like several labels: is --separator right?" in said
    assert "'c2' looks" not in said
    pd.DataFrame({"seen": cells}).to_csv(tmp_path / "b.csv", index=False)  # and no features at all
    assert run("describe", tmp_path / "b.csv", "-c", "seen") == 0
    assert run("fit", tmp_path / "b.csv", "-c", "seen", "--out", tmp_path / "m") == 2
    odd = pd.DataFrame({"wing": [np.inf] + [1.0] * 8, "seen": cells})
    odd.to_csv(tmp_path / "b.csv", index=False)
    assert run("describe", tmp_path / "b.csv") == 0


def test_methods_that_were_not_tried_share_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    known = {"share": 1.0, "error": 0.1, "error_se": 0.01, "risk": 0.2, "seconds": 1.0}
    lines = [("LW", 40, ""), ("CC", 0, "not tried"), ("RC", 0, "too slow"), ("forest", 0, "not tried")]  # fmt: skip
    rows = [known | {"method": name, "rows": n, "note": note} for name, n, note in lines]
    _show_leaderboard(SimpleNamespace(leaderboard_=pd.DataFrame(rows), chosen_="LW."))
    said = capsys.readouterr().out.splitlines()
    assert said[-3:] == ["CC, forest: not tried", "RC: too slow", "LW."]
    assert sum("│" in line for line in said) == 1


def test_search_says_what_has_nothing_to_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    birds(60)[0].to_csv(tmp_path / "birds.csv", index=False)
    for method, remedy in (("auto", "amongst fit"), ("forest", "Name another --method")):
        assert run("search", tmp_path / "birds.csv", "-c", "species", "--method", method) == 2
        assert remedy in capsys.readouterr().err


def test_a_named_method_says_how_good_it_is_where_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame, truth = birds(60)
    frame.to_csv(tmp_path / "birds.csv", index=False)
    command = ["fit", tmp_path / "birds.csv", "--method", "plknn", "--out", tmp_path / "m"]
    assert run(*command, "--folds", "3", "--quiet") == 0
    assert "Estimated error" in capsys.readouterr().out
    model = load(tmp_path / "m")
    assert model.leaderboard_["folds"].tolist() == [9]  # three times three, of few rows
    assert (model.predict(frame) == truth).mean() > 0.8
    assert run(*command, "--quiet") == 0
    assert "--folds 5 estimates it" in capsys.readouterr().out


def test_embeddings_of_ones_own_are_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many numbers a row as a person has, from a file of their own, in every command of a model."""
    monkeypatch.chdir(tmp_path)
    frame, truth = birds()
    frame[["remarks", "species"]].to_csv("birds.csv", index=False)
    names = sorted(WORDS)
    vectors = np.eye(3)[[names.index(k) for k in truth]] + 0.1
    np.savez("vectors.npz", X=vectors)
    pd.DataFrame(vectors, columns=list("abc")).to_parquet("vectors.parquet")
    ours = ("--embeddings", "vectors.npz")
    options = ("--ignore", "remarks", "--method", "logistic", "--out", "a.model")
    assert run("fit", "birds.csv", "-c", "species", *ours, *options) == 0
    same = ("--embeddings", "vectors.parquet")
    assert run("predict", "a.model", "birds.csv", *same, "--out", "p.csv") == 0
    assert (pd.read_csv("p.csv")["label"] == truth).all()
    assert (
        run("disambiguate", "a.model", "birds.csv", "-c", "species", *ours, "--out", "d.csv") == 0
    )
    np.savez("short.npz", X=vectors[:7])
    capsys.readouterr()
    assert (
        run("predict", "a.model", "birds.csv", "--embeddings", "short.npz", "--out", "q.csv") != 0
    )
    assert "7 rows" in capsys.readouterr().err


def test_a_model_of_sentences_in_place_of_a_file_of_embeddings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named once, when fitting: the model file knows it, and `explain` trains with it again."""

    class Sentences:
        def __init__(self, name: str) -> None:
            assert name == "maker/small-v1.5"

        def encode(self, sentences: list[str], show_progress_bar: bool) -> Any:
            known = [set(words.split()) for words in WORDS.values()]
            return np.array([[len(one & {*text.split()}) for one in known] for text in sentences])

    module = SimpleNamespace(SentenceTransformer=Sentences)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.chdir(tmp_path)
    frame, truth = birds()
    frame[["remarks", "species"]].to_csv("birds.csv", index=False)
    options = ("--embeddings", "maker/small-v1.5", "--method", "plsvm", "--out", "a.model")
    assert run("fit", "birds.csv", "-c", "species", *options) == 0
    assert run("predict", "a.model", "birds.csv", "--out", "p.csv") == 0
    assert (pd.read_csv("p.csv")["label"] == truth).mean() > 0.9
    assert load("a.model").encoder_.kinds_["remarks"].model == "maker/small-v1.5"
    few = ("-c", "species", "--ensemble", "2", "--out", "e.csv")
    assert run("explain", "a.model", "birds.csv", *few) == 0


def test_explain_trains_a_learner_of_scikit_learn_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the file alone, so that models judge rows which they have not seen: else it would warn."""
    monkeypatch.chdir(tmp_path)
    birds()[0].to_csv("birds.csv", index=False)
    options = ("-c", "species", "--method", "logistic", "--out", "a.model")
    assert run("fit", "birds.csv", *options) == 0
    assert run("explain", "a.model", "birds.csv", "--ensemble", "2", "--out", "e.csv") == 0


def test_labels_that_come_together_are_said_where_chance_is_relied_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wren is seen with a robin and an owl with a kite: then there is no telling who is right."""
    monkeypatch.chdir(tmp_path)
    frame, truth = birds()
    pairs = {"owl": "kite|owl", "kite": "kite|owl", "wren": "robin|wren"}
    for cells, expected in (([pairs[t] for t in truth], True), (frame["species"], False)):
        frame.assign(species=cells).to_csv("birds.csv", index=False)
        options = ("--method", "plknn", "--folds", "2", "--out", "a.model")
        assert run("fit", "birds.csv", "-c", "species", *options) == 0
        assert ("'kite' and 'owl' are together in" in capsys.readouterr().out) is expected
        assert run("explain", "a.model", "birds.csv", "--ensemble", "0") == 0
        assert ("'kite' and 'owl' are together in" in capsys.readouterr().out) is expected
