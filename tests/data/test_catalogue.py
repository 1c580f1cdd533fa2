"""The catalogue states what it must, and datasets are frozen values with a digest."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from amongst import as_candidates
from amongst.candidates import uniform
from amongst.data import CATALOGUE, Dataset, Entry, digest, entry, load, names
from amongst.data.loading import READERS, check_against
from amongst.errors import FileFormatError, InputError

ASKED_FOR = {
    "digits": (1797, 0, 64, 10, None),
    "mnist": (60_000, 10_000, 784, 10, None),
    "fashion_mnist": (60_000, 10_000, 784, 10, None),
    "kmnist": (60_000, 10_000, 784, 10, None),
    "cifar10": (50_000, 10_000, 3072, 10, None),
    "lost": (1122, 0, 108, 16, 2.23),
    "msrcv2": (1758, 0, 48, 23, 3.16),
    "birdsong": (4998, 0, 38, 13, 2.18),
    "soccer_player": (17_472, 0, 279, 171, 2.09),
    "yahoo_news": (22_991, 0, 163, 219, 1.91),
    "fgnet": (1002, 0, 262, 78, 7.48),
    "cifar10n": (50_000, 10_000, 3072, 10, 1.46),
    "labelme": (1000, 1188, 512, 8, 1.36),
    "sentiment": (4999, 3999, 1, 2, 1.62),
}


@pytest.mark.parametrize("name", ASKED_FOR)
def test_the_numbers_of_the_specification(name: str) -> None:
    found = entry(name)
    numbers = (found.n_train, found.n_test, found.d, found.n_classes, found.mean_size)
    assert numbers == ASKED_FOR[name]


@pytest.mark.parametrize("found", CATALOGUE, ids=lambda found: found.name)
def test_every_entry_states_everything(found: Entry) -> None:
    for text in (found.title, found.licence, found.citation, found.source, found.used_for):
        assert text.strip()
    assert found.layout in READERS
    assert found.files or found.layout == "embedded"
    for file in found.files:
        if file.sha256 is None:
            assert found.note, "an entry without a checksum says why"
        else:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        for url in file.urls:
            assert url.startswith(("https://", "http://"))


def test_no_file_is_listed_twice() -> None:
    hashes = [file.sha256 for found in CATALOGUE for file in found.files if file.sha256]
    assert len(set(hashes)) == len(hashes)


def test_names_are_unique_and_classes_named_once() -> None:
    assert len({*names()}) == len(CATALOGUE)
    assert all(len({*e.names_of_classes}) == e.n_classes for e in CATALOGUE)


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean 'mnist'"):
        load("minst")
    assert "cifar10" in names()


def test_digits_need_no_file() -> None:
    digits = load("digits", download=False)
    assert digits.features.dtype == np.uint8
    assert np.bincount(digits.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    part = digits.rows(np.arange(10) < 3)
    assert len(part) == 3
    with pytest.raises(InputError, match="no official test part"):
        _ = digits.test
    with pytest.raises(FrozenInstanceError):
        digits.name = "other"  # type: ignore[misc]


def small(**changes: object) -> Dataset:
    labels = np.arange(6) % 3
    data = Dataset(
        "own", np.eye(6), labels, uniform(labels, 0.5, seed=0), 4, ("a", "b", "c"), "none"
    )
    return replace(data, **changes)  # type: ignore[arg-type]


def test_the_digest_changes_with_the_content_and_with_nothing_else() -> None:
    assert digest(small()) == digest(small(name="renamed", scaling="standard"))
    other = [
        small(features=np.eye(6) + 1),
        small(features=np.eye(6, dtype=np.float32)),
        small(labels=np.zeros(6, dtype=np.int64)),
        small(n_train=None),
        small(candidates=None),
        small(candidates=as_candidates(np.eye(3)[np.arange(6) % 3], classes=range(3))),
    ]
    assert len({digest(small()), *map(digest, other)}) == len(other) + 1


def test_rows_beyond_the_training_part_have_no_candidates() -> None:
    data = small(candidates=uniform(np.arange(4) % 3, 0.5, classes=range(3), seed=0))
    assert data.train.candidates is data.candidates
    assert data.test.candidates is None
    assert data.rows([0, 1]).candidates is not None
    assert data.rows([0, 5]).candidates is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_train": 7}, "rows: expected 7, found 6"),
        ({"row": (5,)}, r"features of a row: expected \(5,\), found \(6,\)"),
        ({"n_classes": 2}, "label 2 where K = 2"),
        ({"mean_size": None}, "candidate sets: expected False, found True"),
        ({"mean_size": 2.99}, "mean candidates"),
        ({"truth_inside": 0.5}, "share of true labels inside: expected 0.5, found 1.0"),
    ],
)
def test_what_is_loaded_is_compared_with_the_entry(changes: dict, message: str) -> None:
    data = small(n_train=None)
    assert data.candidates is not None
    size = round(float(data.candidates.sizes.mean()), 2)
    right = replace(entry("lost"), n_train=6, row=(6,), n_classes=3, mean_size=size)
    check_against(right, data)
    with pytest.raises(FileFormatError, match=message):
        check_against(replace(right, **changes), data)
