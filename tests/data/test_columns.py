"""Columns at the edge: where a warning starts and points, what a name may be, which labels meet."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from amongst.data import load_npz, read_table
from amongst.errors import AmongstWarning, FileFormatError, InputError


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("n", "said"), [(19, 0), (20, 1)])
def test_twenty_rows_in_order_are_hardly_chance(tmp_path: Path, n: int, said: int) -> None:
    path = write(tmp_path, "id,s\n" + "".join(f"{3 * row},a|b\n" for row in range(n)))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        read_table(path, candidates="s")
    assert ["seems to number the rows" in str(warning.message) for warning in told] == [True] * said


@pytest.mark.parametrize(
    ("name", "said"),
    [("id", 1), ("Patient ID", 1), ("sample_id", 1), ("siteId", 1), ("fluid", 0), ("BID", 0)],
)
def test_ids_in_any_order_are_told_by_their_name(tmp_path: Path, name: str, said: int) -> None:
    """Numbers of samples in no order were learnt from in silence."""
    ids = [7 * (row * 11 % 20) + 10**17 for row in range(20)]
    path = write(tmp_path, f"{name},s\n" + "".join(f"{number},a|b\n" for number in ids))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        read_table(path, candidates="s")
    assert [str(warning.message).split(": ", 1)[1] for warning in told] == [
        f"the column '{name}' sounds like an id, and is taken as a feature. If it is none, leave it "
        f"out: ignore='{name}'."
    ] * said


@pytest.mark.parametrize(
    ("name", "cells", "said"),
    [
        ("truth", "01", 1),
        ("True_Label", "23", 1),
        ("y", "01", 1),
        ("target", ["1.0", "2.0"], 1),
        ("y", ["0.25", "1"], 0),
        ("yaw", "01", 0),
        ("classes_taken", "12", 0),
    ],
)
def test_answers_amongst_the_features_are_told(
    tmp_path: Path, name: str, cells: Sequence[str], said: int
) -> None:
    """True labels that nobody named would be learnt from."""
    path = write(tmp_path, f"wing,{name},s\n0.5,{cells[0]},a|b\n1.5,{cells[1]},a\n")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        table = read_table(path, candidates="s")
        read_table(path, candidates="s", ignore=name)
        read_table(path, candidates="s", features=["wing", name])
    assert table.feature_names == ("wing", name)
    assert [
        f"column '{name}' sounds like the true labels" in str(warning.message) for warning in told
    ] == [True] * said
    assert [warning.filename for warning in told] == [__file__] * said


@pytest.mark.parametrize(("wrong", "full", "said"), [(0, 0, 1), (1, 0, 0), (0, 21, 0)])
def test_a_column_that_is_a_candidate_in_every_row_is_told(
    tmp_path: Path, wrong: int, full: int, said: int
) -> None:
    """True labels by another name; a set of all classes tells nothing of them."""
    truth = [row * 7 % 3 for row in range(40)]
    sets = ["0|1|2" if row < full else f"{y}|{(y + row % 2) % 3}" for row, y in enumerate(truth)]
    seen = [*truth[:-wrong], 5] if wrong else truth
    rows = [
        f"{row % 2}.5,{code},1,{s}\n" for row, (code, s) in enumerate(zip(seen, sets, strict=True))
    ]
    path = write(tmp_path, "wing,code,one,s\n" + "".join(rows))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        read_table(path, candidates="s")
        read_table(path, candidates="s", ignore="code")
        read_table(path, candidates="s", features=["wing", "code"])
    assert ["column 'code' is a candidate in every row" in str(w.message) for w in told] == [
        True
    ] * said
    assert [warning.filename for warning in told] == [__file__] * said


@pytest.mark.parametrize("header", [",f", "id,f"])
def test_a_warning_points_at_the_line_that_reads(tmp_path: Path, header: str) -> None:
    """And so, with Python's own filter, is shown once for each such line."""
    path = write(tmp_path, header + "\n" + "".join(f"{row},0.5\n" for row in range(20)))
    with pytest.warns(AmongstWarning) as told:
        read_table(path)
    assert [warning.filename for warning in told] == [__file__]


def test_a_first_column_of_names_without_a_name_is_told_as_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'Unnamed: 0' holds 'anna' in row 0"):
        read_table(write(tmp_path, ",f\nanna,0.5\nben,1.5\n"))


def test_numbers_written_as_text_are_told_from_their_first_row(tmp_path: Path) -> None:
    pd.DataFrame({"f": ["7"]}, dtype=object).to_parquet(tmp_path / "own.parquet")
    with pytest.raises(InputError, match=r"'f' holds '7' in row 0\. Encode them"):
        read_table(tmp_path / "own.parquet")


def test_a_column_may_be_called_by_a_number_but_not_by_nothing(tmp_path: Path) -> None:
    assert read_table(write(tmp_path, "1990,f\n1,2\n")).feature_names == ("1990", "f")
    with pytest.raises(FileFormatError, match="empty first line"):
        read_table(write(tmp_path, '" "," "\n1,2\n'))


@pytest.mark.parametrize(
    ("names", "where"), [("abc", "columns 'a', 'b', 'c'"), ("abcd", "columns 'a', 'b', 'c', …")]
)
def test_three_columns_of_labels_are_named(tmp_path: Path, names: str, where: str) -> None:
    path = write(tmp_path, f"f,{','.join(names)}\n1,{',' * (len(names) - 1)}\n")
    with pytest.raises(InputError) as caught:
        read_table(path, candidates=list(names))
    assert str(caught.value).startswith(f"candidates ({where}): ")


def test_one_column_of_zeros_and_ones_holds_labels(tmp_path: Path) -> None:
    """It is no mask of one class, and an empty cell of it no hole in a matrix."""
    path = write(tmp_path, "f,s\n1.5,0\n2.5,1\n3.5,\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_table(path, candidates="s", empty="full").candidates
        whole = read_table(write(tmp_path, "f,s\n1.5,0\n2.5,1\n"), candidates="s").candidates
    assert found is not None
    assert found.to_lists() == [[0], [1], [0, 1]]
    assert whole is not None
    assert whole.to_lists() == [[0], [1]]


@pytest.mark.parametrize("options", [{"classes": ["a/b", "c"]}, {"kind": "labels"}])
def test_a_label_that_was_asked_for_is_not_suspected(tmp_path: Path, options: dict) -> None:
    path = write(tmp_path, "f,s\n1.5,a/b\n2.5,c\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_table(path, candidates="s", **options).candidates
    assert found is not None
    assert found.to_lists() == [["a/b"], ["c"]]


def test_true_labels_are_text_where_the_classes_are(tmp_path: Path) -> None:
    path = write(tmp_path, "f,s,t\n1,1|2,1\n2,2,2\n")
    table = read_table(path, candidates="s", truth="t", classes=["1", "2", "3x"])
    assert table.truth is not None
    assert table.truth.tolist() == ["1", "2"]


def test_an_archive_of_features_alone_has_no_candidates(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", X=np.eye(2))
    table = load_npz(tmp_path / "own.npz")
    assert table.candidates is None
    assert table.truth is None
    assert table.features.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("argument", ["candidates", "truth", "features", "index", "ignore"])
def test_a_column_that_is_not_there_is_told_with_its_argument(
    tmp_path: Path, argument: str
) -> None:
    path = write(tmp_path, "f,g,s\n1,2,a|b\n")
    options: dict = {"candidates": "s", argument: ["h"] if argument == "ignore" else "h"}
    with pytest.raises(
        InputError, match=rf"^{argument}: .* has no column 'h'.* Its columns: f, g, s\.$"
    ):
        read_table(path, **options)


@pytest.mark.parametrize(("count", "more"), [(5, ";"), (6, ", … (6 in all);")])
def test_five_columns_of_text_are_named(tmp_path: Path, count: int, more: str) -> None:
    names = "abcdef"[:count]
    path = write(tmp_path, ",".join(names) + "\n" + ",".join("x" * count) + "\n")
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert f"not numeric: 'a', 'b', 'c', 'd', 'e'{more} 'a' holds 'x'" in str(caught.value)


@pytest.mark.parametrize(("count", "more"), [(12, "."), (13, ", … (13 in all).")])
def test_twelve_columns_are_listed(tmp_path: Path, count: int, more: str) -> None:
    names = "abcdefghijklm"[:count]
    path = write(tmp_path, ",".join(names) + "\n" + ",".join("1" * count) + "\n")
    with pytest.raises(InputError) as caught:
        read_table(path, truth="zzz")
    assert str(caught.value).endswith(f"Its columns: a, b, c, d, e, f, g, h, i, j, k, l{more}")


@pytest.mark.parametrize(("cells", "said"), [("rst", True), ("rsr", False), ("r12", False)])
def test_text_that_differs_in_every_row_may_name_the_rows(
    tmp_path: Path, cells: str, said: bool
) -> None:
    """As the names of rows that R writes into a first column without a name."""
    path = write(tmp_path, '"",wing,s\n' + "".join(f"{cell},1.5,a|b\n" for cell in cells))
    with pytest.raises(InputError, match=f"'Unnamed: 0' holds {cells[0]!r} in row 0") as told:
        read_table(path, candidates="s")
    hint = "if 'Unnamed: 0' names the rows, pass index='Unnamed: 0'."
    assert (hint in str(told.value)) == said
    table = read_table(path, candidates="s", index="Unnamed: 0")
    assert table.index.tolist() == list(cells)
