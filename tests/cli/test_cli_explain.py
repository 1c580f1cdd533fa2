"""amongst explain on a person's photos: a page, a table, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from amongst import PLKNNClassifier, as_candidates, load
from amongst.candidates import uniform
from amongst.cli import main
from amongst.selection import AutoClassifier

N = 60
TRUE = np.array(["kite", "owl", "wren"])[np.arange(N) % 3]


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return int(left.value.code or 0)


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    """A CSV of sixty birds, a folder with the photos of fifty-nine, and a model of them."""
    rng, folder = np.random.default_rng(0), tmp_path / "photos"
    folder.mkdir()
    for i in range(1, N):
        Image.new("RGB", (40, 30), (i, 2 * i, 3 * i)).save(folder / f"{i}.png")
    X = np.eye(3)[np.arange(N) % 3] + rng.normal(0, 0.4, (N, 3))
    frame = pd.DataFrame(X, columns=["wing", "beak", "weight"])
    frame.insert(0, "bird", [f"bird {i}" for i in range(N)])
    frame["photo"] = [f"{i}.png" for i in range(N)]
    frame["labels"] = uniform(TRUE, 0.5, seed=0).to_strings()
    frame.to_csv(tmp_path / "birds.csv", index=False)
    code = run("fit", tmp_path / "birds.csv", "--candidates", "labels", "--index", "bird",
               "--ignore", "photo", "--method", "proden", "--epochs", 5, "--quiet",
               "--out", tmp_path / "birds.amongst")  # fmt: skip
    assert code == 0
    return tmp_path


def test_a_page_with_photos_and_a_table(birds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, file = birds / "birds.amongst", birds / "birds.csv"
    code = run("explain", model, file, "--images", birds / "photos", "--ensemble", 2, "--rows", 20,
               "--html", birds / "page.html", "--out", birds / "rows.csv")  # fmt: skip
    assert code == 0
    assert "are expected to be right" in capsys.readouterr().out
    rows, page = pd.read_csv(birds / "rows.csv"), (birds / "page.html").read_text("utf-8")
    source = pd.read_csv(file)
    assert rows["bird"].tolist() == source["bird"].tolist()
    estimator = load(model)
    said = estimator.disambiguate(source[["wing", "beak", "weight"]], source["labels"])
    assert rows["label"].tolist() == said["label"].tolist()
    assert set(rows["agreement"]) <= {0, 0.5, 1}
    again = as_candidates(rows["candidates"].tolist(), kind="votes")
    assert again.sizes.tolist() == as_candidates(source["labels"].tolist()).sizes.tolist()
    first = rows.sort_values("rank")["bird"].iloc[:20]
    assert page.count('class="card"') == 20
    assert all(f"row {name}:" in page for name in first)
    assert page.count("<img") == 20 - ("bird 0" in set(first))


def test_without_a_target_it_says_what_to_look_at(
    birds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("explain", birds / "birds.amongst", birds / "birds.csv", "--ensemble", 0) == 0
    assert "bird" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--html", "birds.csv"], "--html"),
        (["--html", "a.csv", "--out", "a.csv"], "--html"),
        (["--ensemble", "1"], "--ensemble"),
        (["--images", "nowhere"], "--images"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    birds: Path,
    options: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(birds)
    before = Path("birds.csv").read_bytes()
    assert run("explain", "birds.amongst", "birds.csv", *options) == 2
    assert words in capsys.readouterr().err
    assert Path("birds.csv").read_bytes() == before


def test_an_ensemble_of_searches_takes_as_long_as_one() -> None:
    methods = {"PL-kNN": PLKNNClassifier(n_neighbors=3)}
    model = AutoClassifier(budget="1min", methods=methods, folds=2, random_state=0)
    model.fit(np.eye(3).repeat(6, axis=0), TRUE[:18].tolist())
    own = model._as_one_of(5)
    assert own["budget"] == 12.0
    assert list(own["methods"]) == ["PL-kNN"]
    assert PLKNNClassifier()._as_one_of(5) == {}
