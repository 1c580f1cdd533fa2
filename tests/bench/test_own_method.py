"""A method that a person adds in one file: its own hyper-parameters are searched, and are in keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
from torch import Tensor

from amongst.algorithms import Method
from amongst.bench.execute_population import run_group
from amongst.bench.plans import Plan, Request, make_plan
from amongst.bench.trial import make_method, run_trial
from amongst.errors import InputError
from amongst.losses import classifier_consistent
from amongst.registry import ALGORITHMS


@dataclass(frozen=True)
class Tempered(Method):
    """CC at temperature γ, under a name that begins as LW's do."""

    name: ClassVar[str] = "lw-tempered"
    title: ClassVar[str] = "Tempered"
    grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"lr": (0.01, 0.1), "gamma": (2.0, 3.0)}

    gamma: float = 1.0

    def loss(self, scores: Tensor, inside: Tensor, weights: Tensor | None) -> Tensor:
        """−log Σ_{z∈s} p_z, with p = softmax(g/γ)."""
        return classifier_consistent(scores / self.gamma, inside)


@dataclass(frozen=True)
class Steep(Tempered):
    """The same with another default."""

    gamma: float = 1.5


@dataclass(frozen=True)
class Clashing(Tempered):
    """A hyper-parameter that is a setting of training as well."""

    momentum: float = 0.5


def planned(monkeypatch: pytest.MonkeyPatch, kind: type[Method] = Tempered, **asked: Any) -> Plan:
    """A comparison with this method among those of the package."""
    monkeypatch.setitem(ALGORITHMS._made, kind.name, kind)
    given: dict[str, Any] = {"search": "grid", "conditions": ("q=0.3",), "seeds": 1, "epochs": 2}
    request = Request("compare", datasets=("digits",), methods=("lw-tempered",), quick=True)
    return make_plan(replace(request, **(given | asked)))


def test_own_hyper_parameters_are_trained_with(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = planned(monkeypatch).trials
    methods = [make_method(trial, None) for trial in trials]  # type: ignore[arg-type]
    assert methods == [Tempered(2.0), Tempered(3.0), Tempered(2.0), Tempered(3.0)]
    assert {trial.settings["weight_decay"] for trial in trials} == {Tempered.weight_decay}
    alone = [run_trial(trial).metrics["accuracy_final"] for trial in trials]
    together = [record.metrics["accuracy_final"] for record in run_group(trials)]
    assert len(set(alone)) == 4
    assert together == pytest.approx(alone, abs=0.01)


def test_equal_search_keeps_own_hyper_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = planned(monkeypatch, search="equal").trials
    assert {trial.settings["gamma"] for trial in trials} == {2.0, 3.0}
    assert {trial.settings["lr"] for trial in trials} == {0.01, 0.05}


@pytest.mark.parametrize("search", ["none", "published"])
def test_another_default_is_another_trial(monkeypatch: pytest.MonkeyPatch, search: str) -> None:
    first, second = (planned(monkeypatch, kind, search=search) for kind in (Tempered, Steep))
    assert first.trials[0].settings["gamma"] == 1.0
    assert first.trials[0].key != second.trials[0].key


def test_a_name_that_training_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        InputError, match=r"'lw-tempered' has a hyper-parameter 'momentum'.*another name"
    ):
        planned(monkeypatch, Clashing)


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ({"lr": (0.1,), "gama": (2.0, 3.0)}, r"names 'gama', which is neither.*mean 'gamma'\?"),
        ({"lr": (0.1,), "gamma": 2.0}, r"has gamma=2.0; give a tuple of values"),
    ],
)
def test_a_grid_that_nothing_reads_is_refused(
    monkeypatch: pytest.MonkeyPatch, grid: Mapping[str, Any], said: str
) -> None:
    monkeypatch.setattr(Steep, "grid", grid)
    with pytest.raises(InputError, match=rf"the grid of the method 'lw-tempered' {said}"):
        planned(monkeypatch, Steep)


def test_without_a_grid_a_search_keeps_to_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Steep, "grid", Method.grid)
    (trial,) = planned(monkeypatch, Steep).trials
    assert (trial.settings["gamma"], trial.settings["lr"]) == (1.5, Steep.lr)


def test_two_methods_of_one_name_are_refused() -> None:
    ALGORITHMS.add("lw-tempered", Tempered)
    try:
        with pytest.raises(InputError, match="'lw-tempered' is the name of another algorithm"):
            ALGORITHMS.add("lw-tempered", Steep)
    finally:
        ALGORITHMS.remove("lw-tempered")
    with pytest.raises(InputError, match="'proden' is the name of another algorithm"):
        ALGORITHMS.add("proden", Tempered)
