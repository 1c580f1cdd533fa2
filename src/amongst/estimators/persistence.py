"""Save and load fitted estimators as safetensors and JSON: no pickle, nothing is executed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from amongst.archive import Arrays, read_archive, write_archive
from amongst.errors import AmongstError, FileFormatError, InputError
from amongst.estimators.base import PartialLabelClassifier
from amongst.estimators.labels import labels_from_json, labels_to_json

__all__ = ["load", "save"]


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
    from amongst.estimators import ESTIMATORS

    check_is_fitted(estimator)
    name = type(estimator).__name__
    if ESTIMATORS.get(name) is not type(estimator):
        raise InputError(
            f"{name} is a class of your own, which the file could not bring back: it holds values, no "
            "code. Use joblib.dump(estimator, path), or save estimator.model_.state_dict()."
        )
    arrays, facts = estimator._get_state()
    params = estimator.get_params(deep=False)
    whole = {
        "kind": "estimator",
        "estimator": name,
        "params": {name: _plain(name, value) for name, value in params.items()},
        "classes": labels_to_json(estimator.classes_),
        "annotators": estimator._annotators,
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": _names(estimator),
        "state": facts,
        "metadata": dict(metadata or {}),
    }
    write_archive(path, arrays, whole)


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
        return _rebuilt(os.fspath(path), arrays, facts, params)
    except AmongstError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise FileFormatError(
            f"{os.fspath(path)!r} cannot be brought back ({reason}): another version of amongst wrote "
            "it, or it does not fit the parameters given to load."
        ) from error


def _rebuilt(
    path: str, arrays: Arrays, facts: dict[str, Any], params: dict[str, Any]
) -> PartialLabelClassifier:
    from amongst.estimators import ESTIMATORS

    if facts.get("kind") != "estimator" or facts.get("estimator") not in ESTIMATORS:
        raise FileFormatError(
            f"{path!r} holds {facts.get('estimator', facts.get('kind', 'something else'))!r}, "
            "which this version of amongst cannot load."
        )
    estimator: PartialLabelClassifier = ESTIMATORS[facts["estimator"]](
        **_params(facts["params"], params)
    )
    estimator.classes_ = labels_from_json(facts["classes"])
    estimator._annotators = facts.get("annotators")
    estimator.n_features_in_ = facts["n_features_in"]
    if facts["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(facts["feature_names_in"], dtype=object)
    estimator.metadata_ = facts["metadata"]
    estimator._set_state(arrays, facts["state"])
    return estimator


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


def _params(saved: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    params = {name: _unplain(value) for name, value in saved.items()} | given
    for name, value in params.items():
        if isinstance(value, dict) and "missing" in value:
            if name != "model":
                params[name] = None
                continue
            raise InputError(
                f"the saved estimator was fitted with model={value['missing']}(…), a class of your "
                "own; pass it again: load(path, model=…)."
            )
    return params


def _unplain(value: Any) -> Any:
    if isinstance(value, dict) and "tuple" in value:
        return tuple(_unplain(item) for item in value["tuple"])
    return value


def _names(estimator: PartialLabelClassifier) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
