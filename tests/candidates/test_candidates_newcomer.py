"""What a first user gave to `as_candidates`, and was misread."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from amongst import as_candidates
from amongst.candidates import CandidateSets
from amongst.errors import AmongstWarning, InputError

LISTS = [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    "y",
    [
        ['["a","b"]', '["c"]'],
        ["['a', 'b']", "['c']"],
        ["{'b', 'a'}", "('c',)"],
        ['["a", "b"]', "c"],
        ["a|b", ["c"]],
        ["a|b", {"c"}],
        [["a", "b"], '["c"]'],
        pd.Series(['["a", "b"]', "c"]),
        pd.DataFrame({"s": ["a|b", "c"]}),
        pd.DataFrame({"s": [["a", "b"], ["c"]]}),
        np.array([["a|b"], ["c"]]),
        pd.DataFrame({"anna": ["a|b", "c"], "ben": ["b", None]}),
        pd.DataFrame({"anna": ['["a"]', "c"], "ben": ["b", ""]}),
        np.array([["a|b", "a"], ["c", "c"]]),
    ],
)
def test_a_cell_is_read_alike_wherever_it_stands(y: object) -> None:
    assert as_candidates(y).to_lists() == LISTS


def test_a_string_in_a_list_is_one_label() -> None:
    assert as_candidates([["a|b"], ["[c]"]]).classes.tolist() == ["[c]", "a|b"]


def test_numbers_in_a_list_as_text_stay_numbers() -> None:
    assert as_candidates(["[1, 2]", "[3]"]).to_lists() == [[1, 2], [3]]
    assert as_candidates(["[1, 2]", "3"]).to_lists() == [[1, 2], [3]]
    assert as_candidates(["1|2", "3"]).to_lists() == [["1", "2"], ["3"]]


def test_labels_in_brackets_are_refused_with_the_way_out() -> None:
    with pytest.raises(InputError, match=r"y\[1\] holds '\[x, y\]'.*kind='labels'"):
        as_candidates(["a", "[x, y]"])
    assert as_candidates(["a", "[x, y]"], kind="labels").classes.tolist() == ["[x, y]", "a"]
    assert as_candidates(["a|(other)", "(other)"]).to_lists() == [["(other)", "a"], ["(other)"]]


def test_commas_are_suspected() -> None:
    for y in (["a,b", "c"], pd.DataFrame({"anna": ["a,b", "c"], "ben": ["a", "c"]})):
        with pytest.warns(AmongstWarning, match="Is separator=',' meant"):
            as_candidates(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_candidates(["a,b", "c"], separator=",").to_lists() == LISTS
        as_candidates(["Doe, J", "Roe, R"], classes=["Doe, J", "Roe, R"])


def test_a_one_column_frame_of_numbers_is_labels() -> None:
    frame = pd.DataFrame({"y": [0, 1, 0]})
    assert as_candidates(frame) == as_candidates([0, 1, 0])
    with pytest.raises(InputError, match="y has 2 columns, but kind='strings' needs one"):
        as_candidates(pd.DataFrame({"a": ["x"], "b": ["y"]}), kind="strings")


def test_true_and_false_as_text_are_a_mask() -> None:
    frame = pd.DataFrame({"cat": ["True", "FALSE"], "dog": ["true", "True"]})
    assert as_candidates(frame).to_lists() == [["cat", "dog"], ["dog"]]
    assert as_candidates(frame, kind="mask").to_lists() == [["cat", "dog"], ["dog"]]
    with pytest.raises(InputError, match="mask, but holds 'owl'"):
        as_candidates(pd.DataFrame({"cat": ["owl"], "dog": ["True"]}), kind="mask")


@pytest.mark.parametrize("kind", [int, bool, float])
def test_a_mask_as_lists_is_suspected(kind: type) -> None:
    mask = np.array([[1, 0, 1], [0, 1, 0]]).astype(kind)
    with pytest.warns(AmongstWarning, match=r"np\.asarray\(y\)"):
        as_candidates(mask.tolist())
    assert as_candidates(np.asarray(mask.tolist())).sizes.tolist() == [2, 1]


@pytest.mark.parametrize("y", [[[0, 1], [1, 0]], [[0], [1]], [[0, 1, 1], [2, 2, 2]], [[0, 0], [1]]])
def test_label_sets_are_not_suspected(y: list[list[int]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_candidates(y).to_sets() == [frozenset(row) for row in y]


def test_to_strings_refuses_what_would_not_come_back() -> None:
    sets = as_candidates([["a|b", "d"], ["c"]])
    with pytest.raises(InputError, match=r"label 'a\|b'.*separator="):
        sets.to_strings()
    assert as_candidates(sets.to_strings(separator=";"), separator=";") == sets
    for label in (" a", "", "['a']", "[a]"):
        with pytest.raises(InputError, match="would not be read back"):
            as_candidates([[label, label]]).to_strings()
    with pytest.raises(InputError, match="separator=''"):
        sets.to_strings("")


@pytest.mark.filterwarnings("ignore:the labels")
@given(
    st.lists(st.sets(st.text("ab|[]('), ", max_size=4), min_size=1, max_size=3), min_size=1),
    st.sampled_from(["|", ",", ";"]),
)
def test_strings_come_back_or_are_refused(rows: list[set[str]], separator: str) -> None:
    sets = as_candidates(rows)
    try:
        strings = sets.to_strings(separator)
    except InputError:
        return
    assert as_candidates(strings, sets.classes, separator=separator) == sets


@pytest.mark.parametrize("y", [{"a": ["x"], "b": ["y"]}, {"a", "b"}])
def test_a_dict_or_set_of_rows_is_refused(y: object) -> None:
    with pytest.raises(InputError, match="one entry for each row"):
        as_candidates(y)


def test_a_missing_answer_does_not_make_floats() -> None:
    votes = pd.DataFrame({"a": [1, 2], "b": [np.nan, 3]})
    for y in (votes, votes.to_numpy()):
        sets = as_candidates(y, kind="annotators")
        assert sets.to_lists() == [[1], [2, 3]]
        assert sets.classes.dtype.kind == "i"


def test_missing_rows_are_empty_sets() -> None:
    for y in ([["a", "b"], None], ["a|b", None], pd.Series([["a", "b"], np.nan])):
        assert as_candidates(y, empty="full").sizes.tolist() == [2, 2]
        with pytest.raises(InputError, match=r"y\[1\] is an empty candidate set"):
            as_candidates(y)


@pytest.mark.parametrize(
    "votes", [[[0, 2], [1, 1], [2, 2]], [[0.0, 2.0], [1.0, 1.0], [2.0, 2.0]]], ids=["int", "float"]
)
def test_a_tensor_of_labels_is_read_as_its_array(votes: list[list[float]]) -> None:
    """Two tensors are never one key, so that every answer was a class of its own."""
    sets = as_candidates(torch.tensor(votes))
    assert sets == as_candidates(np.array(votes))
    assert sets.to_lists() == [[0, 2], [1], [2]]
    rows = [[torch.tensor(label) for label in row] for row in votes]
    assert as_candidates(rows).to_lists() == [[0, 2], [1], [2]]


@pytest.mark.parametrize("form", [np.array, torch.tensor, pd.DataFrame])
def test_weights_are_no_labels(form: Callable[[Any], Any]) -> None:
    """A matrix of probabilities became as many classes as it has numbers."""
    shares = [[0.75, 0.25, 0.0], [0.0, 0.5, 0.5]]
    sets = as_candidates(form(shares))
    assert sets.to_lists() == [[0, 1], [1, 2]]
    assert sets.weights.tolist() == shares
    with pytest.raises(InputError) as caught:
        as_candidates(shares)
    assert caught.value.code == "continuous"


@pytest.mark.parametrize(
    ("y", "label"),
    [
        (["owl|nan", "kite"], "'nan'"),
        (["owl", "?", "kite"], "'[?]'"),
        (np.array([[0, 2, -1], [1, -1, -1]]), "-1"),
    ],
)
def test_a_missing_answer_that_became_a_class_is_suspected(y: Any, label: str) -> None:
    with pytest.warns(AmongstWarning, match=f"the label {label} looks like a missing answer"):
        as_candidates(y)


def test_measurements_amongst_the_labels_are_suspected() -> None:
    """As of a column that was taken for an annotator's."""
    frame = pd.DataFrame({"anna": ["owl", "kite", "owl"], "wing": ["3.5", "0.25", "-1.5e3"]})
    with pytest.warns(
        AmongstWarning, match=r"3 labels are numbers with decimals, such as '-1\.5e3'"
    ):
        as_candidates(frame)


@pytest.mark.parametrize(
    "y",
    [
        *([-1, 1, -1], [-1, 0, 1], ["none", "owl"], [-2, -1, 0, 1]),
        *(["1.5", "2.5", "owl"], ["1.0", "2.0", "3.0"], ["v1.2", "v1.3", "v1.4"]),
    ],
)
def test_classes_that_may_be_meant_are_not_suspected(y: list[Any]) -> None:
    assert as_candidates(y).classes.tolist() == sorted(set(y))


@pytest.mark.parametrize("make", [lambda mask: mask, csr_array])
def test_rows_of_a_batch_are_taken_by_a_tensor(make: Callable[[Any], Any]) -> None:
    """A batch of one row was taken for a number, and SciPy knew no tensor at all."""
    mask = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1]])
    sets = as_candidates(make(mask))
    for rows in ([0, 2], [1], 2, [True, False, True]):
        taken = sets[torch.tensor(rows)].to_mask()
        assert np.array_equal(taken, np.atleast_2d(mask[rows]))


@pytest.mark.parametrize(
    ("members", "classes"),
    [
        ([[True, False]], np.arange(2)),
        (np.eye(2, dtype=bool), [0, 1]),
        (np.eye(2, dtype=int), np.arange(2)),
        (np.eye(3, dtype=bool), np.arange(2)),
    ],
)
def test_sets_made_by_hand_are_a_mask_and_its_classes(members: Any, classes: Any) -> None:
    """Three columns with two classes were taken, and failed far from there."""
    with pytest.raises(InputError, match=r"members must be a bool array.*as_candidates"):
        CandidateSets(members, classes)
