"""A file for a model: its columns or arrays, as the model was fitted on them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amongst.cli.files import READABLE
from amongst.cli.reading import apart, frame_of
from amongst.cli.wording import FITTED, worded
from amongst.wording import counted

if TYPE_CHECKING:
    from amongst.datasets import Table
    from amongst.estimators import PartialLabelClassifier

__all__ = ["features_for", "known_candidates", "load_model", "read_for"]


def load_model(path: Path) -> Any:
    """The model in a file, wherever it was fitted; a table in its place is seen for what it is."""
    from amongst.errors import FileFormatError
    from amongst.estimators import load

    try:
        return _at_hand(load(path))
    except FileFormatError as error:
        if path.suffix.lower() not in READABLE:
            raise
        message = f"{path} is no model; the model comes first, the file after."
        raise FileFormatError(message) from error


def _at_hand(estimator: Any) -> Any:
    """A model that was fitted on a GPU answers on a machine without one, too."""
    from amongst.engine import as_device
    from amongst.errors import InputError

    try:
        as_device(getattr(estimator, "device", "cpu"))
    except InputError:
        estimator.set_params(device="auto")
    return estimator


def read_for(
    estimator: PartialLabelClassifier,
    file: Path,
    candidates: str | list[str] | None,
    features: list[str] | None,
    index: str | None,
    empty: Any = None,
    labelled: bool = True,
) -> Table:
    """A file with the features that the estimator was fitted on.

    Parameters
    ----------
    candidates, features, index, empty : as a person named them now; None for what was named when fitting.
    labelled : whether candidate labels are wanted; true labels never are.
    """
    from amongst.datasets import read_table
    from amongst.datasets.frames import table_format
    from amongst.datasets.guess import ARRAYS
    from amongst.errors import InputError

    fitted = estimator.metadata_
    try:
        columns = table_format(file) not in ARRAYS
        named = (
            _columns(estimator, file, features)
            if columns
            else _arrays(estimator, features, labelled)
        )
        table = read_table(
            file,
            candidates=candidates,
            index=index or _known_index(fitted, file),
            separator=fitted.get("separator", "|"),
            empty=empty or fitted.get("empty", "error"),
            kind=_kind(estimator, candidates) if columns else _told_kind(fitted),
            classes=estimator.classes_.tolist() if candidates and columns else None,
            **named,
        )
    except InputError as error:
        raise InputError(worded(str(error), FITTED)) from error
    return _as_fitted(table, estimator, file)


def features_for(estimator: PartialLabelClassifier, table: Table) -> Any:
    """With names for a model that has names, without for one that was fitted on an array."""
    return table.features if _names(estimator) is None else frame_of(table)


def known_candidates(estimator: PartialLabelClassifier, file: Path) -> list[str] | None:
    """The columns that were named when fitting; of a model from Python, the one that is plainly they."""
    from amongst.datasets.guess import guess_candidates

    known: list[str] | None = estimator.metadata_.get("candidates")
    guessed = None if known else guess_candidates(file)
    return known if guessed is None else [guessed]


def _names(estimator: PartialLabelClassifier) -> list[str] | None:
    found = getattr(estimator, "feature_names_in_", None)
    return None if found is None else list(found)


def _kind(estimator: PartialLabelClassifier, candidates: str | list[str] | None) -> Any:
    """Several columns are classes where these have their names, else annotators: a file with few
    rows may hold the answers 0 and 1 only."""
    told = _told_kind(estimator.metadata_)
    if told != "auto" or not isinstance(candidates, list):
        return told
    return "mask" if set(candidates) <= set(map(str, estimator.classes_)) else "annotators"


def _told_kind(fitted: dict[str, Any]) -> Any:
    return fitted.get("kind", "auto")


def _known_index(fitted: dict[str, Any], file: Path) -> str | None:
    """The column that named the rows when fitting, where this file has it."""
    from amongst.datasets.guess import column_names

    known: str | None = fitted.get("index")
    return known if known is not None and known in column_names(file) else None


def _columns(
    estimator: PartialLabelClassifier, file: Path, features: list[str] | None
) -> dict[str, Any]:
    from amongst.datasets.guess import column_names, guess_candidates
    from amongst.errors import InputError

    names, features = _names(estimator), apart(file, features)
    of_array = names == [f"x{at}" for at in range(estimator.n_features_in_)]
    if of_array and not features and "x0" not in column_names(file):
        raise InputError(
            f"{file} does not have the columns x0, x1, …: the model was fitted on an array, whose "
            f"{counted(estimator.n_features_in_, 'column')} had no names. Name as many, in their order, "
            "with --features."
        )
    if names is not None and features and not of_array:
        raise InputError(
            f"--features {features[0]} is not needed: the model was fitted on columns with names, "
            "and takes those. Leave it out."
        )
    if names is not None or features:
        return {"features": features or names}
    return {"ignore": [name for name in [guess_candidates(file)] if name is not None]}


def _arrays(
    estimator: PartialLabelClassifier, features: list[str] | None, labelled: bool
) -> dict[str, Any]:
    """The array that was named now or when fitting, or the only one that had no other use then."""
    fitted = estimator.metadata_
    taken = [*(fitted.get("candidates") or ()), fitted.get("truth"), *(fitted.get("ignore") or ())]
    unread = ["target"] if labelled else ["partial_target", "target"]
    return {
        "features": features or fitted.get("features"),
        "ignore": [*unread, *(name for name in taken if name is not None)],
    }


def _as_fitted(table: Table, estimator: PartialLabelClassifier, file: Path) -> Table:
    """Where one side has no names, columns are taken in their order."""
    from amongst.datasets.frames import table_format
    from amongst.datasets.guess import ARRAYS
    from amongst.errors import AmongstWarning, InputError

    d, n = table.features.shape[1], estimator.n_features_in_
    if d != n:
        raise InputError(
            f"{file} has {counted(d, 'feature')}, and the model was fitted on {n}; choose them with "
            "--features."
        )
    names = _names(estimator)
    if names is None or table.feature_names == tuple(names):
        return table
    if table_format(file) not in ARRAYS:  # named by the person, in their order
        return replace(table, feature_names=tuple(names))
    line = f"the columns of {file} have no names; they are taken in the order of the model's."
    warnings.warn(line, AmongstWarning, stacklevel=2)
    return replace(table, feature_names=tuple(names))
