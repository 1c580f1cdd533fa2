"""Weights of candidates: every door, every way back, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from amongst import as_candidates
from amongst.candidates import CandidateSets
from amongst.data import read_table
from amongst.errors import AmongstWarning, InputError

WANTED = [{"cat": 0.75, "dog": 0.25}, {"dog": 1.0}, {"cat": 0.5, "emu": 0.5}]
"""What every door below means."""

DOORS: dict[str, tuple[Any, dict[str, Any]]] = {
    "strings": (["cat:3|dog:1", "dog", "cat|emu"], {"kind": "votes"}),
    "dicts": ([{"cat": 3, "dog": 1}, {"dog": 2, "cat": 0}, {"cat": 0.2, "emu": 0.2}], {}),
    "dicts as text": (['{"cat": 0.75, "dog": 0.25}', '["dog"]', '["cat", "emu"]'], {}),
    "records": (
        [
            [{"label": "cat", "confidence": 0.6}, {"label": "dog", "confidence": 0.2}],
            {"label": "dog"},
            [{"name": "cat"}, {"name": "emu"}],
        ],
        {},
    ),
    "records as JSON": (
        [
            '[{"label": "cat", "votes": 3}, {"label": "dog", "votes": 1, "sure": true}]',
            '{"label": "dog", "why": null}',
            '[["cat", 2], ["emu", 2]]',
        ],
        {},
    ),
    "probabilities": (
        pd.DataFrame([[0.75, 0.25, 0], [0, 1, 0], [0.5, 0, 0.5]], columns=["cat", "dog", "emu"]),
        {},
    ),
    "counts": (
        np.array([[3, 1, 0], [0, 4, 0], [2, 0, 2]]),
        {"kind": "votes", "classes": ["cat", "dog", "emu"]},
    ),
    "sparse": (
        sp.csr_array(np.array([[1.5, 0.5, 0], [0, 4, 0], [2, 0, 2]])),
        {"classes": ["cat", "dog", "emu"]},
    ),
    "annotators": (
        pd.DataFrame(
            [["cat", "cat", "dog", "cat"], ["dog", None, None, "dog"], ["emu", "cat", None, None]],
            columns=["ann", "ben", "cem", "dan"],
        ),
        {},
    ),
    "with names of classes": (
        ["cat:3|dog:1", "dog:7", "!dog"],
        {"classes": ["cat", "dog", "emu"]},
    ),
    "a parent": (
        ["cat:3|dog:1", "dog", "pet"],
        {"kind": "votes", "hierarchy": {"pet": ["cat", "bird"], "bird": ["emu"]}, "classes": ["cat", "dog", "emu"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_prior(door: str) -> None:
    y, options = DOORS[door]
    sets = as_candidates(y, **options)
    assert sets.to_dicts() == [pytest.approx(row) for row in WANTED]
    assert sets.classes.tolist() == ["cat", "dog", "emu"]
    np.testing.assert_allclose(sets.prior.sum(axis=1), 1)
    assert (sets.prior > 0).tolist() == sets.mask.tolist()


def test_equal_weights_are_none() -> None:
    for y in (["a:2|b:2", "b:5"], [{"a": 0.1, "b": 0.1}, {"b": 3}]):
        sets = as_candidates(y, kind="votes")
        assert sets.weights is None
        assert sets == as_candidates(["a|b", "b"])


def test_slices_equality_and_words() -> None:
    sets = as_candidates(*DOORS["dicts"][:1])
    assert sets[[0, 2]].to_dicts() == [WANTED[0], WANTED[2]]
    assert sets[1:].weights is None
    assert sets != CandidateSets(sets.members, sets.classes)
    turned = as_candidates(sets, ["emu", "dog", "cat"])
    assert turned.to_dicts() == WANTED
    assert turned.weighted(turned.prior) == turned
    assert "weighted" in repr(sets)
    assert np.array_equal(sets[::-1].prior, sets.prior[::-1])


def test_a_description_knows_of_weights() -> None:
    sets = as_candidates(["a:3|b:1", "a"], kind="votes")
    sparse = as_candidates(sp.csr_array(sets.prior), ["a", "b"], kind="votes")
    for one in (sets, sparse):
        assert one.describe().top_weight == 0.875
        assert "0.88" in str(one.describe())
    assert as_candidates(["a|b", "a"]).describe().top_weight is None


def test_sparse_and_dense_agree() -> None:
    dense = np.array([[1.5, 0.5, 0], [0, 4, 0], [2, 0, 2]])
    a, b = as_candidates(dense), as_candidates(sp.csr_array(dense))
    assert a == b
    assert b[[2, 0]].to_dicts() == a[[2, 0]].to_dicts()
    assert np.array_equal(a.prior, b.prior)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["a", "b:1", "c d", "!e", "f"]), st.floats(1e-3, 1e3), min_size=1),
        min_size=1,
    )
)  # fmt: skip
def test_strings_of_weights_come_back_or_are_refused(rows: list[dict[str, float]]) -> None:
    sets = as_candidates(rows)
    try:
        strings = sets.to_strings()
    except InputError:
        return
    kind: Any = "strings" if sets.weights is None else "votes"
    assert as_candidates(strings, kind=kind) == sets


def test_labels_with_marks_in_them_keep_their_meaning() -> None:
    for y in (
        ["10:30|11:15", "11:15"],
        ["http://a|http://b", "http://b"],
        ["GO:0005634|GO:0003674", "GO:0003674"],
        ["!important", "plain"],
        ["a:1", "b:2"],
        ["a:b|c:d"],
    ):
        assert as_candidates(y).to_lists() == as_candidates(y, kind="strings").to_lists()
        assert as_candidates(y).weights is None
    for y in (["room:1|floor:2", "room:1"], ["spam", "!spam|ham"]):
        with pytest.warns(AmongstWarning) as caught:
            as_candidates(y)
        assert caught[0].message.code == "read-as-votes"  # type: ignore[union-attr]
        labels = {label for text in y for label in text.split("|")}
        assert set(as_candidates(y, kind="strings").classes) == labels
        assert set(as_candidates(y, classes=sorted(labels)).classes) == labels
        assert as_candidates(y, classes=sorted(labels)).weights is None


def test_negation() -> None:
    with pytest.warns(AmongstWarning):
        assert as_candidates(["a:3|b:1", "!a", "c"]).to_lists()[1] == ["b", "c"]
    sets = as_candidates(["!a", "!a|!b", "c", "a|!b"], kind="votes")
    assert sets.to_lists() == [["b", "c"], ["c"], ["c"], ["a"]]
    assert as_candidates(["!pet", "x", "a", "b"], hierarchy={"pet": ["a", "b"]}, kind="votes")[
        0
    ].to_lists() == [["x"]]


def test_answers_say_who_said_what() -> None:
    table = pd.DataFrame({"ann": ["owl", "kite"], "ben": ["kite|owl", None], "cem": ["owl", "owl"]})
    sets = as_candidates(table)
    assert sets.answers is not None
    assert sets.answers.raters == ("ann", "ben", "cem")
    assert sets.answers.codes.tolist() == [[1, -1, 1], [0, -1, 1]]
    assert sets.to_dicts()[0] == {"kite": 0.5 / 3, "owl": 2.5 / 3}
    moved = as_candidates(sets, ["owl", "wren", "kite"])
    assert moved.answers is not None
    assert moved.answers[[1]].codes.tolist() == [[2, -1, 0]]


@pytest.mark.parametrize(
    ("y", "options", "code"),
    [
        ([{"a": -1, "b": 2}], {}, "weights"),
        (["a:nan|b:1"], {"kind": "votes"}, "weights"),
        (np.array([[0.5, np.nan]]), {}, "weights"),
        (np.array([[0.5, -0.5]]), {}, "weights"),
        (np.array([[0.5, np.inf]]), {"kind": "votes"}, "weights"),
        (np.array([["a", "b"]]), {"kind": "mask"}, "not-binary"),
        (np.array([["1970-01-01"]], "M8[s]"), {"kind": "mask"}, "not-binary"),
        ([{"a": "many"}], {}, "weights"),
        ([{"a": 0, "b": 0.0}], {}, "zero-weights"),
        (["a:0|b:0"], {"kind": "votes"}, "zero-weights"),
        (np.array([[0.5, 0.5], [0, 0]]), {}, "empty-set"),
        (["!a|!b", "a", "b"], {"kind": "votes"}, "all-excluded"),
        (["!a", "!b"], {"classes": ["a"]}, "all-excluded"),
        (["!a", "b"], {"kind": "votes", "classes": ["b", "c"]}, "not-in-classes"),
        (["m", "a"], {"hierarchy": {"m": ["n"], "n": ["m"]}}, "cycle"),
        (["m", "a"], {"hierarchy": {"m": ["m"]}}, "cycle"),
        (["m", "a"], {"hierarchy": {"m": ["a", "typo"]}}, "unknown-child"),
        (["m", "a"], {"hierarchy": {"m": ["a", "b"]}, "classes": ["a"]}, "unknown-child"),
        (["m", "a"], {"hierarchy": {"m": ["a"]}, "classes": ["a", "m"]}, "parent-class"),
        (["m", "a"], {"hierarchy": {"m": "a"}}, "type"),
        (["m", "a"], {"hierarchy": ["m"]}, "type"),
        (["m", "a"], {"hierarchy": {"m": []}}, "no-child"),
    ],
)
def test_bad_input_costs_one_message(y: Any, options: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as caught:
        as_candidates(y, **options)
    assert caught.value.code == code


def test_unknown_is_empty_where_one_says_so() -> None:
    sets = as_candidates(["a:3|b:1", "", "c"], kind="votes", empty="full")
    assert sets.prior[1].tolist() == [1 / 3] * 3
    soft = as_candidates(np.array([[0.25, 0.75], [0, 0]]), empty="full")
    assert soft.prior.tolist() == [[0.25, 0.75], [0.5, 0.5]]


def test_files_keep_the_weights(tmp_path: Path) -> None:
    sets = as_candidates(DOORS["dicts"][0])
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "labels": sets.to_strings()})
    frame.to_csv(tmp_path / "own.csv", index=False)
    frame.to_parquet(tmp_path / "own.parquet")
    frame.assign(labels=sets.to_dicts()).to_parquet(tmp_path / "dicts.parquet")
    np.savez(tmp_path / "own.npz", X=np.eye(3), labels=sets.prior)
    for name, options in {
        "own.csv": {"kind": "votes"},
        "own.parquet": {"kind": "votes"},
        "dicts.parquet": {},
        "own.npz": {"classes": ["cat", "dog", "emu"]},
    }.items():
        assert read_table(tmp_path / name, candidates="labels", **options).candidates == sets  # type: ignore[arg-type]


def test_marks_beside_numbers_in_a_file(tmp_path: Path) -> None:
    """With the classes of a fitted model, whose labels are numbers, they were labels of their own."""
    (tmp_path / "own.csv").write_text("x,seen\n1,1:3|2:1\n2,!2\n3,3\n", encoding="utf-8")
    for classes in (None, [1, 2, 3]):
        found = read_table(tmp_path / "own.csv", candidates="seen", kind="votes", classes=classes)
        assert found.candidates is not None
        assert found.candidates.to_dicts() == [{1: 0.75, 2: 0.25}, {1: 0.5, 3: 0.5}, {3: 1.0}]


def test_a_parent_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("x,seen\n1,pet\n2,cat\n3,dog\n4,emu\n")
    (tmp_path / "kinds.csv").write_text("child,parent\ncat,pet\ndog,pet\n")
    found = read_table(tmp_path / "own.csv", candidates="seen", hierarchy=tmp_path / "kinds.csv")
    assert found.candidates is not None
    assert found.candidates.to_lists()[0] == ["cat", "dog"]
    assert found.told()["hierarchy"] == {"pet": ["cat", "dog"]}
