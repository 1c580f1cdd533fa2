"""docs/theory.md: its example runs, and its numbers are those of the code."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from amongst.theory import balance, beta_from_sizes, reversal_beta, size_law

DOCS = Path(__file__).parents[2] / "docs" / "theory.md"


def row(function, qs, digits):
    return ", ".join(f"{function(size_law(10, q)):.{digits}f}" for q in qs)


def test_the_example_runs():
    failed, tried = doctest.testfile(str(DOCS), module_relative=False)
    assert tried >= 3
    assert failed == 0


@pytest.mark.parametrize(
    "numbers",
    [
        row(lambda sizes: balance(sizes).threshold, (0.1, 0.5, 0.9), 2),
        row(lambda sizes: balance(sizes).neutral, (0.1, 0.5, 0.9), 2),
        row(lambda sizes: balance(sizes).one_vs_all, (0.1, 0.5, 0.9), 1),
        row(reversal_beta, (0.5, 0.7, 0.9), 1),
        row(lambda sizes: beta_from_sizes(sizes, "sigmoid"), (0.1, 0.3, 0.5, 0.7, 0.9), 1),
        row(beta_from_sizes, (0.5, 0.7, 0.9), 1),
    ],
)
def test_the_numbers_are_those_of_the_code(numbers):
    assert numbers in " ".join(DOCS.read_text().split())
