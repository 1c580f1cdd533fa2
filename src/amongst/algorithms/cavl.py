"""CAVL: the candidate with the largest class activation value (Zhang et al., ICLR 2022)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from amongst.algorithms.proden import PRODEN
from amongst.algorithms.rc import ADAM_GRID
from amongst.checks import check_choice
from amongst.losses import best_candidate


@dataclass(frozen=True)
class CAVL(PRODEN):
    """−log p of the candidate with the largest |1 − v_z| g_z, as a second pass after the step has it; at
    first the mean over s.

    Parameters
    ----------
    activation : what v is, the score g as in the authors' code, or ``"probability"``, with which
        1 − p_z is the derivative of log p_z by g_z. Their code sets non-candidates to 0, and so may
        choose one where all candidates are below 0; here it is always a candidate.

    Examples
    --------
    >>> import torch
    >>> CAVL().update(torch.tensor([[0.5, 0.9, 7.0]]), torch.tensor([[True, True, False]]))
    tensor([[1., 0., 0.]])
    """

    name, title, when, uses_prior = "cavl", "CAVL", "post", False
    reference = "Zhang et al., Exploiting Class Activation Value, ICLR 2022"
    optimizer, lr, weight_decay, grid = "adam", 1e-3, 1e-5, ADAM_GRID

    activation: str = "score"

    def __post_init__(self) -> None:
        check_choice("activation", self.activation, ("score", "probability"))

    def update(self, scores: Tensor, inside: Tensor) -> Tensor:
        v = scores if self.activation == "score" else scores.softmax(-1)
        return best_candidate((1 - v).abs() * scores, inside)
