"""MATLAB files: both versions, dense and sparse, either orientation, and what can be wrong."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import scipy
import scipy.io
import scipy.sparse as sp

from amongst.data import Entry, load_mat, matlab, read_table
from amongst.data.arrays import open_mat
from amongst.data.loading import load_entry
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


BAD: dict[str, tuple[dict[str, Any], str, str, int | None]] = {
    "no candidates": (broken(partial_target=None), "no-array", "holds: data, target", None),
    "no features": (broken(data=None), "no-array", "features='data' is not in", None),
    "no truth": (broken(target=None), "no-array", "truth='target' is not in", None),
    "lengths": (
        broken(partial_target=np.ones((K, N + 1))),
        "lengths",
        f"{K} × {N + 1} in .* but there are {N}",
        None,
    ),
    "not 0/1": (broken(partial_target=np.full((K, N), 2.0)), "not-binary", "holds 2.0", None),
    "truth not 0/1": (broken(target=np.full((K, N), 2.0)), "not-binary", "0 and 1 only", None),
    "truth of nothing": (broken(target=np.zeros((N, 2, 0))), "not-binary", "0 and 1 only", None),
    "empty set": (
        broken(partial_target=none_in(5, "partial_target")),
        "empty-set",
        "is an empty",
        5,
    ),
    "no true label": (broken(target=none_in(4, "target")), "true-labels", "gives row 4 0 true", 4),
    "NaN": (broken(data=not_finite()), "not-finite", "column 'x1' is empty", 2),
    "text": (broken(data=np.array(["words"])), "shape", "must be numeric", None),
}


@pytest.mark.parametrize(("arrays", "code", "message", "row"), BAD.values(), ids=BAD.keys())
def test_bad_files(
    tmp_path: Path, arrays: dict[str, Any], code: str, message: str, row: int | None
) -> None:
    path = tmp_path / "x.mat"
    write_v5(path, arrays)
    with pytest.raises(FileFormatError, match=message) as caught:
        load_mat(path)
    assert (caught.value.code, caught.value.at) == (code, row)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("write", [write_v5, write_v73])
@pytest.mark.parametrize("side", [0, 1])
def test_true_labels_may_be_one_for_each_row(
    tmp_path: Path, write: Callable[[Path, dict[str, Any]], None], side: int
) -> None:
    """They had to be a 0/1 matrix, as they need not be in an NPZ file."""
    arrays: dict[str, Any] = contents()
    codes = arrays.pop("target").argmax(axis=0)
    path = tmp_path / "x.mat"
    write(path, {**arrays, "y": np.expand_dims(codes, side)})
    np.testing.assert_array_equal(read_table(path, truth="y").truth, codes)


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
    with pytest.raises(FileFormatError, match="is an empty candidate set"):
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
        open_mat(path)


def test_every_damaged_byte_is_an_answer_or_one_line(tmp_path: Path) -> None:
    """Read in this process, SciPy ended it at some of these: `exit 139`."""
    path = tmp_path / "x.mat"
    write_v5(path, {"data": np.eye(3), "partial_target": sp.csc_matrix(np.eye(3))})
    sound = path.read_bytes()
    crashed = 0
    for place in (177, 301, 321, 345, 369):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 33]) + sound[place + 1 :])
        with pytest.raises(FileFormatError) as caught:
            read_table(path)
        assert caught.value.code == "unreadable"
        crashed += "crashed" in str(caught.value)
    assert crashed or scipy.__version__ > "1.17", "SciPy crashes on none of these any more"


@pytest.mark.parametrize("write", [write_v5, write_v73])
@pytest.mark.parametrize("part", ["indices", "indptr"])
def test_a_sparse_matrix_whose_indices_leave_its_shape(
    tmp_path: Path, write: Callable[[Path, dict[str, Any]], None], part: str
) -> None:
    """It was an answer, or the end of the process."""
    path = tmp_path / "x.mat"
    mask = sp.csc_matrix(contents()["partial_target"])
    write(path, contents() | {"partial_target": mask})
    for long in (np.uint64, np.int32):
        sound = getattr(mask, part).astype(long)
        odd = sound.copy()
        odd[2] = 1_000_000
        path.write_bytes(path.read_bytes().replace(sound.tobytes(), odd.tobytes()))
    with pytest.raises(FileFormatError) as caught:
        load_mat(path)
    assert caught.value.code == "unreadable"


@pytest.mark.parametrize("write", [write_v5, write_v73])
def test_rows_that_only_a_sparse_matrix_has_are_counted_before_it_is_made_dense(
    tmp_path: Path, write: Callable[[Path, dict[str, Any]], None]
) -> None:
    """A file of 300 bytes took gigabytes, or said that it was too large."""
    path = tmp_path / "x.mat"
    write(path, contents() | {"data": sp.csc_matrix((2**31 - 1, 64))})
    with pytest.raises(FileFormatError, match=r"4 × 12 .* 2147483647 rows"):
        load_mat(path)


def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next file is read by a process of its own, with the limits that hold then."""
    monkeypatch.setattr(matlab, "_READERS", [])


def test_a_reader_that_ended_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of itself, as it does when nobody asks; in a forked process it is another's."""
    path = tmp_path / "x.mat"
    write_v5(path, contents())
    anew(monkeypatch)
    open_mat(path)
    (first,) = matlab._READERS
    open_mat(path)
    assert [first] == matlab._READERS, "one process reads many files"
    first.process.kill()
    first.process.wait()
    assert open_mat(path).names == tuple(contents())
    (second,) = matlab._READERS
    if not (child := os.fork()):
        os._exit(len(matlab._READERS))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "its pipes are the parent's"
    assert second.end() < 0


def test_a_file_that_needs_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.mat"
    write_v5(path, {"data": np.zeros((1000, 1000))})
    anew(monkeypatch)
    monkeypatch.setattr(matlab, "_memory", lambda: 0)
    monkeypatch.setattr(matlab, "BESIDE", 1 << 27)
    with pytest.raises(FileFormatError) as caught:
        load_mat(path)
    assert caught.value.code == "unreadable"
    write_v73(path, {"data": np.ones((3, 2)), "partial_target": sp.csc_matrix((2**40, 3))})
    monkeypatch.undo()
    with pytest.raises(FileFormatError) as caught:
        read_table(path)
    assert caught.value.code == "memory"


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel")
def test_reading_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    anew(monkeypatch)
    write_v5(tmp_path / "x.mat", contents())
    open_mat(tmp_path / "x.mat")
    limits = [resource.RLIMIT_AS, resource.RLIMIT_CPU]
    (reader,) = matlab._READERS
    assert all(resource.prlimit(reader.process.pid, one)[0] > 0 for one in limits)
    assert "too long" in matlab._how_it_ended(-signal.SIGXCPU)
