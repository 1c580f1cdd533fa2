"""Columns of any kind become numbers, as scikit-learn's own transformers make them."""

from __future__ import annotations

import json
import sys
from datetime import date
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from amongst.data import TableEncoder
from amongst.data.encoder import MOST_CATEGORIES, WORD
from amongst.data.encoder import _sentence_model as embedding
from amongst.errors import AmongstWarning, InputError, MissingDependencyError

WORDS = [
    "the",
    "owl",
    "sat",
    "on",
    "a",
    "tree",
    "near",
    "still",
    "water",
    "and",
    "sang",
    "её",
    "песню",
    "森の鳥",
    "東京",
]


def table(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D")
    return pd.DataFrame(
        {
            "ring": [f"R{i:04d}" for i in range(n)],
            "record_id": rng.permutation(n) + 1000,
            "wing": rng.normal(size=n),
            "age": pd.array(np.where(rng.random(n) < 0.2, None, rng.integers(1, 9, n)), "Int64"),
            "habitat": rng.choice(["wood", "lake", None], n),
            "ringed": rng.random(n) < 0.5,
            "island": "Öland",
            "nothing": None,
            "seen": days,
            "remarks": [" ".join(rng.choice(WORDS, 7)) for _ in range(n)],
        }
    )


def notes(frame: pd.DataFrame, **options: Any) -> dict[str, str]:
    lines = (line.split(": ", 1) for line in TableEncoder(**options).fit(frame).notes_)
    return {name: note for names, note in lines for name in names.split(", ")}


def fitted(name: str, cells: Any) -> TableEncoder:
    """Beside a column of strings, so that the table is not one of plain numbers."""
    return TableEncoder().fit(pd.DataFrame({name: cells, "other": ["a", "b"] * (len(cells) // 2)}))


def test_numbers_alone_stay_what_they_are() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("abc"))
    frame["record_id"], frame["constant"], frame["yes"] = np.arange(30), 1.0, frame["a"] > 0
    encoder = TableEncoder().fit(frame)
    assert np.array_equal(encoder.transform(frame), frame.to_numpy(dtype=float))
    assert encoder.get_feature_names_out().tolist() == frame.columns.tolist()
    assert encoder.notes_[1] == "constant: the same in every row, which tells nothing"


class Sentences:
    """As the class of this name in sentence-transformers: `encode` gives float32, a row for each text."""

    def __init__(self, name: str) -> None:
        if name != "small":
            raise OSError(f"{name} is not a local folder and is not a valid model identifier")

    def encode(self, sentences: list[str], show_progress_bar: bool) -> Any:
        assert not show_progress_bar
        return np.array([[len(text), text.count("owl")] for text in sentences], dtype=np.float32)


def test_a_model_of_sentences_makes_numbers_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package is installed; the state names the model, and a clone keeps it."""
    embedding.cache_clear()
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Sentences))  # fmt: skip
    frame = table()[["remarks", "wing"]]
    encoder = TableEncoder(text="small").fit(frame)
    wanted = np.array([[len(t), t.count("owl"), w] for t, w in frame.itertuples(index=False)])
    np.testing.assert_array_equal(encoder.transform(frame), wanted)
    assert encoder.get_feature_names_out().tolist() == ["remarks (0)", "remarks (1)", "wing"]
    assert encoder.notes_[0] == "remarks: text, 2 numbers by small"
    loaded = TableEncoder.from_state(json.loads(json.dumps(encoder.to_state())))
    np.testing.assert_array_equal(loaded.transform(frame), wanted)
    assert clone(loaded).text == "small"
    with pytest.warns(AmongstWarning, match="no column is a text"):
        TableEncoder(text="small").fit(table()[["habitat", "wing"]])
    with pytest.raises(InputError) as caught:
        TableEncoder(text="large").fit(frame)
    assert (caught.value.code, caught.value.got) == ("no-model", "large")
    embedding.cache_clear()


def test_without_the_package_of_sentences_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedding.cache_clear()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependencyError, match=r"amongst\[text\]"):
        TableEncoder(text="small").fit(table())


@pytest.mark.parametrize("text", [False, True])
def test_the_state_is_json_and_gives_the_same_numbers(text: bool) -> None:
    frame = table() if text else table().drop(columns="remarks")
    encoder = TableEncoder().fit(frame)
    again = TableEncoder.from_state(json.loads(json.dumps(encoder.to_state())))
    first, second = encoder.transform(frame), again.transform(frame)
    assert sp.issparse(first) is sp.issparse(second) is text
    assert abs(first - second).max() == 0
    assert again.notes_ == encoder.notes_
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    assert first.shape == (60, len(encoder.get_feature_names_out()))


def test_categories_are_those_of_one_hot_encoder() -> None:
    train = pd.DataFrame({"habitat": ["wood", "lake", "wood", "moor"], "wing": [1.0, 2, 3, 4]})
    new = pd.DataFrame({"habitat": ["moor", "desert", "lake"], "wing": 0.0})
    reference = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(train[["habitat"]])
    encoder = TableEncoder().fit(train)
    assert np.array_equal(encoder.transform(train)[:, :3], reference.transform(train[["habitat"]]))
    with pytest.warns(AmongstWarning) as caught:
        found = encoder.transform(new)[:, :3]
    assert np.array_equal(found, reference.transform(new[["habitat"]]))
    assert [told.message.code for told in caught] == ["unseen"]


def test_holes_are_those_of_simple_imputer() -> None:
    frame = pd.DataFrame({"wing": [1.0, None, 4.0, 7.0], "tail": [1.0, 2.0, 3.0, 5.0]})
    reference = SimpleImputer(strategy="median", add_indicator=True).fit(frame)
    encoder, new = TableEncoder().fit(frame), frame[::-1].assign(tail=[None, 2.0, 3.0, 5.0])
    in_order = [0, 2, 1]  # which says what is missing behind all numbers
    for rows in (frame, new):
        assert np.array_equal(encoder.transform(rows), reference.transform(rows)[:, in_order])


def test_words_among_numbers_are_holes() -> None:
    frame = pd.DataFrame({"wing": ["1", "?", *["4"] * 20, "7"]})
    assert TableEncoder().fit(frame).transform(frame)[:3].tolist() == [[1, 0], [4, 1], [4, 0]]


def test_text_is_that_of_tfidf_vectorizer() -> None:
    frame = table()[["remarks"]]
    reference = TfidfVectorizer(token_pattern=WORD, ngram_range=(1, 2), sublinear_tf=True)
    wanted = reference.fit_transform(frame["remarks"])
    encoder = TableEncoder().fit(frame)
    assert abs(encoder.transform(frame) - wanted).max() < 1e-12
    names = encoder.get_feature_names_out().tolist()
    assert {"remarks: owl", "remarks: песню", "remarks: 東", "remarks: 東 京"} <= {*names}


def test_numbers_beside_a_text_are_standardised() -> None:
    encoder = TableEncoder().fit(table())
    first = encoder.transform(table()).toarray()[:, 0]
    assert encoder.get_feature_names_out()[0] == "wing"
    assert abs(first.mean()) < 1e-12
    assert abs(first.std() - 1) < 1e-12


def test_each_column_is_told_in_a_line() -> None:
    told = notes(table())
    assert told["ring"] == "names each row, left out"
    assert told["record_id"] == "names or numbers the rows, left out"
    assert told["habitat"] == "2 categories and missing, one-hot"
    assert told["island"] == "the same in every row, left out"
    assert told["nothing"] == "empty in every row, left out"
    assert told["seen"].startswith("dates, 2024-01-")
    assert told["remarks"].startswith("text, TF-IDF of ")
    assert notes(table(), ids=True)["record_id"] == "numbers"


def test_ten_thousand_categories_are_the_most_frequent_ones() -> None:
    city = [f"c{i}" for i in range(10_000)] + [f"c{i}" for i in range(150)] + ["c7"]
    encoder = TableEncoder().fit(pd.DataFrame({"city": city}))
    assert encoder.notes_ == ["city: 10,000 categories, the 100 most frequent one-hot"]
    found = encoder.transform(pd.DataFrame({"city": ["c7", "c9999"]}))
    assert found.sum(axis=1).tolist() == [1, 0]
    assert found.shape[1] == MOST_CATEGORIES


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["2024-05-31", "31/05/2024"], [0, 0]),
        (["1/2/2024", "1/13/2024"], [0, 11]),
        (["1.2.2024", "2.2.2024"], [0, 1]),
        (["31 May 2024", "May 31, 2024"], [0, 0]),
        (["2024-05-31 12:00", "2024-06-01"], [0, 0.5]),
        ([date(2024, 5, 31), date(2024, 6, 1)], [0, 1]),
        (["2024-05-31T00:00+02:00", "2024-05-31T00:00+00:00"], [0, 2 / 24]),
    ],
)
def test_dates_are_days_in_any_form(cells: list[Any], days: list[float]) -> None:
    frame = pd.DataFrame({"seen": cells * 10, "habitat": ["wood", "lake"] * 10})
    found = TableEncoder().fit(frame).transform(frame)[:2, 0]
    assert np.allclose(found - found[0], days)


def test_a_date_is_days_season_and_weekday() -> None:
    frame = pd.DataFrame({"seen": ["2024-05-31", None, "2024-06-03"], "habitat": ["a", "b", "a"]})
    encoder = TableEncoder().fit(frame)
    found = pd.DataFrame(encoder.transform(frame), columns=encoder.get_feature_names_out())
    assert found["seen (weekday)"].tolist() == [4, 2, 0]  # a Friday, and a Monday
    assert found["seen (missing)"].tolist() == [0, 1, 0]
    assert found["seen (days)"][0] == (date(2024, 5, 31) - date(1970, 1, 1)).days
    assert np.allclose(
        found["seen (season sin)"] ** 2 + found["seen (season cos)"] ** 2, 1, atol=1e-3
    )


def test_two_formats_of_a_date_are_told() -> None:
    cells = ["2024-05-31", "30/05/2024"] * 10
    assert notes(pd.DataFrame({"seen": cells}))["seen"].endswith(
        "written as 2024-05-31 and 30/05/2024"
    )
    assert notes(pd.DataFrame({"seen": ["1/2/2024", "3/4/2024"] * 10}))["seen"].endswith(
        "read as month, day"
    )


def test_an_id_with_zeros_in_front_is_no_number() -> None:
    frame = pd.DataFrame({"zip": ["01234", "10115"] * 10, "wing": np.arange(20) % 3})
    assert notes(frame)["zip"] == "2 categories, one-hot"


def test_a_column_that_is_empty_now_is_said() -> None:
    encoder = TableEncoder().fit(table().drop(columns="remarks"))
    new = table().assign(age=None)
    with pytest.warns(AmongstWarning, match="'age'") as caught:
        found = encoder.transform(new)
    assert [told.message.code for told in caught] == ["all-missing"]
    names = encoder.get_feature_names_out().tolist()
    assert (found[:, names.index("age")] == table()["age"].median()).all()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"wing": "wide"}, "not-numbers"),
        ({"wing": np.inf}, "not-finite"),
        ({"age": -np.inf}, "not-finite"),
    ],
)
def test_what_is_no_number_is_refused_with_its_row(change: dict[str, Any], code: str) -> None:
    frame = table()
    encoder = TableEncoder().fit(frame)
    bad = frame.astype(dict.fromkeys(change, object))
    for name, cell in change.items():
        bad.loc[4, name] = cell
    with pytest.raises(InputError) as caught:
        encoder.transform(bad)
    assert (caught.value.code, caught.value.at, caught.value.got) == (code, 4, *change)


def test_a_column_that_is_not_there_is_refused_and_others_do_not_matter() -> None:
    encoder = TableEncoder().fit(table())
    with pytest.raises(InputError) as caught:
        encoder.transform(table().drop(columns="habitat"))
    assert (caught.value.code, caught.value.got) == ("no-column", "habitat")
    less = table().drop(columns=["ring", "nothing"]).assign(more=1)
    assert abs(encoder.transform(less) - encoder.transform(table())).max() == 0


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (pd.DataFrame({"a": ["x"] * 5}), "no-features"),
        (pd.DataFrame({"a": []}), "no-rows"),
        (pd.DataFrame([[1, "x"]], columns=["a", "a"]), "twice"),
        (pd.DataFrame({"a": ["1,5", "2,25", "3,5"]}), "not-numbers"),
    ],
)
def test_tables_that_tell_nothing_are_refused(frame: pd.DataFrame, code: str) -> None:
    with pytest.raises(InputError) as caught:
        TableEncoder().fit(frame)
    assert caught.value.code == code


def test_it_stands_in_a_pipeline() -> None:
    frame, y = table(), np.arange(60) % 2
    pipe = make_pipeline(clone(TableEncoder(ids=True)), LogisticRegression(max_iter=1000))
    assert pipe.fit(frame, y).predict(frame[::-1]).shape == (60,)
