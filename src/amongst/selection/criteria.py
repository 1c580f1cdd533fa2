"""Criteria that judge a model by held-out candidate sets; no true label enters.

* ``covering``: the share of predictions that are candidates.
* ``approximated``: the predicted label's share of the probability of the candidates.
* ``risk``: an estimate of the error rate. A wrong prediction ŷ is caught, that is ŷ ∉ s, with
  probability 1 − q_ŷ, and a right one never; so each caught one stands for 1/(1 − q_ŷ) wrong ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import torch
from torch import Tensor

from amongst.candidates import CandidateSets
from amongst.checks import check_choice
from amongst.errors import InputError
from amongst.metrics import approximated_accuracy, covering_rate
from amongst.trust.rates import estimate_label_q

Measure = Callable[[Tensor, Tensor], Tensor]
"""Scores (..., n, K) and candidate masks (..., n, K) to values (...)."""

LARGEST_RATE = 0.95
"""A label that nearly every set contains could never be caught; its rate counts as this."""


@dataclass(frozen=True)
class Criterion:
    """A way to rank models by candidate sets.

    Attributes
    ----------
    name, title : for options, and for people.
    greater_is_better : whether high values are good.
    prepare : candidate sets → a measure; what must be estimated is estimated once, from these.

    Examples
    --------
    >>> CRITERIA["risk"].greater_is_better, CRITERIA["covering"].greater_is_better
    (False, True)
    """

    name: str
    title: str
    greater_is_better: bool
    prepare: Callable[[CandidateSets], Measure]


def corrected_error(scores: Tensor, inside: Tensor, rates: Tensor) -> Tensor:
    """Mean of [ŷ ∉ s] / (1 − q_ŷ), an estimate of the error rate P(ŷ ≠ y).

    It is the corrected Theorem 1 at work: the non-candidates' part of the LW loss has the
    expectation Σ_{z≠y} w_z (1 − q_z) ψ(−g_z) given y, so that weights w_z = 1/(1 − q_z) and the
    zero-one ψ on the predicted label leave [ŷ ≠ y]. It is unbiased for any q_z < 1 when each label
    is a false candidate at a rate of its own. A NaN score makes it NaN, as with every criterion.

    Parameters
    ----------
    scores : shape (..., n, K).
    inside : bool, shape (n, K) or (..., n, K).
    rates : q_z, shape (K,).

    Examples
    --------
    >>> inside = torch.tensor([[True, False], [False, True], [True, True], [True, False]])
    >>> scores = torch.tensor([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    >>> corrected_error(scores, inside, torch.tensor([0.5, 0.5]))
    tensor(0.5000)
    """
    predicted = scores.argmax(-1, keepdim=True)
    is_nan = scores.gather(-1, predicted).squeeze(-1).isnan()
    missed = ~inside.to(scores.device).expand_as(scores).gather(-1, predicted).squeeze(-1)
    caught = (1 - rates.clamp(max=LARGEST_RATE)).to(scores.device, torch.float32)
    errors = missed / caught[predicted.squeeze(-1)]
    return errors.masked_fill(is_nan, torch.nan).mean(-1)


def _risk(sets: CandidateSets) -> Measure:
    rates = torch.from_numpy(estimate_label_q(sets).rates)
    return partial(corrected_error, rates=rates)


_CRITERIA = (
    Criterion("covering", "covering rate", True, lambda sets: covering_rate),
    Criterion("approximated", "approximated accuracy", True, lambda sets: approximated_accuracy),
    Criterion("risk", "corrected error rate", False, _risk),
)
CRITERIA: Mapping[str, Criterion] = MappingProxyType({c.name: c for c in _CRITERIA})
"""Every criterion by its name. None needs a true label."""


def get_criterion(name: str) -> Criterion:
    """The criterion of that name.

    >>> get_criterion("covering").title
    'covering rate'
    >>> get_criterion("oracle")
    Traceback (most recent call last):
    amongst.errors.InputError: criterion='oracle' needs true labels, and a search has none. Call oracle_search(…, labels=…) to use them; its results are marked.
    """
    if name == "oracle":
        raise InputError(
            "needs true labels, and a search has none. Call oracle_search(…, labels=…) to use them; "
            "its results are marked.",
            code="no-truth",
            argument="criterion",
            got=name,
        )
    return CRITERIA[check_choice("criterion", name, CRITERIA)]


def measures_for(sets: CandidateSets) -> dict[str, Measure]:
    """Every criterion's measure, prepared on these sets.

    >>> from amongst import as_candidates
    >>> sorted(measures_for(as_candidates(["a|b", "b"])))
    ['approximated', 'covering', 'risk']
    """
    return {name: criterion.prepare(sets) for name, criterion in CRITERIA.items()}
