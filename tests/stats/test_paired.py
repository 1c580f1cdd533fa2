"""Tests of paired tests: against enumeration, SciPy, and worked examples from the literature."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from amongst.errors import InputError
from amongst.stats import holm, least_p, paired_t, wilcoxon_signed_rank

ALTERNATIVES = ("two-sided", "greater", "less")


def enumerated(a: np.ndarray, b: np.ndarray, alternative: str) -> float:
    """All 2^n signs, one by one."""
    difference = np.asarray([x - y for x, y in zip(a, b, strict=True) if x != y])
    if len(difference) == 0:
        return 1.0
    ranks = stats.rankdata(np.abs(difference))
    observed = ranks[difference > 0].sum()
    sums = np.array(
        [
            ranks[np.array(signs)].sum()
            for signs in itertools.product([False, True], repeat=len(ranks))
        ]
    )
    above, below = np.mean(sums >= observed - 1e-9), np.mean(sums <= observed + 1e-9)
    return {"greater": above, "less": below, "two-sided": min(1.0, 2 * min(above, below))}[
        alternative
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9),
    st.sampled_from(ALTERNATIVES),
)
def test_wilcoxon_equals_enumeration_with_ties_and_zeros(
    pairs: list[tuple[int, int]], alternative: str
) -> None:
    a, b = map(np.array, zip(*pairs, strict=True))
    ours = wilcoxon_signed_rank(a, b, alternative=alternative)
    assert ours == pytest.approx(enumerated(a, b, alternative), abs=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [5, 10, 30])
def test_wilcoxon_equals_scipy_without_ties(n: int, alternative: str) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=n), rng.normal(size=n) + 0.3
    theirs = stats.wilcoxon(a, b, alternative=alternative, method="exact").pvalue
    assert wilcoxon_signed_rank(a, b, alternative=alternative) == pytest.approx(theirs, rel=1e-10)


@pytest.mark.parametrize("n", [2, 5, 10])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_least_p_is_reached_and_never_undercut(n: int, alternative: str) -> None:
    best = np.arange(n) + 1.0
    reached = min(
        wilcoxon_signed_rank(best, 0 * best, alternative=alternative),
        wilcoxon_signed_rank(-best, 0 * best, alternative=alternative),
    )
    assert reached == least_p(n, alternative)


def test_five_seeds_cannot_be_significant_two_sided() -> None:
    assert least_p(5, "two-sided") > 0.05 > least_p(5, "greater")


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_paired_t_equals_its_formula(alternative: str) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=8), rng.normal(size=8)
    d = a - b
    t = d.mean() / (d.std(ddof=1) / np.sqrt(8))
    law = stats.t(7)
    expected = {"greater": law.sf(t), "less": law.cdf(t), "two-sided": 2 * law.sf(abs(t))}
    assert paired_t(a, b, alternative=alternative) == pytest.approx(expected[alternative])


@pytest.mark.parametrize(
    ("shift", "alternative", "p"),
    [(1.0, "greater", 0.0), (1.0, "less", 1.0), (1.0, "two-sided", 0.0), (0.0, "greater", 1.0)],
)
def test_paired_t_without_spread_says_so_without_a_warning(
    shift: float, alternative: str, p: float
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paired_t([1.0 + shift, 2.0 + shift], [1.0, 2.0], alternative=alternative) == p


def test_holm_on_a_worked_example() -> None:
    """Holm (1979), as in many textbooks: 0.01, 0.02, 0.03, 0.005 over four tests."""
    np.testing.assert_allclose(holm([0.01, 0.02, 0.03, 0.005]), [0.03, 0.04, 0.04, 0.02])


@given(st.lists(st.floats(0, 1), min_size=0, max_size=12))
def test_holm_is_between_p_and_bonferroni_and_keeps_the_order(p: list[float]) -> None:
    adjusted = holm(p)
    assert (adjusted >= np.array(p)).all()
    assert (adjusted <= np.minimum(1, len(p) * np.array(p)) + 1e-15).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ([1, 2], [1], "2 values and b 1"),
        ([], [], "pairs"),
        ([1.0, 2.0], [np.nan, 2.0], "finite"),
        ([np.inf, 2.0], [1.0, 2.0], "finite"),
    ],
)
def test_bad_pairs_are_named(a: list[float], b: list[float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        wilcoxon_signed_rank(a, b)


def test_bad_alternative_and_bad_p_are_named() -> None:
    with pytest.raises(InputError, match="did you mean 'greater'"):
        wilcoxon_signed_rank([1], [2], alternative="grater")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="between 0 and 1"):
        holm([0.5, 1.5])
    with pytest.raises(InputError, match="two pairs"):
        paired_t([1.0], [2.0])
    with pytest.raises(InputError, match="did you mean 'less'"):
        paired_t([1.0, 2.0], [2.0, 2.0], alternative="lesss")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean 'two-sided'"):
        least_p(5, "two sided")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="n=0"):
        least_p(0)


def test_differences_that_rounding_sets_apart_are_tied() -> None:
    a, b = [0.3, 0.3, 0.5, 0.7], [0.2, 0.4, 0.4, 0.7 - 1e-17]
    tied = wilcoxon_signed_rank([3, 3, 5, 7], [2, 4, 4, 7], alternative="greater")
    assert wilcoxon_signed_rank(a, b, alternative="greater") == tied == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paired_t([0.3, 0.4, 0.5], [0.2, 0.3, 0.4]) == 0.0


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_the_unit_changes_nothing(scale: float) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 20) * scale, rng.integers(0, 9, 20) * scale
    assert wilcoxon_signed_rank(a, b) == wilcoxon_signed_rank(a / scale, b / scale)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_many_pairs_take_the_normal_law(alternative: str) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 30, 400), rng.integers(0, 29, 400)
    for n, rel in ((300, 0.02), (400, 1e-12)):  # less some zeros: exact, and not
        ours = wilcoxon_signed_rank(a[:n], b[:n], alternative=alternative)
        law = stats.wilcoxon(a[:n], b[:n], alternative=alternative, correction=True)
        assert ours == pytest.approx(law.pvalue, rel=rel)
    many = rng.normal(size=(2, 100_000))
    assert 0 <= wilcoxon_signed_rank(*many, alternative=alternative) <= 1


def test_many_pairs_name_no_method_that_another_scipy_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The normal law is 'approx' before 1.15 and 'asymptotic' since; 'auto' takes it in both."""
    asked, theirs = [], stats.wilcoxon

    def spy(*args: object, method: str = "auto", **kwargs: object) -> object:
        asked.append(method)
        return theirs(*args, method=method, **kwargs)

    monkeypatch.setattr(stats, "wilcoxon", spy)
    wilcoxon_signed_rank(np.arange(1, 400), np.zeros(399))
    assert asked == ["auto"]


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="b must be numbers"):
        paired_t([1.0, 2.0], ["high", "low"])
    with pytest.raises(InputError, match="p must be numbers"):
        holm([[0.1], [0.1, 0.2]])
