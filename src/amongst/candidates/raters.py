"""Who said what, how far raters agree, and how far each is to be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from amongst.checks import check_choice
from amongst.errors import InputError, named

if TYPE_CHECKING:
    from amongst.candidates.container import CandidateSets

Floats = npt.NDArray[np.float64]

RaterLaw = Literal["votes", "dawid-skene", "one-coin"]
"""How answers become weights: every answer a vote, or by how far each rater is to be trusted."""

TINY = 1e-12
ROUNDS, TOLERANCE = 500, 1e-6
"""The most rounds of EM, and the change of a posterior at which it ends."""

SHARED = 1.0
"""As so many answers of a rater to each label counts what all raters together do with it."""

FEWEST = 10
"""Rows that a rater, or two, must share with others before anything is said of them by name."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The label that each rater gave to each row.

    Attributes
    ----------
    codes : shape (n, R), columns of `classes`; −1 where a rater gave none, or several.
    raters : R names.
    """

    codes: npt.NDArray[np.int64]
    raters: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Answers:
        return Answers(self.codes[rows], self.raters)

    def counts(self, n_classes: int) -> npt.NDArray[np.int64]:
        """How many raters gave each label to each row, shape (n, K)."""
        return np.stack([(self.codes == z).sum(axis=1) for z in range(n_classes)], axis=1)

    def realigned(self, target: npt.NDArray[np.int64]) -> Answers:
        """With classes in other places: column j of the old ones is column target[j]."""
        codes = np.append(target, -1)[self.codes]
        return Answers(codes, self.raters)

    def fit(self, law: str, n_classes: int, belief: Floats | None = None) -> Reliability:
        """How far each rater is to be trusted, and what the answers say, by expectation–maximisation.

        Rater r answers a to the label z with probability C_r[z, a], independently of the others;
        T_iz ∝ ρ_z Π_r C_r[z, a_ir] and C_r[z, a] ∝ Σ_{i: a_ir = a} T_iz take turns (Dawid & Skene,
        1979). ``"one-coin"`` has one number for each rater: C_r[z, z] = c_r, and all wrong answers
        are alike. A rater with few answers is drawn to what all raters together do: that counts as
        one answer to each label.

        Parameters
        ----------
        law : ``"dawid-skene"``, or ``"one-coin"`` for few rows.
        n_classes : K.
        belief : shape (n, K), what a classifier believes of each row, in place of the shares ρ of
            the classes (Raykar et al., 2010).

        Examples
        --------
        >>> answers = Answers(np.array([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 0]]), ("a", "b", "c"))
        >>> answers.fit("one-coin", 2).reliability.round(1)
        array([0.9, 0.9, 0.3])
        """
        law = check_choice("raters", law, ("dawid-skene", "one-coin"))
        if not ((self.codes >= 0).sum(axis=1) > 1).any():
            problem = (
                "no two raters answered the same row, so that nothing tells how far to trust them."
            )
            remedy = f"Pass {named('raters', 'votes')}: each answer counts alike."
            raise InputError(problem, code="no-overlap", argument="raters", remedy=remedy)
        told = _one_hot(self.codes, n_classes)
        posterior = _normalised(self.counts(n_classes).astype(np.float64) + TINY)
        if belief is not None:
            posterior = _normalised(posterior * belief)
        rounds, change = 0, np.inf
        while rounds < ROUNDS and change > TOLERANCE:
            shares = posterior.mean(axis=0)
            confusion = CONFUSIONS[law]((told.T @ posterior).reshape(-1, n_classes, n_classes))
            evidence = told @ np.log(confusion).reshape(-1, n_classes)
            before = posterior
            posterior, likelihood = _expected(shares if belief is None else belief, evidence)
            rounds, change = rounds + 1, float(np.abs(posterior - before).max())
        confusion = confusion.transpose(0, 2, 1)
        return Reliability(self, law, posterior, confusion, shares, evidence, likelihood, rounds)


@dataclass(frozen=True, eq=False)
class Reliability:
    """How far each rater is to be trusted, and what follows for each row.

    Attributes
    ----------
    answers, law : what it was found from, and how.
    posterior : T_iz, shape (n, K).
    confusion : C_r[z, a], shape (R, K, K): rows are labels, columns answers.
    shares : ρ_z, shape (K,), of the classes.
    evidence : log Π_r C_r[z, a_ir], shape (n, K): what the answers alone say.
    likelihood : mean over the rows of log Σ_z ρ_z Π_r C_r[z, a_ir], or with a belief in place of ρ.
    rounds : of expectation–maximisation.
    """

    answers: Answers
    law: str
    posterior: Floats
    confusion: Floats
    shares: Floats
    evidence: Floats
    likelihood: float
    rounds: int

    @property
    def reliability(self) -> Floats:
        """Chance of the right answer, Σ_z ρ_z C_r[z, z], shape (R,)."""
        found: Floats = np.einsum("rzz,z->r", self.confusion, self.shares)
        return found

    def to_frame(self) -> pd.DataFrame:
        """A row for each rater: how many answers, and the chance that one is right."""
        counts = (self.answers.codes >= 0).sum(axis=0)
        columns = {"rater": list(self.answers.raters), "answers": counts}
        return pd.DataFrame(columns | {"reliability": self.reliability})

    def log_likelihood(self, belief: Floats) -> float:
        """Mean of log Σ_z p_iz Π_r C_r[z, a_ir]: how well beliefs foretell the answers."""
        return _expected(belief, self.evidence)[1]


def as_rated(sets: CandidateSets, law: RaterLaw) -> CandidateSets:
    """The candidate sets with weights by how far each rater is to be trusted."""
    if sets.answers is None:
        problem = "needs to know who said what: a column for each of several raters."
        remedy = f"Pass {named('raters', 'votes')}, or give the raters' columns."
        raise InputError(problem, code="no-raters", argument="raters", got=law, remedy=remedy)
    return sets.weighted(np.maximum(sets.answers.fit(law, sets.n_classes).posterior, TINY))


def _one_hot(codes: npt.NDArray[np.int64], k: int) -> sp.csr_array:
    """A row for each row, a column for each rater and answer: (n, R·K)."""
    rows, raters = np.nonzero(codes >= 0)
    columns = raters * k + codes[rows, raters]
    shape = len(codes), codes.shape[1] * k
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def _full_confusion(counts: Floats) -> Floats:
    """P(answer | label), shape (R, answers, labels), from as many answers."""
    k = counts.shape[1]
    together = counts.sum(axis=0) + np.eye(k) + 1 / k
    together = together / together.sum(axis=0)
    return _normalised(counts + SHARED * together)


def _one_coin(counts: Floats) -> Floats:
    k = counts.shape[1]
    right, all_ = np.einsum("raa->r", counts), counts.sum(axis=(1, 2))
    together = (right.sum() + 1) / (all_.sum() + 2)
    c = ((right + SHARED * together) / (all_ + SHARED))[:, None, None]
    made: Floats = np.where(np.eye(k, dtype=bool), c, (1 - c) / (k - 1))
    return np.maximum(made, TINY)


CONFUSIONS = {"dawid-skene": _full_confusion, "one-coin": _one_coin}


def _expected(shares: Floats, evidence: Floats) -> tuple[Floats, float]:
    """T_iz ∝ shares · exp(evidence), and the mean of the logarithm of its sum."""
    logs = np.log(np.maximum(shares, TINY)) + evidence
    top = logs.max(axis=1, keepdims=True)
    made = np.exp(logs - top)
    total = made.sum(axis=1, keepdims=True)
    return made / total, float((np.log(total) + top).mean())


def _normalised(values: Floats) -> Floats:
    made: Floats = values / values.sum(axis=1, keepdims=True)
    return made


def counted_names(names: list[Any], most: int = 8) -> str:
    """The first names, and how many there are if there are more."""
    more = f", … ({len(names)})" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more if names else "none"


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far raters agree.

    Attributes
    ----------
    alpha : Krippendorff's α for labels without an order, 1 − D_o / D_e; NaN where it says nothing.
    raters : DataFrame, a row for each: rater, answers, shared (rows that others answered, too),
        agreement (share of others' answers that are the same), chance (what it would be if answers
        had nothing to do with rows), alpha ((agreement − chance) / (1 − chance)), and at_random.
    pairs : DataFrame, a row for each two raters that share rows, least agreement first: first,
        second, shared, agreement.
    """

    alpha: float
    raters: pd.DataFrame
    pairs: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        tables = {"raters": self.raters, "pairs": self.pairs}
        return {"alpha": self.alpha} | {n: t.to_dict("records") for n, t in tables.items()}

    def rows(self) -> list[tuple[str, str]]:
        """(what, value) pairs, for a table."""
        answers = self.raters["answers"]
        random = self.raters.loc[self.raters["at_random"], "rater"].tolist()
        told = self.pairs[self.pairs["shared"] >= FEWEST].head(3)
        apart = [
            f"{a} and {b} ({1 - share:.0%} of {shared})"
            for a, b, shared, share in told.itertuples(index=False)
        ]
        nothing = "nothing to compare" if np.isnan(self.alpha) else f"{self.alpha:.3f}"
        return [
            ("raters", f"{len(answers)}, {answers.sum():,} answers"),
            ("agreement (Krippendorff's α)", nothing),
            ("disagree most", "; ".join(apart) or f"no two share {FEWEST} rows"),
            ("answer at random", counted_names(random)),
        ]


def agreement(answers: Answers, n_classes: int) -> Agreement:
    """How far raters agree, by Krippendorff's α (nominal; missing answers are left out).

    A rater answers at random where the 95 % interval of the mean, over the shared rows, of
    agreement − chance ends below half of what all raters have on average.
    """
    counts = answers.counts(n_classes)
    kept = counts.sum(axis=1) > 1
    return Agreement(_alpha(counts[kept]), _each(answers, counts, kept), _pairs(answers, n_classes))


def _alpha(counts: npt.NDArray[np.int64]) -> float:
    """1 − D_o / D_e of counts (n, K) with two or more answers a row."""
    m = counts.sum(axis=1)
    n, totals = int(m.sum()), counts.sum(axis=0)
    expected = n**2 - (totals.astype(float) ** 2).sum()
    if not expected:
        return float("nan")
    differing = ((m**2 - (counts**2).sum(axis=1)) / (m - 1)).sum()
    return float(1 - (n - 1) * differing / expected)


def _each(answers: Answers, counts: npt.NDArray[np.int64], kept: Any) -> pd.DataFrame:
    codes = answers.codes
    given = codes >= 0
    shared = given & kept[:, None]
    others = np.maximum(counts.sum(axis=1) - 1, 1)
    same = np.take_along_axis(counts, np.maximum(codes, 0), axis=1) - 1
    share = np.where(shared, same / others[:, None], 0.0)
    own = np.stack([((codes == z) & shared).sum(axis=0) for z in range(counts.shape[1])], axis=1)
    rest = counts[shared.any(axis=1)].sum(axis=0) - own
    chance = (own * rest).sum(axis=1) / np.maximum(own.sum(axis=1) * rest.sum(axis=1), 1)
    rows = shared.sum(axis=0)
    total = np.maximum(rows, 1)
    mean = share.sum(axis=0) / total
    spread = np.sqrt((np.where(shared, share - mean, 0.0) ** 2).sum(axis=0) / total)
    excess = mean - chance
    usual = (excess * rows).sum() / max(int(rows.sum()), 1)
    upper = excess + 1.96 * spread / np.sqrt(total)
    return pd.DataFrame(
        {
            "rater": list(answers.raters),
            "answers": given.sum(axis=0),
            "shared": rows,
            "agreement": np.where(rows > 0, mean, np.nan),
            "chance": np.where(rows > 0, chance, np.nan),
            "alpha": np.where(rows > 0, excess / np.maximum(1 - chance, 1e-12), np.nan),
            "at_random": (rows >= FEWEST) & (upper < usual / 2),
        }
    )


def _pairs(answers: Answers, n_classes: int) -> pd.DataFrame:
    given = (answers.codes >= 0).astype(np.float64)
    both, same = given.T @ given, np.zeros((given.shape[1],) * 2)
    for z in range(n_classes):
        chosen = (answers.codes == z).astype(np.float64)
        same += chosen.T @ chosen
    first, second = np.nonzero(np.triu(both, 1))
    names = np.array([*answers.raters, None], dtype=object)
    shared = both[first, second].astype(np.int64)
    alike = same[first, second] / np.maximum(shared, 1)
    columns = {"first": names[first], "second": names[second], "shared": shared}
    found = pd.DataFrame(columns | {"agreement": alike})
    return found.sort_values("agreement", kind="stable", ignore_index=True)
