"""`amongst review` as a person runs it: killed with −9 it has lost nothing, and a model learns from it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_iris

from amongst import LWClassifier
from amongst.candidates import uniform
from amongst.cli import main
from amongst.review import Decisions, file_digest

KEYS = [f"iris {row}" for row in range(150)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of flowers and a model of it."""
    folder = tmp_path_factory.mktemp("flowers")
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"], index=pd.Index(KEYS, name="id"))
    names = load_iris().target_names
    frame["labels"] = uniform(names[y], q=0.5, seed=0).to_strings()
    frame.to_csv(folder / "flowers.csv")
    fit(folder, "model", "--epochs", "5")
    return folder


def fit(folder: Path, out: str, *more: str) -> None:
    given = ["-c", "labels", "--index", "id", "--quiet", "--out", str(folder / out)]
    main_ends(["fit", str(folder / "flowers.csv"), *given, "--model", "linear", *more])


def main_ends(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code in (0, None)


@contextmanager
def running(folder: Path, *file: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    words = ["review", "model", *(file or ["flowers.csv"]), "--who", "ann", "--no-browser"]
    process = subprocess.Popen(
        [sys.executable, "-m", "amongst", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        told = [process.stdout.readline(), process.stdout.readline().strip()]
        assert told[1].startswith("http://127.0.0.1:"), told
        yield process, told[1]
    finally:
        process.kill()
        process.communicate()


def ask(address: str, path: str, body: Any = None) -> Any:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    headers = {"Origin": f"http://{parts.netloc}", "X-Amongst": "1"}
    content = None if body is None else json.dumps(body)
    joined = f"{path}?{parts.query}"
    connection.request("GET" if body is None else "POST", joined, content, headers)
    answer = connection.getresponse()
    assert answer.status == 200
    return json.loads(answer.read())


def test_killed_it_has_lost_nothing_and_a_model_learns_from_it(folder: Path) -> None:
    with running(folder) as (process, address):
        row = ask(address, "/api/next")["row"]
        sent = {"row": row["row"], "version": 0, "action": "label", "label": "virginica"}
        ask(address, "/api/decide", sent)
        process.kill()
        process.wait()
    with running(folder) as (process, address):
        found = ask(address, "/api/next")
        assert found["progress"] == {"rows": 150, "decided": 1, "skipped": 0}
        assert found["undo"]["key"] == row["key"]
        assert found["row"]["key"] != row["key"]
        process.send_signal(2)
        assert process.wait(30) == 0, "Ctrl-C is how a review ends"
        assert process.stdout is not None
        assert process.stdout.read().startswith("1 row decided.")
    reviewed = folder / "reviewed.csv"
    words = ["review", str(folder / "model"), str(folder / "flowers.csv")]
    main_ends([*words, "--export", str(reviewed)])
    lines = pd.read_csv(reviewed)
    assert lines[["row", "label", "who"]].values.tolist() == [[row["key"], "virginica", "ann"]]
    fit(folder, "again", "--epochs", "5", "--reviewed", str(reviewed))
    for command, more in (("disambiguate", []), ("explain", ["--ensemble", "0"])):
        names = [str(folder / name) for name in ("again", "flowers.csv", "out.csv")]
        given = [*more, "--reviewed", str(reviewed), "--out", names.pop()]
        main_ends([command, *names, *given])
        found = pd.read_csv(folder / "out.csv", index_col="id").loc[row["key"]]
        assert (found["label"], found["confidence"]) == ("virginica", 1)


def test_a_folder_of_photos_is_reviewed_and_learnt_from(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for i in range(24):
        Image.new("RGB", (9, 9), (250, 5, 5) if i % 2 else (5, 5, 250)).save(photos / f"{i}.png")
    labels = ["red|blue" if i % 3 else ("red" if i % 2 else "blue") for i in range(24)]
    table = pd.DataFrame({"image": [f"{i}.png" for i in range(24)], "labels": labels})
    table.to_csv(tmp_path / "labels.csv", index=False)
    given = [str(photos), "-c", "labels.csv", "-c", "labels"]
    with chdir(tmp_path):
        learnt = [*given, "--model", "linear", "--epochs", "2", "--quiet", "--out"]
        main_ends(["fit", *learnt, "model"])
        with running(tmp_path, *given) as (_, address):
            row = ask(address, "/api/next")["row"]
            assert row["key"].endswith(".png")
            assert row["picture"]
            sent = {"row": row["row"], "version": 0, "action": "label", "label": "blue"}
            ask(address, "/api/decide", sent)
        main_ends(["review", "model", *given, "--export", "reviewed.csv"])
        assert pd.read_csv("reviewed.csv")["row"].tolist() == [row["key"]]
        main_ends(["fit", *learnt, "again", "--reviewed", "reviewed.csv"])
        explained = ["explain", "model", *given, "--html", "page.html", "--ensemble", "0"]
        main_ends(explained)
        assert Path("page.html").read_text("utf-8").count("<img") == 16


class Seen(Exception):
    """What `fit` was given is known, and nothing need be trained."""


@pytest.mark.parametrize("by_name", [True, False])
def test_what_is_reviewed_is_what_a_fit_is_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, by_name: bool
) -> None:
    """By the digest of the file, also where embeddings come beside its columns."""
    kept = Decisions(tmp_path / "kept", file_digest(folder / "flowers.csv"), by_name)
    kept.add("iris 7" if by_name else "7", 0, "label", "virginica", "ann")
    kept.export().to_csv(tmp_path / "reviewed.csv", index=False)
    given: list[Any] = []

    def seen(*arguments: Any, **_: Any) -> None:
        given.extend(arguments)
        raise Seen

    monkeypatch.setattr(LWClassifier, "fit", seen)
    np.savez(tmp_path / "embedded.npz", X=np.eye(150, 2))
    more = ["--reviewed", str(tmp_path / "reviewed.csv")]
    more += ["--embeddings", str(tmp_path / "embedded.npz")]
    with pytest.raises(Seen):
        fit(folder, "other", *more)
    assert given[2].to_lists()[7] == ["virginica"]
    assert given[2].sizes.mean() > 1.3


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--images", "nowhere"], "--images nowhere is not a folder."),
        (["--port", "99999"], "--port 99999"),
        (["--export", "r.csv", "--db", "no.sqlite"], "there are no decisions at no.sqlite"),
    ],
)
def test_mistakes_cost_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    more: list[str], words: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as ended:
        main(["review", "model", "flowers.csv", *more])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
