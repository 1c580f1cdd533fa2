"""Data frames as people have them: text, dates, holes, rows in another order."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from amongst import LWClassifier, PLKNNClassifier
from amongst.errors import AmongstWarning, InputError

LABELS = pd.Series(["owl|kite", "kite", "owl", "owl"])
WING = pd.Series([1.0, 5.0, 2.0, 1.5])
DAYS = pd.to_datetime(["2024-05-01", "2024-05-02", "2024-05-03", "2024-05-04"])


@pytest.fixture
def model() -> LWClassifier:
    return LWClassifier(model="linear", epochs=1, random_state=0)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (["R1", "R2", "R3", "R4"], "not numbers: 'odd' \\('R1' in row 0\\).*OneHotEncoder"),
        (["1", "2", "x", "4"], "'odd' \\('x' in row 2\\)"),
        (pd.Categorical(list("abab")), "not numbers: 'odd' \\('a' in row 0\\)"),
        (DAYS, "not numbers: 'odd' \\(Timestamp.*in row 0\\)"),
        ([1.0, np.nan, 2.0, 3.0], "empty cells: 'odd' \\(in row 1\\).*SimpleImputer"),
        (pd.Categorical([1, 2, None, 4]), "empty cells: 'odd' \\(in row 2\\)"),
        (pd.array([1, 2, None, 4], dtype="Int64"), "empty cells: 'odd' \\(in row 2\\)"),
    ],
)
def test_a_column_that_is_no_number_is_named(
    model: LWClassifier, column: object, said: str
) -> None:
    frame = pd.DataFrame({"wing": WING, "odd": column})
    with pytest.raises(InputError, match=said):
        model.fit(frame, LABELS)
    fitted = model.fit(frame.assign(odd=0.0), LABELS)
    with pytest.raises(InputError, match=said):
        fitted.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"wing": "wings"}))


def test_many_columns_are_counted(model: LWClassifier) -> None:
    frame = pd.DataFrame({f"c{i}": list("abcd") for i in range(9)})
    with pytest.raises(InputError, match=r"'c0' .*, 'c1', 'c2', 'c3', … \(9 in all\)\."):
        model.fit(frame, LABELS)


def test_numbers_as_text_are_numbers(model: LWClassifier) -> None:
    plain = pd.DataFrame({"wing": WING, "weight": [1.0, 2.0, 3.0, 4.0]})
    expected = model.fit(plain, LABELS).predict_proba(plain)
    for weight in (["1", "2.0", "3", "4"], pd.Categorical([1, 2, 3, 4])):
        frame = plain.assign(weight=weight)
        assert np.array_equal(model.fit(frame, LABELS).predict_proba(frame), expected)


@pytest.mark.parametrize("classifier", [LWClassifier(epochs=1), PLKNNClassifier(n_neighbors=1)])
@pytest.mark.parametrize("days", [DAYS, DAYS - DAYS[0]])
def test_dates_alone_are_refused(classifier: LWClassifier, days: pd.DatetimeIndex) -> None:
    """scikit-learn's door lets them pass: a network failed inside, neighbours took them as numbers."""
    for X in (days.to_numpy()[:, None], pd.DataFrame({"day": days})):
        with pytest.raises(InputError, match=r"X holds values of type|not numbers: 'day'"):
            classifier.fit(X, LABELS)


def test_rows_that_belong_elsewhere_by_their_index_are_said(model: LWClassifier) -> None:
    frame = pd.DataFrame({"wing": WING})
    turned = LABELS[::-1]
    with pytest.warns(AmongstWarning, match="same index in another order"):
        model.fit(frame, turned)
    for ask in (model.score, model.disambiguate):
        with pytest.warns(AmongstWarning, match="y.loc"):
            ask(frame, turned.to_frame())


@pytest.mark.parametrize("classifier", [LWClassifier(epochs=1), PLKNNClassifier(n_neighbors=1)])
def test_the_warning_is_where_the_estimator_was_called(classifier: LWClassifier) -> None:
    frame, turned = pd.DataFrame({"wing": WING}), LABELS[::-1]
    for ask in (classifier.fit, classifier.score, classifier.disambiguate):
        with pytest.warns(AmongstWarning, match="another order") as told:
            ask(frame, turned)
        assert [warning.filename for warning in told] == [__file__]


def test_an_index_of_its_own_says_nothing_of_the_order(model: LWClassifier) -> None:
    frame = pd.DataFrame({"wing": WING})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(frame, LABELS.set_axis([7, 8, 9, 10]))
        model.fit(frame.iloc[::-1], LABELS[::-1])
        model.fit(frame.to_numpy(), LABELS[::-1])
