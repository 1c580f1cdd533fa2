"""Raters: expectation–maximisation against a slow loop, agreement against published numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from amongst import as_candidates
from amongst.candidates.raters import Answers, agreement
from amongst.errors import InputError


def simulated(
    n: int, confusions: np.ndarray, seed: int, share: float = 1.0
) -> tuple[Answers, np.ndarray]:
    """Answers of raters with these confusions (R, K, K), each row answered by a share of them."""
    rng = np.random.default_rng(seed)
    k = confusions.shape[1]
    truth = rng.integers(0, k, n)
    cut = confusions.cumsum(axis=2)[:, truth]  # (R, n, K)
    codes = (rng.random((len(confusions), n, 1)) > cut).sum(axis=2).T
    codes[rng.random(codes.shape) >= share] = -1
    return Answers(codes, tuple(f"r{i}" for i in range(len(confusions)))), truth


def coins(*chances: float, k: int = 3) -> np.ndarray:
    return np.stack([np.where(np.eye(k, dtype=bool), c, (1 - c) / (k - 1)) for c in chances])


def slow_em(codes: np.ndarray, k: int, law: str, rounds: int, belief: Any = None) -> np.ndarray:
    """As the docstring of `Answers.fit` says it, cell by cell."""
    n, R = codes.shape
    told = [[r for r in range(R) if codes[i, r] >= 0] for i in range(n)]
    T = np.full((n, k), 1e-12)
    for i in range(n):
        for r in told[i]:
            T[i, codes[i, r]] += 1
    if belief is not None:
        T = (T / T.sum(1, keepdims=True)) * belief
    T = T / T.sum(1, keepdims=True)
    for _ in range(rounds):
        shares = T.mean(0)
        counts = np.zeros((R, k, k))
        for i in range(n):
            for r in told[i]:
                counts[r, :, codes[i, r]] += T[i]
        C = np.zeros_like(counts)
        for r in range(R):
            if law == "one-coin":
                right = sum(counts[:, z, z].sum() for z in range(k))
                together = (right + 1) / (counts.sum() + 2)
                own = (np.trace(counts[r]) + together) / (counts[r].sum() + 1)
                for z in range(k):
                    for a in range(k):
                        C[r, z, a] = own if a == z else (1 - own) / (k - 1)
                continue
            for z in range(k):
                pooled = np.array([counts[:, z, a].sum() + (a == z) + 1 / k for a in range(k)])
                pooled = pooled / pooled.sum()
                row = counts[r, z] + pooled
                C[r, z] = row / row.sum()
        for i in range(n):
            for z in range(k):
                start = shares[z] if belief is None else belief[i, z]
                T[i, z] = start * math.prod(C[r, z, codes[i, r]] for r in told[i])
            T[i] /= T[i].sum()
    return T


@pytest.mark.parametrize("law", ["dawid-skene", "one-coin"])
@pytest.mark.parametrize("believed", [False, True])
def test_it_is_the_loop(law: str, believed: bool) -> None:
    answers, _ = simulated(25, coins(0.9, 0.7, 0.4, 0.6), seed=1, share=0.8)
    belief = np.random.default_rng(0).dirichlet(np.ones(3), 25) if believed else None
    found = answers.fit(law, 3, belief)
    wanted = slow_em(answers.codes, 3, law, found.rounds, belief)
    np.testing.assert_allclose(found.posterior, wanted, atol=1e-9)


def test_it_finds_the_confusion_that_drew_the_answers() -> None:
    odd = np.array([[0.9, 0.1, 0.0], [0.6, 0.3, 0.1], [0.0, 0.1, 0.9]])
    confusions = np.stack([*coins(0.8, 0.8, 0.7, 0.7, 1 / 3), odd])
    answers, truth = simulated(4000, confusions, seed=0)
    found = answers.fit("dawid-skene", 3)
    np.testing.assert_allclose(found.confusion, confusions, atol=0.06)
    majority = (answers.codes[:, :, None] == np.arange(3)).sum(1).argmax(1)
    assert (found.posterior.argmax(1) == truth).mean() > (majority == truth).mean() + 0.01
    assert found.to_frame()["reliability"].idxmin() == 4


def test_a_perfect_belief_is_the_truth() -> None:
    answers, truth = simulated(60, coins(0.6, 0.6), seed=3)
    belief = np.eye(3)[truth]
    assert (answers.fit("one-coin", 3, belief).posterior.argmax(1) == truth).all()


def test_krippendorffs_worked_example() -> None:
    """Computing Krippendorff's Alpha-Reliability (2011), section C: nominal α = 0.743."""
    told = """1 2 3 3 2 1 4 1 2 . . .
              1 2 3 3 2 2 4 1 2 5 . 3
              . 3 3 3 2 3 4 2 2 5 1 .
              1 2 3 3 2 4 4 1 2 5 1 ."""
    columns = [[None if c == "." else int(c) for c in line.split()] for line in told.splitlines()]
    frame = pd.DataFrame(np.array(columns, dtype=object).T, columns=list("ABCD"))
    sets = as_candidates(frame, kind="annotators")
    found = agreement(sets.answers, sets.n_classes)
    assert found.alpha == pytest.approx(0.743, abs=5e-4)
    assert sets.describe().agreement.alpha == found.alpha
    ab = found.pairs.query("first == 'A' and second == 'B'").iloc[0]
    assert (ab.shared, ab.agreement) == (9, pytest.approx(8 / 9))


def test_who_answers_at_random() -> None:
    answers, _ = simulated(120, coins(0.9, 0.8, 0.6, 1 / 3), seed=2)
    found = agreement(answers, 3)
    assert found.raters.at_random.tolist() == [False, False, False, True]
    rows = dict(found.rows())
    assert rows["answer at random"] == "r3"
    assert "r3" in rows["disagree most"]
    told = as_candidates(answers.codes, kind="annotators").describe().to_dict()
    assert told["agreement"]["raters"][3]["at_random"]


def test_the_posterior_becomes_the_weights() -> None:
    answers, _ = simulated(50, coins(0.9, 0.9, 0.4), seed=4)
    told = pd.DataFrame(answers.codes, columns=list("abc"))
    sets = as_candidates(told, kind="annotators", raters="dawid-skene")
    voted = as_candidates(told, kind="annotators")
    fitted = voted.answers.fit("dawid-skene", 3)
    wanted = fitted.posterior * voted.mask
    np.testing.assert_allclose(sets.prior, wanted / wanted.sum(1, keepdims=True), atol=1e-9)
    assert (sets.mask == voted.mask).all()
    assert as_candidates(voted, raters="dawid-skene") == sets
    assert as_candidates(voted, raters="votes") == voted


@pytest.mark.parametrize(
    ("y", "code"),
    [
        (["a|b", "a"], "no-raters"),
        (np.array([["a"], ["b"]]), "no-raters"),
        ([["a", None], [None, "b"]], "no-overlap"),
    ],
)
def test_what_says_nothing_of_raters(y: Any, code: str) -> None:
    kind = "annotators" if isinstance(y, list) and isinstance(y[0], list) else "auto"
    with pytest.raises(InputError) as error:
        as_candidates(y, kind=kind, raters="dawid-skene")
    assert (error.value.code, error.value.argument) == (code, "raters")
    with pytest.raises(InputError, match="dawid-skene"):
        as_candidates(y, kind=kind, raters="skene")
