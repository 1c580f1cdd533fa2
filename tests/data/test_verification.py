"""Verification reports what is sound, absent and wrong, and touches nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from amongst.data import Entry, loading, places, verify
from amongst.errors import InputError, MissingDependencyError

Small = tuple[Entry, Path, dict[str, np.ndarray]]


def states(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    monkeypatch.setattr(loading, "catalogue_entry", lambda _: entry)
    return [(check.what, check.state) for check in verify(entry.name)]


def test_sound_files(small_mnist: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, _, _ = small_mnist
    found = states(entry, monkeypatch)
    assert [state for _, state in found] == ["ok"] * 5
    assert found[-1][0] == "content"


def test_an_absent_file(small_mnist: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, folder, _ = small_mnist
    (folder / entry.files[1].name).unlink()
    assert states(entry, monkeypatch) == [
        (entry.files[0].name, "ok"),
        (entry.files[1].name, "absent"),
        (entry.files[2].name, "ok"),
        (entry.files[3].name, "ok"),
    ]


def test_a_damaged_file_is_wrong_and_stays(
    small_mnist: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, folder, _ = small_mnist
    path = folder / entry.files[0].name
    raw = path.read_bytes()[:-3]
    path.write_bytes(raw)
    found = dict(states(entry, monkeypatch))
    assert found[entry.files[0].name] == "wrong"
    assert found["content"] == "wrong"
    assert path.read_bytes() == raw


def test_nothing_here(home: Path) -> None:
    for name in ("mnist", "cifar10", "cifar10n", "lost", "usps"):
        assert {check.state for check in verify(name)} == {"absent"}


def test_human_labels_without_their_images(home: Path) -> None:
    (home / "data" / "cifar10n.npz").write_bytes(b"labels")
    assert [(check.what, check.state) for check in verify("cifar10n")] == [
        ("cifar10n.npz", "ok"),
        ("images", "absent"),
    ]


def test_unknown_name() -> None:
    with pytest.raises(InputError, match="unknown"):
        verify("lots")


def test_a_missing_package_makes_no_data_wrong(
    small_mnist: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MissingDependencyError("needs the package 'pillow'")

    monkeypatch.setattr(loading, "load_entry", refuse)
    assert states(small_mnist[0], monkeypatch)[-1] == ("content", "unread")


def test_a_file_that_cannot_be_opened_is_wrong_and_the_rest_is_verified(
    small_mnist: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, folder, _ = small_mnist
    closed, opened = folder / entry.files[0].name, Path.open

    def refuse(path: Path, *options: Any, **more: Any) -> Any:
        if path == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *options, **more)

    monkeypatch.setattr(Path, "open", refuse)
    assert [state for _, state in states(entry, monkeypatch)] == [
        "wrong",
        "ok",
        "ok",
        "ok",
        "wrong",
    ]


def test_where_there_is_no_folder_the_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "roots", list)
    (check,) = verify("lost")
    assert "lost.mat is not in any folder (AMONGST_DATA is not set)" in check.detail
