"""Binary losses ψ, the partial-label losses built on them, and their `nn.Module` faces."""

from typing import Any

from amongst.losses.functions import (
    PSIS,
    Psi,
    average,
    best_candidate,
    candidate_weights,
    classifier_consistent,
    clpl,
    clpl_mean,
    get_psi,
    initial_weights,
    is_shift_invariant,
    leveraged_weighted,
    leveraged_weights,
    minimum,
    weighted_cross_entropy,
)
from amongst.losses.modules import PartialLabelLoss, loss_of
from amongst.registry import ALGORITHMS

__all__ = [  # noqa: F822
    "PSIS",
    "AverageLoss",
    "CCLoss",
    "CLPLLoss",
    "LWLoss",
    "MinimumLoss",
    "PRODENLoss",
    "PartialLabelLoss",
    "Psi",
    "RCLoss",
    "average",
    "best_candidate",
    "candidate_weights",
    "classifier_consistent",
    "clpl",
    "clpl_mean",
    "get_psi",
    "initial_weights",
    "is_shift_invariant",
    "leveraged_weighted",
    "leveraged_weights",
    "loss_of",
    "minimum",
    "weighted_cross_entropy",
]


def __getattr__(name: str) -> Any:
    """The loss module of a method of the registry: `LWLoss` is that of LW."""
    kind = name.removesuffix("Loss")
    likely_first = sorted(ALGORITHMS, key=lambda key: key.replace("-", "") != kind.lower())
    for key in likely_first if name != kind else ():
        found = ALGORITHMS[key]
        if getattr(found, "__name__", "") == kind and hasattr(found, "update"):
            return loss_of(found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
