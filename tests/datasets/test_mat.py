"""MATLAB files: both versions, dense and sparse, either orientation, and what can be wrong."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from amongst.datasets import Entry, load_mat, read_table
from amongst.datasets.loading import load_entry
from amongst.datasets.mat import read_mat
from amongst.errors import FileFormatError, InputError, MissingDependencyError

N, D, K = 12, 5, 4


def contents(n: int = N, d: int = D, k: int = K) -> dict[str, np.ndarray]:
    """n×d features, and K×n matrices of labels, as the field keeps them."""
    rng = np.random.default_rng(1)
    truth = np.arange(n) % k
    mask = rng.random((n, k)) < 0.3
    mask[np.arange(n), truth] = True
    target = np.eye(k)[truth]
    return {"data": rng.normal(size=(n, d)), "partial_target": mask.T * 1.0, "target": target.T}


def write_v5(path: Path, arrays: dict[str, Any]) -> None:
    scipy.io.savemat(path, arrays)


def write_v73(path: Path, arrays: dict[str, Any]) -> None:
    """As MATLAB does: its header in front, matrices transposed, sparse ones as a group."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            if sp.issparse(array):
                group = file.create_group(name)
                group.attrs["MATLAB_class"] = np.bytes_("double")
                group.attrs["MATLAB_sparse"] = np.uint64(array.shape[0])
                group["jc"] = array.tocsc().indptr.astype(np.uint64)
                if array.nnz:
                    group["data"] = array.tocsc().data
                    group["ir"] = array.tocsc().indices.astype(np.uint64)
            else:
                stored = file.create_dataset(name, data=np.asarray(array).T)
                stored.attrs["MATLAB_class"] = np.bytes_("double")
        file.create_group("#refs#")
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


@pytest.mark.parametrize("write", [write_v5, write_v73])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("by_rows", [False, True])
def test_every_layout_reads_alike(
    tmp_path: Path, write: Callable[[Path, dict[str, Any]], None], sparse: bool, by_rows: bool
) -> None:
    arrays = contents()
    stored: dict[str, Any] = dict(arrays)
    for key in ("partial_target", "target"):
        stored[key] = arrays[key].T if by_rows else arrays[key]
        stored[key] = sp.csc_matrix(stored[key]) if sparse else stored[key]
    path = tmp_path / "x.mat"
    write(path, stored)
    for table in (load_mat(path), read_table(path)):
        np.testing.assert_array_equal(table.features, arrays["data"])
        assert table.candidates is not None
        np.testing.assert_array_equal(table.candidates.mask, arrays["partial_target"].T == 1)
        np.testing.assert_array_equal(table.truth, arrays["target"].argmax(axis=0))


@pytest.mark.parametrize(
    ("name", "sparse", "file_name"),
    [("soccer_player", False, "Soccer Player.mat"), ("yahoo_news", True, "yahoo_news.mat")],
)
def test_the_layouts_of_soccer_player_and_yahoo_news(
    home: Path,
    small_table_entry: Callable[..., Entry],
    name: str,
    sparse: bool,
    file_name: str,
) -> None:
    """Soccer Player keeps its labels dense, Yahoo! News sparse; both K×n, features raw."""
    arrays: dict[str, Any] = contents(n=60, d=7, k=9)
    size = round(float(arrays["partial_target"].sum() / 60), 2)
    entry = small_table_entry(name, n_train=60, row=(7,), n_classes=9, mean_size=size)
    stored = {
        key: sp.csc_matrix(value) if sparse and key != "data" else value
        for key, value in arrays.items()
    }
    (home / "data" / "pll").mkdir()
    write_v5(home / "data" / "pll" / file_name, stored)
    data = load_entry(entry)
    assert data.candidates is not None
    np.testing.assert_array_equal(data.candidates.mask, arrays["partial_target"].T == 1)
    np.testing.assert_array_equal(data.labels, arrays["target"].argmax(axis=0))
    assert data.n_train is None
    wrong = small_table_entry(name, n_train=60, row=(7,), n_classes=9, mean_size=size + 0.1)
    with pytest.raises(FileFormatError, match="mean candidates: expected"):
        load_entry(wrong)


def broken(**changes: Any) -> dict[str, Any]:
    arrays: dict[str, Any] = contents() | changes
    return {key: value for key, value in arrays.items() if value is not None}


def outside() -> np.ndarray:
    mask = contents()["partial_target"].copy()
    mask[:, 3] = [1, 1, 1, 0]  # row 3 has true label 3
    return mask


def none_in(row: int, key: str) -> np.ndarray:
    mask = contents()[key].copy()
    mask[:, row] = 0
    return mask


def not_finite() -> np.ndarray:
    data = contents()["data"].copy()
    data[2, 1] = np.nan
    return data


BAD = {
    "no candidates": (broken(partial_target=None), "no key 'partial_target'.*holds: data, target"),
    "no features": (broken(data=None), "no key 'data'"),
    "no truth": (broken(target=None), "no key 'target'"),
    "lengths": (broken(partial_target=np.ones((K, N + 1))), f"{K} × {N + 1}, but there are {N}"),
    "not 0/1": (broken(partial_target=np.full((K, N), 2.0)), "must hold 0 and 1 only"),
    "empty set": (broken(partial_target=none_in(5, "partial_target")), "row 5 no candidate"),
    "no true label": (broken(target=none_in(4, "target")), "row 4 0 true labels"),
    "NaN": (broken(data=not_finite()), "holds nan in row 2, column 1"),
    "text": (broken(data=np.array(["words"])), "not a numeric matrix"),
}


@pytest.mark.parametrize(("arrays", "message"), BAD.values(), ids=BAD.keys())
def test_bad_files(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    path = tmp_path / "x.mat"
    write_v5(path, arrays)
    with pytest.raises(FileFormatError, match=message) as caught:
        load_mat(path)
    assert "\n" not in str(caught.value)


def test_true_label_outside_its_set(
    tmp_path: Path, home: Path, small_table_entry: Callable[..., Entry]
) -> None:
    path = tmp_path / "x.mat"
    write_v5(path, broken(partial_target=outside()))
    with pytest.raises(InputError, match=r"row 3 has the true label 3.*not among"):
        load_mat(path)
    assert load_mat(path, outside="keep").truth is not None
    (home / "data" / "pll").mkdir()
    write_v5(home / "data" / "pll" / "lost.mat", broken(partial_target=outside()))
    entry = small_table_entry("lost", n_train=N, row=(D,), n_classes=K)
    with pytest.raises(FileFormatError, match="row 3 has the true label 3"):
        load_entry(entry)


def test_without_candidates_a_table_can_still_be_read(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    write_v5(path, {"data": np.eye(3), "fea": np.ones((3, 2))})
    assert read_table(path).candidates is None
    assert read_table(path, features="fea").features.shape == (3, 2)


def test_classes_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    write_v5(path, contents())
    table = read_table(path, classes=["a", "b", "c", "d"])
    assert table.candidates is not None
    assert table.candidates.classes.tolist() == ["a", "b", "c", "d"]
    assert table.truth is not None
    assert table.truth[:5].tolist() == ["a", "b", "c", "d", "a"]


def test_all_zero_sparse_matrix_of_v73(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    write_v73(path, broken(partial_target=sp.csc_matrix((K, N))))
    with pytest.raises(FileFormatError, match="row 0 no candidate"):
        load_mat(path)


def test_truncated_file(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    write_v5(path, contents())
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(FileFormatError):
        load_mat(path)


def test_without_h5py_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new.mat"
    write_v73(path, {"data": np.eye(3)})
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingDependencyError, match=r"^reading MATLAB 7\.3 .*amongst\[data\]"):
        read_mat(path)
