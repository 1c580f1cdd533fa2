"""Where siblings differ in a default, each says its own and names the other."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from amongst.estimators import CLPLClassifier, LWClassifier
from amongst.losses import CLPLLoss, LWLoss, leveraged_weighted
from amongst.methods import CLPL


@pytest.mark.parametrize(
    ("thing", "name", "other"),
    [
        (leveraged_weighted, "psi", LWLoss),
        (leveraged_weighted, "psi", LWClassifier),
        (LWLoss, "psi", leveraged_weighted),
        (LWClassifier, "psi", leveraged_weighted),
        (CLPLLoss, "form", CLPLClassifier),
        (CLPL, "form", CLPLClassifier),
        (CLPLClassifier, "form", CLPLLoss),
    ],
)
def test_a_default_that_differs_is_told_on_both_sides(thing: Any, name: str, other: Any) -> None:
    ours, theirs = (inspect.signature(t).parameters[name].default for t in (thing, other))
    assert ours != theirs
    text = " ".join((inspect.getdoc(thing) or "").split())
    assert f'``"{ours}"`` by default' in text
    assert f"`{other.__name__}`" in text
