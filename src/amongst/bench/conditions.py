"""How candidate sets arise in a trial: ``q=0.3``, ``case 2``, or as they came (``real``)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from amongst.candidates import CandidateSets
from amongst.candidates.generate import case, class_dependent, uniform
from amongst.checks import check_choice
from amongst.errors import InputError
from amongst.rng import Seed

__all__ = ["REAL", "check_condition", "generate"]

REAL = "real"
"""The candidate sets that came with the data."""

_KNOWN = ("q=0.1", "q=0.3", "q=0.5", "q=0.7", "q=0.9", "case 1", "case 2", "case 3", REAL)


def check_condition(condition: str) -> str:
    """The condition in its one spelling, or an error with the near matches.

    >>> check_condition("q=.30"), check_condition("case2")
    ('q=0.3', 'case 2')
    >>> check_condition("cases 2")
    Traceback (most recent call last):
    amongst.errors.InputError: condition='cases 2' is unknown; did you mean 'case 2' or ...
    """
    kind, value = _parse(condition)
    if kind == "q":
        return f"q={value:g}"
    return f"case {value:g}" if kind == "case" else REAL


def generate(
    condition: str, labels: npt.NDArray[np.int64], n_classes: int, seed: Seed
) -> CandidateSets:
    """Candidate sets of these true labels 0 … K−1.

    >>> sets = generate("case 1", np.array([0, 1, 2]), 3, seed=0)
    >>> sets.shape, bool(sets.contains([0, 1, 2]).all())
    ((3, 3), True)
    """
    kind, value = _parse(condition)
    classes = range(n_classes)
    if kind == "q":
        return uniform(labels, value, classes=classes, seed=seed)
    if kind == "case":
        return class_dependent(labels, case(int(value), n_classes), classes=classes, seed=seed)
    raise InputError(
        "condition='real' needs data that came with candidate sets, and these have none. Use "
        "'q=0.3' or 'case 1'."
    )


def _parse(condition: str) -> tuple[str, float]:
    text = condition.replace(" ", "").lower()
    for kind, start in (("q", "q="), ("case", "case")):
        if text.startswith(start):
            try:
                value = float(text.removeprefix(start))
            except ValueError:
                break
            if (kind == "q" and 0 <= value <= 1) or (kind == "case" and value in (1, 2, 3)):
                return kind, value
    check_choice("condition", text if text == REAL else condition, _KNOWN)
    return REAL, 0.0
