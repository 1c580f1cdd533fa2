"""CIFAR-10N: the official torch file and the npz hold the same labels; nothing else is admitted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from amongst.data import cifar, entry
from amongst.data.cifar import read_human_labels
from amongst.data.loading import load_entry
from amongst.errors import DataNotFoundError, FileFormatError

N = 40


def labels() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    keys = ("clean_label", "aggre_label", "worse_label", *cifar.VOTES)
    return {key: rng.integers(0, 10, N) for key in keys}


@pytest.mark.parametrize("new_format", [True, False])
@pytest.mark.parametrize("tensors", [True, False])
def test_torch_file_of_arrays_or_tensors(tmp_path: Path, new_format: bool, tensors: bool) -> None:
    stored: dict[str, Any] = labels()
    if tensors:
        stored = {key: torch.from_numpy(value) for key, value in stored.items()}
    path = tmp_path / "CIFAR-10_human.pt"
    torch.save(stored, path, _use_new_zipfile_serialization=new_format)
    found = read_human_labels(path, N)
    for key in cifar.KEYS:
        np.testing.assert_array_equal(found[key], labels()[key])


def test_npz_reads_alike(tmp_path: Path) -> None:
    path = tmp_path / "cifar10n.npz"
    np.savez(path, **labels())
    np.testing.assert_array_equal(
        read_human_labels(path, N)["clean_label"], labels()["clean_label"]
    )


class Runs:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_a_malicious_torch_file_runs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "CIFAR-10_human.pt"
    trap = tmp_path / "trap"
    torch.save(labels() | {"clean_label": Runs(trap)}, path)
    with pytest.raises(FileFormatError, match="cannot be read as a torch file"):
        read_human_labels(path, N)
    assert not trap.exists()


def test_damaged_or_incomplete_files(tmp_path: Path) -> None:
    path = tmp_path / "CIFAR-10_human.pt"
    path.write_bytes(b"not a torch file")
    with pytest.raises(FileFormatError):
        read_human_labels(path, N)
    torch.save(labels(), path, _use_new_zipfile_serialization=False)
    path.write_bytes(path.read_bytes().replace(b"clean_label", b"clean_\xffabel"))
    with pytest.raises(FileFormatError, match="cannot be read as a torch file"):
        read_human_labels(path, N)
    short = labels()
    del short["random_label2"]
    torch.save(short, path)
    with pytest.raises(FileFormatError, match="no key 'random_label2'"):
        read_human_labels(path, N)
    torch.save(labels(), path)
    with pytest.raises(FileFormatError, match="does not hold 41 labels"):
        read_human_labels(path, N + 1)


def test_other_labels_have_another_checksum(tmp_path: Path) -> None:
    path = tmp_path / "cifar10n.npz"
    np.savez(path, **labels())
    human = read_human_labels(path, N)
    with pytest.raises(FileFormatError, match="wrong checksum"):
        cifar._check_human(path, human)


def test_missing_images_are_what_is_said_to_be_missing(
    home: Path,
) -> None:
    (home / "data" / "cifar10").mkdir()
    stored = {key: np.zeros(50_000, np.uint8) for key in cifar.KEYS}
    np.savez(home / "data" / "cifar10" / "cifar10n.npz", **stored)
    with pytest.raises(DataNotFoundError, match=r"^cifar10: cifar-10-python.tar.gz is not in"):
        load_entry(entry("cifar10n"), check=False)


def test_the_entry_states_that_the_truth_is_missing_for_2_1_percent() -> None:
    assert round(100 * (1 - entry("cifar10n").truth_inside), 1) == 2.1
