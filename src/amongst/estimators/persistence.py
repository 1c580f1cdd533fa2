"""Save and load fitted estimators as safetensors and JSON: no pickle, nothing is executed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date, datetime
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from amongst.candidates.cells import class_array, distinct, label_kinds
from amongst.data import TableEncoder
from amongst.errors import AmongstError, FileFormatError, InputError
from amongst.files import Arrays, read_archive, write_archive
from amongst.files import under as under
from amongst.trust import Calibration

if TYPE_CHECKING:
    from amongst.estimators.base import PartialLabelClassifier

READERS: dict[str, Any] = {"date": date.fromisoformat, "datetime": datetime.fromisoformat}

CALIBRATION = "calibration/"
"""Before the names of its arrays."""

COMPOSED = ("AutoClassifier", "CrowdClassifier", "PartialLabel")
"""Estimators that are made of others, which no registry has."""


def save(
    estimator: PartialLabelClassifier,
    path: str | os.PathLike[str],
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted estimator to one file; see `PartialLabelClassifier.save`.

    >>> import tempfile
    >>> from amongst.estimators import PLKNNClassifier, load
    >>> model = PLKNNClassifier(n_neighbors=1).fit([[0.], [1.]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/mine.amongst")
    ...     load(f"{folder}/mine.amongst").predict([[1.]]).tolist()
    ['b']
    """
    write_archive(path, *to_values(estimator, metadata))


def to_values(
    estimator: PartialLabelClassifier, metadata: Mapping[str, Any] | None = None
) -> tuple[Arrays, dict[str, Any]]:
    """A fitted estimator as arrays and JSON-ready facts; `from_values` is the inverse."""
    check_is_fitted(estimator)
    name = type(estimator).__name__
    if _class_of(name) is not type(estimator):
        raise InputError(
            f"{name} is a class of your own, which the file could not bring back: it holds values, no "
            "code. Use joblib.dump(estimator, path), or save estimator.model_.state_dict()."
        )
    arrays, facts = estimator._get_state()
    kept, calibrated = estimator.calibration_, None
    if kept is not None:
        own, calibrated = kept.to_state()
        arrays = {**arrays, **{CALIBRATION + name: array for name, array in own.items()}}
    params = estimator.get_params(deep=False)
    registered = import_module("amongst.estimators").ESTIMATORS
    names = getattr(estimator, "feature_names_in_", None)
    whole = {
        "kind": "estimator",
        "estimator": name,
        "package": "amongst" if name in COMPOSED else registered.package(name),
        "params": {name: _plain(name, value) for name, value in params.items()},
        "classes": labels_to_json(estimator.classes_),
        "annotators": estimator._annotators,
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else list(map(str, names)),
        "encoder": None if estimator.encoder_ is None else estimator.encoder_.to_state(),
        "state": facts,
        "calibration": calibrated,
        "metadata": dict(metadata or {}),
    }
    return arrays, whole


def load(path: str | os.PathLike[str], **params: Any) -> PartialLabelClassifier:
    """Read an estimator that `save` wrote.

    Parameters
    ----------
    path : the file.
    params : parameters to replace, e.g. ``device="cpu"``; and ``model=…`` for an estimator that
        was fitted with a module of one's own, whose class is not in the file.

    Examples
    --------
    >>> import tempfile
    >>> from amongst import LWClassifier, load
    >>> fitted = LWClassifier(model="linear", epochs=2).fit([[0.], [1.], [2.]], ["a|b", "b", "a"])
    >>> path = tempfile.mkdtemp() + "/model.amongst"
    >>> fitted.save(path)
    >>> load(path).classes_.tolist()
    ['a', 'b']
    """
    arrays, facts = read_archive(path)
    try:
        return from_values(arrays, facts, params, os.fspath(path))
    except AmongstError:
        raise
    except Exception as error:  # a file may hold anything
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise FileFormatError(
            f"{os.fspath(path)!r} cannot be brought back ({reason}): another version of amongst wrote "
            "it, or it does not fit the parameters given to load."
        ) from error


def from_values(
    arrays: Arrays,
    facts: Mapping[str, Any],
    params: Mapping[str, Any] = MappingProxyType({}),
    path: str = "the archive",
) -> PartialLabelClassifier:
    """The estimator of these arrays and facts, with some parameters replaced."""
    kind = _class_of(facts.get("estimator", ""))
    if facts.get("kind") != "estimator" or kind is None:
        held = facts.get("estimator", facts.get("kind", "something else"))
        bringer = facts.get("package", "amongst")
        missing = f" without the package {bringer}; install it" if bringer != "amongst" else ""
        raise FileFormatError(
            f"{path!r} holds {held!r}, which this version of amongst cannot load{missing}."
        )
    names, n = facts["feature_names_in"], facts["n_features_in"]
    if type(n) is not int or not (names is None or len(names) == n):
        raise ValueError(f"it counts {n!r} features")
    estimator: PartialLabelClassifier = kind(**_params(facts["params"], params))
    estimator.classes_ = labels_from_json(facts["classes"])
    distinct(estimator.classes_.tolist())
    estimator._annotators = facts.get("annotators")
    estimator.n_features_in_ = n
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    kept = facts.get("encoder")
    estimator.encoder_ = None if kept is None else TableEncoder.from_state(kept)
    estimator.metadata_ = dict(facts["metadata"])
    estimator._set_state(arrays, facts["state"])
    if facts.get("calibration") is not None:
        estimator.calibration_ = Calibration.from_state(
            under(arrays, CALIBRATION), facts["calibration"]
        )
    return estimator


def labels_to_json(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Labels of one kind, as JSON can hold them.

    >>> labels_to_json(np.array([date(2024, 5, 1)], dtype=object))
    {'labels': ['2024-05-01'], 'dtype': 'date'}
    """
    labels = classes.tolist()
    kind = next(iter(label_kinds(labels))).removesuffix(" with a zone")
    written = [label.isoformat() for label in labels] if kind in READERS else labels
    return {"labels": written, "dtype": kind}


def labels_from_json(saved: dict[str, Any]) -> npt.NDArray[Any]:
    """The inverse of `labels_to_json`."""
    read = READERS.get(saved["dtype"])
    return class_array(saved["labels"] if read is None else list(map(read, saved["labels"])))


def _class_of(name: str) -> Any:
    """The estimator class of that name, ours or of an installed package; None if there is none."""
    home = "amongst" if name in COMPOSED else "amongst.estimators"
    found = getattr(import_module(home), name, None)
    return found if isinstance(found, type) and issubclass(found, BaseEstimator) else None


def _plain(name: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, tuple | list):
        return {"tuple": [_plain(name, item) for item in value]}
    return {"missing": type(value).__name__}


def _params(saved: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    params = {name: _unplain(value) for name, value in saved.items()} | dict(given)
    missing = {n: v["missing"] for n, v in params.items() if isinstance(v, dict) and "missing" in v}
    if "model" in missing:
        raise InputError(
            f"the saved estimator was fitted with model={missing['model']}(…), a class of your own; "
            "pass it again: load(path, model=…)."
        )
    return params | dict.fromkeys(missing)


def _unplain(value: Any) -> Any:
    if isinstance(value, dict) and "tuple" in value:
        return tuple(_unplain(item) for item in value["tuple"])
    return value
