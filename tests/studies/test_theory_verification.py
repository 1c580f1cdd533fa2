"""A check of the theory that cannot fail is worth nothing: each is shown a theory that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from amongst.errors import InputError
from lw2021.theory import verification
from lw2021.theory.verification import Check, random_problems, random_rows, verify


def found(part: str) -> list[Check]:
    return list(getattr(verification, part)(np.random.default_rng(0), 3))


def scaled(by: float) -> Callable[[Any], Any]:
    """The same function with every answer that much larger."""
    return lambda function: lambda *given, **options: function(*given, **options) * by


def fails(monkeypatch: pytest.MonkeyPatch, part: str, name: str, wrong: Any) -> set[str]:
    """The checks of this part that do not come out as documented once `name` is wrong."""
    monkeypatch.setattr(verification, name, wrong(getattr(verification, name)))
    return {check.name for check in found(part) if not check.as_expected}


@pytest.mark.parametrize("part", ["_law_checks", "_risk_checks", "_printed_checks", "_beta_checks"])
def test_each_part_is_as_expected(part: str) -> None:
    assert all(check.as_expected for check in found(part))


@pytest.mark.parametrize(
    ("part", "name", "wrong", "told"),
    [
        ("_law_checks", "set_law", scaled(1 + 1e-9), {"Lemma"}),
        ("_law_checks", "set_law", scaled(1.1), {"Lemma", "Law"}),
        ("_risk_checks", "marginal_risk", scaled(1 + 1e-9), {"Appendix theorem"}),
        ("_risk_checks", "corrected_risk", scaled(1 + 1e-9), {"Theorem 1, corrected"}),
        ("_risk_checks", "corrected_risk", scaled(1.1), {"Theorem 1, corrected", "Simulation"}),
        ("_printed_checks", "printed_gap", scaled(1 + 1e-6), {"Erratum"}),
        ("_beta_checks", "ova_weights", scaled(1.001), {"Three cases and OVA"}),
        ("_beta_checks", "beta_threshold", scaled(1.001), {"Three cases and OVA"}),
        ("_beta_checks", "normalised_threshold", scaled(1 + 1e-9), {"Normalised weights"}),
    ],
)
def test_a_theory_that_is_wrong_is_told(
    part: str, name: str, wrong: Any, told: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fails(monkeypatch, part, name, wrong) == told


def test_a_printed_theorem_that_were_right_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuted checks fail where the statement holds."""

    def exact(_: Any) -> Any:
        return verification.corrected_risk

    assert fails(monkeypatch, "_printed_checks", "printed_risk", exact) >= {"Theorem 1, as printed"}


@pytest.mark.parametrize(("agrees", "count"), [(True, 3 + 1), (False, 2)])
def test_maps_that_are_wrong_are_told(
    agrees: bool, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where every β ranks as Bayes, the refutations and the window fail; where none does, the
    window and the cross entropy."""

    def constant(betas: Any, qs: Any, *_: object) -> Any:
        same = torch.full((len(betas), len(qs)), agrees)
        return SimpleNamespace(agrees=same, share=float(agrees))

    monkeypatch.setattr(verification, "bayes_map", constant)
    told = [check.name for check in found("_bayes_checks") if not check.as_expected]
    assert len(told) == count
    assert "Theorem 2, corrected" in told
    assert ("Theorem 2, cross entropy" in told) is not agrees


def test_rates_that_are_off_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def biased(function: Any) -> Any:
        return lambda sets: replace(function(sets), value=function(sets).value + 0.05)

    def shifted(_: Any) -> Any:
        return lambda sets, p: SimpleNamespace(matrix=np.full((6, 6), 0.5))

    monkeypatch.setattr(verification, "estimate_class_q", shifted(None))
    assert [check.holds for check in found("_rate_checks")] == [True, False, False]
    monkeypatch.setattr(verification, "estimate_uniform_q", biased(verification.estimate_uniform_q))
    assert [check.holds for check in found("_rate_checks")] == [False, False, False]


def test_a_check_holds_up_to_its_limit() -> None:
    for measured, holds in ((0.9, True), (1.0, True), (1.1, False), (float("nan"), False)):
        check = Check("a", "b", measured, 1.0)
        assert (check.holds, check.as_expected) == (holds, holds)
        assert replace(check, refuted=True).as_expected is not holds


def test_problems_are_of_every_size_and_loss() -> None:
    problems = list(random_problems(np.random.default_rng(0), 300, largest=4))
    assert {len(problem.g) for problem in problems} == {2, 3, 4}
    assert {(len(p.g), p.y) for p in problems} == {(k, y) for k in (2, 3, 4) for y in range(k)}
    assert len({problem.psi for problem in problems}) > 3
    one = problems[0]
    assert one.loss(one.g, torch.ones(len(one.g), dtype=torch.bool)) > 0
    with pytest.raises(InputError, match="problems"):
        verify(problems=0)


def test_labels_are_drawn_from_their_posteriors() -> None:
    p, y = random_rows(np.random.default_rng(0), 3, 40_000)
    assert p.sum(1) == pytest.approx(1)
    assert (p.max(1) > 0.9).mean() > 0.3
    for label in range(3):
        for low in (0.0, 0.25, 0.5, 0.75):
            rows = (p[:, label] >= low) & (p[:, label] < low + 0.25)
            mean = p[rows, label].mean()
            error = (mean * (1 - mean) / rows.sum()) ** 0.5
            assert abs((y[rows] == label).mean() - mean) < 4.5 * error
