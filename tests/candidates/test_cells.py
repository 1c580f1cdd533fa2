"""Tables of cells: each different cell is read once, and the answer is that of reading them all."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amongst import as_candidates
from amongst.candidates import cells, convert
from amongst.candidates.cells import read_cell, whole, zeros_and_ones
from amongst.candidates.convert import from_columns
from amongst.errors import InputError


def one_by_one(table: pd.DataFrame) -> list[set[Any]]:
    """The slow way: every cell of every row by itself."""
    rows = table.to_numpy(dtype=object).tolist()
    return [{whole(label) for cell in row for label in read_cell(cell)} for row in rows]


def test_each_different_cell_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []

    def noting(cell: Any, *args: Any, **options: Any) -> list[Any]:
        read.append(cell)
        return read_cell(cell, *args, **options)

    monkeypatch.setattr(convert, "read_cell", noting)
    names = np.array(["ant|bee", "bee", None], dtype=object)
    votes = pd.DataFrame(np.random.default_rng(0).choice(names[:2], (500, 3)), dtype=object)
    votes.iloc[::7, 1] = None
    assert as_candidates(votes).to_sets() == one_by_one(votes)
    assert sorted(read) == ["ant|bee", "bee"]
    read.clear()
    as_candidates(["ant|bee", "bee"] * 50)
    as_candidates(np.array([3, 5] * 50, dtype=object))
    assert sorted(map(str, read)) == ["[3]", "[5]", "ant|bee", "bee"]


CELL = st.one_of(
    st.none(),
    st.just(float("nan")),
    st.booleans(),
    st.integers(0, 3),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from(["a", "b|a", "['c']", "", "1", "True"]),
    st.dates(datetime.date(2020, 1, 1), datetime.date(2020, 1, 3)),
    st.lists(st.sampled_from("ab"), max_size=2),
)


@given(st.lists(st.tuples(st.just("x"), CELL, CELL), min_size=1, max_size=6))
def test_any_mixture_reads_as_cell_by_cell(rows: list[tuple[Any, ...]]) -> None:
    table = pd.DataFrame(rows, columns=["p", "q", "r"], dtype=object)
    assert as_candidates(table, kind="annotators").to_sets() == one_by_one(table)


def test_true_one_and_one_as_text_stay_apart() -> None:
    found = cells.different_cells(np.array([[True, 1, 1.0, "1"]], dtype=object))
    assert list(map(repr, found.different)) == ["True", "1", "1.0", "'1'"]
    frame = pd.DataFrame({"p": [True, True], "q": [1, 1], "r": ["x", "y"]})
    sets = from_columns(frame, kind="annotators")
    assert sets.to_lists() == [["1", "True", "x"], ["1", "True", "y"]]


def test_missing_cells_hold_nothing() -> None:
    empty = [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), ""]
    table = pd.DataFrame({"p": ["a"] * len(empty), "q": empty}, dtype=object)
    assert as_candidates(table).to_sets() == [{"a"}] * len(empty)
    with pytest.raises(InputError, match=r"y\[0\] is an empty candidate set"):
        as_candidates(pd.DataFrame({"p": [None], "q": [None]}), kind="annotators")


def test_an_error_names_the_first_row_of_its_cell() -> None:
    table = pd.DataFrame({"p": ["a", "b", "[x", "[x]", "[x]"], "q": "b"})
    with pytest.raises(InputError, match=r"y\[3\] holds '\[x\]'"):
        as_candidates(table)
    with pytest.raises(InputError, match=r"y\[2\] contains the label '\[x'"):
        as_candidates(table[:3], classes=["a", "b"])


def test_a_mask_is_told_by_its_first_other_cell() -> None:
    seen: list[Any] = []

    class Cell(str):
        def strip(self, *_: Any) -> str:  # type: ignore[override]
            seen.append(self)
            return str(self)

    table = np.array([[Cell("True"), Cell("owl")], [Cell("1"), Cell("1")]], dtype=object)
    assert zeros_and_ones(table) is None
    assert seen == ["True", "owl"]


@pytest.mark.parametrize(("item", "remedy"), [(None, "Leave it out"), ([1], "Make it a string")])
def test_what_cannot_be_a_label_has_a_remedy(item: object, remedy: str) -> None:
    with pytest.raises(
        InputError, match=rf"y\[3\] contains .*, which cannot be a label: .*\. {remedy}"
    ):
        read_cell(["owl", item], row=3)


@pytest.mark.parametrize("odd", [["a"], {}, None, float("nan")])
def test_what_is_no_name_names_no_class(odd: object) -> None:
    with pytest.raises(InputError) as told:
        as_candidates(["a"], classes=["a", odd])
    assert (told.value.code, told.value.argument) == ("no-label", "classes")
