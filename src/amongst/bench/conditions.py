"""How candidate sets arise in a trial: ``q=0.3``, ``q=0.3 eta=0.1`` with sets that may lack the truth,
``case 2``, ``instance=0.4`` by what a classifier finds plausible, any of these with a long tail of the
rows, ``q=0.5 rho=100``; or as they came (``real``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from amongst.candidates import CandidateSets
from amongst.candidates.generate import (
    case,
    class_dependent,
    instance_dependent,
    long_tailed,
    uniform,
)
from amongst.checks import Seed, check_choice
from amongst.errors import InputError

REAL = "real"
"""The candidate sets that came with the data."""

_KNOWN = ("q=0.1", "q=0.3", "q=0.5", "q=0.7", "q=0.9", "case 1", "case 2", "case 3", "instance=0.4",
          REAL)  # fmt: skip
_NUMBER = r"((?:\d+\.?\d*|\.\d+)(?:e-?\d+)?)"
_FORM = re.compile(rf"{REAL}|(q|case|instance)=?{_NUMBER}(?:eta={_NUMBER})?(?:rho={_NUMBER})?")

Plausible = Callable[[], npt.NDArray[np.float64]]
"""Gives the probabilities (n, K) of some classifier, if they are asked for."""


@dataclass(frozen=True)
class Condition:
    """What a condition says."""

    kind: str  # "q", "case", "instance" or "real"
    value: float = 0.0  # of q, of the case, or the mean rate
    eta: float = 0.0  # share of sets that lack the truth
    rho: float = 1.0  # how many times as large the first class is as the last

    def __str__(self) -> str:
        head = {"case": f"case {self.value:g}", REAL: REAL}
        words = [head.get(self.kind, f"{self.kind}={self.value:g}")]
        words += [f"eta={self.eta:g}"] if self.eta else []
        return " ".join(words + ([f"rho={self.rho:g}"] if self.rho > 1 else []))

    @property
    def is_possible(self) -> bool:
        """Whether there are sets of this kind."""
        if self.kind == "case" and self.value not in (1, 2, 3):
            return False
        if self.kind in ("q", "instance") and not 0 <= self.value <= 1:
            return False
        noise = self.kind == "q" and (self.value > 0 or self.eta < 1)
        return (not self.eta or noise) and self.eta <= 1 and self.rho >= 1


def parse(condition: str) -> Condition:
    """What a condition says, or an error with the near matches.

    >>> parse("q=.5 rho=100")
    Condition(kind='q', value=0.5, eta=0.0, rho=100.0)
    """
    text = condition.replace(" ", "").lower()
    if said := _FORM.fullmatch(text):
        kind, value, eta, rho = said.groups()
        found = Condition(kind or REAL, float(value or 0), float(eta or 0), float(rho or 1))
        if found.is_possible:
            return found
    check_choice("condition", condition, _KNOWN)
    return Condition(REAL)


def check_condition(condition: str) -> str:
    """The condition in its one spelling, or an error with the near matches.

    >>> check_condition("q=.30"), check_condition("q=.5 eta=.10"), check_condition("case2")
    ('q=0.3', 'q=0.5 eta=0.1', 'case 2')
    >>> check_condition("cases 2")
    Traceback (most recent call last):
    amongst.errors.InputError: condition='cases 2' is unknown; did you mean 'case 2' or ...
    """
    return str(parse(condition))


def tail(
    condition: str, labels: npt.NDArray[np.int64], n_classes: int, seed: Seed
) -> npt.NDArray[np.int64] | None:
    """The rows that a condition leaves; None for all."""
    rho = parse(condition).rho
    return None if rho == 1 else long_tailed(labels, rho, classes=range(n_classes), seed=seed)


def generate(
    condition: str,
    labels: npt.NDArray[np.int64],
    n_classes: int,
    seed: Seed,
    plausible: Plausible | None = None,
) -> CandidateSets:
    """Candidate sets of these true labels 0 … K−1, of rows that the condition has left.

    >>> sets = generate("case 1", np.array([0, 1, 2]), 3, seed=0)
    >>> sets.shape, bool(sets.contains([0, 1, 2]).all())
    ((3, 3), True)
    """
    said, classes = parse(condition), range(n_classes)
    if said.kind == "q":
        return uniform(labels, said.value, classes=classes, seed=seed, eta=said.eta)
    if said.kind == "case":
        matrix = case(int(said.value), n_classes)
        return class_dependent(labels, matrix, classes=classes, seed=seed)
    if said.kind == "instance" and plausible is not None:
        p, rate = plausible(), said.value
        return instance_dependent(
            labels, p, rate=rate, relative_to="mean", classes=classes, seed=seed
        )
    raise InputError(
        "needs data that came with candidate sets, and these have none.",
        code="no-candidates",
        argument="condition",
        got=condition,
        remedy="Use 'q=0.3' or 'case 1'.",
    )
