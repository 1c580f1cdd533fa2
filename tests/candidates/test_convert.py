from __future__ import annotations

import tracemalloc
import warnings
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from amongst import CandidateSets, as_candidates
from amongst.candidates import container
from amongst.candidates.convert import from_columns
from amongst.errors import AmongstWarning, InputError

ROWS = [{"ant", "bee"}, {"cow"}, {"ant", "cow"}, {"bee"}]
MASK = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 0]])
LABELS = ["ant", "bee", "cow"]


@pytest.mark.parametrize(
    "form",
    [
        ROWS,
        [sorted(row) for row in ROWS],
        [tuple(row) for row in ROWS],
        [np.array(sorted(row)) for row in ROWS],
        ["ant|bee", "cow", "cow | ant", "bee"],
        np.array(["ant|bee", "cow", "ant|cow", "bee"]),
        pd.Series(["ant|bee", "cow", "ant|cow", "bee"], index=[7, 8, 9, 10]),
        pd.Series(ROWS),
        pd.DataFrame(MASK.astype(bool), columns=LABELS),
        pd.DataFrame(MASK, columns=LABELS),
        pd.DataFrame({"A": ["ant", "cow", "ant", "bee"], "B": ["bee", None, "cow", "bee"]}),
        np.array([["ant", "bee"], ["cow", "cow"], ["ant", "cow"], ["bee", "bee"]], dtype=object),
    ],
    ids=lambda form: type(form).__name__,
)
def test_every_form_gives_the_same_sets(form: object) -> None:
    sets = as_candidates(form)
    assert sets.classes.tolist() == LABELS
    assert np.array_equal(sets.mask, MASK.astype(bool))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, sp.csc_array, sp.coo_array])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float64])
def test_masks(make: object, dtype: type) -> None:
    sets = as_candidates(make(MASK.astype(dtype)), classes=LABELS)  # type: ignore[operator]
    assert np.array_equal(sets.mask, MASK.astype(bool))
    assert sets == as_candidates(ROWS)


def test_ordinary_labels_are_singletons() -> None:
    sets = as_candidates(np.array([3, 1, 3]))
    assert sets.classes.tolist() == [1, 3]
    assert sets.to_labels().tolist() == [3, 1, 3]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [(["a", "b"], "U"), ([True, False], "b"), ([1, 2], "i"), ([datetime(2024, 5, 1)], "M")],
)
def test_classes_have_the_type_of_their_labels(labels: list[Any], kind: str) -> None:
    assert as_candidates([[label] for label in labels]).classes.dtype.kind == kind


def test_times_keep_their_zone() -> None:
    there = datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    sets = as_candidates([[there], [there + timedelta(days=1)]])
    assert (sets.classes.dtype, sets.to_lists()[0][0].utcoffset()) == (object, timedelta(hours=2))


def test_a_column_of_labels_is_flattened() -> None:
    assert as_candidates([[5], [3], [5]], kind="labels").to_lists() == [[5], [3], [5]]


def test_any_hashable_is_a_label() -> None:
    sets = as_candidates([[("a", 1), None.__class__], [("a", 1)]])
    assert sets.to_sets()[1] == frozenset({("a", 1)})


masks = st.integers(1, 5).flatmap(
    lambda k: st.lists(
        st.lists(st.booleans(), min_size=k, max_size=k).filter(any), min_size=1, max_size=8
    )
)


@given(masks)
def test_round_trips(mask: list[list[bool]]) -> None:
    k = len(mask[0])
    names = [f"class {z}" for z in range(k)]
    sets = as_candidates(np.array(mask), classes=names, kind="mask")
    assert as_candidates(sets.to_mask(), names, kind="mask") == sets
    assert as_candidates(sets.to_sparse(), names) == sets
    assert as_candidates(sets.to_sets(), names) == sets
    assert as_candidates(sets.to_lists(), names) == sets
    assert as_candidates(sets.to_strings(), names) == sets
    assert as_candidates(sets.to_frame(), kind="mask") == sets
    assert as_candidates(sets.to_columns(), names, kind="annotators") == sets
    if (sets.sizes == 1).all():
        assert as_candidates(sets.to_labels(), names) == sets


@given(masks)
def test_relabelling_permutes_columns(mask: list[list[bool]]) -> None:
    names = list(range(len(mask[0])))
    sets = as_candidates(np.array(mask), kind="mask")
    turned = as_candidates(sets.to_lists(), classes=names[::-1])
    assert np.array_equal(turned.mask, sets.mask[:, ::-1])
    assert as_candidates(turned, classes=names) == sets


def test_zeros_and_ones_can_be_annotators() -> None:
    votes = np.array([[0, 1], [1, 1]])
    assert as_candidates(votes).sizes.tolist() == [1, 2]
    assert as_candidates(votes, kind="annotators").sizes.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        ([{"a"}, set(), {"b"}], {}, ["y[1]", "empty candidate set", "empty='full'"]),
        (["a|b", ""], {}, ["y[1]", "empty"]),
        ([["a", "b"], ["z"]], {"classes": ["a", "b"]}, ["y[1]", "'z'", "classes ('a', 'b')"]),
        ([1, 2, 9], {"classes": [1, 2]}, ["y[2]", "label 9", "classes (1, 2)"]),
        ([9], {"classes": range(9)}, ["y[0]", "7, …)"]),
        ([1, 2], {"classes": [1, 1, 2]}, ["classes", "more than once"]),
        ([0.5, 1.0], {}, ["y[0]", "0.5", "continuous"]),
        ([1, 2.5], {}, ["y[1]", "2.5", "continuous"]),
        ([1.0, float("nan")], {}, ["y[1]", "empty", "empty='full'"]),
        ([1.0, float("inf")], {}, ["y[1]", "inf", "continuous"]),
        ([[1, 2], [3, 4]], {"kind": "labels"}, ["several labels in a row", "kind='sets'"]),
        ([[1, 2], [3]], {"kind": "labels"}, ["several labels in a row"]),
        ([[1, 0], [1]], {"kind": "mask"}, ["different lengths"]),
        (np.array([[0, 2], [1, 0]]), {"kind": "mask"}, ["mask", "0 and 1"]),
        (np.eye(3), {"classes": ["a", "b"]}, ["2 labels", "3 columns"]),
        (["a", 3], {}, ["y[1] is 3", "mixed types"]),
        ([[["nested"]]], {}, ["y[0]", "hashable"]),
        (np.zeros((2, 2, 2)), {}, ["3 dimensions"]),
        ("a|b", {}, ["one entry for each row"]),
        (7, {}, ["one entry for each row"]),
        ([1], {"kind": "sats"}, ["kind='sats'", "sets"]),
    ],
)
def test_bad_input_is_one_clear_sentence(y: object, options: dict, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        as_candidates(y, **options)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_empty_as_full() -> None:
    sets = as_candidates([["a"], [], ["b"]], empty="full")
    assert sets.sizes.tolist() == [1, 2, 1]


def test_a_large_sparse_mask_stays_sparse() -> None:
    n, k = 1_000_000, 5_000
    indices = np.arange(n, dtype=np.int32) % k
    big = sp.csr_array((np.ones(n, dtype=np.int8), indices, np.arange(n + 1)), shape=(n, k))
    sets = as_candidates(big)
    assert sets.is_sparse
    assert sets.sizes.max() == 1
    assert sets[5:8].mask.sum() == 3
    with pytest.raises(InputError, match="GiB"):
        _ = sets.mask


def test_a_sparse_mask_of_a_damaged_file_claims_too_many_classes() -> None:
    mask = sp.csr_array(([1, 1], ([0, 0], [3, 99_999_999])), shape=(1, 100_000_000))
    with pytest.raises(InputError, match="100,000,000 columns") as told:
        as_candidates(mask)
    assert told.value.code == "shape"


def test_a_small_sparse_mask_is_densified_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = as_candidates(sp.csr_array(MASK))
    assert sets.is_sparse
    assert np.array_equal(sets.mask, MASK.astype(bool))
    monkeypatch.setattr(container, "DENSE_LIMIT_BYTES", 5)
    with pytest.raises(InputError):
        _ = as_candidates(sp.csr_array(MASK)).mask


def test_a_sparse_mask_in_any_order_with_an_entry_stated_twice() -> None:
    """CSR allows both; the caller's matrix stays as it is."""
    given = sp.csr_array((np.ones(4, bool), [2, 2, 1, 0], [0, 1, 4]), shape=(2, 3))
    given_twice = sp.csr_array((np.ones(3, bool), [2, 0, 0], [0, 1, 3]), shape=(2, 3))
    sets, twice = as_candidates(given), as_candidates(given_twice)
    assert (sets.to_lists(), twice.to_lists()) == ([[2], [0, 1, 2]], [[2], [0]])
    assert (sets.sizes.tolist(), twice.sizes.tolist()) == ([1, 3], [1, 1])
    assert (given.indices.tolist(), given_twice.nnz) == ([2, 2, 1, 0], 3)
    assert not twice.mask.flags.writeable


@pytest.mark.parametrize("first", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("second", [np.asarray, sp.csr_array])
def test_equality_is_of_rows_and_classes_dense_or_sparse(first: Any, second: Any) -> None:
    sets = as_candidates(first(MASK), classes="abc")
    assert sets == as_candidates(second(MASK), classes="abc")
    assert sets != as_candidates(second(MASK), classes="abd")
    assert sets != as_candidates(second(MASK[:-1]), classes="abc")
    assert sets != as_candidates(second(MASK[::-1]), classes="abc")
    assert sets != MASK.tolist()


def test_sparse_sets_are_compared_without_a_dense_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse, dense = as_candidates(sp.csr_array(MASK)), as_candidates(MASK)
    monkeypatch.setattr(container, "DENSE_LIMIT_BYTES", 0)
    assert sparse == as_candidates(sp.csr_array(MASK))
    assert sparse == dense
    assert dense == sparse


def test_classes_that_were_named_are_not_suspected() -> None:
    """Two labels that look the same are two classes where both are named: no warning."""
    twins = ["caf\u00e9", "cafe\u0301"]
    frame = pd.DataFrame({"anna": twins[:1], "ben": twins[1:]})
    assert from_columns(frame, twins).to_lists() == [twins]
    with pytest.warns(AmongstWarning) as found:
        from_columns(frame)
    assert [one.message.code for one in found] == ["perhaps-one"]


def test_as_an_array_it_is_its_mask() -> None:
    sets = as_candidates(MASK)
    assert np.array_equal(np.asarray(sets), MASK)
    assert (np.asarray(sets).dtype, np.asarray(sets, dtype=bool).dtype) == (np.int8, bool)


def test_other_classes_must_cover_the_candidates_only() -> None:
    sets = as_candidates([["a"], ["c", "a"]], classes=["a", "b", "c"])
    moved = as_candidates(sets, classes=["c", "d", "a"])
    assert moved.mask.astype(int).tolist() == [[0, 0, 1], [1, 0, 1]]
    with pytest.raises(InputError, match="'c', which is none of the classes"):
        as_candidates(sets, classes=["a", "b"])


def test_several_candidates_are_no_single_label() -> None:
    with pytest.raises(InputError, match="row 1 has 2 candidates"):
        as_candidates(["a", "a|b"]).to_labels()


def test_no_rows_at_all() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sets = as_candidates([], classes=["a", "b"])
        assert repr(sets) == "CandidateSets(n=0, K=2)"
        facts = sets.describe()
    assert (facts.mean_size, facts.singleton_share, facts.full_share) == (0.0, 0.0, 0.0)
    assert (facts.estimated_q, facts.ambiguity_degree) == (0.0, 0.0)


def test_frozen_and_sliceable() -> None:
    sets = as_candidates(ROWS)
    with pytest.raises(AttributeError):
        sets.classes = np.array([1])  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        sets.mask[0] = False  # their sizes would stay what they were
    assert isinstance(sets[[0, 2]], CandidateSets)
    assert sets[np.array([True, False, False, True])].to_lists() == [["ant", "bee"], ["bee"]]
    assert list(sets)[1] == frozenset({"cow"})


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_a_mask_is_read_within_a_few_bytes_a_cell(dtype: Any) -> None:
    """Twelve bytes for each cell stood beside it."""
    mask = np.eye(1000, dtype=dtype)
    tracemalloc.start()
    sets = as_candidates(mask)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sets.shape == (1000, 1000)
    assert peak < 4 * mask.size


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_sparse_mask_whose_indices_leave_its_shape(form: str) -> None:
    """Converting it ended the process."""
    mask = sp.eye_array(4, dtype=bool, format=form)
    (mask.coords[0] if form == "coo" else mask.indices)[1] = 200_000_000
    with pytest.raises(InputError) as caught:
        as_candidates(mask)
    assert (caught.value.code, caught.value.argument) == ("sparse", "y")
    with pytest.raises(InputError) as caught:
        CandidateSets(mask, np.arange(4))
    assert (caught.value.code, caught.value.argument) == ("sparse", "members")
