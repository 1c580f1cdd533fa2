"""What a collection of candidate sets looks like, in numbers a person can act on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from amongst.candidates.raters import Agreement, agreement, counted_names

if TYPE_CHECKING:
    from amongst.candidates.container import CandidateSets

SEPARATED = re.compile(r"[|;,/&+]| or | and ")
"""What people write between labels."""

ALIKE, SHORTEST = 0.85, 4
"""How like two names are that are taken for one, and the letters of the shortest."""


@dataclass(frozen=True, eq=False)
class Description:
    """Summary of candidate sets; `str()` of it is made for reading.

    Attributes
    ----------
    n, n_classes : rows and classes.
    classes : the class labels.
    mean_size : mean of |s_i|.
    size_histogram : (K+1,) how many rows have 0, 1, …, K candidates.
    singleton_share, full_share : shares of rows with one candidate, and with all K.
    co_occurrence : (K, K) C_jk = #{i : j ∈ s_i and k ∈ s_i}; the diagonal counts each class.
    ambiguity_degree : max over j ≠ k of C_jk / C_jj. An upper guide to Cour's
        sup P(z ∈ s | Y = y), which needs the true labels; 1 means that some class never occurs
        without a certain other one, and the two cannot be told apart there.
    estimated_q : (mean size − 1) / (K − 1), the chance of a wrong label to be a candidate if it
        is the same for all.
    never_alone : classes that are in no singleton set.
    absent : classes that are in no set at all.
    agreement : of the raters, where who said what is known, else None.
    top_weight : mean over the rows of the largest weight of a candidate, where there are weights.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> found = as_candidates(["a|b", "b"]).describe()
    >>> found.mean_size, found.co_occurrence.tolist(), found.never_alone
    (1.5, [[1, 1], [1, 2]], ['a'])
    """

    n: int
    n_classes: int
    mean_size: float
    size_histogram: npt.NDArray[np.int64]
    singleton_share: float
    full_share: float
    co_occurrence: npt.NDArray[np.int64]
    ambiguity_degree: float
    estimated_q: float
    never_alone: list[Any]
    absent: list[Any]
    classes: list[Any]
    agreement: Agreement | None = None
    top_weight: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        given = dict(vars(self))
        found = given.pop("agreement")
        plain = {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in given.items()}
        return plain if found is None else plain | {"agreement": found.to_dict()}

    def __str__(self) -> str:
        return "\n".join(f"{name:<28}{value}" for name, value in self.rows())

    def rows(self) -> list[tuple[str, str]]:
        """(what, value) pairs, for a table."""
        classes = ", ".join(map(str, self.classes[:8])) + ", …" * (self.n_classes > 8)
        top = self.top_weight
        return [
            ("rows", f"{self.n:,}"),
            ("classes", f"{self.n_classes}: {classes}"),
            ("mean candidates per row", f"{self.mean_size:.2f}"),
            ("rows with one candidate", f"{self.singleton_share:.1%}"),
            ("rows with all candidates", f"{self.full_share:.1%}"),
            ("chance of a wrong label", f"{self.estimated_q:.1%}"),
            ("largest overlap of 2 labels", f"{self.ambiguity_degree:.1%}"),
            ("classes never alone", counted_names(self.never_alone)),
            ("classes that never occur", counted_names(self.absent)),
            *(() if top is None else [("mean of the largest weight", f"{top:.2f}")]),
            *(() if self.agreement is None else self.agreement.rows()),
        ]


def describe(sets: CandidateSets) -> Description:
    """Summarise candidate sets.

    Examples
    --------
    >>> from amongst import as_candidates
    >>> print(describe(as_candidates(["a|b", "a", "a|b|c", "a|c"])))
    rows                        4
    classes                     3: a, b, c
    mean candidates per row     2.00
    rows with one candidate     25.0%
    rows with all candidates    25.0%
    chance of a wrong label     50.0%
    largest overlap of 2 labels 100.0%
    classes never alone         b, c
    classes that never occur    none
    """
    n, k = sets.shape
    counts = co_occurrence(sets)
    alone = np.asarray(sets.members[np.flatnonzero(sets.sizes == 1)].sum(axis=0)).ravel()
    total = np.diag(counts)
    return Description(
        n=n,
        n_classes=k,
        mean_size=float(sets.sizes.mean()) if n else 0.0,
        size_histogram=np.bincount(sets.sizes, minlength=k + 1),
        singleton_share=float((sets.sizes == 1).mean()) if n else 0.0,
        full_share=float((sets.sizes == k).mean()) if n else 0.0,
        co_occurrence=counts,
        ambiguity_degree=_ambiguity(counts),
        estimated_q=estimated_q(sets),
        never_alone=sets.classes[(alone == 0) & (total > 0)].tolist(),
        absent=sets.classes[total == 0].tolist(),
        classes=sets.classes.tolist(),
        agreement=None if sets.answers is None else agreement(sets.answers, k),
        top_weight=None if sets.weights is None else float(sets.weights.max(axis=1).mean()),
    )


def co_occurrence(sets: CandidateSets) -> npt.NDArray[np.int64]:
    """C_jk = #{i : j ∈ s_i and k ∈ s_i}, shape (K, K).

    >>> from amongst import as_candidates
    >>> co_occurrence(as_candidates([{0, 1}, {1}]))
    array([[1, 1],
           [1, 2]])
    """
    members = sets.to_sparse().astype(np.int64)
    counts: npt.NDArray[np.int64] = (members.T @ members).toarray()
    return counts


def look_alikes(sets: CandidateSets) -> list[tuple[str, str]]:
    """Pairs of a label and a more frequent one that it is likely meant to be: names that differ in few
    letters, and several labels with another separator between them. Names with a number are told
    apart by it."""
    rows = np.asarray(sets.members.sum(axis=0)).ravel()
    named = [(str(name), int(n)) for name, n in zip(sets.classes.tolist(), rows, strict=True)]
    found = []
    for name, count in named:
        others = [other for other, more in named if more > count and other != name]
        parts = [part.strip() for part in SEPARATED.split(name)]
        joined = [other for other in others if len(parts) > 1 and other in parts]
        close = [] if len(name) < SHORTEST or re.search(r"\d", name) else others
        near = joined[:1] or get_close_matches(name, close, 1, ALIKE)
        found += [(name, other) for other in near]
    return found


def estimated_q(sets: CandidateSets) -> float:
    """q̂ = (mean |s| − 1) / (K − 1): the moment estimate under uniform flipping.

    >>> from amongst import as_candidates
    >>> estimated_q(as_candidates([{0, 1}, {1}, {2, 1}, {0}]))
    0.25
    """
    n, k = sets.shape
    return float((sets.sizes.mean() - 1) / (k - 1)) if n and k > 1 else 0.0


def _ambiguity(counts: npt.NDArray[np.int64]) -> float:
    others = counts.copy()
    np.fill_diagonal(others, 0)
    most = others.max(axis=1, initial=0)
    return float((most / np.diag(counts).clip(min=1)).max(initial=0.0))
