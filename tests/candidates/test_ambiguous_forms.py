"""Forms that could be read in two ways: each is read in the right one, or is said."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from amongst import as_candidates
from amongst.candidates import uniform
from amongst.errors import AmongstWarning, InputError

MASK = pd.DataFrame({"b": [1, 0], "a": [0, 1], "c": [1, 1]})


@pytest.mark.parametrize("columns", [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]])
def test_columns_of_a_mask_are_found_by_name(columns: list[str]) -> None:
    sets = as_candidates(MASK[columns], classes=["a", "b", "c"])
    assert sets.to_lists() == [["b", "c"], ["a", "c"]]


def test_a_mask_may_lack_classes_but_not_name_others() -> None:
    assert as_candidates(MASK[["c", "a"]], classes=["a", "b", "c"]).to_lists() == [
        ["c"],
        ["a", "c"],
    ]
    with pytest.raises(ValueError, match="'b', which is none of the classes"):
        as_candidates(MASK, classes=["a", "c", "d"])


@pytest.mark.parametrize("columns", [["p", "q", "r"], pd.RangeIndex(3)])
def test_columns_that_name_no_class_count_in_their_order(columns: Any) -> None:
    mask = MASK.set_axis(columns, axis=1)
    assert as_candidates(mask, classes=[2, 0, 1]).to_lists() == [[2, 1], [0, 1]]


def test_what_is_masked_in_an_array_is_missing() -> None:
    votes = np.ma.array([[0, 5], [2, 3]], mask=[[0, 1], [0, 0]])
    assert as_candidates(votes).to_lists() == [[0], [2, 3]]
    labels = np.ma.array([0, 1, 2], mask=[0, 1, 0])
    assert as_candidates(labels, empty="full").to_lists() == [[0], [0, 2], [2]]


@pytest.mark.parametrize(
    "table",
    [
        np.array([[1.0, np.nan], [0.0, 1.0]]),
        pd.DataFrame({"a": [1, None], "b": [0, 1]}),
        pd.DataFrame({"a": [True, pd.NA], "b": [False, True]}, dtype="boolean"),
    ],
)
def test_a_mask_with_a_hole_is_not_taken_for_votes_in_silence(table: Any) -> None:
    with pytest.warns(AmongstWarning, match="If it is a 0/1 matrix.*fill in the empty cells"):
        as_candidates(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_candidates(table, kind="annotators").n_classes == 2


def test_a_mask_is_not_the_array_it_came_from() -> None:
    mask = np.eye(3, dtype=bool)
    sets = as_candidates(mask)
    mask[:] = True
    assert sets.sizes.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "rows",
    [
        [range(2), range(2, 4)],
        [pd.Series([0, 1]), pd.Series([2, 3])],
        [pd.Index([0, 1]), pd.Index([2, 3])],
        [{0: "x", 1: "y"}.keys(), {2: "x", 3: "y"}.keys()],
    ],
)
def test_anything_of_one_dimension_is_a_set_of_labels(rows: list[Any]) -> None:
    assert as_candidates(rows).to_lists() == [[0, 1], [2, 3]]


def test_one_annotator_is_enough() -> None:
    assert as_candidates(pd.Series([4, 5]), kind="annotators").to_lists() == [[4], [5]]


@pytest.mark.parametrize("rows", [[2**63 + 1, 2**63 + 2, -1], [[2**63 + 1], [2**63 + 2], [-1]]])
def test_numbers_beyond_64_bits_stay_apart(rows: list[Any]) -> None:
    assert as_candidates(rows).to_lists() == [[2**63 + 1], [2**63 + 2], [-1]]


def test_a_missing_number_can_mean_no_information() -> None:
    for labels in ([1.0, float("nan"), 2.0], pd.Series([1, pd.NA, 2], dtype="Int64")):
        assert as_candidates(labels, empty="full").to_lists() == [[1], [1, 2], [2]]


@pytest.mark.parametrize("dtype", ["Int64", "category", "int64[pyarrow]"])
@pytest.mark.parametrize("form", [pd.array, pd.Series, pd.Index, pd.DataFrame])
def test_whole_numbers_stay_whole_beside_a_missing_one(dtype: str, form: Any) -> None:
    """pandas would make floats of them, in which 2**53 and 2**53 + 1 are one label."""
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    labels = [2**53, None, 2**53 + 1]
    sets = as_candidates(form(labels, dtype=dtype), empty="full")
    assert sets.classes.tolist() == [2**53, 2**53 + 1]
    assert sets.classes.dtype.kind == "i"
    assert sets.contains(pd.Series(labels, dtype=dtype)).tolist() == [True, False, True]


@pytest.mark.parametrize("twins", ["caf\u00e9|cafe\u0301", "owl|owl\u200b", "a b|a\u00a0b"])
def test_labels_that_look_the_same_are_said(twins: str) -> None:
    with pytest.warns(AmongstWarning) as found:
        as_candidates([twins, "x"])
    assert [one.message.code for one in found] == ["perhaps-one"]
    assert str(found[0].message).isascii(), "what cannot be seen is written out"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_candidates([twins, "x"], classes=[*twins.split("|"), "x"])
        as_candidates(["e|E", "e|\u00e9"])


@pytest.mark.parametrize(("first", "second"), [("Owl", "OWL"), ("1", "1.0"), ("Owl", '"owl"')])
def test_spellings_of_one_label_by_two_annotators_are_said(first: str, second: str) -> None:
    votes = pd.DataFrame({"anna": [first, "kite"], "ben": ["kite", second]})
    with pytest.warns(AmongstWarning) as found:
        as_candidates(votes)
    assert [one.message.code for one in found] == ["perhaps-one"]
    assert repr(first) in str(found[0].message)
    assert repr(second) in str(found[0].message)


@pytest.mark.parametrize("separator", [" or ", "\n", "/"])
def test_other_ways_to_write_several_labels_are_said(separator: str) -> None:
    cells = [f"cat{separator}dog", "owl", "cat"]
    with pytest.warns(AmongstWarning, match="no cell contains the separator"):
        as_candidates(cells)
    assert as_candidates(cells, separator=separator).to_lists()[0] == ["cat", "dog"]


@pytest.mark.parametrize("make", [pd.DataFrame, np.asarray])
def test_annotators_who_all_say_no_are_suspected_to_be_no_mask(make: Any) -> None:
    votes = [[0, 1, 1], [0, 0, 0], [1, 1, 1]]
    with pytest.raises(InputError, match=r"y\[1\] is an empty .*pass kind='annotators' if the"):
        as_candidates(make(votes))
    assert as_candidates(make(votes), kind="annotators").to_lists() == [[0, 1], [0], [1]]
    for other in ({"kind": "mask"}, {"kind": "auto", "y": make([[0, 2], [None, None]])}):
        with pytest.raises(InputError, match="is an empty") as found:
            as_candidates(**({"y": make(votes)} | other))
        assert "annotators" not in str(found.value)


def test_classes_that_were_named_are_not_suspected_later() -> None:
    sets = as_candidates(["Owl|OWL", "x"], classes=["Owl", "OWL", "x"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_candidates(sets) is sets


def test_labels_of_several_letters_that_differ_otherwise_are_no_twins() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_candidates(["01|1", "owl|owls", "e|E", "1|10"])


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_taken_by_any_index_of_rows(sparse: bool) -> None:
    sets = as_candidates(["a|b", "b", "c"])
    sets = as_candidates(sets.to_sparse(), classes=["a", "b", "c"]) if sparse else sets
    assert sets[pd.Series([True, False, True])].to_lists() == [["a", "b"], ["c"]]
    assert sets[np.array([2]), ...].to_lists() == [["c"]]
    for columns in (1, slice(2)):
        with pytest.raises(ValueError, match="indexed by rows alone"):
            sets[:, columns]


def test_labels_are_compared_as_they_are() -> None:
    """NumPy would make text of all where one is."""
    sets = as_candidates([[1, 2], [2], [3]])
    assert sets.contains([1, "2", 3]).tolist() == [True, False, True]
    assert sets.contains(np.ma.array([1, 2, 3], mask=[1, 0, 0])).tolist() == [False, True, True]
    with pytest.raises(ValueError, match="one label for each row"):
        sets.contains([[1], [2], [3]])
    with pytest.raises(ValueError, match=r"y\[1\] is an empty"):
        uniform(np.ma.array([1, 2], mask=[0, 1]), 0.5)


@pytest.mark.parametrize("values", [("0", "1"), ("False", "True")])
@pytest.mark.parametrize("dtype", [str, object])
def test_a_mask_of_text_is_a_mask_whatever_the_array(values: Any, dtype: Any) -> None:
    """An array of NumPy's own strings was read as the answers "0" and "1" of annotators."""
    mask = np.array([[1, 0, 1], [0, 1, 0]])
    text = np.array(values, dtype=dtype)[mask]
    for kind in ("auto", "mask"):
        assert as_candidates(text, kind=kind).to_lists() == [[0, 2], [1]]  # type: ignore[arg-type]
    assert as_candidates(text, kind="annotators").n_classes == 2


@pytest.mark.parametrize("words", [("yes", "no"), ("Y", "N"), ("x", None)])
def test_yes_and_no_in_columns_of_classes_are_not_taken_for_labels_in_silence(words: Any) -> None:
    table = pd.DataFrame({"owl": words, "kite": words[::-1], "wren": words[:1] * 2})
    with pytest.warns(AmongstWarning, match="alone, in 3 columns, .*write 1 and 0"):
        as_candidates(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_candidates(table, kind="annotators")
        as_candidates(pd.DataFrame({"anna": ["yes", "maybe"], "ben": ["no", "yes"]}))


def test_labels_that_differ_in_quotation_marks_are_suspected() -> None:
    with pytest.warns(AmongstWarning) as found:
        as_candidates(['owl|"kite"', 'kite|"owl"'])
    assert [one.message.code for one in found] == ["perhaps-one"]


@pytest.mark.parametrize("gap", ["NA", "-", "."])
def test_a_gap_as_other_programs_write_it_is_suspected(gap: str) -> None:
    """R writes NA into a CSV file where a label is missing."""
    with pytest.warns(AmongstWarning, match="looks like a missing answer"):
        as_candidates(["owl|kite", gap])


def test_plus_and_minus_are_two_answers() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_candidates(["+|-", "-"]).n_classes == 2


def test_a_table_that_is_not_of_pandas_keeps_the_names_of_its_columns() -> None:
    """They were lost: the classes of a 0/1 table of Arrow or polars became 0, 1, 2."""
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"owl": [1, 0], "kite": [0, 1], "wren": [1, 1]})
    assert as_candidates(table).to_lists() == [["owl", "wren"], ["kite", "wren"]]
    votes = arrow.table({"anna": ["owl", "kite"], "ben": [None, "owl"]})
    assert as_candidates(votes).to_lists() == [["owl"], ["kite", "owl"]]


def test_rows_without_any_label_have_no_class_to_be_full_of() -> None:
    """Sets over no classes came out, of which `amongst describe` could not draw the sizes."""
    for y in (["", ""], [[], []], pd.DataFrame({"a": [None, None], "b": [None, None]})):
        with pytest.raises(InputError, match="no label in any row"):
            as_candidates(y, empty="full")
    assert as_candidates(["", ""], ["a", "b"], empty="full").sizes.tolist() == [2, 2]


def test_a_label_outside_the_classes_has_a_remedy_in_sets_too() -> None:
    sets = as_candidates(["a|b", "c"])
    with pytest.raises(
        InputError, match=r"'c', which is none of the classes \('a', 'b'\)\. Add it"
    ):
        as_candidates(sets, classes=["a", "b"])


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("totals", ["alike", "by chance"])
def test_counts_of_votes_are_not_taken_for_answers(dtype: Any, totals: str) -> None:
    """20 votes a row over 10 classes gave as many classes as there were counts, in silence."""
    rng = np.random.default_rng(0)
    alike = rng.multinomial(20, [0.1] * 10, size=500)
    counts = (alike if totals == "alike" else rng.poisson(1, (500, 10))).astype(dtype)
    with pytest.raises(InputError) as caught:
        as_candidates(counts)
    assert caught.value.code == "perhaps-counts"
    assert "Pass kind='votes', or kind='annotators'." in str(caught.value)
    assert as_candidates(counts, kind="votes").n_classes == 10


def test_answers_of_annotators_who_agree_a_little_are_no_counts() -> None:
    """Each says the true label in half of the rows, else any."""
    rng = np.random.default_rng(0)
    truth, any_label = rng.integers(0, 5, (300, 1)), rng.integers(0, 5, (300, 4))
    answers = np.where(rng.random((300, 4)) < 0.5, truth, any_label)
    assert as_candidates(answers).n_classes == 5
