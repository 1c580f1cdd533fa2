"""Defaults: those of the papers; where siblings differ in one, each says its own and the other's."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from amongst.algorithms import CLPL
from amongst.errors import InputError
from amongst.estimators import (
    CLPLClassifier,
    IPALClassifier,
    LWClassifier,
    PALOCClassifier,
    PLECOCClassifier,
    PLKNNClassifier,
)
from amongst.losses import CLPLLoss, LWLoss, leveraged_weighted


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


@pytest.mark.parametrize(
    ("classifier", "defaults"),
    [
        (IPALClassifier, {"n_neighbors": 10, "alpha": 0.95, "max_iter": 100}),
        (PALOCClassifier, {"mu": 10.0}),
        (PLECOCClassifier, {"tau": "auto"}),
        (PLKNNClassifier, {"n_neighbors": 10}),
    ],
)
def test_defaults_of_the_papers(classifier: Any, defaults: dict[str, Any]) -> None:
    """k = 10, α = 0.95, T = 100; μ = 10; τ = n/10, with ⌈10 log₂ K⌉ columns; k = 10."""
    found = classifier().get_params()
    assert {name: found[name] for name in defaults} == defaults


def test_code_length_of_the_paper() -> None:
    assert [PLECOCClassifier()._length(k) for k in (2, 3, 16, 219)] == [10, 16, 40, 78]


@pytest.mark.parametrize("beta", ["auto", 1.0])
def test_only_losses_that_can_train_are_offered(beta: Any) -> None:
    with pytest.raises(InputError, match="Choose from: ") as found:
        LWClassifier(psi="nobody", beta=beta).fit([[0.0], [1.0]], ["a|b", "b"])
    assert "zero_one" not in str(found.value)
