"""Files of raters' answers, made here: votes, texts, a damaged file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from amongst.bench.sources import _plain
from amongst.data.catalogue import Entry, File
from amongst.data.loading import load_entry
from amongst.errors import FileFormatError

FILES = ("train.txt", "test.txt", "truth_train.txt", "truth_test.txt", "answers.txt")


def made(folder: Path, answers: str) -> Entry:
    texts = ("good film\nbad\n", "so, so\n", "0\n1\n", "1\n", answers)
    for name, text in zip(FILES, texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    return Entry(
        "own",
        title="own",
        layout="crowd",
        n_train=2,
        n_test=1,
        row=(),
        n_classes=2,
        mean_size=1.5,
        truth_inside=1.0,
        scaling="none",
        licence="own",
        citation="own",
        source="own",
        used_for="own",
        folders=("",),
        files=tuple(File(name, None) for name in FILES),
    )


def test_votes_and_texts(home: Path) -> None:
    found = load_entry(made(home / "data", "0 0 1\n-1 1 -1\n"), check=False)
    assert found.features.tolist() == ["good film", "bad", "so, so"]
    assert found.candidates is not None
    np.testing.assert_allclose(found.candidates.prior, [[2 / 3, 1 / 3], [0, 1]])
    assert found.candidates.answers is not None
    assert found.candidates.answers.codes.tolist() == [[0, 0, 1], [-1, 1, -1]]
    plain = _plain(found)
    assert plain.candidates is not None
    assert plain.candidates.weights is None
    assert plain.digest != found.digest


def test_a_damaged_file_is_named(home: Path) -> None:
    entry = made(home / "data", "0 0 x\n-1 1 -1\n")
    with pytest.raises(FileFormatError, match="own"):
        load_entry(entry, check=False)
