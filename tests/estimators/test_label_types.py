"""A label that `fit` takes works everywhere after it; one that would not is refused by `fit`."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from amongst import LWClassifier, PLKNNClassifier, as_candidates, load
from amongst.errors import InputError
from amongst.selection import PartialLabelSearchCV

DAYS = [datetime.date(2024, 5, day) for day in (1, 2, 3)]
HOURS = [datetime.datetime(2024, 5, 1, hour) for hour in (9, 12, 15)]
TAKEN: dict[str, list[Any]] = {
    "strings": ["ant", "bee", "cow"],
    "numbers": [0, 1.0, np.int8(2)],
    "bools": [True, False, True],
    "dates": DAYS,
    "NumPy's dates": list(np.array(DAYS, dtype="datetime64[D]")),
    "datetimes": HOURS,
    "NumPy's times": list(np.array(HOURS, dtype="datetime64[ns]")),
    "pandas' times": [pd.Timestamp(hour) for hour in HOURS],
    "times of a zone": [pd.Timestamp(hour, tz="Europe/Berlin") for hour in HOURS],
}
FORMS: dict[str, Any] = {
    "sets": lambda sets: sets,
    "frame": lambda sets: pd.DataFrame([[*s, None][:2] for s in sets], columns=["p", "q"]),
    "list": lambda sets: [s[0] for s in sets],
    "array": lambda sets: np.array([s[0] for s in sets]),
    "objects": lambda sets: np.array([*(s[0] for s in sets), None], dtype=object)[:-1],
    "series": lambda sets: pd.Series([s[0] for s in sets]),
}
REFUSED: dict[str, tuple[list[Any], str]] = {
    "mixed": (["a", 1, 2], r"y mixes labels .*1 \(number\) and 'a' \(string\).*make them strings"),
    "dates and times": ([DAYS[0], *HOURS[1:]], r"y mixes labels .*\(date\) and .*\(datetime\)"),
    "zones": ([pd.Timestamp(HOURS[0], tz="UTC"), *HOURS[1:]], r"y mixes labels .* with a zone\)"),
    "tuples": ([(0, 1), (1, 2), (0, 2)], r"y holds labels such as \(0, 1\) \(tuple\)"),
    "bytes": ([b"a", b"b", b"c"], r"y holds labels such as b'a' \(bytes\).*Make them strings"),
    "fractions": ([0.5, 1.5, 2.5], r"y\[0\] contains 0.5, a continuous .*Unknown label type: "),
}


def rows_of(labels: list[Any]) -> tuple[np.ndarray, list[list[Any]]]:
    """Clusters whose label is known, or one of two."""
    codes = np.arange(60) % 3
    X = np.eye(3)[codes] * 3 + np.random.default_rng(0).normal(0, 0.1, (60, 3))
    more = [[] if row % 2 else [labels[(z + 1) % 3]] for row, z in enumerate(codes)]
    return X, [[labels[z], *other] for z, other in zip(codes, more, strict=True)]


@pytest.mark.filterwarnings("ignore:y holds 0 and 1 beside empty cells")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("labels", TAKEN.values(), ids=TAKEN.keys())
def test_what_fit_takes_works_everywhere(tmp_path: Path, labels: list[Any], form: Any) -> None:
    X, sets = rows_of(labels)
    y, truth = form(sets), FORMS["list"](sets)
    if isinstance(y, pd.DataFrame | pd.Series):
        truth = FORMS["series"](sets)
    model = PLKNNClassifier(n_neighbors=5).fit(X, y)
    assert model.score(X, y) == model.score(X, truth) == model.score(X, model.predict(X)) == 1
    assert model.disambiguate(X, y)["confidence"].min() >= 0.5
    again = model.disambiguate(X, [[label] for label in model.predict(X)])
    assert (again["label"].to_numpy() == model.predict(X)).all()
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.score(X, truth) == 1


@pytest.mark.parametrize("labels", TAKEN.values(), ids=TAKEN.keys())
def test_searches_take_what_fit_takes(labels: list[Any]) -> None:
    X, sets = rows_of(labels)
    model = LWClassifier(model="linear", epochs=5, random_state=0)
    search = PartialLabelSearchCV(model, {"lr": [0.5]}, random_state=0).fit(X, sets)
    assert search.score(X, sets) == 1
    assert len(search.disambiguate(X, sets)) == len(X)


@pytest.mark.parametrize(("labels", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_fit_refuses_the_others(labels: list[Any], words: str) -> None:
    X, sets = rows_of(labels)
    for model in (PLKNNClassifier(), PartialLabelSearchCV(PLKNNClassifier(), {"n_neighbors": [3]})):
        with pytest.raises(InputError, match=words):
            model.fit(X, sets)


def test_a_score_of_labels_of_another_type_is_no_zero() -> None:
    X, sets = rows_of([0, 1, 2])
    model = PLKNNClassifier(n_neighbors=5).fit(X, sets)
    with pytest.raises(
        InputError, match=r"such as '0' \(string\), but the classes .* 0 \(number\)"
    ):
        model.score(X, [str(s[0]) for s in sets])


MIDNIGHTS = [datetime.datetime(2024, 5, day) for day in (1, 2, 3)]
DAY_FORMS: dict[str, Any] = {
    "dates": DAYS,
    "NumPy's dates": np.array(DAYS, dtype="datetime64[D]"),
    "datetimes": MIDNIGHTS,
    "pandas' times": pd.to_datetime(pd.Series(DAYS)),
}


@pytest.mark.parametrize("asked", DAY_FORMS.values(), ids=DAY_FORMS.keys())
@pytest.mark.parametrize("fitted", DAY_FORMS.values(), ids=DAY_FORMS.keys())
def test_a_day_and_its_midnight_are_one_label(fitted: Any, asked: Any) -> None:
    """pandas makes times of days, so that what fit saw and what one holds may differ in type."""
    X, codes = rows_of([0, 1, 2])[0], np.arange(60) % 3
    y = fitted.iloc[codes] if isinstance(fitted, pd.Series) else [fitted[z] for z in codes]
    model = PLKNNClassifier(n_neighbors=5).fit(X, y)
    truth = [list(asked)[z] for z in codes]
    wrong = [list(asked)[(z + 1) % 3] for z in codes]
    assert model.score(X, truth) == 1
    assert model.score(X, wrong) == 0
    assert model.score(X, [[a, b] for a, b in zip(truth, wrong, strict=True)]) == 1
    assert (model.disambiguate(X, [[w] for w in wrong])["label"] != model.predict(X)).all()
    assert model.disambiguate(X, np.eye(3, dtype=bool)[codes])["confidence"].min() == 1
    assert type(model.predict(X)[0]) is type(model.classes_[0])  # what fit had comes back


def test_times_that_can_be_no_class_are_told() -> None:
    X, sets = rows_of(DAYS)
    model = PLKNNClassifier(n_neighbors=5).fit(X, sets)
    with pytest.raises(InputError, match=r"\(datetime\), but the classes .*\(date\)"):
        model.score(X, [HOURS[0]] * 60)
    zoned = [pd.Timestamp(hour, tz="UTC") for hour in HOURS]
    for labels, other, first, second in (
        (HOURS, zoned, "datetime with a zone", "datetime"),
        (zoned, HOURS, "datetime", "datetime with a zone"),
        (zoned, DAYS, "date", "datetime with a zone"),
        (MIDNIGHTS, list("abc"), "string", "datetime"),
    ):
        model = PLKNNClassifier(n_neighbors=5).fit(*rows_of(labels))
        with pytest.raises(InputError, match=rf"\({first}\), but the classes .*\({second}\)"):
            model.score(X, [other[0]] * 60)


def test_equal_dates_are_one_label() -> None:
    noon = HOURS[1]
    forms = [noon, pd.Timestamp(noon), np.datetime64(noon), np.datetime64(noon, "ns")]
    assert as_candidates([[form] for form in forms]).classes.tolist() == [noon]
    assert as_candidates([[noon]] * 4).contains(np.array(forms[2:] * 2, "M8[ns]")).all()
    with pytest.raises(InputError, match=r"y\[1\] is an empty candidate set"):
        as_candidates(np.array(["2024-05-01", "NaT"], dtype="datetime64[ns]"))


def test_a_remedy_is_one_that_fit_and_disambiguate_know() -> None:
    """They said to pass what only `as_candidates` takes."""
    X, y = np.eye(3), ["owl|kite", "kite", "wren"]
    model = PLKNNClassifier(n_neighbors=2).fit(X, y)
    with pytest.raises(InputError, match=r"y\[1\] is an .*or pass as_candidates\(y, empty='full'"):
        model.fit(X, ["owl|kite", "", "wren"])
    with pytest.raises(
        InputError, match=r"none of the classes \('kite', .*\)\. Correct the row, or fit"
    ):
        model.disambiguate(X, ["owl|emu", "kite", "wren"])
