"""Binary losses ψ, the partial-label losses built on them, and their `nn.Module` faces."""

from amongst.losses.modules import (
    AverageLoss,
    CCLoss,
    CLPLLoss,
    LWLoss,
    MinimumLoss,
    PartialLabelLoss,
    PRODENLoss,
    RCLoss,
)
from amongst.losses.partial import (
    average,
    best_candidate,
    candidate_weights,
    classifier_consistent,
    clpl,
    clpl_mean,
    initial_weights,
    leveraged_weighted,
    leveraged_weights,
    minimum,
    weighted_cross_entropy,
)
from amongst.losses.psi import PSIS, Psi, get_psi

__all__ = [
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
    "leveraged_weighted",
    "leveraged_weights",
    "minimum",
    "weighted_cross_entropy",
]
