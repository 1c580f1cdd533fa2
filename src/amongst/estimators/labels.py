"""Which labels an estimator takes: one rule for fit, score and the saved form."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import Any

import numpy.typing as npt

from amongst.candidates import CandidateSets, as_candidates
from amongst.candidates.labels import class_array, label_kinds
from amongst.errors import InputError

__all__ = [
    "as_fitted",
    "as_sets",
    "check_labels",
    "check_same_kind",
    "labels_from_json",
    "labels_to_json",
]

Labels = npt.NDArray[Any]

ZONED = "datetime with a zone"
TAKEN = ("string", "number", "date", "datetime", ZONED)
SAID = {
    r'pass ((?:empty|kind)="\w+")': r"give as_candidates(y, \1)",
    r"not in classes (\(.*\))\. Add it to classes, or correct the row": (
        r"none of the classes \1 that fit had. Correct the row, or fit again with rows that have it"
    ),
}
"""What `as_candidates` says of its own arguments, and how it is said where there are none."""
READERS: dict[str, Any] = {"date": date.fromisoformat, "datetime": datetime.fromisoformat}


def as_sets(y: Any, classes: Labels | None = None) -> CandidateSets:
    """As `as_candidates`, with a remedy that an estimator's `fit` and `disambiguate` know.

    >>> as_sets([["owl"], []])
    Traceback (most recent call last):
    amongst.errors.InputError: y[1] is an empty candidate set; every row needs at least one label. Drop the row, or give as_candidates(y, empty="full").
    """
    try:
        return as_candidates(y, None if classes is None else classes.tolist())
    except InputError as error:
        line = str(error)
        for pattern, instead in SAID.items():
            line = re.sub(pattern, instead, line)
        raise InputError(line) from error


def check_labels(classes: Labels) -> None:
    """An error unless all labels are strings, or whole numbers, or dates, or datetimes.

    >>> check_labels(class_array(["a", 1]))
    Traceback (most recent call last):
    amongst.errors.InputError: y mixes labels of different types, such as 'a' (string) and 1 (number). Give all of them one type: make them strings.
    """
    kinds = _kinds(classes)
    shown = " and ".join(f"{label!r} ({kind})" for kind, label in list(kinds.items())[:2])
    if len(kinds) > 1:
        raise InputError(
            f"y mixes labels of different types, such as {shown}. Give all of them one type: make "
            "them strings."
        )
    if not set(kinds) <= set(TAKEN):
        raise InputError(
            f"y holds labels such as {shown}; a classifier takes strings, whole numbers, bools, "
            "dates or datetimes. Make them strings."
        )
    fractions = [v for v in classes.tolist() if isinstance(v, float) and not v.is_integer()]
    if fractions:
        raise InputError(
            f"Unknown label type: y holds {fractions[0]}, a continuous number; labels are strings, "
            "whole numbers or dates. Make them strings."
        )


def check_same_kind(given: Labels, classes: Labels) -> None:
    """An error where labels can be none of the classes, because their type is another.

    >>> check_same_kind(class_array(["1"]), class_array([1, 2]))
    Traceback (most recent call last):
    amongst.errors.InputError: y holds labels such as '1' (string), but the classes are such as 1 (number). Give labels of the type that fit had.
    """
    known = _kinds(classes)
    for kind, label in _kinds(given).items():
        if kind not in known:
            own, example = next(iter(known.items()))
            raise InputError(
                f"y holds labels such as {label!r} ({kind}), but the classes are such as "
                f"{example!r} ({own}). Give labels of the type that fit had."
            )


def as_fitted(sets: CandidateSets, classes: Labels) -> CandidateSets:
    """The sets with labels of the classes' type: pandas makes times of days, so that a day and the
    midnight that begins it are one label. Other labels stay as they are.

    >>> sets = as_candidates([[date(2024, 5, 1)]])
    >>> as_fitted(sets, class_array([datetime(2024, 5, 1), datetime(2024, 5, 2)])).classes
    array(['2024-05-01T00:00:00.000000'], dtype='datetime64[us]')
    """
    given, (known, *_) = sets.classes.tolist(), _kinds(classes)
    if known == "datetime" and set(_kinds(sets.classes)) == {"date"}:
        labels = [datetime.combine(day, time.min) for day in given]
    elif known == "date" and all(isinstance(t, datetime) and _midnight(t) for t in given):
        labels = [midnight.date() for midnight in given]
    else:
        return sets
    return CandidateSets(sets.members, class_array(labels))


def labels_to_json(classes: Labels) -> dict[str, Any]:
    """Labels that `check_labels` takes, as JSON can hold them.

    >>> labels_to_json(class_array([date(2024, 5, 1)]))
    {'labels': ['2024-05-01'], 'dtype': 'date'}
    """
    labels, (kind,) = classes.tolist(), label_kinds(classes.tolist())
    written = [label.isoformat() for label in labels] if kind in READERS else labels
    return {"labels": written, "dtype": kind}


def labels_from_json(saved: dict[str, Any]) -> Labels:
    """The inverse of `labels_to_json`.

    >>> labels_from_json({"labels": ["2024-05-01"], "dtype": "date"}).tolist()
    [datetime.date(2024, 5, 1)]
    """
    read = READERS.get(saved["dtype"])
    return class_array(saved["labels"] if read is None else list(map(read, saved["labels"])))


def _kinds(labels: Labels) -> dict[str, Any]:
    """As `label_kinds`, and times of a zone are a kind of their own: they equal none without."""
    found: dict[str, Any] = {}
    for label in labels.tolist():
        zoned = isinstance(label, datetime) and label.tzinfo is not None
        found.setdefault(ZONED if zoned else next(iter(label_kinds([label]))), label)
    return found


def _midnight(moment: datetime) -> bool:
    return moment.tzinfo is None and moment.time() == time.min
