"""A folder of photos through the command line: fit, predict, disambiguate, explain, a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from amongst.cli import main
from amongst.data.images import photos_in, read_photos
from amongst.errors import DataNotFoundError, InputError
from amongst.estimators import load
from amongst.models import MODELS

N = 48


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Red, green and blue photos of several sizes, some in a folder below, and labels.csv beside."""
    place = tmp_path_factory.mktemp("photos")
    (place / "photos" / "more").mkdir(parents=True)
    rng, colours, lines = np.random.default_rng(0), ("red", "green", "blue"), ["file,colours,truth"]
    for i in range(N):
        pixels = rng.integers(0, 60, (9 + i % 3, 12, 3)).astype(np.uint8)
        pixels[..., i % 3] += 150
        name = f"{'more/' if i % 4 == 0 else ''}{i:02}.png"
        Image.fromarray(pixels).save(place / "photos" / name)
        other = colours[(i + 1 + i // 3 % 2) % 3]
        lines.append(f"{name},{'|'.join(sorted({colours[i % 3], other}))},{colours[i % 3]}")
    (place / "labels.csv").write_text("\n".join(lines) + "\n")
    return place


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return int(left.value.code or 0)


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    out, labels = folder / "model.amongst", folder / "labels.csv"
    words = ["--truth", "truth", "--epochs", 8, "--size", 10, "--device", "cpu", "--quiet"]
    picture = ["--picture", folder / "rows.png"]
    assert run("fit", folder / "photos", "-c", labels, *words, "--out", out, *picture) == 0
    return out


def test_what_is_fitted_is_the_network_for_photos(folder: Path, model: Path) -> None:
    found = load(model)
    assert type(found.model_) is MODELS["fastnet"]
    assert found.in_shape_ == (3, 10, 10)
    with Image.open(folder / "rows.png") as picture:
        assert min(picture.size) > 500


def test_the_candidates_of_a_folder_are_narrowed(folder: Path, model: Path) -> None:
    out = folder / "narrowed.csv"
    assert (
        run("disambiguate", model, folder / "photos", "-c", folder / "labels.csv", "--out", out)
        == 0
    )
    truth = pd.read_csv(folder / "labels.csv").set_index("file")["truth"]
    found = pd.read_csv(out).set_index("file")["label"]
    assert found.index.tolist() == truth.index.tolist()
    assert (found == truth).mean() > 0.9


def test_all_photos_of_a_folder_are_predicted(folder: Path, model: Path) -> None:
    assert run("predict", model, folder / "photos", "--out", folder / "all.csv") == 0
    assert pd.read_csv(folder / "all.csv")["row"].tolist() == photos_in(folder / "photos")


def test_photos_are_on_the_page(folder: Path, model: Path) -> None:
    page, words = folder / "page.html", ["--ensemble", 0, "--rows", 5]
    labels = folder / "labels.csv"
    assert run("explain", model, folder / "photos", "-c", labels, "--html", page, *words) == 0
    assert page.read_text("utf-8").count("data:image/") == 5


def test_a_learner_of_scikit_learn_sees_rows_of_pixels(folder: Path) -> None:
    out, labels, words = (
        folder / "forest",
        folder / "labels.csv",
        ["--method", "logistic", "--size", 6],
    )
    assert run("fit", folder / "photos", "-c", labels, *words, "--quiet", "--out", out) == 0
    assert run("predict", out, folder / "photos", "--out", folder / "by logistic.csv") == 0
    assert len(pd.read_csv(folder / "by logistic.csv")) == N


def test_describe_counts_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("describe", folder / "photos", "-c", folder / "labels.csv") == 0
    assert "48 photos" in capsys.readouterr().out


def test_resnet_by_its_name(folder: Path) -> None:
    out, words = (
        folder / "resnet.amongst",
        ["--epochs", 1, "--model", "resnet18", "--size", 12, "--quiet"],
    )
    labels = folder / "labels.csv"
    assert run("fit", folder / "photos", "-c", labels, "-c", "colours", *words, "--out", out) == 0
    assert type(load(out).model_) is MODELS["resnet18"]


@pytest.mark.parametrize("words", [[], ["-c", "labels"], ["-c", "missing.csv"]])
def test_a_folder_needs_its_table(
    folder: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("fit", folder / "photos", *words, "--out", folder / "m") == 2
    assert "--candidates" in capsys.readouterr().err


def test_a_size_is_for_photos(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fit", folder / "labels.csv", "--size", 8, "--out", folder / "m") == 2
    assert "--size" in capsys.readouterr().err


def test_a_model_of_a_table_reads_no_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = folder / "table.csv", folder / "table.amongst"
    pd.DataFrame({"a": [1.0, 2, 3, 4] * 5, "y": ["p|q", "q", "p", "p"] * 5}).to_csv(
        table, index=False
    )
    assert run("fit", table, "-c", "y", "--method", "plknn", "--out", out, "--quiet") == 0
    assert run("predict", out, folder / "photos", "--out", folder / "no.csv") == 2
    assert not (folder / "no.csv").exists()


def test_every_network_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    run("fit", "--help")
    told = capsys.readouterr().out
    assert [name for name in MODELS if name not in told] == []


def test_sizes_of_photos(folder: Path) -> None:
    """Of several sizes: squares of 64; as asked for; and all their own, where they have one."""
    labels = folder / "labels.csv"
    options = {"candidates": "colours", "truth": "truth"}
    assert read_photos(folder / "photos", labels, **options).size == (64, 64)
    assert read_photos(folder / "photos", labels, size=(5, 7), **options).size == (5, 7)
    assert read_photos(folder / "photos" / "more").size == (64, 64)
    alone = folder / "alone"
    alone.mkdir()
    Image.new("RGB", (30, 20), "red").save(alone / "a.png")
    found = read_photos(alone)
    assert (found.size, found.index.tolist(), found.candidates) == ((20, 30), ["a.png"], None)
    assert (found.features[0, 0] == 255).all()


def test_folders_without_photos(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_photos(tmp_path)
    assert (caught.value.code, caught.value.argument) == ("no-images", "folder")
    with pytest.raises(DataNotFoundError):
        read_photos(
            folder / "photos" / "more", folder / "labels.csv", image="file", candidates="colours"
        )
